"""Who is where, as terms see it: for each term that looks at tasks, how many of them every row holds.

A column counts one of four things by row:

    the tasks that a selection matches         pod affinity, anti-affinity and spread of incoming tasks
    the carriers of a required anti-affinity   they also keep others away, so incoming tasks must look at them
    the carriers of a preferred affinity       they also draw others near or push them off
    the holders of a host port

Counts follow `Cluster.assign`, so they are right at any moment of a session, through placements, evictions and
rollbacks, and a question is a vector operation.  A task knows the columns that match it (`Task.matches`); tasks of
one class with the same matches are equal to every filter.  Nothing is matched or counted in a cluster without such
terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.constraints import Constraints, PodSelection, PodTerm, Port
from podium.core.labels import all_hold
from podium.core.model import State, Task

Counts: TypeAlias = NDArray[np.int64]

_FIRST_ROWS = 64
_HARD_AFFINITY_WEIGHT = 1  # what a required affinity of somebody on a node adds to the score, as in kube-scheduler


class Slot(IntEnum):
    """How a task is on its row."""

    PRESENT = 0
    LEAVING = 1
    PROMISED = 2


HERE = (Slot.PRESENT, Slot.LEAVING)
HERE_OR_COMING = (Slot.PRESENT, Slot.LEAVING, Slot.PROMISED)
STAYING = (Slot.PRESENT, Slot.PROMISED)


class Matching(msgspec.Struct, frozen=True):
    """Tasks that all of some selections match."""

    selections: tuple[PodSelection, ...]


class Repelling(msgspec.Struct, frozen=True):
    """Tasks that carry a required anti-affinity."""

    term: PodTerm


class Drawing(msgspec.Struct, frozen=True):
    """Tasks that carry a preferred affinity, or with a negative weight anti-affinity."""

    term: PodTerm
    weight: int


Key: TypeAlias = Matching | Repelling | Drawing | Port


class _Index:
    """Finds the selections that may match some labels without trying all of them."""

    def __init__(self) -> None:
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._always: list[int] = []

    def add(self, column: int, matching: Matching) -> None:
        if any(selection.labels is None for selection in matching.selections):
            return
        conditions = [each for selection in matching.selections for each in selection.labels or ()]
        for each in conditions:
            if each.operator == "In":
                for value in each.values:
                    self._by_pair.setdefault((each.key, value), []).append(column)
                return
        for each in conditions:
            if each.operator == "Exists":
                self._by_key.setdefault(each.key, []).append(column)
                return
        self._always.append(column)

    def likely(self, labels: Mapping[str, str]) -> Iterator[int]:
        yield from self._always
        for pair in labels.items():
            yield from self._by_pair.get(pair, ())
            yield from self._by_key.get(pair[0], ())


class Peers:
    """The columns of one cluster."""

    def __init__(self) -> None:
        self.repelling: dict[int, list[tuple[str, int]]] = {}  # by matching column: topology key, carriers
        self.drawing: dict[int, list[tuple[str, int, int]]] = {}  # by matching column: key, carriers, weight
        self.ports: dict[tuple[str, int], list[tuple[str, int]]] = {}  # by protocol and number: address, holders
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._counts: dict[tuple[int, Slot], Counts] = {}
        self._index = _Index()
        self._unmatched: list[int] = []  # columns that no task has been compared with yet
        self._stale = False

    # --- columns -----------------------------------------------------------------------------------------------

    def column(self, *selections: PodSelection) -> int:
        """The column that counts the tasks which all these selections match."""
        return self._column(Matching(selections))

    def carried(self, wanted: Constraints) -> tuple[int, ...]:
        """Takes the terms of a new class in; the columns in which each of its tasks counts by what it carries."""
        columns = []
        for term in wanted.anti_affinity:
            columns.append(self._carrier(Repelling(term), term))
        if wanted.affinity:
            self.column(*(term.selection for term in wanted.affinity))
        for term in wanted.affinity:
            columns.append(self._carrier(Drawing(term, _HARD_AFFINITY_WEIGHT), term))
        for weight, term in wanted.preferred_peers:
            columns.append(self._carrier(Drawing(term, weight), term))
        for spread in wanted.spread:
            self.column(spread.selection)
        for port in wanted.ports:
            columns.append(self._port(port))
        return tuple(columns)

    def _carrier(self, key: Repelling | Drawing, term: PodTerm) -> int:
        looked_at = self.column(term.selection)
        known = key in self._numbers
        column = self._column(key)
        if not known and isinstance(key, Repelling):
            self.repelling.setdefault(looked_at, []).append((term.key, column))
        elif not known and isinstance(key, Drawing):
            self.drawing.setdefault(looked_at, []).append((term.key, column, key.weight))
        return column

    def _port(self, port: Port) -> int:
        known = port in self._numbers
        column = self._column(port)
        if not known:
            self.ports.setdefault((port.protocol, port.number), []).append((port.address, column))
        return column

    def _column(self, key: Key) -> int:
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            if isinstance(key, Matching):
                self._index.add(found, key)
                self._unmatched.append(found)
        return found

    # --- tasks -------------------------------------------------------------------------------------------------

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        if self._namespaces.get(name) != labels:
            self._namespaces[name] = dict(labels)
            self._stale = True

    def matches(self, task: Task) -> tuple[int, ...]:
        """The columns that match a task."""
        return self._found(self._index, task) if self._keys else ()

    def settle(self, tasks: Iterable[Task]) -> None:
        """Compares the tasks with columns that came after them, all new columns in one pass."""
        if self._stale and any(
            selection.namespace_labels is not None
            for key in self._keys
            if isinstance(key, Matching)
            for selection in key.selections
        ):
            self._match_anew(tasks)
        elif self._unmatched:
            index = _Index()
            for column in self._unmatched:
                key = self._keys[column]
                assert isinstance(key, Matching)
                index.add(column, key)
            for task in tasks:
                found = tuple(each for each in self._found(index, task) if each not in task.matches)
                if found:
                    task.matches += found
                    self._add(found, task.row, task.state, 1)
        self._unmatched.clear()
        self._stale = False

    def _match_anew(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._add(task.matches, task.row, task.state, -1)
            task.matches = self.matches(task)
            self._add(task.matches, task.row, task.state, 1)

    def _found(self, index: _Index, task: Task) -> tuple[int, ...]:
        found = {column for column in index.likely(task.labels) if self._holds(column, task)}
        return tuple(sorted(found))

    def _holds(self, column: int, task: Task) -> bool:
        key = self._keys[column]
        assert isinstance(key, Matching)
        return all(self.selects(selection, task) for selection in key.selections)

    def selects(self, selection: PodSelection, task: Task) -> bool:
        """Whether a selection matches a task."""
        if selection.labels is None:
            return False
        if task.namespace not in selection.namespaces and (
            selection.namespace_labels is None
            or not all_hold(selection.namespace_labels, self._namespaces.get(task.namespace, {}))
        ):
            return False
        return all_hold(selection.labels, task.labels)

    def book(self, task: Task, sign: int) -> None:
        """A task came to its row, or leaves it."""
        if task.matches:
            self._add(task.matches, task.row, task.state, sign)
        if task.cls.carries:
            self._add(task.cls.carries, task.row, task.state, sign)

    def _add(self, columns: tuple[int, ...], row: int, state: State, sign: int) -> None:
        if row < 0:
            return
        slot = _slot(state)
        for column in columns:
            counts = self._counts.get((column, slot))
            if counts is None or row >= len(counts):
                counts = self._counts[column, slot] = _lengthened(counts, row + 1)
            counts[row] += sign

    def validate(self, tasks: Iterable[Task]) -> None:
        """Matches and counts everything again: raises AssertionError with what differs."""
        expected: dict[tuple[int, Slot, int], int] = {}
        for task in tasks:
            matches = tuple(sorted(task.matches))
            unmatched = [each for each in self.matches(task) if each not in self._unmatched]
            assert self._stale or set(unmatched) <= set(matches), f"{task} matches {unmatched}, not {matches}"
            if task.row >= 0:
                for column in (*task.matches, *task.cls.carries):
                    place = (column, _slot(task.state), task.row)
                    expected[place] = expected.get(place, 0) + 1
        for (column, slot), counts in self._counts.items():
            for row, found in enumerate(counts.tolist()):
                wanted = expected.pop((column, slot, row), 0)
                assert found == wanted, f"{self._keys[column]} counts {found} on row {row}, there are {wanted}"
        assert not expected, f"not counted: {expected}"

    # --- questions ---------------------------------------------------------------------------------------------

    def counts(self, column: int, slots: tuple[Slot, ...], length: int) -> Counts | None:
        """How many each row holds; None when there are none at all."""
        total: Counts | None = None
        for slot in slots:
            counts = self._counts.get((column, slot))
            if counts is None or not counts.any():
                continue
            if len(counts) < length:
                counts = self._counts[column, slot] = _lengthened(counts, length)
            total = counts[:length] if total is None else total + counts[:length]
        return total

    def conflicting(self, port: Port) -> list[int]:
        """The columns of the ports that cannot be held beside one."""
        return [
            column
            for address, column in self.ports.get((port.protocol, port.number), ())
            if not address or not port.address or address == port.address
        ]

    def concerned(self, task: Task) -> bool:
        """Whether somebody's required anti-affinity looks at a task."""
        return any(column in self.repelling for column in task.matches)

    def drawn(self, task: Task) -> bool:
        """Whether somebody's affinity draws a task near or pushes it off."""
        return any(column in self.drawing for column in task.matches)


def _slot(state: State) -> Slot:
    if state is State.RELEASING:
        return Slot.LEAVING
    return Slot.PROMISED if state is State.PIPELINED else Slot.PRESENT


def _lengthened(counts: Counts | None, length: int) -> Counts:
    size = _FIRST_ROWS
    while size < length:
        size *= 2
    longer = np.zeros(size, dtype=np.int64)
    if counts is not None:
        longer[: len(counts)] = counts
    return longer


def by_domain(domains: NDArray[np.int32], counts: Counts | None) -> Counts:
    """For each row the sum over its topology domain; zero where it is in none."""
    if counts is None:
        return np.zeros(len(domains), dtype=np.int64)
    places = domains + 1  # rows without the label share the first place, which is then emptied
    sums = np.bincount(places, weights=counts)
    sums[0] = 0
    result: Counts = sums.astype(np.int64)[places]
    return result
