"""The model of the cluster: fed by facts from outside, changed tentatively by statements, checked by `validate`.

Facts are level-triggered: each says how a thing is, not what happened to it, so a repeated one changes nothing
and the model can be rebuilt from the facts at any time.  A task whose node or gang is not known yet waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from podium.core.cluster.accounts import Accounts
from podium.core.cluster.attachments import Attachments
from podium.core.cluster.changed_gangs import GangChanges
from podium.core.cluster.claims import Claims
from podium.core.cluster.fragmentation import Shape
from podium.core.cluster.nodes import NodeFacts, Nodes
from podium.core.cluster.nominations import Nominations
from podium.core.cluster.peers import Peers
from podium.core.cluster.recount import validate
from podium.core.cluster.slots import Slots, place_of
from podium.core.cluster.task_classes import TaskClasses
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import (
    HOLDING,
    ON_NODE,
    Budget,
    Gang,
    MatchPolicy,
    Queue,
    Quota,
    QuotaGate,
    State,
    Task,
)
from podium.core.model.resources import Dimensions, Vector


class Cluster:
    """Everything that is known."""

    def __init__(self) -> None:
        self.dimensions = Dimensions()
        self.nodes = Nodes(self.dimensions)
        self.peers = Peers()
        self.attachments = Attachments()
        self.claims = Claims(self.nodes)
        self.queues: dict[str, Queue] = {}
        # By the id of a queue that is named and need not exist: the one whose gangs they are while it does not.
        self.substitutes: dict[str, str] = {}
        self.gangs: dict[str, Gang] = {}
        self.tasks: dict[str, Task] = {}
        self.quota_gated: dict[str, Task] = {}  # those behind a gate that their queue lifts
        self.budgets: dict[str, Budget] = {}
        self.quotas: dict[str, Quota] = {}
        self.namespace_weights: dict[str, int] = {}  # for shares between namespaces; 1 by default
        self.on_row: dict[int, dict[str, Task]] = {}  # tasks that hold room, by row
        self.accounts = Accounts(self.dimensions)
        self.changes = GangChanges()
        self.workload: Mapping[Shape, float] | None = None  # how often what comes, if that is given
        self.classes = TaskClasses(self.dimensions, self.peers, self.tasks)
        self._homeless: dict[str, dict[str, Task]] = {}  # by the name of a node that is not there
        self._strangers: dict[str, Gang] = {}  # gangs that tasks name and that were not seen, or are gone
        self.slots = Slots(self)
        self.elastic_changes = 0  # how often gangs with a size came, changed or went
        # By profile: when sizes were last planned, and at which of these changes.
        self.planned: dict[str | None, tuple[float, int]] = {}
        self.nominations = Nominations(self.nodes)

    # --- facts -----------------------------------------------------------------------------------------------

    def put_node(self, facts: NodeFacts) -> None:
        known = self.nodes.rows.get(facts.name)
        old = self.nodes.facts[known] if known is not None else None
        if old is not None and old.uid != facts.uid:
            self.remove_node(facts.name)  # another machine under the same name
        row = self.nodes.put(facts)
        self.attachments.put_limits(row, old.volume_limits if old is not None else {}, facts.volume_limits)
        for task in self._homeless.pop(facts.name, {}).values():
            self.assign(task, task.state, row)
        self.nominations.move(facts.name, row)

    def remove_node(self, name: str) -> None:
        row = self.nodes.rows[name]
        for task in list(self.on_row.get(row, {}).values()):
            state = task.state
            if state is State.RESERVED:
                self.assign(task, State.PENDING, -1)  # what was held there is gone with it
                continue
            self.assign(task, state, -1)
            if state is not State.PIPELINED:
                self._homeless.setdefault(name, {})[task.id] = task
        self.nominations.move(name, -1)
        facts = self.nodes.facts[row]
        if facts is not None:
            self.attachments.put_limits(row, facts.volume_limits, {})
        self.nodes.remove(name)

    def put_queue(self, queue: Queue) -> list[Gang]:
        """A queue as it is now; the gangs that it takes over, since they named it before it was there."""
        new = queue.id not in self.queues
        self.queues[queue.id] = queue
        return self._move_gangs(queue.id) if new else []

    def remove_queue(self, id: str) -> list[Gang]:
        """Forgets a queue; the gangs that another one takes over from it."""
        return self._move_gangs(id) if self.queues.pop(id, None) is not None else []

    def _move_gangs(self, named: str) -> list[Gang]:
        queue = self._queue_named(named)
        moved = [each for each in self.all_gangs if each.named_queue == named and each.queue != queue]
        for gang in moved:
            self._enqueue(gang, named)
            gang.note()
        return moved

    def _enqueue(self, gang: Gang, named: str) -> None:
        """Puts a gang into the queue that it names, or the one that serves instead."""
        gang.named_queue, queue = named, self._queue_named(named)
        if gang.queue == queue:
            return
        gang.queue = queue
        for task in gang.tasks.values():
            if task.row >= 0:
                self.nodes.touch(task.row)  # its room counts for another queue now

    def _queue_named(self, named: str) -> str:
        """The queue that serves whoever names one."""
        return named if named in self.queues else self.substitutes.get(named, named)

    def put_budget(self, budget: Budget) -> None:
        self.budgets[budget.id] = budget

    def remove_budget(self, id: str) -> None:
        self.budgets.pop(id, None)

    def put_quota(self, quota: Quota) -> None:
        self.quotas[quota.id] = quota

    def remove_quota(self, id: str) -> None:
        self.quotas.pop(id, None)

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        self.peers.put_namespace(name, labels)

    def settle(self) -> None:
        """Before a session: what came since the last one is taken in, in one pass."""
        self.peers.settle(self.tasks.values())
        self.take_in_changes()

    def take_in_changes(self, most: int | None = None) -> None:
        """The sums follow the gangs that have changed, or the first ones of them."""
        self.changes.take_in(self.accounts, self.gangs, self._strangers, most)

    def settling(self, portion: int) -> Iterator[int]:
        """The same for whoever must not be held up: in portions of so many things, and how many each time."""
        yield from self.peers.settling(self.tasks.values(), portion)
        while len(self.changes.waiting) > portion:
            self.take_in_changes(portion)
            yield portion
        self.settle()

    def put_gang(self, facts: GangFacts) -> Gang:
        gang = self.gangs.get(facts.id)
        if gang is None:
            gang = self._strangers.pop(facts.id, None) or self._new_gang(
                facts.id, facts.namespace, facts.name, facts.queue
            )
            self.gangs[facts.id] = gang
        gang.namespace = facts.namespace
        gang.name = facts.name
        self._enqueue(gang, facts.queue)
        gang.minimum = facts.minimum
        gang.minimum_by_role = dict(facts.minimum_by_role)
        resources = facts.minimum_resources
        gang.minimum_resources = dict(resources) if resources is not None else None
        gang.least_resources = dict(facts.least_resources or {})
        for name in (*(resources or ()), *gang.least_resources):
            self.dimensions.column(name)  # also what no node offers: it is not to be had, and not to be overlooked
        gang.priority = facts.priority
        gang.created = facts.created
        gang.enter(facts.phase)
        gang.preemptable = facts.preemptable
        gang.attributes = dict(facts.attributes)
        gang.policies = facts.policies
        gang.topology = facts.topology
        gang.mode = facts.mode
        gang.fail_fast = facts.fail_fast
        gang.match = facts.match
        gang.sub_priority = facts.sub_priority
        gang.waiting_time = facts.waiting_time
        gang.as_one = facts.as_one
        gang.disruption = facts.disruption
        gang.together = facts.together
        gang.longest_wait = facts.longest_wait
        size = facts.size.as_decided(gang.size) if facts.size is not None else None
        if size != gang.size:
            self.elastic_changes += 1
        gang.size = size
        gang.queue_name = facts.queue_name
        gang.fault = facts.fault
        gang.profile = facts.profile
        if gang.match is MatchPolicy.ONCE_SATISFIED:
            gang.remember()
        return gang

    def remove_gang(self, id: str) -> None:
        """Forgets a gang.  Tasks that are still there keep their room until they are gone themselves; places that
        were only held for it are given back, because nobody looks after them any longer."""
        gang = self.gangs.pop(id, None)
        if gang is None:
            return
        for task in gang.tasks.values() if gang.counts[State.RESERVED] else ():
            self.release(task)
        gang.note()
        self.elastic_changes += gang.size is not None
        if gang.tasks:
            self._enqueue(gang, "")
            gang.attributes, gang.together = {}, ()
            self._strangers[id] = gang

    def put_stranger(self, id: str, queue: str, profile: str) -> None:
        """Where the tasks of a gang are at home, and whose they are, though it is not there."""
        gang = self._strangers.get(id)
        if gang is not None and (gang.named_queue, gang.profile) != (queue, profile):
            self._enqueue(gang, queue)
            gang.profile = profile
            gang.note()

    def put_task(self, facts: TaskFacts) -> Task:
        """A task as it is now.

        Facts of a pod know nothing of a place that is reserved for it: it keeps the place while it waits and can.
        """
        if facts.slot:
            facts = self.slots.resolve(facts)
        if facts.slot:
            kept = self.slots.place_for(facts)
        else:
            known = self.tasks.get(facts.id)
            kept = place_of(known) if known is not None and known.state is State.RESERVED else None
        task = self._put_task(facts)
        self.slots.seen(task, kept)
        return task

    def _put_task(self, facts: TaskFacts) -> Task:
        old = self.tasks.get(facts.id)
        cls = self.classes.of_facts(facts)
        if old is not None and (
            old.cls is not cls
            or old.gang.id != facts.gang
            or old.role != facts.role
            or old.labels != facts.labels
            or old.slot != facts.slot
        ):
            self.remove_task(facts.id)
            old = None
        if old is None:
            task = Task(facts.id, facts.namespace, facts.name, cls, role=facts.role, labels=facts.labels)
            task.slot, task.has_pod = facts.slot, facts.has_pod
            self.peers.join(task)
            self.tasks[facts.id] = task
            cls.population += 1
        else:
            task = old
        task.priority = facts.priority
        task.created = facts.created
        task.started = facts.started or facts.created
        task.preemptable = facts.preemptable
        task.preempts = facts.preempts
        task.protected = facts.protected
        if task.gated != facts.gated and old is not None:
            task.gang.remove(task)
            task.gated = facts.gated
            task.gang.add(task)
        task.gated = facts.gated
        self._note_gate(task, facts.quota_gated)
        if old is None:
            self._gang_of(facts).add(task)
        self._settle(task, facts)
        return task

    def _gang_of(self, facts: TaskFacts) -> Gang:
        """A task's gang.  One that is not known holds its room on nodes, though nothing of it is scheduled."""
        gang = self.gangs.get(facts.gang) or self._strangers.get(facts.gang)
        if gang is None:
            gang = self._strangers[facts.gang] = self._new_gang(facts.gang, facts.namespace, facts.gang, "")
        return gang

    def _new_gang(self, id: str, namespace: str, name: str, queue: str) -> Gang:
        return Gang(id, namespace, name, queue, self.changes.waiting)

    def _note_gate(self, task: Task, closed: bool) -> None:
        if not closed:
            task.quota_gate = QuotaGate.NONE
            self.quota_gated.pop(task.id, None)
        else:
            self.quota_gated[task.id] = task
            if task.quota_gate is QuotaGate.NONE:
                task.quota_gate = QuotaGate.CLOSED

    def _settle(self, task: Task, facts: TaskFacts) -> None:
        """Puts a task where the facts say it is."""
        for homeless in self._homeless.values():
            homeless.pop(task.id, None)
        self.nominations.put(task, facts.nominated)
        row = self.nodes.rows.get(facts.node, -1)
        if facts.state is State.RESERVED and row < 0:
            self.assign(task, State.PENDING, -1)
            return
        self.assign(task, facts.state, row, facts.devices)
        if row < 0 and facts.node and facts.state in ON_NODE:
            self._homeless.setdefault(facts.node, {})[task.id] = task

    def remove_task(self, id: str) -> None:
        task = self.tasks.pop(id, None)
        if task is None:
            return
        task.cls.population -= 1
        if task.slot:
            self.slots.leave(task)
        self.slots.gone(task)
        self.quota_gated.pop(id, None)
        for homeless in self._homeless.values():
            homeless.pop(id, None)
        self.nominations.put(task, "")
        self.assign(task, State.PENDING, -1)
        self.peers.leave(task)
        task.gang.remove(task)
        if not task.gang.tasks:
            self._strangers.pop(task.gang.id, None)

    def reserve(self, task: Task, node: str) -> None:
        """Holds a place for a task that waits; one on a node that is not there is none."""
        row = self.nodes.rows.get(node, -1)
        if row >= 0 and task.state is State.PENDING:
            self.assign(task, State.RESERVED, row)

    def release(self, task: Task) -> None:
        """Gives back what was reserved for a task."""
        if task.state is State.RESERVED:
            self.assign(task, State.PENDING, -1)

    # --- the one place where room changes hands ----------------------------------------------------------------

    def assign(self, task: Task, state: State, row: int, devices: tuple[int, ...] = ()) -> None:
        """Gives a task another state and place; every count and sum follows.

        Of a row's devices it gets those that are given, or keeps those it has, or takes what fits closest.
        """
        if task.row == row >= 0 and task.state in HOLDING and state in HOLDING and not devices:
            if task.state is not state:
                task.gang.move(task, state)  # it stays where it is: no sum changes
            return
        if task.row >= 0:
            self._book(task, -1)
            del self.on_row[task.row][task.id]
        if task.state is not state:
            task.gang.move(task, state)
        task.row = row if state in ON_NODE or state is State.PIPELINED else -1
        if task.cls.constraints.devices is not None:
            self.nodes.devices.settle(task, devices)
        if task.row >= 0:
            self.nodes.widen()
            self._book(task, 1)
            self.on_row.setdefault(task.row, {})[task.id] = task

    def place_all(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """`assign` for many pending tasks of one class, role and gang that all get places now."""
        self.nodes.add_many(self.nodes.used, np.array(rows, dtype=np.int64), tasks[0].cls.request, 1)
        self.settle_all(tasks, rows)

    def settle_all(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """The same, where the caller adds to what is used: that of many gangs at once."""
        first = tasks[0]
        wanted = first.cls.constraints
        carries, attaches, contested = first.cls.carries, bool(wanted.attachments), wanted.contested
        first.gang.move_all(tasks, State.PENDING, State.ALLOCATED)
        for task, row in zip(tasks, rows, strict=True):
            task.row = row
            self.on_row.setdefault(row, {})[task.id] = task
            if carries or task.party is not None:
                self.peers.book(task, 1)
            if attaches:
                self.attachments.book(task, 1)
            if contested:
                self.claims.book(task, 1)

    def _book(self, task: Task, sign: int) -> None:
        nodes, request = self.nodes, task.cls.request
        if task.party is not None or task.cls.carries:
            self.peers.book(task, sign)
        if task.cls.constraints.attachments:
            self.attachments.book(task, sign)
        if task.cls.constraints.contested:
            self.claims.book(task, sign)
        if task.cls.constraints.devices is not None:
            nodes.devices.book(task, sign)
        if task.state is State.PIPELINED:
            nodes.add(nodes.pipelined, task.row, request, sign)
            nodes.promises += sign
            return
        nodes.add(nodes.used, task.row, request, sign)
        if task.state is State.RELEASING:
            nodes.add(nodes.releasing, task.row, request, sign)
            nodes.departures += sign

    def shared(self) -> Vector:
        """What there is to share between queues: what live nodes have, and what is held beyond that.

        A node may be lost, or have shrunk, under what is on it.  Then that is no less held, and takes nothing of
        the room that is elsewhere.
        """
        nodes, width = self.nodes, self.dimensions.width
        there = nodes.allocatable[: nodes.count, :width] * nodes.live[: nodes.count, None]
        sums: Vector = np.maximum(there, nodes.used[: nodes.count, :width]).sum(axis=0)
        for homeless in self._homeless.values():
            for task in homeless.values():
                for column, amount in task.cls.request.pairs:
                    sums[column] += amount
        return sums

    # --- invariants --------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Recomputes every sum and compares: raises AssertionError with what differs."""
        validate(self)

    def find_gang(self, id: str) -> Gang | None:
        """A gang by its id, also one that only tasks name."""
        return self.gangs.get(id) or self._strangers.get(id)

    @property
    def all_gangs(self) -> Iterable[Gang]:
        """Also those that only tasks name."""
        return (*self.gangs.values(), *self._strangers.values())

    def recount_accounts(self) -> int:
        """Counts all gangs anew; how many queues, namespaces and gangs were counted wrong."""
        self.take_in_changes()
        afresh = Accounts(self.dimensions)
        afresh.settle(self._strangers.values(), self.gangs, self._strangers)
        wrong = self.accounts.differences(afresh)
        if wrong:
            self.accounts = afresh
        return wrong
