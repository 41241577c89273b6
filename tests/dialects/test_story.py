"""From objects to decisions and back to status: what the API families tell the core is enough to schedule by."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.cycle import run_cycle
from podium.core.model.decisions import Bind, Decision, Refuse
from podium.core.profiles.profile import read_profile
from podium.dialects import DIALECTS
from podium.dialects.dialect import Verdict
from podium.dialects.kubernetes.nodes import read_node
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.volcano.types import PodGroup
from podium.kube.wire import Node
from tests.dialects.objects import Document, container, decode, group, pod, queue, reader

VOLCANO = next(each for each in DIALECTS if each.name == "volcano")
(GROUPS,), (QUEUES,) = VOLCANO.groups, VOLCANO.queues

PROFILE = read_profile(
    {
        "actions": "enqueue, allocate, backfill",
        "tiers": [
            {"plugins": [{"name": "priority"}, {"name": "gang"}, {"name": "conformance"}]},
            {
                "plugins": [
                    {"name": name} for name in ("overcommit", "drf", "predicates", "proportion", "nodeorder")
                ]
            },
        ],
    }
)


class World:
    """A model of the cluster, fed by objects."""

    def __init__(self, nodes: int = 2) -> None:
        self.cluster = Cluster()
        self._pods = reader()
        for index in range(nodes):
            allocatable = {"cpu": "4", "memory": "16Gi", "pods": "10"}
            document = {
                "metadata": {"name": f"n{index}", "uid": f"n{index}"},
                "status": {"allocatable": allocatable},
            }
            self.cluster.put_node(read_node(msgspec.convert(document, Node)).facts)
        for name in ("root", "default"):
            self.cluster.put_queue(QUEUES.read(queue(name))[0])

    def group(self, one: PodGroup) -> None:
        facts, refusal = GROUPS.read(one, Priorities())
        assert refusal is None
        self.cluster.put_gang(msgspec.structs.replace(facts, profile="volcano"))

    def pod(self, document: Document) -> None:
        facts = self._pods.read(decode(document))
        if facts.gang is not None:
            self.cluster.put_gang(facts.gang)
        self.cluster.put_task(facts.task)

    def turn(self) -> list[Decision]:
        decisions = run_cycle(self.cluster, PROFILE, 0.0)
        self.cluster.validate()
        return decisions


def members(name: str, count: int, **spec: Any) -> list[Document]:
    marks = {"scheduling.k8s.io/group-name": name, "volcano.sh/task-spec": "worker"}
    return [
        pod(f"{name}-{index}", annotations=marks, containers=[container(cpu="2")], **spec)
        for index in range(count)
    ]


def test_a_gang_and_a_lone_pod_are_placed_and_one_that_is_too_large_waits() -> None:
    world = World()
    small, large = group("small", minMember=2), group("large", minMember=5)
    for one, count in ((small, 2), (large, 5)):
        world.group(one)
        for document in members(one.name, count):
            world.pod(document)
    world.pod(pod("lone", containers=[container(cpu="1")]))
    world.pod(pod("foreign", schedulerName="other", nodeName="n0", containers=[container(cpu="1")]))
    decisions = world.turn()
    bound = {each.task for each in decisions if isinstance(each, Bind)}
    assert bound == {"uid-small-0", "uid-small-1", "uid-lone"}
    refusals = [each for each in decisions if isinstance(each, Refuse)]
    assert {each.gang for each in refusals} == {"volcano/default/large"}
    verdict = Verdict(refusals[-1].refusal, refusals[-1].task)

    gangs = world.cluster.gangs
    patch = GROUPS.patch(small, gangs["volcano/default/small"], None, "1", 0.0)
    assert patch is not None
    assert patch.patch["status"]["phase"] == "Running"
    patch = GROUPS.patch(large, gangs["volcano/default/large"], verdict, "1", 0.0)
    assert patch is not None
    assert patch.patch["status"]["phase"] in ("Pending", "Inqueue")
    (condition,) = patch.patch["status"]["conditions"]
    assert condition["message"] == (
        "3/5 tasks in gang unschedulable: pod group is not ready, 5 Pending, 5 minAvailable; "
        "Pending: 2 Schedulable, 3 Unschedulable. "
        "Origin reason is: 5 members need 10 cpu, and the cluster has 8 in all: it can never start; "
        "2 of 5 members could be placed; "
        "needs 2 cpu on one node: 2 nodes match, the largest free block is 1 on n0; "
        "0/2 nodes are available: 2 Insufficient cpu"
    )


def test_bad_pods_do_not_keep_good_ones_from_their_places() -> None:
    world = World()
    bad = [container(cpu="NaN")]
    for index in range(20):
        world.pod(pod(f"bad-{index}", containers=bad))
    world.pod(pod("good", containers=[container(cpu="1")]))
    assert [each.task for each in world.turn() if isinstance(each, Bind)] == ["uid-good"]


def test_a_group_without_its_queue_waits() -> None:
    world = World()
    world.group(group("g", minMember=1, queue="nowhere"))
    for document in members("g", 1):
        world.pod(document)
    assert not [each for each in world.turn() if isinstance(each, Bind)]
    world.cluster.put_queue(QUEUES.read(queue("nowhere"))[0])
    assert [each for each in world.turn() if isinstance(each, Bind)]


def test_a_closed_queue_places_nothing() -> None:
    world = World()
    world.cluster.put_queue(QUEUES.read(queue("default", status={"state": "Closed"}))[0])
    world.pod(pod("lone", containers=[container(cpu="1")]))
    assert not [each for each in world.turn() if isinstance(each, Bind)]
