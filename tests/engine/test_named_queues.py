"""A queue may be named by pods and groups of any API: they are then in it, and its limits hold over dialects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.facts import TaskFacts
from podium.dialects import DIALECTS
from podium.dialects.dialect import Dialect
from podium.dialects.kubernetes.membership import Marks, QueueMark
from podium.dialects.upstream.types import PODGROUPS as KUBERNETES_GROUPS
from podium.dialects.volcano.names import QUEUE_NAME, QUEUES
from podium.engine.named_queues import NamedQueues
from podium.engine.world import World
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Object, Pod
from tests.engine.bare import Bare

Document = dict[str, Any]

POOL = "example.com/pool"


def _pool(obj: Object) -> QueueMark | None:
    name = obj.annotations.get(POOL)
    return QueueMark(f"toy/{name}", name, f"pool {name} of Toy") if name else None


TOY = Dialect(name="toy", marks=Marks(queue=_pool))


def stage() -> Bare:
    """A node with room for much more than the queue may hold."""
    bare = Bare()
    capacity = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": capacity, "allocatable": capacity, "conditions": ready}
    bare.put(NODES, {"metadata": {"name": "n"}, "status": status})
    bare.put(QUEUES, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    bare.put(QUEUES, {"metadata": {"name": "limited"}, "spec": {"weight": 1, "capability": {"cpu": "2"}}})
    return bare


def pod(bare: Bare, name: str, group: str = "", node: str = "", **annotations: str) -> None:
    spec: Document = {
        "nodeName": node,
        "schedulerName": "volcano",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
    }
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    bare.put(PODS, {"metadata": {"name": name, "annotations": annotations}, "spec": spec})


def group(bare: Bare, name: str, least: int, **annotations: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
    bare.put(KUBERNETES_GROUPS, {"metadata": {"name": name, "annotations": annotations}, "spec": spec})


@pytest.mark.parametrize("by", ["the group", "its pods"])
def test_a_group_of_another_api_is_in_the_queue_that_is_named(by: str) -> None:
    bare = stage()
    named = {QUEUE_NAME: "limited"}
    group(bare, "big", 3, **(named if by == "the group" else {}))
    for number in range(3):
        pod(bare, f"big-{number}", "big", **(named if by == "its pods" else {}))
    group(bare, "free", 3)
    for number in range(3):
        pod(bare, f"free-{number}", "free")
    bare.settle()
    assert bare.world.cluster.gangs["upstream/default/big"].queue == "volcano/limited"
    assert sorted(bare.placed) == ["free-0", "free-1", "free-2"]  # three do not fit into a queue of two CPUs
    assert "limited" in bare.told["big-0"]


def test_what_another_api_holds_counts_for_everybody_in_the_queue() -> None:
    bare = stage()
    group(bare, "pair", 2, **{QUEUE_NAME: "limited"})
    for number in range(2):
        pod(bare, f"pair-{number}", "pair")
    bare.settle()
    pod(bare, "late", **{QUEUE_NAME: "limited"})
    pod(bare, "elsewhere")
    bare.settle()
    assert sorted(bare.placed) == ["elsewhere", "pair-0", "pair-1"]


@pytest.mark.parametrize("when", ["before its group is seen", "after its group is gone"])
def test_what_a_gang_holds_counts_in_its_pods_queue_while_its_group_is_not_there(when: str) -> None:
    bare = stage()
    if when == "after its group is gone":
        group(bare, "pair", 2)
    for number in range(2):
        pod(bare, f"pair-{number}", "pair" if when == "after its group is gone" else "", **{QUEUE_NAME: "limited"})
    bare.settle()
    assert len(bare.placed) == 2
    for number in range(2):  # a controller writes their group on them, and its own watch is behind
        pod(bare, f"pair-{number}", "pair", node="n", **{QUEUE_NAME: "limited"})
    if when == "after its group is gone":
        bare.gone(KUBERNETES_GROUPS, "pair")
    bare.settle()
    pod(bare, "late", **{QUEUE_NAME: "limited"})
    pod(bare, "elsewhere")
    bare.settle()
    assert sorted(bare.placed) == ["elsewhere", "pair-0", "pair-1"]
    assert bare.world.cluster.recount_accounts() == 0


def test_the_group_goes_before_its_pods_and_the_oldest_pod_before_others() -> None:
    bare = stage()
    gangs = bare.world.cluster.gangs
    group(bare, "g", 2)
    pod(bare, "b", "g", **{QUEUE_NAME: "limited"})
    bare.settle(0)
    assert gangs["upstream/default/g"].queue == "volcano/limited"
    pod(bare, "a", "g", **{QUEUE_NAME: "default"})  # as old, and before it by name
    bare.settle(0)
    assert gangs["upstream/default/g"].queue == "volcano/default"
    pod(bare, "a", "g")
    bare.settle(0)
    assert gangs["upstream/default/g"].queue == "volcano/limited"
    group(bare, "g", 2, **{QUEUE_NAME: "default"})
    bare.settle(0)
    assert gangs["upstream/default/g"].queue == "volcano/default"


def test_a_queue_that_nobody_names_any_more() -> None:
    bare = stage()
    pod(bare, "a", "g", **{QUEUE_NAME: "limited"})  # before its group
    group(bare, "g", 1)
    gang = bare.world.cluster.gangs["upstream/default/g"]
    assert gang.queue == "volcano/limited"
    known = bare.world.cache.get(PODS, "default", "a")
    assert known is not None
    bare.world.forget(PODS, known)
    assert gang.queue == ""


def test_two_queues_that_disagree_are_both_named() -> None:
    world = World((*DIALECTS, TOY))
    for name, marks in {"both": {QUEUE_NAME: "a", POOL: "b"}, "one": {POOL: "b"}}.items():
        metadata = {"name": name, "uid": name, "namespace": "default", "annotations": marks}
        document = {"metadata": metadata, "spec": {"schedulerName": "volcano"}}
        world.observe(PODS, msgspec.convert(document, type=Pod))
    reported = "it names queue a of Volcano and pool b of Toy, and can be in one queue only"
    assert reported in str(world.refused["both"])
    assert world.cluster.gangs["pod/one"].queue == "toy/b"
    assert "one" not in world.refused


def test_a_group_that_names_two_queues_is_not_scheduled() -> None:
    world = World((*DIALECTS, TOY))
    metadata = {"name": "g", "uid": "g", "namespace": "default", "annotations": {QUEUE_NAME: "a", POOL: "b"}}
    world.observe(KUBERNETES_GROUPS, msgspec.convert({"metadata": metadata}, type=world.views[KUBERNETES_GROUPS]))
    assert "pool b of Toy" in str(world.cluster.gangs["upstream/default/g"].fault)


def test_queues_know_their_dialect() -> None:
    queues = stage().world.cluster.queues
    assert {queue.name: queue.dialect for queue in queues.values()} == {
        "none": "",
        "Default": "aibee",
        "default": "volcano",
        "limited": "volcano",
    }


def test_a_member_that_moves_to_another_gang_takes_its_word_along() -> None:
    queues = NamedQueues()
    assert queues.of("x") is None  # its API has queues of its own, or nobody has seen it
    assert (queues.put_group("x", ""), queues.put_group("y", "")) == ("", "")
    queues.put_member(TaskFacts("1", "default", "p", "x"), "q")
    assert (queues.of("x"), queues.of("y")) == ("q", "")
    queues.put_member(TaskFacts("1", "default", "p", "y"), "q")
    assert (queues.of("x"), queues.of("y")) == ("", "q")
    queues.drop_member("1")
    assert queues.of("y") == ""


def member(id: str, gang: str, created: float = 0.0) -> TaskFacts:
    return TaskFacts(id, "default", id, gang, created=created)


def test_the_queue_of_a_scheduler_for_pods_that_name_none() -> None:
    queues = NamedQueues()
    assert queues.put_group("g", "") == ""
    queues.put_member(member("old", "g"), "", "usual")
    assert queues.of("g") == "usual"
    queues.put_member(member("young", "g", created=9.0), "named", "usual")
    assert queues.of("g") == "named"
    queues.put_member(member("young", "g", created=9.0), "")
    assert queues.of("g") == "usual"
    queues.put_member(member("old", "g"), "")
    assert queues.of("g") == ""


def test_the_usual_queue_of_an_api_gives_way_to_names_that_go_before_it() -> None:
    queues = NamedQueues()
    assert queues.put_group("g", "", usual="usual") == "usual"
    queues.put_member(member("old", "g"), "q", "of its scheduler")
    assert queues.of("g") == "usual"
    queues.put_member(member("young", "g", created=9.0), "pool", over=True)
    assert queues.of("g") == queues.of_stranger("g") == "pool"
    assert queues.put_group("g", "by its object", usual="usual") == "by its object"
    queues.drop_group("g")
    assert queues.of("g") is None
    assert queues.of_stranger("g") == "pool"
    assert queues.put_group("g", "") == "q", "its API has no queues now: the oldest member's word counts"
    queues.drop_member("young")
    assert queues.of_stranger("g") == "q", "nothing goes before what its API may have"
    queues.drop_member("old")
    assert queues.of_stranger("g") == queues.of_stranger("nobody") == ""
