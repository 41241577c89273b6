"""What gangs, queues and namespaces hold and wait for.

Sums over everything that runs would make a lone task wait for a count of the whole cluster.  So the sums stay from
one turn to the next, and before a turn only the gangs that changed since the last one are counted again.

So do the lines in which gangs wait: those that ask for the same stand in one, and whether there is room is asked
for a line.

Amounts are sparse and whole, by column: taking away what was added before leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.model import quorum
from podium.core.model.model import HOLDING, PLACED, Gang, Mode, Phase, State, TaskClass
from podium.core.model.resources import LIMIT, Dimensions

Sums = dict[int, int]
Gangs = Mapping[str, Gang]  # by id


class Account:
    """The sums of a gang, or of all gangs of a queue."""

    __slots__ = ("_vectors", "allocated", "changes", "elastic", "gangs", "inqueue", "waiting")

    def __init__(self, gangs: int = 0) -> None:
        self.gangs = gangs  # how many have been counted
        self.allocated: Sums = {}
        self.waiting: Sums = {}  # what pending tasks ask for
        self.inqueue: Sums = {}  # what an admitted gang may still take of its minimum
        self.elastic: Sums = {}  # what it holds beyond its minimum
        self.changes = 0  # moves with every change
        self._vectors: dict[str, NDArray[np.float64]] = {}

    def vector(self, part: str, width: int) -> NDArray[np.float64]:
        """One of the sums with a number a resource: kept until it changes, since every turn reads all queues'."""
        found = self._vectors.get(part)
        if found is None or len(found) != width:
            found = np.zeros(width)
            for column, amount in getattr(self, part).items():
                if column < width:
                    found[column] = amount
            found.flags.writeable = False  # turns share it
            self._vectors[part] = found
        return found

    def add(self, other: Account, sign: int) -> None:
        self.gangs += sign * other.gangs
        self.changes += 1
        self._vectors.clear()
        for sums, others in (
            (self.allocated, other.allocated),
            (self.waiting, other.waiting),
            (self.inqueue, other.inqueue),
            (self.elastic, other.elastic),
        ):
            if others:
                _add(sums, others, sign)


class Demand(msgspec.Struct, frozen=True):
    """What a gang of equal tasks asks for: as many as it needs to start, or one more when it has started."""

    profile: str
    queue: str
    namespace: str
    cls: TaskClass
    need: int
    fresh: bool  # none of its tasks has a place


