"""Facts come in any order and more than once: the model ends up the same."""

from __future__ import annotations

import gc

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.model.constraints import Attachment, Constraints
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import State
from podium.core.model.resources import CPU
from tests.core.world import World, profile


def node(name: str, cpu: int = 4, uid: str = "1") -> NodeFacts:
    return NodeFacts(name, uid=uid, allocatable={"cpu": cpu * 1000, "memory": 1 << 30, "pods": 10})


def running(id: str, gang: str = "g", node: str = "n1", state: State = State.RUNNING) -> TaskFacts:
    return TaskFacts(id, "ns", id, gang, {"cpu": 1000}, state=state, node=node)


def used(cluster: Cluster, name: str) -> int:
    return int(cluster.nodes.used[cluster.nodes.rows[name], CPU])


def test_a_task_holds_its_room_before_its_gang_is_known() -> None:
    cluster = Cluster()
    cluster.put_node(node("n1"))
    task = cluster.put_task(running("a"))
    assert used(cluster, "n1") == 1000
    assert cluster.gangs == {}
    gang = cluster.put_gang(GangFacts("g", "ns", "g", "q"))
    assert task.gang is gang
    assert gang.ready == 1
    cluster.validate()


def test_a_task_without_its_gang_follows_the_facts() -> None:
    cluster = Cluster()
    cluster.put_node(node("n1"))
    cluster.put_task(TaskFacts("a", "ns", "a", "g", {"cpu": 1000}, gated=True))
    cluster.put_task(running("a"))
    cluster.put_task(running("a", state=State.SUCCEEDED))
    assert used(cluster, "n1") == 0
    cluster.remove_task("a")
    cluster.validate()


def test_a_gang_that_is_gone_leaves_its_tasks_their_room() -> None:
    cluster = Cluster()
    cluster.put_node(node("n1"))
    cluster.put_gang(GangFacts("g", "ns", "g", "q"))
    cluster.put_task(running("a"))
    cluster.remove_gang("g")
    assert cluster.gangs == {}
    assert used(cluster, "n1") == 1000
    cluster.put_gang(GangFacts("g", "ns", "g", "q"))
    assert cluster.gangs["g"].ready == 1
    cluster.remove_gang("g")
    cluster.remove_task("a")
    assert used(cluster, "n1") == 0
    assert cluster.put_gang(GangFacts("g", "ns", "g", "q")).tasks == {}


def test_a_task_comes_before_its_node_and_survives_it() -> None:
    cluster = Cluster()
    cluster.put_gang(GangFacts("g", "ns", "g", "q"))
    cluster.put_task(running("a"))
    cluster.put_node(node("n1"))
    assert used(cluster, "n1") == 1000
    cluster.remove_node("n1")
    cluster.validate()
    cluster.put_node(node("n1", uid="2"))
    assert used(cluster, "n1") == 1000
    cluster.validate()


def test_a_nomination_ends_with_its_node() -> None:
    cluster = Cluster()
    cluster.put_node(node("n1"))
    cluster.put_gang(GangFacts("g", "ns", "g", "q"))
    task = cluster.put_task(TaskFacts("a", "ns", "a", "g", {"cpu": 1000}, nominated="n1"))
    assert task.nominated == cluster.nodes.rows["n1"]
    cluster.remove_node("n1")
    cluster.put_node(node("n2"))
    assert task.nominated == -1


def test_classes_that_no_task_is_of_are_forgotten() -> None:
    world = World()
    kept = world.task("kept", Constraints(selector=(("a", "b"),)))
    for number in range(5000):
        world.task("changing", Constraints(selector=(("number", str(number)),)))
    assert len(list(world.cluster.classes)) < 2000
    assert world.task("again", Constraints(selector=(("a", "b"),))).cls is kept.cls
    numbers = [cls.number for cls in world.cluster.classes]
    assert len(set(numbers)) == len(numbers)


def test_a_turn_leaves_nothing_to_collect() -> None:
    """What knows each other is freed by a collector only, and the scheduler's collector hardly ever looks."""
    world = World()
    for name in ("n1", "n2"):
        world.node(name, cpu=2000)
        world.task(f"low-{name}", at=name, cpu=2000)
    world.task("high", gang_priority=10)
    by = profile(
        ("priority", "gang", "conformance"),
        ("drf", "predicates", "proportion", "nodeorder"),
        actions="enqueue, allocate, backfill, preempt, reclaim",
    )
    gc.collect()
    gc.disable()
    try:
        world.run(by)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_tasks_may_hold_what_no_node_has() -> None:
    """Resources that only running tasks name get columns, too: more of them than there is room for at first."""
    cluster = Cluster()
    cluster.put_node(node("n1"))
    for index in range(3):
        amounts = {f"example.com/r{index}-{number}": 1 for number in range(8)}
        cluster.put_task(TaskFacts(f"t{index}", "ns", "t", "g", amounts, state=State.RUNNING, node="n1"))
    cluster.validate()
    assert cluster.nodes.used[0].sum() == 24 + 3  # and each is one of the pods


def test_a_node_in_the_row_of_another_has_nothing_of_it() -> None:
    world = World()
    world.node("old", {"disk": "ssd"}, images={"app": 1 << 30}, group="g", queue="q")
    world.cluster.remove_node("old")
    world.node("new", {"rack": "1"})
    properties = world.cluster.nodes.properties
    assert world.cluster.nodes.rows == {"new": 0}
    assert properties.images.get("app", {}) == {}
    world.task("t", Constraints(selector=(("disk", "ssd"),)))
    assert world.run(profile(["predicates"])).placed == {}
    world.cluster.validate()


def test_one_row_is_asked_as_all_are() -> None:
    world = World()
    world.node("ready", cpu=2000)
    world.node("not", cpu=2000, ready=False)
    world.node("full", cpu=2000)
    world.node("left", cpu=2000)
    world.task("there", at="full", cpu=1500)
    world.task("leaving", at="left", cpu=1500, state=State.RELEASING)
    nodes = world.cluster.nodes
    for cpu in (500, 501, 2000, 2001):
        request = world.cluster.dimensions.request({"cpu": cpu})
        for future in (False, True):
            alone = [nodes.fits_row(request, row, future=future) for row in range(nodes.count)]
            assert alone == nodes.fits(request, future=future).tolist()
            assert not alone[nodes.rows["not"]]


def test_gangs_follow_the_queue_that_serves_what_they_name() -> None:
    world = World()
    world.cluster.substitutes["gone"] = "q"
    named = world.cluster.gangs[world.gang("named", queue="gone")]
    other = world.cluster.gangs[world.gang("other", queue="else")]
    assert (named.queue, other.queue) == ("q", "else")
    world.queue("gone")
    assert named.queue == "gone"
    assert world.cluster.remove_queue("gone") == [named]
    assert (named.queue, other.queue) == ("q", "else")
    assert world.cluster.remove_queue("gone") == []
    assert world.cluster.remove_queue("q") == []
    world.cluster.validate()


def test_a_volume_that_tasks_share_counts_until_the_last_one_leaves() -> None:
    world = World()
    world.node("a")
    shared = Constraints(attachments=(Attachment("disk", "one"),))
    for name in ("first", "second"):
        world.task(name, shared, at="a")
    row = world.cluster.nodes.rows["a"]
    counts = []
    for name in ("first", "second"):
        counts.append(world.cluster.attachments.counts)
        world.cluster.remove_task(f"ns/{name}")
        world.cluster.validate()
    assert [*counts, world.cluster.attachments.counts] == [{"disk": {row: 1}}, {"disk": {row: 1}}, {}]
