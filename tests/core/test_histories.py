"""Random histories: nodes come, go and shrink, queues change, gangs are made, placed, finished and deleted.

The machine plays the outside world: it keeps the facts, tells them to the model, runs cycles of several profiles
and carries their decisions out.  After every step the model's sums must be right, and after every cycle:

    I1  no node is over-committed by a decision: what was bound fits beside everything else that is there
    I2  a task is bound once, while it waits, to a node that is there and ready
    I3  a task that waits holds nothing; one that is on a node holds its share exactly once
    I4  a gang of which something was bound has its minimum
    I5  a queue in which something was bound is within its limits, and so is every queue above it
    I6  the model equals one made afresh from the facts
    I7  what fits is placed
    I8  the same facts give the same decisions, in whatever order they came
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cycle import run_cycle
from podium.core.model.decisions import Bind, Decision, Evict, Failure, GangPhase, Nominate
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import HOLDING, ON_NODE, Phase, Queue, State
from podium.core.plugins.queue_tree import QueueTree
from podium.core.profiles.profile import Profile, read_profile

NODES = ["n1", "n2", "n3"]
QUEUES = ["root", "qa", "qb", "qc"]


def profile(actions: str, *tiers: list[dict[str, Any]]) -> Profile:
    return read_profile({"actions": actions, "tiers": [{"plugins": tier} for tier in tiers]})


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


# Whoever has a say on victims is in one tier: a tier that names none leaves the choice to the next.
EVICTING = named("priority", "gang", "conformance", "drf", "predicates", "binpack")
PROFILES = {
    "plain": profile("allocate", named("gang")),
    "default": profile(
        "enqueue, allocate, backfill",
        named("priority", "gang", "conformance"),
        named("overcommit", "drf", "predicates", "proportion", "nodeorder"),
    ),
    "evicting": profile("enqueue, allocate, backfill, preempt, reclaim", [*EVICTING, {"name": "proportion"}]),
    "quotas": profile("enqueue, reclaim, allocate, backfill, preempt", [*EVICTING, {"name": "capacity"}]),
    "tree": profile(
        "enqueue, allocate, reclaim, backfill",
        [*EVICTING, {"name": "capacity", "enableHierarchy": True, "arguments": {"ancestorReclaimLevel": 1}}],
    ),
    "pushing": profile(
        "enqueue, reclaim, allocate, backfill, preempt",
        [
            {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
            *named("priority", "conformance", "predicates", "nodeorder", "capacity"),
        ],
    ),
    "fair-tree": profile(
        "enqueue, allocate, reclaim",
        [
            *named("priority", "gang", "conformance", "sla", "predicates"),
            {"name": "drf", "enableHierarchy": True, "enableNamespaceOrder": True},
        ],
    ),
}
LIMITED = {"quotas", "pushing", "tree"}  # profiles in which a queue's capability is a hard limit
BREAKING = {"pushing"}  # profiles that evict whole gangs member by member

amount = st.integers(0, 6)
few = st.integers(0, 3)


class GangSpec(msgspec.Struct, frozen=True):
    """A gang to come; `more` members than its minimum, and `known` before its tasks or after them."""

    queue: str
    minimum: int
    more: int
    cpu: int
    gpu: int
    priority: int
    known: bool
    phase: Phase
    needs: bool


gang_specs = st.builds(
    GangSpec,
    queue=st.sampled_from(["qa", "qa", "qb", "qb", "qc", "root", "gone"]),
    minimum=few,
    more=st.sampled_from([0, 0, 1, 2, -1]),
    cpu=st.integers(0, 3),
    gpu=st.sampled_from([0, 0, 1]),
    priority=few,
    known=st.booleans(),
    phase=st.sampled_from([Phase.PENDING, Phase.INQUEUE]),
    needs=st.booleans(),
)


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.nodes: dict[str, NodeFacts] = {}
        self.queues: dict[str, Queue] = {}
        self.gangs: dict[str, GangFacts] = {}
        self.tasks: dict[str, TaskFacts] = {}
        self.clock = 1000.0
        self.made = 0

    # --- the outside world ---------------------------------------------------------------------------------------

    @initialize(cpu=st.integers(2, 8), specs=st.lists(gang_specs, max_size=5))
    def start(self, cpu: int, specs: list[GangSpec]) -> None:
        for name in NODES[:2]:
            self.put_node(NodeFacts(name, "1", {"cpu": cpu * 1000, "memory": 8 << 30, "gpu": 2, "pods": 6}))
        for name in QUEUES[:3]:
            self.put_queue(Queue(name, name))
        for spec in specs:
            self.gang_comes(spec)

    def put_node(self, facts: NodeFacts) -> None:
        self.nodes[facts.name] = facts
        self.cluster.put_node(facts)

    def put_queue(self, queue: Queue) -> None:
        self.queues[queue.id] = queue
        self.cluster.put_queue(queue)

    def put_gang(self, facts: GangFacts) -> None:
        self.gangs[facts.id] = facts
        self.cluster.put_gang(facts)

    def put_task(self, facts: TaskFacts) -> None:
        self.tasks[facts.id] = facts
        self.cluster.put_task(facts)

    @rule(
        name=st.sampled_from(NODES),
        uid=st.sampled_from("112"),
        cpu=amount,
        gpu=few,
        pods=st.integers(1, 8),
        ready=st.booleans(),
        cordoned=st.booleans(),
    )
    def node_comes_or_changes(
        self, name: str, uid: str, cpu: int, gpu: int, pods: int, ready: bool, cordoned: bool
    ) -> None:
        room = {"cpu": cpu * 1000, "memory": 8 << 30, "gpu": gpu, "pods": pods}
        self.put_node(NodeFacts(name, uid, room, ready=ready or name == "n1", unschedulable=cordoned))

    @rule(name=st.sampled_from(NODES))
    def node_goes(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.cluster.remove_node(name)

    @rule(
        name=st.sampled_from(QUEUES),
        parent=st.sampled_from(["", "root", "qa", "qb", "gone"]),
        weight=few,
        capability=st.sampled_from([{}, {"cpu": 3000}, {"cpu": 1000, "pods": 2}, {"gpu": 0}, {"cpu": -1}]),
        deserved=st.sampled_from([{}, {"cpu": 2000}, {"gpu": 1}, {"cpu": 9000, "gpu": 9}]),
        guarantee=st.sampled_from([{}, {}, {"cpu": 2000}, {"cpu": 99000}]),
        flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
        priority=few,
    )
    def queue_comes_or_changes(
        self,
        name: str,
        parent: str,
        weight: int,
        capability: dict[str, int],
        deserved: dict[str, int],
        guarantee: dict[str, int],
        flags: tuple[bool, bool, bool],
        priority: int,
    ) -> None:
        queue = Queue(name, name, parent, weight, capability, guarantee, deserved, priority)
        queue.open, queue.fifo, queue.reclaimable = flags[0] or name == "qa", flags[1], flags[2]
        self.put_queue(queue)

    @rule(name=st.sampled_from(QUEUES))
    def queue_goes(self, name: str) -> None:
        self.queues.pop(name, None)
        self.cluster.remove_queue(name)

    @rule(specs=st.lists(gang_specs, min_size=1, max_size=3))
    def gangs_come(self, specs: list[GangSpec]) -> None:
        for spec in specs:
            self.gang_comes(spec)

    def gang_comes(self, spec: GangSpec) -> None:
        self.made += 1
        id = f"g{self.made}"
        wanted = {"cpu": spec.minimum * spec.cpu * 1000} if spec.needs else None
        facts = GangFacts(
            id,
            f"ns{self.made % 2}",
            id,
            spec.queue,
            spec.minimum,
            minimum_resources=wanted,
            priority=spec.priority,
            created=self.clock,
            phase=spec.phase,
        )
        if spec.known:
            self.put_gang(facts)
        for index in range(spec.minimum + spec.more):
            name = f"{id}-{index}"
            asked = {"cpu": spec.cpu * 1000, "gpu": spec.gpu}
            self.put_task(
                TaskFacts(name, facts.namespace, name, id, asked, priority=index % 2, created=self.clock)
            )
        if not spec.known:
            self.put_gang(facts)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), node=st.sampled_from([*NODES, "elsewhere"]))
    def task_is_placed_by_another(self, data: st.DataObject, node: str) -> None:
        task = self.some_task(data)
        if task.state is State.PENDING:
            self.put_task(msgspec.structs.replace(task, state=State.RUNNING, node=node))

    @precondition(lambda self: self.tasks)
    @rule(
        data=st.data(),
        state=st.sampled_from([State.BOUND, State.RUNNING, State.RUNNING, State.RELEASING, State.SUCCEEDED]),
    )
    def task_goes_on(self, data: st.DataObject, state: State) -> None:
        task = self.some_task(data)
        if task.state in ON_NODE:
            self.put_task(msgspec.structs.replace(task, state=state))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), gone=st.booleans())
    def bind_fails_or_task_goes(self, data: st.DataObject, gone: bool) -> None:
        task = self.some_task(data)
        if gone:
            del self.tasks[task.id]
            self.cluster.remove_task(task.id)
        elif task.state is State.BINDING:
            self.put_task(msgspec.structs.replace(task, state=State.PENDING, node=""))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), gated=st.booleans(), cpu=amount)
    def task_changes(self, data: st.DataObject, gated: bool, cpu: int) -> None:
        task = self.some_task(data)
        if task.state is State.PENDING:
            self.put_task(msgspec.structs.replace(task, gated=gated, amounts={**task.amounts, "cpu": cpu * 1000}))

    @precondition(lambda self: self.gangs)
    @rule(data=st.data(), minimum=few)
    def gang_changes(self, data: st.DataObject, minimum: int) -> None:
        gang = self.gangs[data.draw(st.sampled_from(sorted(self.gangs)))]
        self.put_gang(msgspec.structs.replace(gang, minimum=minimum))

    @precondition(lambda self: self.gangs)
    @rule(data=st.data())
    def gang_is_forgotten(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.gangs)))
        del self.gangs[id]
        self.cluster.remove_gang(id)

    @rule()
    def everything_is_told_again(self) -> None:
        self.tell(self.cluster)

    def some_task(self, data: st.DataObject) -> TaskFacts:
        return self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]

    def tell(self, cluster: Cluster, *, backwards: bool = False) -> None:
        """All facts, in one order or the other."""
        steps: list[tuple[Callable[[Any], object], Any]] = [
            *((cluster.put_node, each) for each in self.nodes.values()),
            *((cluster.put_queue, each) for each in self.queues.values()),
            *((cluster.put_gang, each) for each in self.gangs.values()),
            *((cluster.put_task, each) for each in self.tasks.values()),
        ]
        for put, facts in reversed(steps) if backwards else steps:
            put(facts)

    # --- cycles ----------------------------------------------------------------------------------------------

    @rule(names=st.lists(st.sampled_from(sorted(PROFILES)), min_size=1, max_size=3), start=st.booleans())
    def cycles(self, names: list[str], start: bool) -> None:
        for name in names:
            self.cycle(name)
        if start:
            for task in [each for each in self.tasks.values() if each.state is State.BINDING]:
                self.put_task(msgspec.structs.replace(task, state=State.RUNNING))

    @rule(name=st.sampled_from(["evicting", "pushing", "pushing", "quotas", "tree", "fair-tree"]), spec=gang_specs)
    def something_important_comes(self, name: str, spec: GangSpec) -> None:
        self.gang_comes(msgspec.structs.replace(spec, priority=9, phase=Phase.INQUEUE))
        self.cycle(name)

    def cycle(self, name: str) -> None:
        self.clock += 60
        afresh = Cluster()
        self.tell(afresh, backwards=True)
        decisions = run_cycle(self.cluster, PROFILES[name], self.clock)
        self.cluster.validate()
        assert not [each.trace for each in decisions if isinstance(each, Failure)]
        self.check_binds(decisions, name)
        again = run_cycle(afresh, PROFILES[name], self.clock)
        difference = set(map(str, decisions)) ^ set(map(str, again))
        assert not difference, f"I8 {difference}"
        self.carry_out(decisions)

    def carry_out(self, decisions: list[Decision]) -> None:
        for each in decisions:
            match each:
                case Bind():
                    task = self.tasks[each.task]
                    self.put_task(msgspec.structs.replace(task, state=State.BINDING, node=each.node, nominated=""))
                case Evict():
                    self.put_task(msgspec.structs.replace(self.tasks[each.task], state=State.RELEASING))
                case Nominate():
                    self.put_task(msgspec.structs.replace(self.tasks[each.task], nominated=each.node))
                case GangPhase():
                    self.put_gang(msgspec.structs.replace(self.gangs[each.gang], phase=each.phase))

    def check_binds(self, decisions: list[Decision], name: str) -> None:
        cluster = self.cluster
        binds = [each for each in decisions if isinstance(each, Bind)]
        assert len({each.task for each in binds}) == len(binds), "I2"
        for each in binds:
            reported, task = self.tasks[each.task], cluster.tasks[each.task]
            assert reported.state is State.PENDING, "I2"
            assert not reported.gated, "I2"
            assert self.nodes[each.node].ready, "I2"
            assert task.row == cluster.nodes.rows[each.node], "I2"
            for column, _ in task.cls.request.pairs:
                assert cluster.nodes.used[task.row, column] <= cluster.nodes.allocatable[task.row, column], "I1"
            gang = task.gang
            assert name in BREAKING or gang.ready + gang.pending_best_effort >= gang.minimum, "I4"
            if name in LIMITED:
                self.check_limits(gang.queue, task.cls.request.columns, tree=name == "tree")
        for evicted in (each for each in decisions if isinstance(each, Evict)):
            assert self.tasks[evicted.task].state in HOLDING
        if name == "plain":
            self.check_nothing_left()

    def check_limits(self, queue: str, columns: list[int], *, tree: bool) -> None:
        lines = QueueTree(self.queues).to_root
        for above in lines[queue] if tree else [queue]:
            capability = self.queues[above].capability if above in self.queues else {}
            for resource, limit in capability.items():
                column = self.cluster.dimensions.find(resource)
                if column not in columns or (limit <= 0 and resource == "cpu"):
                    continue
                held = sum(
                    task.cls.request.amount(column)
                    for task in self.cluster.tasks.values()
                    if task.state in HOLDING
                    and task.gang.queue in lines
                    and above in lines[task.gang.queue][: None if tree else 1]
                )
                assert held <= limit, "I5"

    def check_nothing_left(self) -> None:
        """I7: with nobody but the gang to ask, a lone task that fits somewhere now does not wait.

        Where others are promised a place the room may be theirs.
        """
        nodes = self.cluster.nodes
        free = np.ones(nodes.count, dtype=bool)
        free[[task.nominated for task in self.cluster.tasks.values() if task.nominated >= 0]] = False
        for gang in self.cluster.gangs.values():
            if gang.queue not in self.queues or self.queues[gang.queue].fifo or gang.ready < gang.minimum - 1:
                continue
            for task in gang.tasks.values():
                if task.state is State.PENDING and not task.gated and not task.best_effort:
                    enough = len(gang.tasks) - gang.counts[State.RELEASING] >= gang.minimum
                    assert not enough or not np.any(nodes.fits(task.cls.request) & free), f"I7 {task}"

    # --- always ------------------------------------------------------------------------------------------------

    @invariant()
    def sums_are_right(self) -> None:
        self.cluster.validate()
        assert set(self.cluster.tasks) == set(self.tasks)
        assert set(self.cluster.gangs) == set(self.gangs)
        for id, reported in self.tasks.items():
            task = self.cluster.tasks[id]
            assert task.state is reported.state, "I3"
            there = self.cluster.nodes.rows.get(reported.node, -1) if reported.state in ON_NODE else -1
            assert task.row == there, "I3"

    @rule()
    def the_model_equals_one_made_afresh(self) -> None:
        afresh = Cluster()
        self.tell(afresh, backwards=True)
        assert sums(afresh) == sums(self.cluster), "I6"
        for id, gang in self.cluster.gangs.items():
            assert afresh.gangs[id].counts == gang.counts, "I6"
            assert afresh.gangs[id].pending_best_effort == gang.pending_best_effort, "I6"


def sums(cluster: Cluster) -> dict[tuple[str, str, str], int]:
    """Everything that is used and leaving, by names."""
    found = {}
    for name, row in cluster.nodes.rows.items():
        for column, resource in enumerate(cluster.dimensions.names):
            for kind, table in (("used", cluster.nodes.used), ("releasing", cluster.nodes.releasing)):
                if column < table.shape[1] and table[row, column]:
                    found[name, resource, kind] = int(table[row, column])
    return found


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=500, stateful_step_count=15, deadline=None)