class Accounts:
    """All sums, and the gangs that have something to be decided on."""

    def __init__(self, dimensions: Dimensions) -> None:
        self._dimensions = dimensions
        self._width = 0
        self._entered: dict[str, tuple[str, str, str]] = {}  # the queue, namespace and profile it is counted for
        self.gangs: dict[str, Account] = {}
        self.queues: dict[str, Account] = {}
        self.namespaces: dict[str, Sums] = {}
        self.profiles: dict[tuple[str, str], Sums] = {}  # what gangs of a profile hold in a queue: queue, profile
        self.active: dict[str, Gang] = {}
        # The same by queue; and for those who follow a queue, who has come, changed or gone there meanwhile.
        self.active_in: dict[str, dict[str, Gang]] = {}
        self.changed_in: dict[str, set[str]] = {}
        self.split: dict[
            str, Gang
        ] = {}  # those of which some tasks are on nodes and others wait, also with a place
        self.tied: dict[str, Gang] = {}  # those that start together with others
        self.holding: dict[str, Gang] = {}  # those that hold places without being bound
        # Those that wait for nothing but room, by what they ask for.  A gang of several classes is in none.
        self.equal_demand: dict[Demand, dict[str, Gang]] = {}
        self._demands: dict[str, Demand] = {}

    def settle(self, changed: Iterable[Gang], known: Gangs, strangers: Gangs) -> None:
        """Brings the sums up to date, given the gangs that changed, all that there are, and those that only tasks
        name."""
        if self._width != self._dimensions.width:
            # A resource has got a name: minimums that spoke of it count from now on.
            self._width = self._dimensions.width
            changed = dict.fromkeys([*known.values(), *changed])
        for gang in changed:
            self._leave(gang.id)
            if known.get(gang.id) is gang:
                self._enter(gang)
            elif strangers.get(gang.id) is gang:
                self._count_stranger(gang)

    def _leave(self, id: str) -> None:
        queue, namespace, profile = self._entered.pop(id, ("", "", ""))
        account = self.gangs.pop(id, None)
        if self.active.pop(id, None) is not None:
            del self.active_in[queue][id]
            self._note_change(id, queue)
        self.split.pop(id, None)
        self.tied.pop(id, None)
        self.holding.pop(id, None)
        demand = self._demands.pop(id, None)
        if demand is not None:
            del self.equal_demand[demand][id]
            if not self.equal_demand[demand]:
                del self.equal_demand[demand]
        if account is not None:
            self.queues[queue].add(account, -1)
            _add(self.namespaces[namespace], account.allocated, -1)
            _add(self.profiles[queue, profile], account.allocated, -1)

    def _count_stranger(self, gang: Gang) -> None:
        """A gang that was not seen, or is gone: it waits for nothing, and holds what its tasks hold."""
        if gang.count(HOLDING):  # thousands may name a group that never comes: those that only wait cost nothing
            held = Account()
            held.allocated = self.account(gang).allocated
            self._count_in(gang, held)

    def _count_in(self, gang: Gang, account: Account) -> None:
        self._entered[gang.id] = (gang.queue, gang.namespace, gang.profile)
        self.gangs[gang.id] = account
        self.queues.setdefault(gang.queue, Account()).add(account, 1)
        _add(self.namespaces.setdefault(gang.namespace, {}), account.allocated, 1)
        _add(self.profiles.setdefault((gang.queue, gang.profile), {}), account.allocated, 1)

    def _enter(self, gang: Gang) -> None:
        self._count_in(gang, self.account(gang))
        pending, reserved = gang.counts[State.PENDING], gang.counts[State.RESERVED]
        if pending or reserved or gang.phase is Phase.PENDING or gang.size:
            self.active[gang.id] = gang
            self.active_in.setdefault(gang.queue, {})[gang.id] = gang
            self._note_change(gang.id, gang.queue)
        if gang.together:
            self.tied[gang.id] = gang
        if reserved:
            self.holding[gang.id] = gang
        else:
            gang.held_since = None
        if (pending or reserved) and gang.count(PLACED):
            self.split[gang.id] = gang
        if pending:
            demand = _demand(gang)
            if demand is not None:
                self._demands[gang.id] = demand
                self.equal_demand.setdefault(demand, {})[gang.id] = gang

    def _note_change(self, id: str, queue: str) -> None:
        if queue in self.changed_in:
            self.changed_in[queue].add(id)

    def demand_of(self, id: str) -> Demand | None:
        """What a gang asks for, if that is all one and room is all that it waits for."""
        return self._demands.get(id)

    def equals_of(self, id: str) -> Iterable[str]:
        """The gangs that wait for the same as this one: what is refused to the first is refused to all."""
        demand = self._demands.get(id)
        return self.equal_demand[demand] if demand is not None else ()

    def differences(self, other: Accounts) -> int:
        """How many queues, namespaces and waiting gangs are counted otherwise there."""
        mine, others = self._sums(), other._sums()
        reported = sum(mine.get(each) != others.get(each) for each in mine.keys() | others.keys())
        reported += sum(self._demands.get(id) != other._demands.get(id) for id in self._demands | other._demands)
        return (
            reported + len(self.active.keys() ^ other.active.keys()) + len(self.split.keys() ^ other.split.keys())
        )

    def _sums(self) -> dict[tuple[str, ...], list[Sums]]:
        """All sums that are not zero, by what they are of."""
        sums: dict[tuple[str, ...], list[Sums]] = {
            ("queue", id): [account.allocated, account.waiting, account.inqueue, account.elastic]
            for id, account in self.queues.items()
        }
        sums |= {("namespace", id): [held] for id, held in self.namespaces.items()}
        sums |= {("profile", *key): [held] for key, held in self.profiles.items()}
        reported = {key: [_nonzero(each) for each in parts] for key, parts in sums.items()}
        return {key: parts for key, parts in reported.items() if any(parts)}

    def account(self, gang: Gang) -> Account:
        """A gang's sums, counted anew."""
        account = Account(gangs=1)
        held: dict[TaskClass, int] = {}  # how many of a class: most gangs have one or two
        waiting: dict[TaskClass, int] = {}
        for task in gang.tasks.values():
            if task.state in HOLDING:
                held[task.cls] = held.get(task.cls, 0) + 1
            elif task.state is State.PENDING:
                waiting[task.cls] = waiting.get(task.cls, 0) + 1
        _count(account.allocated, held)
        _count(account.waiting, waiting)
        minimum = self._minimum(gang)
        # A running gang counts while it is whole: one whose members have finished will not ask for their room
        # again.
        whole = gang.phase is Phase.RUNNING and quorum.missing(gang, HOLDING) <= 0
        if gang.phase is Phase.INQUEUE or whole:
            account.inqueue = _positive(minimum, account.allocated)
        account.elastic = _positive(account.allocated, minimum)
        return account

    def _minimum(self, gang: Gang) -> Sums:
        found: Sums = {}
        for name, amount in (gang.minimum_resources or {}).items():
            column = self._dimensions.find(name)
            if column is not None:
                found[column] = min(max(amount, 0), LIMIT)
        return found


def _demand(gang: Gang) -> Demand | None:
    """What a gang asks for; None if that is not all one, or if it has not been let in yet.

    Nor has one that keeps what it finds, or that others wait for, a demand of all or nothing: each place counts.
    """
    if gang.phase is Phase.PENDING or gang.mode is Mode.NON_STRICT or gang.together:
        return None
    waiting = {task.cls for task in gang.tasks.values() if task.state is State.PENDING and not task.gated}
    if len(waiting) != 1:
        return None
    need = quorum.to_place(gang)
    return Demand(gang.profile, gang.queue, gang.namespace, waiting.pop(), need, not gang.ready)


def _count(sums: Sums, classes: Mapping[TaskClass, int]) -> None:
    for cls, count in classes.items():
        for column, amount in cls.request.pairs:
            sums[column] = sums.get(column, 0) + count * amount


def _add(sums: Sums, other: Sums, sign: int) -> None:
    for column, amount in other.items():
        sums[column] = sums.get(column, 0) + sign * amount


def _nonzero(sums: Sums) -> Sums:
    return {column: amount for column, amount in sums.items() if amount}


def _positive(left: Sums, right: Sums) -> Sums:
    """Where the first is larger, by how much."""
    return {column: over for column, amount in left.items() if (over := amount - right.get(column, 0)) > 0}
