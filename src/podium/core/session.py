"""One profile's turn on the cluster: its plugins, how their opinions combine, and what has been decided so far.

How opinions combine follows Volcano, tier by tier:

    orders                       the first plugin that minds decides; then creation time, then id
    ready, valid, allocatable    every plugin must agree
    overused                     one plugin is enough
    enqueueable, pipelined       votes: any reject loses; the first tier with a permit decides
    starving                     all plugins of the first tier that has an opinion
    preemptable, reclaimable     inside a tier the common victims; the first tier with a result decides
    scores                       the sum
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.core.budgets import Budgets
from podium.core.candidates import Candidates
from podium.core.cluster import Cluster
from podium.core.decisions import Decision, QueueFault, Refuse
from podium.core.model import Gang, Queue, State, Task
from podium.core.plugin import Arguments, Placed, Plugin, Vote
from podium.core.resources import Vector
from podium.core.statement import Statement
from podium.reasons import Refusal

# Each hook with the configuration file's switch for it.
SWITCHES = {
    "job_valid": "enableJobValid",
    "job_order": "enableJobOrder",
    "job_ready": "enableJobReady",
    "shortfall": "enableJobReady",
    "job_pipelined": "enableJobPipelined",
    "job_starving": "enableJobStarving",
    "job_enqueueable": "enableJobEnqueued",
    "job_enqueued": "enableJobEnqueued",
    "task_order": "enableTaskOrder",
    "queue_order": "enableQueueOrder",
    "victim_queue_order": "enableQueueOrder",
    "namespace_order": "enableNamespaceOrder",
    "preemptable": "enablePreemptable",
    "reclaimable": "enableReclaimable",
    "preemptive": "enablePreemptive",
    "overused": "enabledOverused",
    "allocatable": "enabledAllocatable",
    "headroom": "enabledAllocatable",
    "victim_tasks": "enabledVictim",
    "pre_predicate": "enablePredicate",
    "mask": "enablePredicate",
    "mask_rows": "enablePredicate",
    "predicate": "enablePredicate",
    "batch_predicate": "enablePredicate",
    "refusals": "enablePredicate",
    "score": "enableNodeOrder",
    "score_rows": "enableNodeOrder",
    "node_order": "enableNodeOrder",
    "batch_node_order": "enableNodeOrder",
    "best_node": "enableBestNode",
}

# Off unless the file says so.
OFF_BY_DEFAULT = frozenset({"enableNamespaceOrder", "enableHierarchy"})


class Enabled:
    """A plugin with the switches of its place in the profile."""

    def __init__(self, plugin: Plugin, switches: dict[str, bool]) -> None:
        self.plugin = plugin
        self._switches = switches

    def has(self, hook: str) -> bool:
        """Whether the plugin implements a hook and the profile leaves it on."""
        if not self.plugin.has(hook):
            return False
        switch = SWITCHES.get(hook)
        return switch is None or self._switches.get(switch, switch not in OFF_BY_DEFAULT)


class Session:
    """One turn."""

    def __init__(
        self,
        cluster: Cluster,
        tiers: Sequence[Sequence[Enabled]],
        now: float,
        arguments: dict[str, Arguments] | None = None,
        actions: Sequence[str] = (),
        *,
        profile: str | None = None,
        resting: Container[str] = (),
    ) -> None:
        """`profile` decides on its own gangs only (all, if None); those in `resting` are left alone for now."""
        self.cluster = cluster
        self.now = now
        self.actions = tuple(actions)
        self.decisions: list[Decision] = []
        self.held: list[Statement] = []  # gangs that are whole once others have left: kept until the end
        self.promised: list[Task] = []  # tasks that were told a place which others are leaving
        self.keep_answers = True  # what a hook said of a node stands until the node changes
        self.tick = 0  # moves with every change of a row
        self._stamps: NDArray[np.int64] = np.zeros(cluster.nodes.count, dtype=np.int64)  # the tick of each row
        self._arguments = arguments or {}
        self._tiers = tiers
        self._hooks: dict[str, list[list[Plugin]]] = {}
        self._asked: dict[str, list[Plugin]] = {}
        self._candidates: dict[Hashable, Candidates] = {}
        self._kinds = self._all("kind")
        cluster.settle()
        self.budgets = Budgets(cluster.budgets.values(), cluster.peers)
        cluster.nodes.widen()
        self.total: Vector = cluster.nodes.total()
        self.queues = dict(cluster.queues)
        # Shares and sums count everybody; decisions are on one's own.
        self.gangs = [gang for gang in cluster.gangs.values() if gang.queue in self.queues]
        self.own = [gang for gang in self.gangs if self.owns(gang, profile) and gang.id not in resting]
        self._profile = profile
        for plugin in self._all("on_session_open"):
            plugin.on_session_open(self)
        self._listeners = self._all("on_allocate")
        self._forgetters = self._all("on_deallocate")

    @staticmethod
    def owns(gang: Gang, profile: str | None) -> bool:
        return profile is None or gang.profile == profile

    def may_evict(self, task: Task) -> bool:
        """A profile's victims are its own pods: what others placed is not its to take away."""
        return self.owns(task.gang, self._profile)

    def close(self) -> None:
        """Ends the turn.  What waits for others to leave goes back to pending, with its place remembered."""
        for statement in reversed(self.held):
            statement.nominate()
        for task in self.promised:
            self.cluster.nominate(task, self.cluster.nodes.name(task.row))
            self.cluster.assign(task, State.PENDING, -1)
        for plugin in self._all("on_session_close"):
            plugin.on_session_close(self)

    def arguments(self, action: str) -> Arguments:
        return self._arguments.get(action, Arguments())

    def statement(self) -> Statement:
        return Statement(self)

    def touch(self, rows: Sequence[int]) -> None:
        """Rows have changed: what is known of them is looked at again when it is next needed."""
        self.tick += 1
        self._stamps[rows] = self.tick

    def touched_since(self, tick: int) -> NDArray[np.int64]:
        return np.flatnonzero(self._stamps > tick)

    def refuse(self, gang: Gang, refusal: Refusal, task: Task | None = None) -> None:
        self.decisions.append(Refuse(gang.id, refusal, task.id if task is not None else ""))

    def report(self, queue: str, refusal: Refusal) -> None:
        """Says that a queue's own numbers do not hold together."""
        self.decisions.append(QueueFault(queue, refusal))

    def tell_allocated(self, placed: Placed) -> None:
        for plugin in self._listeners:
            plugin.on_allocate(placed)

    def tell_deallocated(self, placed: Placed) -> None:
        for plugin in self._forgetters:
            plugin.on_deallocate(placed)

    # --- which plugins have a hook -----------------------------------------------------------------------------

    def tiers(self, hook: str) -> list[list[Plugin]]:
        """The plugins that have a hook, by tier; tiers without any are left out."""
        found = self._hooks.get(hook)
        if found is None:
            found = [[each.plugin for each in tier if each.has(hook)] for tier in self._tiers]
            found = self._hooks[hook] = [tier for tier in found if tier]
        return found

    def asks(self, hook: str, plugin: Plugin | None = None) -> bool:
        """Whether anybody, or one plugin, is asked something."""
        return any(plugin is None or each is plugin for each in self._all(hook))

    def _all(self, hook: str) -> list[Plugin]:
        found = self._asked.get(hook)
        if found is None:
            found = self._asked[hook] = [plugin for tier in self.tiers(hook) for plugin in tier]
        return found

    # --- orders ------------------------------------------------------------------------------------------------

    def _compare(self, hook: str, left: Any, right: Any, *more: Any) -> float:
        for plugin in self._all(hook):
            result: float = getattr(plugin, hook)(left, right, *more)
            if result:
                return result
        return 0

    def queue_compare(self, left: Queue, right: Queue) -> float:
        result = self._compare("queue_order", left, right)
        return result or _by((left.created, left.id), (right.created, right.id))

    def job_compare(self, left: Gang, right: Gang) -> float:
        result = self._compare("job_order", left, right)
        return result or _by((left.created, left.id), (right.created, right.id))

    def job_preference(self, left: Gang, right: Gang) -> float:
        """What the plugins alone say on two gangs; zero when none of them minds."""
        return self._compare("job_order", left, right)

    def task_compare(self, left: Task, right: Task) -> float:
        result = self._compare("task_order", left, right)
        return result or _by(
            (left.suffix, left.created, left.name, left.id), (right.suffix, right.created, right.name, right.id)
        )

    def namespace_compare(self, left: str, right: str) -> float:
        return self._compare("namespace_order", left, right) or _by(left, right)

    def victim_queue_compare(self, left: Queue, right: Queue, preemptor: Queue) -> float:
        """Whose tasks go first; without an opinion the queue that would be served last."""
        return self._compare("victim_queue_order", left, right, preemptor) or -self.queue_compare(left, right)

    def sorted_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        return sorted(tasks, key=self.task_key)

    @property
    def job_key(self) -> Callable[[Gang], Any]:
        """The order of gangs as a sort key: of values where all plugins give them, else by comparing pairs."""
        orders = self._all("job_order")
        if not all(plugin.has("job_key") for plugin in orders):
            return cmp_to_key(_signed(self.job_compare))
        return lambda gang: (*[plugin.job_key(gang) for plugin in orders], gang.created, gang.id)

    @property
    def task_key(self) -> Callable[[Task], Any]:
        """The same for tasks."""
        orders = self._all("task_order")
        if not all(plugin.has("task_key") for plugin in orders):
            return cmp_to_key(_signed(self.task_compare))
        return lambda task: (
            *[plugin.task_key(task) for plugin in orders],
            task.suffix,
            task.created,
            task.name,
            task.id,
        )

    def first_namespace(self, namespaces: Iterable[str]) -> str:
        """The namespace to serve next."""
        return min(namespaces, key=cmp_to_key(_signed(self.namespace_compare)))

    def first_queue(self, queues: Iterable[Queue]) -> Queue:
        """The queue to serve next.  Shares move with every placement, so it is looked for anew each time."""
        return min(queues, key=cmp_to_key(_signed(self.queue_compare)))

    # --- gangs -------------------------------------------------------------------------------------------------

    def invalid(self, gang: Gang) -> Refusal | None:
        return next(filter(None, (plugin.job_valid(gang) for plugin in self._all("job_valid"))), None)

    def ready(self, gang: Gang) -> bool:
        return all(plugin.job_ready(gang) for plugin in self._all("job_ready"))

    def shortfall(self, gang: Gang) -> int:
        """How many tasks can be placed together before anybody has to be asked whether it is enough."""
        deciders = self._all("job_ready")
        if any(not plugin.has("shortfall") for plugin in deciders):
            return 1
        return max([1, *(plugin.shortfall(gang) for plugin in deciders)])

    def pipelined(self, gang: Gang) -> bool:
        return self._vote("job_pipelined", gang)

    def enqueueable(self, gang: Gang) -> bool:
        return self._vote("job_enqueueable", gang)

    def enqueued(self, gang: Gang) -> None:
        for plugin in self._all("job_enqueued"):
            plugin.job_enqueued(gang)

    def _vote(self, hook: str, gang: Gang) -> bool:
        for tier in self.tiers(hook):
            votes = [getattr(plugin, hook)(gang) for plugin in tier]
            if Vote.REJECT in votes:
                return False
            if Vote.PERMIT in votes:
                return True
        return True

    def starving(self, gang: Gang) -> bool:
        for tier in self.tiers("job_starving"):
            return all(plugin.job_starving(gang) for plugin in tier)
        return False

    # --- queues ------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        return any(plugin.overused(queue) for plugin in self._all("overused"))

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        return next(filter(None, (plugin.allocatable(queue, task) for plugin in self._all("allocatable"))), None)

    def headroom(self, queue: Queue, tasks: Sequence[Task]) -> int:
        """How many of some equal tasks the queue may take, from the first on."""
        room = len(tasks)
        for plugin in self._all("allocatable"):
            told = plugin.headroom(queue, tasks[0].cls, room) if plugin.has("headroom") else None
            if told is None:
                # Without a batch form only one at a time can be promised.
                told = 1 if plugin.allocatable(queue, tasks[0]) is None else 0
            room = min(room, told)
        return room

    def preemptive(self, queue: Queue, task: Task) -> bool:
        return all(plugin.preemptive(queue, task) for plugin in self._all("preemptive"))

    # --- victims -----------------------------------------------------------------------------------------------

    def preemptable(
        self, preemptor: Task, candidates: Sequence[Task], without: frozenset[str] = frozenset()
    ) -> list[Task]:
        """Who may be evicted for a task; `without` names plugins that are not asked."""
        return self._victims("preemptable", preemptor, candidates, without)

    def reclaimable(
        self, reclaimer: Task, candidates: Sequence[Task], without: frozenset[str] = frozenset()
    ) -> list[Task]:
        return self._victims("reclaimable", reclaimer, candidates, without)

    def _victims(self, hook: str, task: Task, candidates: Sequence[Task], without: frozenset[str]) -> list[Task]:
        if not candidates:
            return []
        asked = [[plugin for plugin in tier if plugin.name not in without] for tier in self.tiers(hook)]
        if without and not any(asked):
            return list(candidates)
        for tier in asked:
            common: list[Task] | None = None
            for plugin in tier:
                found = getattr(plugin, hook)(task, candidates)
                chosen = {each.id for each in found}
                common = found if common is None else [each for each in common if each.id in chosen]
            if common:
                return common
        return []

    # --- nodes -------------------------------------------------------------------------------------------------

    def kind(self, task: Task) -> Hashable:
        """What makes tasks equal to all node hooks: the class, and what else a plugin looks at."""
        if not self._kinds:
            return task.cls.number
        return (task.cls.number, *(plugin.kind(task) for plugin in self._kinds))

    def alike(self, left: Task, right: Task) -> bool:
        """Whether two tasks are equal to all node hooks."""
        return left.cls is right.cls and all(plugin.kind(left) == plugin.kind(right) for plugin in self._kinds)

    def candidates(self, task: Task, *, refresh: bool = True) -> Candidates:
        """Where a kind of tasks can go and how good each place is, kept up to date with what has been placed.

        Who asks about single rows only needs no fresh scores.
        """
        kind = self.kind(task)
        found = self._candidates.get(kind)
        if found is None:
            found = self._candidates[kind] = Candidates(self, task)
        if refresh:
            found.refresh()
        return found

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> int | None:
        for plugin in self._all("best_node"):
            chosen = plugin.best_node(task, rows, scores)
            if chosen is not None:
                return chosen
        return None

    def node_hooks(self, hook: str, task: Task) -> list[Plugin]:
        """The plugins whose node hook concerns a kind of tasks."""
        return [plugin for plugin in self._all(hook) if plugin.applies(hook, task)]


def _by(left: Any, right: Any) -> int:
    return -1 if left < right else int(left > right)


def _signed(compare: Callable[[Any, Any], float]) -> Callable[[Any, Any], int]:
    """cmp_to_key wants integers; a share's difference is a fraction."""

    def sign(left: Any, right: Any) -> int:
        result = compare(left, right)
        return (result > 0) - (result < 0)

    return sign
