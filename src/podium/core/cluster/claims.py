"""Which free volume each task takes, and who uses which claim.

A volume that is free in the API can be promised once.  What has been promised is known here from the moment a task
gets its place, be it tentative, so a gang whose members claim a volume each is spread over the nodes that have
one, and no two tasks of a turn are sent for the same.  What a task was promised is what is then written.

Claims are served in the order in which the task lists them, each by the first option that is still free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.nodes import Nodes
from podium.core.model.constraints import Claim, Sharing, VolumeOption
from podium.core.model.model import State, Task

Mask = NDArray[np.bool_]
Index = NDArray[np.int64]

_REACHES_KEPT = 256


class _Choice(msgspec.Struct, frozen=True):
    """What serves a claim: a volume ("" for one that is made, or that it has), and the row it was chosen for."""

    volume: str
    row: int


class _Reach:
    """Which rows reach which of some options: pairs of a row and an option's number, sorted by row."""

    def __init__(self, options: tuple[VolumeOption, ...], nodes: Nodes) -> None:
        self.volumes = [each.volume for each in options]
        self.everywhere = [number for number, each in enumerate(options) if each.terms is None]
        found = [
            (number, np.flatnonzero(nodes.properties.matching_any(each.terms)))
            for number, each in enumerate(options)
            if each.terms is not None
        ]
        numbers = np.array([number for number, rows in found for _ in range(len(rows))], dtype=np.int64)
        rows = np.array([row for _, rows in found for row in rows.tolist()], dtype=np.int64)
        order = np.lexsort((numbers, rows))
        self.rows: Index = rows[order]
        self.numbers: Index = numbers[order]

    def on_row(self, row: int) -> list[int]:
        """The options within a row's reach, in their order."""
        start, end = np.searchsorted(self.rows, [row, row + 1])
        return sorted([*self.everywhere, *self.numbers[start:end].tolist()])


