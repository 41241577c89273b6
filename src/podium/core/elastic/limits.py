"""What units may hold together: quotas of users and of namespaces, and the load that is wanted at most.

Everything of a unit counts, the members that never change as well.  A start and one more member are asked for
alike.  What others hold in a namespace counts against its quota, and what has been planned and has no pod yet.

The capability of a queue is asked for where places are found.  Here it says who could help whom, and who could
ever be helped.

As of nodes there are two views.  What is used is used until it has gone: that bounds what is given now.  What is
about to leave, and what has been promised to those that wait for it, bounds both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podium.core.elastic.unit import Unit
from podium.core.framework.session import Session
from podium.core.model.model import Gang, State, Task
from podium.core.model.resources import CPU, MEMORY
from podium.queue_reasons import LOAD_LIMIT, QUOTA, USER_QUOTA
from podium.reasons import Reason, Refusal, refuse

Sums = dict[int, int]


class _Bound(msgspec.Struct, eq=False):
    """How much of one resource there may be."""

    reason: Reason[...] | None  # None: others refuse what is over it
    whose: tuple[str, ...]
    name: str
    column: int
    hard: int
    used: int = 0
    later: int = 0  # by how much that will be more, or less
    spare: int = 0  # of it, what units have beyond their least

    def over(self, wanted: Sums, *, later: bool) -> bool:
        need = wanted.get(self.column, 0)
        coming = self.later if later else max(0, self.later)
        return need > 0 and self.used + coming + need > self.hard

    def refusal(self, wanted: Sums) -> Refusal | None:
        if self.reason is None or not self.over(wanted, later=False):
            return None
        arguments: tuple[Any, ...] = (*self.whose, self.name, wanted.get(self.column, 0), self.used, self.hard)
        return refuse(self.reason, *arguments)


class Limits:
    """Counts up as units take more."""

    def __init__(
        self,
        session: Session,
        units: Iterable[Unit],
        quotas: Mapping[str, Mapping[str, int]],
        max_load: float,
        gpu: str,
    ) -> None:
        self._find = session.cluster.dimensions.find
        self._users = {user: self._bounds(USER_QUOTA, (user,), hard) for user, hard in quotas.items()}
        self._namespaces = self._quotas_of_namespaces(session)
        self._load: list[_Bound] = []
        if max_load < 1.0:
            most = {CPU: "cpu", MEMORY: "memory", self._find(gpu): gpu}
            nodes, total = session.cluster.nodes, session.total
            for column, name in most.items():
                if column is not None:
                    hard = math.floor(int(total[column]) * max_load)
                    leaving = int(nodes.releasing[: nodes.count, column].sum())
                    used = int(nodes.used[: nodes.count, column].sum())
                    self._load.append(_Bound(LOAD_LIMIT, (), name, column, hard, used, -leaving))
        self._queues = self._capabilities(session)
        self._log: list[tuple[_Bound, int]] = []
        self.binding = bool(self._users or self._namespaces or self._load)  # whether there is any limit at all
        for unit in units if self.binding or self._queues else ():
            self._count_in(unit)

    def _bounds(self, reason: Reason[...] | None, whose: tuple[str, ...], hard: Mapping[str, int]) -> list[_Bound]:
        found = []
        for name, amount in hard.items():
            column = self._find(name.removeprefix("requests.").removeprefix("count/"))
            if column is not None:
                found.append(_Bound(reason, whose, name, column, amount))
        return found

    def _quotas_of_namespaces(self, session: Session) -> dict[str, list[_Bound]]:
        """A server counts pods, also those that wait; here slots count, also those without a pod."""
        cluster = session.cluster
        found: dict[str, list[_Bound]] = {}
        planned: dict[str, Sums] = {}
        for quota in cluster.quotas.values():
            space = quota.namespace
            if space not in planned:
                planned[space] = _without_pods(cluster.gangs.values(), space)
            for bound in self._bounds(QUOTA, (quota.id.rpartition("/")[2],), quota.hard):
                told = quota.used.get(bound.name, 0) + planned[space].get(bound.column, 0)
                bound.used = max(told, cluster.accounts.namespaces.get(space, {}).get(bound.column, 0))
                found.setdefault(space, []).append(bound)
        return found

    def _capabilities(self, session: Session) -> dict[str, list[_Bound]]:
        found: dict[str, list[_Bound]] = {}
        for id, queue in session.queues.items():
            account = session.cluster.accounts.queues.get(id)
            for bound in self._bounds(None, (), queue.capability):
                if bound.hard > 0 or bound.column not in (CPU, MEMORY):  # none of these is no limit
                    bound.used = account.allocated.get(bound.column, 0) if account is not None else 0
                    found.setdefault(id, []).append(bound)
        return found

    def _count_in(self, unit: Unit) -> None:
        """What a unit holds counts for its user; what of it is leaving, and what it could be without, for all."""
        users, spaces = self._users.get(unit.user, []), self._namespaces.get(unit.obj.namespace, [])
        bounds = self._of(unit)
        if not bounds:
            return
        held: Sums = {}
        leaving: Sums = {}
        for task in unit.obj.tasks.values():
            if not unit.waiting or task.state is State.RESERVED:
                _add(held, [task])
            if task.state is State.RELEASING:
                _add(leaving, [task])
        spare: Sums = {}
        if unit.like is not None:
            _add(spare, [unit.like] * max(0, unit.expected - unit.least))
        for bound in users:
            bound.used += held.get(bound.column, 0)
        for bound in (*users, *spaces):
            bound.later -= leaving.get(bound.column, 0)
        for bound in bounds:
            bound.spare += spare.get(bound.column, 0)

    def _of(self, unit: Unit) -> list[_Bound]:
        """The bounds that a unit counts towards."""
        users, spaces = self._users.get(unit.user, ()), self._namespaces.get(unit.obj.namespace, ())
        return [*users, *spaces, *self._load, *self._queues.get(unit.obj.queue, ())]

    # --- now -----------------------------------------------------------------------------------------------------

    def refusal(self, unit: Unit, tasks: Iterable[Task]) -> Refusal | None:
        """Why a unit may not have these tasks; None if it may, and then they count."""
        wanted = _sums(tasks)
        refusal = next(filter(None, (bound.refusal(wanted) for bound in self._of(unit))), None)
        if refusal is None:
            self._take(unit, wanted, 1)
        return refusal

    def take(self, unit: Unit, tasks: Iterable[Task]) -> None:
        """They have places, whatever becomes of the unit."""
        self._take(unit, _sums(tasks), 1)

    def give_back(self, unit: Unit, tasks: Iterable[Task]) -> None:
        """They found no place, or have lost it."""
        self._take(unit, _sums(tasks), -1)

    def _take(self, unit: Unit, amounts: Sums, sign: int) -> None:
        for bound in self._of(unit):
            bound.used += sign * amounts.get(bound.column, 0)

    # --- later ---------------------------------------------------------------------------------------------------

    def leave(self, unit: Unit, tasks: Iterable[Task]) -> None:
        """They will have gone."""
        self._move(self._of(unit), _sums(tasks), -1)

    def claim(self, unit: Unit, tasks: Iterable[Task]) -> bool:
        """Whether a unit may have these tasks once others have gone; they then count."""
        wanted = _sums(tasks)
        if any(bound.over(wanted, later=True) for bound in self._of(unit)):
            return False
        self._move(self._of(unit), wanted, 1)
        return True

    def expect(self, tasks: Iterable[Task]) -> None:
        """Tasks of others that will come: they are part of the load."""
        if self._load:
            self._move(self._load, _sums(tasks), 1)

    def mark(self) -> int:
        return len(self._log)

    def undo(self, mark: int) -> None:
        while len(self._log) > mark:
            bound, amount = self._log.pop()
            bound.later -= amount

    def _move(self, bounds: Iterable[_Bound], amounts: Sums, sign: int) -> None:
        for bound in bounds:
            amount = sign * amounts.get(bound.column, 0)
            if amount:
                bound.later += amount
                self._log.append((bound, amount))

    # --- who could help ------------------------------------------------------------------------------------------

    def helps(self, unit: Unit, tasks: Sequence[Task], donor: Unit) -> bool:
        """Whether a unit could have these tasks sooner if a donor had less."""
        wanted, gives = _sums(tasks), _sums([donor.like] if donor.like is not None else [])
        shared = self._of(donor)
        return any(
            bound in shared and gives.get(bound.column, 0) > 0
            for bound in self._of(unit)
            if bound.over(wanted, later=True)
        )

    def could_ever(self, unit: Unit, tasks: Sequence[Task], *, alone: bool) -> bool:
        """Whether a unit could have these tasks if all others had their least, or if it was alone."""
        wanted = _sums(tasks)
        return all(
            (0 if alone else bound.used + bound.later - bound.spare) + wanted[bound.column] <= bound.hard
            for bound in self._of(unit)
            if wanted.get(bound.column, 0) > 0
        )

    def kept_back(self, unit: Unit, tasks: Iterable[Task]) -> bool:
        """Whether a unit's own quotas keep these tasks out, however small the load is."""
        wanted = _sums(tasks)
        return any(bound.refusal(wanted) for bound in self._of(unit) if bound not in self._load)

    @property
    def overloaded(self) -> bool:
        """Whether there will be more load than is wanted."""
        return any(bound.used + bound.later > bound.hard for bound in self._load)

    def loads(self, unit: Unit) -> bool:
        """Whether a unit has a part in what there is too much of."""
        gives = _sums([unit.like] if unit.like is not None else [])
        over = (bound for bound in self._load if bound.used + bound.later > bound.hard)
        return any(gives.get(bound.column, 0) > 0 for bound in over)


def _sums(tasks: Iterable[Task]) -> Sums:
    found: Sums = {}
    _add(found, tasks)
    return found


def _add(sums: Sums, tasks: Iterable[Task]) -> None:
    for task in tasks:
        for column, amount in task.cls.request.pairs:
            sums[column] = sums.get(column, 0) + amount


def _without_pods(gangs: Iterable[Gang], namespace: str) -> Sums:
    """What slots of a namespace hold for which there are no pods."""
    found: Sums = {}
    for gang in gangs:
        if gang.namespace == namespace and gang.size is not None:
            _add(found, (task for task in gang.tasks.values() if not task.has_pod and task.row >= 0))
    return found
