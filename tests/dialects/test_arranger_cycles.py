"""What the scheduler makes of TYJobs: places and states, by policy, before there are pods."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.model.model import State
from podium.dialects.arranger.names import INDEX, ROLE, SET, TYJOBS
from podium.dialects.arranger.pods import told_address
from podium.dialects.arranger.types import JobCondition, TYJob
from podium.embedded.store import Record
from podium.kube.changes import Patch
from podium.kube.resources import NODES, PERSISTENTVOLUMECLAIMS, PODS, Resource
from podium.kube.wire import Pod
from podium.sim.virtual import VirtualCluster
from tests.dialects.arranger_stage import (
    add_node,
    add_used,
    allocations,
    cluster,
    found,
    job,
    places,
    policy,
    template,
)

Document = dict[str, Any]


def scene(*nodes: tuple[str, float, float] | tuple[str, float, float, int], **options: Any) -> VirtualCluster:
    """A cluster with nodes and a scheduler, and nobody who makes pods."""
    virtual = cluster(**{"controllers": False, **options})
    for each in nodes:
        add_node(virtual, *each)
    return virtual


def submit(
    virtual: VirtualCluster, document: Document, placed: dict[str, str] | None = None, state: str = ""
) -> None:
    """A job, which may have places already."""
    name = document["metadata"]["name"]
    virtual.server.apply(document)
    if placed:
        status = {"allocations": allocations(placed, name), "scheduleState": state}
        virtual.server.carry_out(Patch(TYJOBS, "default", name, {"status": status}, subresource="status"))


def outcome(virtual: VirtualCluster, name: str = "j", until: float = 1.0) -> tuple[str, dict[str, str]]:
    virtual.run(until)
    view = found(virtual, name)
    return view.status.schedule_state, places(view)


def scheduled(virtual: VirtualCluster) -> JobCondition:
    """The condition that the scheduler writes."""
    (condition,) = found(virtual).status.conditions or []
    return condition


def per_node(virtual: VirtualCluster, name: str = "j") -> list[int]:
    nodes = list(places(found(virtual, name)).values())
    return sorted(nodes.count(each) for each in set(nodes))


def workers(count: int, cpu: float = 1, memory: float = 1, gpu: int = 0) -> dict[str, tuple[int, Document]]:
    return {"w": (count, template(cpu, memory, gpu))}


# --- states ------------------------------------------------------------------------------------------------------


def test_everything_has_its_place() -> None:
    virtual = scene(("n1", 8, 16))
    submit(virtual, job())
    assert outcome(virtual) == ("ScheduledSucceed", {"leader": "n1", "w-0": "n1"})
    condition = scheduled(virtual)
    assert (condition.type, condition.status, condition.reason) == ("Scheduled", "True", "ScheduledSucceed")


def test_nothing_is_scheduled_before_the_period_has_passed() -> None:
    virtual = scene(("n1", 8, 16))
    submit(virtual, job("first"))
    virtual.run(1.0)
    submit(virtual, job())
    assert outcome(virtual, until=3.0) == ("Unscheduled", {})
    assert outcome(virtual, until=6.0) == ("ScheduledSucceed", {"leader": "n1", "w-0": "n1"})


def test_a_part_is_placed_from_the_minimum_on() -> None:
    virtual = scene(("n1", 4, 16))
    submit(virtual, job(leader=template(2), workers=workers(4), minWorkersNum=2))
    assert outcome(virtual) == ("ScheduledPartly", {"leader": "n1", "w-0": "n1", "w-1": "n1"})
    condition = scheduled(virtual)
    assert condition.status == "True"
    assert "Insufficient cpu" in condition.message


def test_below_the_minimum_nothing_is_held() -> None:
    virtual = scene(("n1", 3, 16))
    submit(virtual, job(leader=template(2), workers=workers(4), minWorkersNum=2))
    assert outcome(virtual) == ("Unscheduled", {})
    condition = scheduled(virtual)
    assert condition.status == "False"
    assert "Insufficient cpu" in condition.message
    assert not any(task.state is State.RESERVED for task in virtual.world.cluster.tasks.values())


def test_a_pod_larger_than_any_node_fails_the_job() -> None:
    virtual = scene(("n1", 8, 16), ("n2", 8, 16))
    submit(virtual, job(workers=workers(1, cpu=64)))
    assert outcome(virtual) == ("ScheduledFailed", {})


def test_with_a_deadline_it_waits_for_a_node() -> None:
    virtual = scene(("n1", 8, 16), config="profiles: {arranger: {failAfter: 60s}}")
    submit(virtual, job(workers=workers(1, cpu=64)))
    assert outcome(virtual) == ("ScheduledFailed", {})
    condition = scheduled(virtual)
    assert condition.reason == "NeverFits"
    add_node(virtual, "n2", 64, 64)
    assert outcome(virtual, until=10)[0] == "ScheduledSucceed"


def test_the_deadline_is_for_all_that_wait() -> None:
    virtual = cluster("profiles: {arranger: {failAfter: 60s}}")
    add_node(virtual, "n1", 8, 16)
    add_used(virtual, "n1", 7.5, 1)
    submit(virtual, job())
    virtual.run(50)
    assert (found(virtual).status.schedule_state, found(virtual).stage) == ("Unscheduled", "Pending")
    virtual.run(70)
    assert (found(virtual).status.schedule_state, found(virtual).stage) == ("ScheduledFailed", "Failed")


def test_without_ready_nodes_nobody_fails() -> None:
    virtual = scene()
    submit(virtual, job())
    assert outcome(virtual)[0] == "Unscheduled"


def test_a_part_is_completed_when_room_appears_and_stays_where_it_is() -> None:
    virtual = scene(("n1", 4, 16), ("n2", 4, 16))
    placed = {"leader": "n1", "w-0": "n1", "w-1": "n1"}
    submit(virtual, job(leader=template(2), workers=workers(4)), placed, "ScheduledPartly")
    virtual.restart()
    assert outcome(virtual) == ("ScheduledSucceed", {**placed, "w-2": "n2", "w-3": "n2"})


def test_what_is_scheduled_is_left_alone() -> None:
    virtual = scene(("n1", 8, 16), ("n2", 8, 16))
    placed = {"leader": "n1", "w-0": "n2"}
    submit(virtual, job(schedulerPolicy=policy("JobAffinity")), placed, "ScheduledSucceed")
    virtual.restart()
    assert outcome(virtual, until=20) == ("ScheduledSucceed", placed)


# --- policies ----------------------------------------------------------------------------------------------------


def test_a_gang_with_one_pod_too_many_gets_nothing_and_the_next_job_gets_the_room() -> None:
    virtual = scene(("n1", 3, 16))
    submit(virtual, job("big", priority=9, workers=workers(3), minWorkersNum=1, schedulerPolicy=policy("Gang")))
    submit(virtual, job("tiny", priority=1, schedulerPolicy=policy("Gang")))
    assert outcome(virtual, "big") == ("Unscheduled", {})
    assert outcome(virtual, "tiny") == ("ScheduledSucceed", {"leader": "n1", "w-0": "n1"})


@pytest.mark.parametrize(("minimum", "basic"), [(1, "Gang"), (3, "BinPack")])
def test_a_refusal_says_how_many_must_be_placed(minimum: int, basic: str) -> None:
    virtual = scene(("n1", 3, 16))
    submit(virtual, job(workers=workers(3), minWorkersNum=minimum, schedulerPolicy=policy(basic)))
    outcome(virtual)
    assert "3 of 4 members could be placed" in scheduled(virtual).message


def test_the_scope_of_a_gang_may_be_its_minimum() -> None:
    virtual = scene(("n1", 3, 16), config="profiles: {arranger: {gangScope: min}}")
    submit(virtual, job(workers=workers(3), minWorkersNum=1, schedulerPolicy=policy("Gang")))
    assert outcome(virtual) == ("ScheduledPartly", {"leader": "n1", "w-0": "n1", "w-1": "n1"})


def test_a_gang_with_room_for_everyone_places_everyone() -> None:
    virtual = scene(("n1", 2, 16), ("n2", 2, 16))
    submit(virtual, job(workers=workers(3), minWorkersNum=3, schedulerPolicy=policy("Gang")))
    assert outcome(virtual)[0] == "ScheduledSucceed"
    assert per_node(virtual) == [2, 2]


def test_binpack_fills_one_node_before_the_next() -> None:
    virtual = scene(("n1", 4, 8), ("n2", 4, 8))
    submit(virtual, job(leader=template(1, 2), workers=workers(5, 1, 2), minWorkersNum=5))
    outcome(virtual)
    assert sorted(places(found(virtual)).values()) == ["n1"] * 4 + ["n2"] * 2


def test_leaderfirst_separates_leader_and_workers() -> None:
    virtual = scene(("n1", 16, 32, 4), ("n2", 16, 32, 4))
    add_used(virtual, "n1", 8, 8, 2)
    submit(virtual, job(leader=template(2, 4, 1), workers=workers(2, 2, 2), schedulerPolicy=policy("LeaderFirst")))
    assert outcome(virtual)[1] == {"leader": "n2", "w-0": "n1", "w-1": "n1"}


def test_jobaffinity_keeps_workers_with_the_leader() -> None:
    virtual = scene(("n1", 8, 16), ("n2", 8, 16))
    add_used(virtual, "n1", 5, 10)
    placed = {"leader": "n2", "w-0": "n2"}
    submit(virtual, job(workers=workers(3), schedulerPolicy=policy("JobAffinity")), placed, "ScheduledPartly")
    virtual.restart()
    assert outcome(virtual) == ("ScheduledSucceed", {**placed, "w-1": "n2", "w-2": "n2"})


@pytest.mark.parametrize(
    ("basic", "nodes", "count", "expected"),
    [("JobAffinity", 2, 2, [1, 2]), ("JobAntiAffinity", 3, 2, [1, 1, 1]), ("JobAntiAffinity", 3, 3, [1, 1, 2])],
)
def test_affinity_is_a_wish(basic: str, nodes: int, count: int, expected: list[int]) -> None:
    room = 2 if basic == "JobAffinity" else 8
    virtual = scene(*((f"n{number}", room, 16) for number in range(nodes)))
    submit(virtual, job(workers=workers(count), minWorkersNum=count, schedulerPolicy=policy(basic)))
    assert outcome(virtual)[0] == "ScheduledSucceed"
    assert per_node(virtual) == expected


def test_policies_are_chosen_job_by_job() -> None:
    virtual = scene(*((f"n{number}", 8, 16) for number in range(4)))
    for name, basic in (("near", "JobAffinity"), ("far", "JobAntiAffinity")):
        submit(virtual, job(name, workers=workers(3), minWorkersNum=3, schedulerPolicy=policy(basic)))
    virtual.run(1.0)
    assert (per_node(virtual, "near"), per_node(virtual, "far")) == ([4], [1, 1, 1, 1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{}", {"leader": "n2"}),
        ("{leaderFirst: {leader: {cpu: 1, memory: 1, gpu: 1}}}", {"leader": "n1"}),
    ],
)
def test_weights_of_the_file(options: str, expected: dict[str, str]) -> None:
    virtual = scene(("n1", 32, 64, 8), ("n2", 32, 64, 8), config=f"profiles: {{arranger: {options}}}")
    add_used(virtual, "n1", 4, 8, 4)
    add_used(virtual, "n2", 24, 16)
    submit(virtual, job(leader=template(4, 8, 1), schedulerPolicy=policy("LeaderFirst")))
    assert expected.items() <= outcome(virtual)[1].items()


def test_the_line_may_be_the_same_for_all() -> None:
    """One slot of room: by default Priority jobs go before DRF jobs; the file may say otherwise."""
    for options, first in (("{}", "large"), ("{queuePolicy: DRF}", "small")):
        virtual = scene(("n1", 4, 8), config=f"profiles: {{arranger: {options}}}")
        submit(virtual, job("small", schedulerPolicy=policy(queue="DRF")))
        submit(virtual, job("large", leader=template(2), workers=workers(1, 2), priority=1))
        virtual.run(1.0)
        states = {name: found(virtual, name).status.schedule_state for name in ("small", "large")}
        assert states.pop(first) == "ScheduledSucceed"
        assert set(states.values()) == {"Unscheduled"}


# --- places are held ---------------------------------------------------------------------------------------------


def test_places_are_taken_for_everybody_before_there_are_pods() -> None:
    virtual = scene(("n1", 2, 8))
    submit(virtual, job())
    virtual.run(1.0)
    pod = template(1, 1, schedulerName="volcano")
    virtual.server.apply(
        {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": {"name": "other", "namespace": "default"}}
    )
    virtual.run(20.0)
    other = virtual.server.find(PODS, "default", "other")
    assert other is not None
    assert other.spec.node_name == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("basic", ["BinPack", "Gang"])
def test_pods_of_an_earlier_job_of_the_name_are_not_its_own(basic: str) -> None:
    """It was deleted and made again; garbage collection is late, and they still take their room."""
    virtual = scene(("n1", 4, 16), ("n2", 1, 16))
    owner = {"apiVersion": TYJOBS.api_version, "kind": TYJOBS.kind, "name": "j", "uid": "old", "controller": True}
    for index in range(3):
        labels = {ROLE: "worker", SET: "w", INDEX: str(index)} if index else {ROLE: "leader"}
        metadata = {"name": f"j-{index}", "namespace": "default", "labels": labels, "ownerReferences": [owner]}
        spec = template(1, 1, nodeName="n1", schedulerName="arranger")["spec"]
        virtual.server.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        virtual.server.patch(PODS, "default", f"j-{index}", {"status": {"phase": "Running"}}, subresource="status")
    submit(virtual, job(workers=workers(3), minWorkersNum=2, schedulerPolicy=policy(basic)))
    assert outcome(virtual) == ("Unscheduled", {})
    assert scheduled(virtual).reason == "GangIncomplete"
    for index in range(3):
        virtual.server.delete(PODS, "default", f"j-{index}")
    assert outcome(virtual, until=50)[0] == "ScheduledSucceed"


def test_templates_are_read_as_pods_are() -> None:
    """Selector, taints and claims of a template decide about its place."""
    virtual = scene()
    add_node(virtual, "n1", 8, 16, labels={"disk": "ssd"})
    add_node(virtual, "n2", 8, 16, labels={"disk": "hdd"})
    leader = template(nodeSelector={"disk": "hdd"})
    claiming = template(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    submit(virtual, job(leader=leader, workers={"w": (1, claiming)}))
    state, placed = outcome(virtual)
    assert (state, placed) == ("Unscheduled", {})
    assert "data does not exist" in str(found(virtual).status.conditions)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "v",
        },
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/x"},
            "claimRef": {"name": "data", "namespace": "default"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
                    ]
                }
            },
        },
    }
    virtual.server.apply(volume)
    virtual.server.apply(claim)
    bound = {"status": {"phase": "Bound"}, "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    virtual.server.carry_out(Patch(PERSISTENTVOLUMECLAIMS, "default", "data", {"metadata": bound["metadata"]}))
    virtual.server.carry_out(
        Patch(PERSISTENTVOLUMECLAIMS, "default", "data", {"status": bound["status"]}, subresource="status")
    )
    assert outcome(virtual, until=20) == ("ScheduledSucceed", {"leader": "n2", "w-0": "n1"})


def test_pods_that_ask_for_no_room_have_places_too() -> None:
    virtual = scene(("n1", 8, 16))
    submit(virtual, job(leader=template(0), workers={"w": (2, template(0))}))
    assert outcome(virtual, until=12) == ("ScheduledSucceed", {"leader": "n1", "w-0": "n1", "w-1": "n1"})


def test_a_closed_node_gives_its_reservations_back() -> None:
    virtual = scene(("n1", 8, 16), ("n2", 8, 16))
    submit(virtual, job())
    assert outcome(virtual)[1] == {"leader": "n1", "w-0": "n1"}
    virtual.server.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
    assert outcome(virtual, until=20) == ("ScheduledSucceed", {"leader": "n2", "w-0": "n2"})


# --- lost nodes --------------------------------------------------------------------------------------------------


def _stages(virtual: VirtualCluster) -> list[str]:
    """The stages that a job goes through from now on."""
    seen: list[str] = []

    def listen(resource: Resource, record: Record, gone: bool) -> None:
        if resource.group_resource == TYJOBS.group_resource and not gone:
            view = virtual.server.decode(TYJOBS, record.data)
            assert isinstance(view, TYJob)
            if view.stage not in seen[-1:]:
                seen.append(view.stage)

    virtual.server.listeners.append(listen)
    return seen


def test_with_its_nodes_a_job_loses_its_places_and_gets_new_ones() -> None:
    virtual = cluster()
    for name in ("n1", "n2"):
        add_node(virtual, name, 8, 16)
    submit(virtual, job(workers=workers(2), minWorkersNum=2))
    virtual.run(5.0)
    assert (found(virtual).stage, set(places(found(virtual)).values())) == ("Running", {"n1"})
    seen = _stages(virtual)
    virtual.server.patch(NODES, "", "n1", {"metadata": {"annotations": {"podium.dev/fail": "true"}}})
    virtual.run(60.0)
    view = found(virtual)
    assert (view.stage, view.status.schedule_state) == ("Running", "ScheduledSucceed")
    assert places(view) == {"leader": "n2", "w-0": "n2", "w-1": "n2"}
    assert seen == ["Rescheduling", "Starting", "Running"]
    assert view.status.restarts == 1
    running = [each for each in virtual.server.objects(PODS) if isinstance(each, Pod)]
    assert sorted((each.name, each.spec.node_name) for each in running) == [
        ("j-leader", "n2"),
        ("j-w-0", "n2"),
        ("j-w-1", "n2"),
    ]
    address = view.status.leader_address
    assert {told_address(each) for each in running if each.name != "j-leader"} == {address}


def test_a_lost_worker_beyond_the_minimum_costs_no_more_than_itself() -> None:
    virtual = cluster()
    for name in ("n1", "n2", "n3"):
        add_node(virtual, name, 2, 16)
    submit(virtual, job(workers=workers(3), minWorkersNum=1, schedulerPolicy=policy("JobAntiAffinity")))
    virtual.run(5.0)
    before = places(found(virtual))
    alone = next(node for place, node in before.items() if place != "leader" and node != before["leader"])
    seen = _stages(virtual)
    virtual.server.patch(NODES, "", alone, {"metadata": {"annotations": {"podium.dev/fail": "true"}}})
    virtual.run(60.0)
    view = found(virtual)
    assert seen == ["Running"]
    kept = {place: node for place, node in before.items() if node != alone}
    assert kept.items() <= places(view).items()
    assert alone not in places(view).values()
