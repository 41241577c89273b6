"""Why a task finds no place: which filter took how many nodes, what the rest lack, and where the most is free.

Nodes are taken out in the order in which they could be won back: first those that no free room brings back (not
ready, labels, taints, too small), then those that are kept out by who is on them, then those without room.  So the
events that can help are those of the causes that are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.plugin import Plugin
from podium.core.framework.session import Session
from podium.core.framework.shares import Sharing, Standing, called
from podium.core.model import quorum
from podium.core.model.model import Gang, Mode, Queue, State, Task, TaskClass
from podium.core.model.resources import CPU, MEMORY, PODS
from podium.numbers import Block, Cause, Places, Total
from podium.queue_numbers import Bound, QueueUse
from podium.queue_reasons import QUEUE_OVERUSED, QUEUE_STOPPED
from podium.reasons import (
    DEVICE_MODEL,
    DEVICE_ROOM,
    FILTERED,
    GANG,
    NO_NODES,
    NO_ROOM,
    NOT_READY,
    TOO_LARGE,
    UNPLACEABLE,
    Refusal,
    WakeOn,
    both,
    refuse,
)

Mask = NDArray[np.bool_]


_FOR_GOOD = frozenset({WakeOn.NODES})
_ROOM = (Bound.CLUSTER, Bound.LEFT)  # what binds a queue where nothing but room does


def diagnose(session: Session, task: Task) -> Refusal:
    """The refusal of a task for which no node can be found now."""
    candidates = session.candidates(task)
    if candidates.refusal is not None:
        return candidates.refusal
    if not len(session.cluster.nodes):
        return refuse(NO_NODES)
    return Refusal(UNPLACEABLE, _Funnel(session, task, candidates.static).places())


class _Funnel:
    """The nodes that are left, from filter to filter."""

    def __init__(self, session: Session, task: Task, static: Mask) -> None:
        self._session = session
        self._nodes = session.cluster.nodes
        self._task = task
        self._static = static
        self._left: Mask = self._nodes.live[: self._nodes.count].copy()
        names = session.cluster.dimensions.names
        self._pairs = sorted(task.cls.request.pairs, key=lambda pair: _rarity(names, pair[0]))
        self._causes: Counter[Refusal] = Counter()
        self._short: list[int] = []  # columns of which some of those that match have too little

    def places(self) -> Places:
        nodes, wanted = self._nodes, self._task.cls.constraints.devices
        absent = len(nodes) - int(np.count_nonzero(self._left))
        if absent:
            self._causes[refuse(NOT_READY)] = absent
        reported = [(refusal, rows) for plugin in self._asked() for refusal, rows in plugin.refusals(self._task)]
        if wanted is not None:
            model = refuse(DEVICE_MODEL, wanted.count, wanted.share, wanted.models)
            self._take(model, ~nodes.devices.admitted(wanted, nodes.count))
        for refusal, rows in reported:
            if refusal.reason.wake_on == _FOR_GOOD:
                self._take(refusal, rows)
        matching = self._left & self._static
        too_small: list[Mask] = []
        for column, amount in self._pairs:
            small = matching & (nodes.allocatable[: nodes.count, column] < amount)
            if np.any(small):
                self._short.append(column)
                self._count(refuse(TOO_LARGE, self._name(column)), small)
                too_small.append(small)
        for small in too_small:
            self._left &= ~small
        for refusal, rows in reported:
            if refusal.reason.wake_on != _FOR_GOOD:
                self._take(refusal, rows)
        if not self._static.all():
            self._take(refuse(FILTERED), ~self._static)
        full: Mask = ~self._left
        for column, amount in self._pairs:
            short = self._left & (self._free(column) < amount)
            if np.any(short):
                if column not in self._short:
                    self._short.append(column)
                self._count(refuse(NO_ROOM, self._name(column)), short)
                full |= short
        if wanted is not None:
            short = self._left & ~nodes.devices.roomy(wanted, nodes.count)
            self._count(refuse(DEVICE_ROOM, wanted.count, wanted.share, wanted.models), short)
            full |= short
        # One that no filter names: a plugin was asked about it by itself.
        if not full.all():
            self._count(refuse(FILTERED), ~full)
        causes = list(self._causes.items())
        if len(causes) > 1:  # a sentence is made for the order alone: not where there is none
            causes.sort(key=lambda each: (-each[1], str(each[0])))
        return Places(
            len(nodes),
            int(np.count_nonzero(matching)),
            tuple(Cause(refusal, count) for refusal, count in causes),
            tuple(self._blocks(matching)),
        )

    def _asked(self) -> list[Plugin]:
        return self._session.node_hooks("refusals", self._task)

    def _take(self, refusal: Refusal, rows: Mask) -> None:
        """Counts nodes that are out, and takes them out."""
        self._count(refusal, self._left & rows)
        self._left &= ~rows

    def _count(self, refusal: Refusal, rows: Mask) -> None:
        count = int(np.count_nonzero(rows))
        if count:
            self._causes[refusal] += count

    def _name(self, column: int) -> str:
        return self._session.cluster.dimensions.names[column]

    def _free(self, column: int) -> NDArray[np.int64]:
        """What is free of one resource and promised to nobody, by row."""
        nodes, count = self._nodes, self._nodes.count
        free: NDArray[np.int64] = nodes.allocatable[:count, column] - nodes.used[:count, column]
        if nodes.promises:
            free += np.minimum(0, nodes.releasing[:count, column] - nodes.pipelined[:count, column])
        return free

    def _blocks(self, matching: Mask) -> Iterator[Block]:
        """The resources of which matching nodes are short: the one that most of them lack first."""
        if not self._short:
            return
        rows, nodes, found = np.flatnonzero(matching), self._nodes, []
        for column in self._short:
            amount = self._task.cls.request.amount(column)
            free = np.maximum(self._free(column)[rows], 0)
            most = int(free.max())
            roomy = rows[free == most]
            where = nodes.name(int(roomy[np.argmin(nodes.order()[roomy])]))
            largest = int(nodes.allocatable[rows, column].max())
            total = int(self._session.total[column]) if column < len(self._session.total) else 0
            short = int(np.count_nonzero(free < amount))
            found.append(Block(self._name(column), amount, most, where, largest, total, short))
        yield from sorted(found, key=lambda block: -block.nodes) if len(found) > 1 else found


def queue_refusal(session: Session, queue: Queue, task: Task) -> Refusal:
    """The refusal of a task that its queue may not take.

    Where no node would take it either way, or nothing binds the queue but the size of the cluster, the nodes have
    more to say than the queue.
    """
    if _grounded(session, task):
        return diagnose(session, task)
    refusal = session.allocatable(queue, task)
    if refusal is None:
        return overuse(session, queue)([task])  # whoever leaves no room without saying why is not asked for ever
    use = refusal.numbers
    if isinstance(use, QueueUse) and use.bound in _ROOM and not session.candidates(task).choose([task]):
        return diagnose(session, task)
    return refusal


def overuse(session: Session, queue: Queue) -> Callable[[Iterable[Task]], Refusal]:
    """Why a queue that has used up its share gets nothing, for whoever is next in it with some tasks.

    It is stated in the resource that they ask for and of which the queue holds the largest part of its share.
    """
    standing = _standing(session, queue)
    if standing is None:
        return lambda tasks: refuse(QUEUE_STOPPED, called(queue))
    names, known = session.cluster.dimensions.names, dict[Hashable, Refusal]()

    def of_signature(task: Task) -> Refusal:
        if _choosy(task.cls) and _grounded(session, task):
            return diagnose(session, task)
        asked = {column: amount for column, amount in task.cls.request.pairs if column != PODS}
        columns = [column for column in asked if column < len(standing.allocated)]
        column = min(columns, key=lambda each: (-standing.part(each), _rarity(names, each)), default=CPU)
        whole = float(session.total[column])
        return Refusal(QUEUE_OVERUSED, standing.use(queue, names[column], column, asked.get(column, 0), whole))

    def reported(tasks: Iterable[Task]) -> Refusal:
        first: dict[Hashable, Task] = {}
        for task in tasks:
            signature = session.signature(task)
            if signature not in first or (task.name, task.id) < (first[signature].name, first[signature].id):
                first[signature] = task
        refusal: Refusal | None = None
        for signature, task in sorted(first.items(), key=lambda each: (each[1].name, each[1].id)):
            if signature not in known:
                known[signature] = of_signature(task)
            refusal = both(refusal, known[signature])
        return refusal or refuse(QUEUE_STOPPED, called(queue))

    return reported


def _choosy(cls: TaskClass) -> bool:
    """Whether a class asks for certain nodes: for others a look at all nodes says little."""
    wanted = cls.constraints
    return bool(wanted.selector or wanted.required is not None or wanted.devices is not None or wanted.claims)


def _grounded(session: Session, task: Task) -> bool:
    """Whether no node would take a task, were all of them empty."""
    candidates, nodes = session.candidates(task, refresh=False), session.cluster.nodes
    if candidates.refusal is not None or not len(nodes):
        return True
    allocatable = nodes.allocatable[: nodes.count, task.cls.columns]
    return not bool(np.any(candidates.static & (allocatable >= task.cls.amounts).all(axis=1)))


def _rarity(names: Sequence[str], column: int) -> tuple[bool, str]:
    """Of two resources that are equally short, the one that fewer nodes have is named; columns have no order."""
    return column in (CPU, MEMORY, PODS), names[column]


def _standing(session: Session, queue: Queue) -> Standing | None:
    """How a queue stands in the eyes of the plugin that says when it has enough, if that plugin says so."""
    for plugin in (plugin for tier in session.tiers("overused") for plugin in tier):
        if isinstance(plugin, Sharing):
            try:
                return plugin.standing(queue)
            except Exception as error:
                session.blame(error)
    return None


def gang_refusal(session: Session, gang: Gang, placed: int, cause: Refusal) -> Refusal:
    """The refusal of a gang when so many of its tasks could be placed; that of a lone task names no members."""
    if gang.minimum > 1 or len(gang.tasks) > 1:
        missing, holds = session.shortfall(gang), gang.mode is Mode.NON_STRICT
        # Plugins may ask for more than the minimum; and of enough members one in a role of its own may lack.
        need = max(gang.minimum, quorum.counted(gang, gang.ready) + missing)
        never, found = _too_large(session, gang, missing), quorum.counted(gang, placed)
        return refuse(GANG, placed=found, need=need, cause=cause, never=never, holds=holds)
    return cause


def _too_large(session: Session, gang: Gang, missing: int) -> Total | None:
    """Of which resource the members that are missing ask for more than the whole cluster has.

    At least so many as the shortfall says must be placed together, and at least the smallest of those that wait.
    """
    if missing < 2:
        return None
    pending = (task.cls for task in gang.tasks.values() if task.state is State.PENDING and not task.gated)
    waiting = [cls for cls in pending if not cls.best_effort]
    members, total = min(missing, len(waiting)), session.total
    needs: dict[int, int] = {}
    if waiting and waiting.count(waiting[0]) == len(waiting):
        needs = {column: amount * members for column, amount in waiting[0].request.pairs}
    else:
        for column in {column for cls in waiting for column, _ in cls.request.pairs}:
            needs[column] = sum(nsmallest(missing, (cls.request.amount(column) for cls in waiting)))
    over = [column for column, need in needs.items() if column < len(total) and need > total[column]]
    if not over:
        return None
    names = session.cluster.dimensions.names
    column = min(over, key=lambda each: _rarity(names, each))
    return Total(names[column], members, needs[column], int(total[column]))
