"""Rules about the scheduler's model: what the objects say that it has seen, and what stands in the API at rest.

Numbers of rules are those of `invariants`: I3, I5 and I6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeAlias

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.recount import recount
from podium.core.model.model import HOLDING, ON_NODE, State, Task
from podium.dialects.kubernetes.translate import state_of
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Node, Pod
from podium.sim.histories.stage import Stage

Fail: TypeAlias = Callable[[str, str], NoReturn]  # a rule, and how it is broken


def check_model(scheduler: Scheduler, fail: Fail) -> None:
    """I3, I5 and I6 against what the scheduler has seen."""
    world = scheduler.world
    cluster = world.cluster
    pods = {pod.uid: pod for pod in world.cache.all(PODS) if isinstance(pod, Pod)}
    known = {id for id, task in cluster.tasks.items() if task.has_pod}
    if pods.keys() != known:
        fail("I6", f"the model has other pods than were seen: {sorted(pods.keys() ^ known)}")
    for uid, pod in pods.items():
        task = cluster.tasks[uid]
        state, node = state_of(pod), pod.spec.node_name
        sent = world.assumed.get(uid)
        allowed: tuple[State, ...] = (state,)
        if sent is not None and state is State.PENDING:
            allowed, state, node = (State.BINDING, State.BOUND), State.BINDING, sent.node
        if uid in world.evicting and state in HOLDING:
            allowed = (State.RELEASING,)
        if task.state is State.RESERVED and state is State.PENDING and sent is None:
            continue  # it holds a place that no pod shows; the sums below count it
        if task.state not in allowed:
            fail("I3", f"{pod.name} is {task.state.name} in the model, not {allowed[0].name}")
        row = cluster.nodes.rows.get(node, -1) if task.state in ON_NODE else -1
        if task.row != row:
            fail("I3", f"{pod.name} holds row {task.row} in the model, not {row} ({node or 'no node'})")
    wrong = recount(cluster)
    if wrong:
        fail("I5", f"{wrong} sums of nodes or queues are not those of their tasks")
    for name, row in cluster.nodes.rows.items():
        node_reported = world.cache.find(NODES, Node, ("", name))
        facts = cluster.nodes.facts[row]
        if node_reported is None or facts is None or facts.uid != node_reported.uid:
            fail("I6", f"the model's node {name} is another one than was seen")


def check_seen(stage: Stage, world: World, fail: Fail) -> None:
    for resource in sorted(world.resources, key=lambda each: each.plural):
        there = {(each.namespace, each.name): each for each in stage.server.objects(resource)}
        known = {(each.namespace, each.name): each for each in world.cache.all(resource)}
        for key in there.keys() | known.keys():
            one, other = there.get(key), known.get(key)
            if one is None or other is None or _version(one) != _version(other):
                what = "was never seen" if other is None else "is gone" if one is None else "has changed"
                fail("I6", f"{resource.kind} {key[1]} {what}, and the scheduler does not know")


def check_afresh(stage: Stage, scheduler: Scheduler, fail: Fail) -> None:
    """The model against one that is made from the API now."""
    afresh = World(stage.dialects)
    for resource in sorted(afresh.resources, key=lambda each: each.plural):
        for obj in stage.server.objects(resource):
            afresh.observe(resource, obj)
    afresh.settle()
    afresh.cluster.settle()
    cluster = scheduler.world.cluster
    cluster.settle()
    # A place that is held for a gang stands in no object: whoever starts anew looks for it again.
    for task in cluster.tasks.values():
        twin = afresh.cluster.tasks.get(task.id)
        if task.state is State.RESERVED and twin is not None:
            afresh.cluster.reserve(twin, cluster.nodes.name(task.row))
    afresh.cluster.settle()
    for what, report in (("tasks", _tasks), ("rooms", _rooms), ("queues", _queues)):
        ours, theirs = report(cluster), report(afresh.cluster)
        if ours != theirs:
            different = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
            first = different[0]
            fail("I6", f"{what} differ from a fresh count: {first} {ours.get(first)} not {theirs.get(first)}")


def _version(obj: object) -> str:
    return str(obj.metadata.resource_version)  # type: ignore[attr-defined]


def _stands(task: Task, cluster: Cluster) -> tuple[str, str, str, int]:
    node = cluster.nodes.name(task.row) if task.row >= 0 else ""
    return task.gang.id, task.state.name, node, task.priority


def _tasks(cluster: Cluster) -> dict[str, object]:
    return {f"{each.namespace}/{each.name}": _stands(each, cluster) for each in cluster.tasks.values()}


def _rooms(cluster: Cluster) -> dict[str, object]:
    """Used and leaving amounts of every node, by names."""
    found: dict[str, object] = {}
    for name, row in cluster.nodes.rows.items():
        for column, resource in enumerate(cluster.dimensions.names):
            numbers = tuple(
                int(table[row, column]) if column < table.shape[1] else 0
                for table in (cluster.nodes.allocatable, cluster.nodes.used, cluster.nodes.releasing)
            )
            if any(numbers):
                found[f"{name} {resource}"] = numbers
    return found


def _queues(cluster: Cluster) -> dict[str, object]:
    names = cluster.dimensions.names
    return {
        f"{id} {names[column]}": amount
        for id, account in cluster.accounts.queues.items()
        for column, amount in account.allocated.items()
        if amount
    }