class Claims:
    """What is promised to whom."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._chosen: dict[str, tuple[_Choice, ...]] = {}  # by task, one for each of its claims
        self._taken: Counter[str] = Counter()  # by volume: how many claims it was promised to
        self._users: dict[str, dict[str, Task]] = {}  # by the key of a claim
        self._reaches: dict[Claim, _Reach] = {}
        self._version = -1  # of the nodes that the reaches were worked out for

    def book(self, task: Task, sign: int) -> None:
        """A task came to its row, or leaves it."""
        if sign > 0:
            self._enter(task)
        else:
            self._leave(task)

    def chosen(self, task: Task) -> tuple[str, ...]:
        """The volume that each of a task's claims was promised; "" where one is made, or it has one."""
        return tuple(each.volume for each in self._chosen.get(task.id, ()))

    def _enter(self, task: Task) -> None:
        claims = task.cls.constraints.claims
        # A task that others put where it is keeps its place, whatever is free there.
        choices = self._choose(claims, task.row) or tuple(_Choice("", task.row) for _ in claims)
        self._chosen[task.id] = choices
        for claim, choice in zip(claims, choices, strict=True):
            if choice.volume:
                self._taken[choice.volume] += 1
            if claim.key:
                self._users.setdefault(claim.key, {})[task.id] = task

    def _leave(self, task: Task) -> None:
        for claim, choice in zip(task.cls.constraints.claims, self._chosen.pop(task.id, ()), strict=True):
            if choice.volume:
                self._taken[choice.volume] -= 1
                if not self._taken[choice.volume]:
                    del self._taken[choice.volume]
            if claim.key:
                self._users[claim.key].pop(task.id)
                if not self._users[claim.key]:
                    del self._users[claim.key]

    def validate(self, tasks: Iterable[Task]) -> None:
        """Who was promised something holds a place, and what was promised is counted once for each."""
        placed = {task.id: task for task in tasks if task.row >= 0 and task.cls.constraints.contested}
        assert self._chosen.keys() == placed.keys(), "volumes are promised to others than those with places"
        taken: Counter[str] = Counter()
        users: dict[str, set[str]] = {}
        for id, choices in self._chosen.items():
            for claim, choice in zip(placed[id].cls.constraints.claims, choices, strict=True):
                taken[choice.volume] += bool(choice.volume)
                if claim.key:
                    users.setdefault(claim.key, set()).add(id)
        assert +taken == self._taken, f"taken are {self._taken}, promised {+taken}"
        assert {key: set(each) for key, each in self._users.items()} == users, "users of claims are counted wrong"

    # --- questions -------------------------------------------------------------------------------------------

    def in_use(self, task: Task, *, later: bool) -> bool:
        """Whether another task uses a claim that only one may use; `later`, once those leaving have left."""
        return any(
            user.id != task.id and not (later and user.state is State.RELEASING)
            for claim in task.cls.constraints.claims
            if claim.sharing is Sharing.TASK
            for user in self._users.get(claim.key, {}).values()
        )

    def room(self, task: Task) -> Mask:
        """The rows on which all claims of a task can be served by what is still free."""
        claims = [claim for claim in task.cls.constraints.claims if claim.contested]
        fits: Mask = np.ones(self._nodes.count, dtype=bool)
        for claim in claims:
            fits &= self._served(claim)
        if len(claims) > 1:
            # Two claims may want the same volume: what each finds for itself need not do for both.
            for row in np.flatnonzero(fits).tolist():
                fits[row] = self._choose(task.cls.constraints.claims, row) is not None
        return fits

    def _served(self, claim: Claim) -> Mask:
        """The rows on which one claim can be served."""
        known = self._known(claim)
        if known is not None and not known.volume:
            fits: Mask = np.full(self._nodes.count, claim.sharing is not Sharing.NODE or not claim.open)
            fits[known.row] = True
            return fits
        reach, taken = self._reach(claim), self._taken
        if known is None:
            free = np.array([volume not in taken for volume in reach.volumes], dtype=bool)
        else:
            free = np.array([volume == known.volume for volume in reach.volumes], dtype=bool)
        if any(free[number] for number in reach.everywhere):
            return np.ones(self._nodes.count, dtype=bool)
        fits = np.zeros(self._nodes.count, dtype=bool)
        if len(free):
            fits[reach.rows[free[reach.numbers]]] = True
        return fits

    def _choose(self, claims: tuple[Claim, ...], row: int) -> tuple[_Choice, ...] | None:
        """What serves each claim on a row; None when one finds nothing."""
        choices: list[_Choice] = []
        mine: set[str] = set()
        for claim in claims:
            known = self._known(claim)
            if known is not None and not known.volume:
                if claim.open and claim.sharing is Sharing.NODE and known.row != row:
                    return None
                choices.append(known)
                continue
            for number in self._reach(claim).on_row(row):
                volume = claim.options[number].volume
                free = volume not in self._taken if known is None else volume == known.volume
                if free and volume not in mine:
                    break
            else:
                return None
            choices.append(known or _Choice(volume, row))
            if volume:
                mine.add(volume)
        return tuple(choices)

    def _known(self, claim: Claim) -> _Choice | None:
        """What has been chosen for a claim, if another task uses it too."""
        for user in self._users.get(claim.key, {}).values() if claim.key else ():
            for other, choice in zip(user.cls.constraints.claims, self._chosen[user.id], strict=True):
                if other.key == claim.key and other.open:
                    return choice
        return None

    def _reach(self, claim: Claim) -> _Reach:
        if self._version != self._nodes.version:
            self._version = self._nodes.version
            self._reaches.clear()
        found = self._reaches.get(claim)
        if found is None:
            if len(self._reaches) >= _REACHES_KEPT:
                self._reaches.clear()  # claims change with every volume that is taken
            found = self._reaches[claim] = _Reach(claim.options, self._nodes)
        return found
