"""TYJobs from their submission to their end on a virtual cluster: scheduler, controller and kubelets together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.dialects.arranger.marks import MARKS
from podium.dialects.arranger.pods import slots_of
from podium.dialects.kubernetes.membership import slot_of
from podium.kube.pod_script import EXIT_CODE, RUN_SECONDS, START_SECONDS
from podium.kube.resources import EVENTS, NODES, PODS
from podium.kube.wire import Pod
from tests.dialects.arranger_stage import (
    ROOMY,
    add_node,
    change,
    counts,
    found,
    job,
    leads,
    lose,
    places,
    policy,
    running,
    standing,
    start,
    template,
    workers,
)

Document = dict[str, Any]


def test_a_pod_of_another_namespace_fills_no_slot() -> None:
    """Whoever knows a job's UID can write it into pods of their own."""
    virtual = start(job())
    virtual.run(1.0)
    pod = next(each for each in virtual.server.objects(PODS) if isinstance(each, Pod) and each.name == "j-w-0")
    slots = {each.id for each in slots_of(found(virtual))}
    assert slot_of(pod, [MARKS]) in slots
    metadata = msgspec.structs.replace(pod.metadata, namespace="strange")
    assert slot_of(msgspec.structs.replace(pod, metadata=metadata), [MARKS]) not in slots


# --- parts and growth --------------------------------------------------------------------------------------------


def test_a_part_runs_at_once_and_the_rest_when_there_is_room() -> None:
    """The period is for deciding: pods for places that were found are bound between two turns."""
    virtual = start(job(workers=workers(4)), ("n1", 3, 16))
    assert standing(virtual, 1.0) == ("Running", "ScheduledPartly", "2/4")
    add_node(virtual, "n2", 8, 16)
    assert standing(virtual, 6.0) == ("Running", "ScheduledSucceed", "4/4")


@pytest.mark.parametrize("pod", ["leader", "w-0"])
def test_a_gang_that_grew_beyond_the_room_has_its_lost_pods_back(pod: str) -> None:
    """All or nothing holds for what is new; not for a pod that had its place."""
    virtual = start(job(workers=workers(2), schedulerPolicy=policy("Gang")), ("n1", 4, 16))
    virtual.run(10.0)
    change(virtual, counts(5))
    assert standing(virtual, 20.0) == ("Running", "ScheduledPartly", "2/5")
    virtual.server.delete(PODS, "default", f"j-{pod}")
    assert standing(virtual, 30.0)[0] == "Running"
    assert running(virtual) == {"leader": "n1", "w-0": "n1", "w-1": "n1"}
    add_node(virtual, "n2", 8, 16)
    assert standing(virtual, 40.0) == ("Running", "ScheduledSucceed", "5/5")


def test_counts_go_up_and_down() -> None:
    virtual = start(job(workers=workers(2)))
    virtual.run(10.0)
    change(virtual, counts(4))
    assert standing(virtual, 20.0) == ("Running", "ScheduledSucceed", "4/4")
    change(virtual, counts(1))
    assert standing(virtual, 40.0) == ("Running", "ScheduledSucceed", "1/1")
    assert set(places(found(virtual))) == set(running(virtual)) == {"leader", "w-0"}


@pytest.mark.parametrize("away", [False, True], ids=["seen", "while the scheduler was away"])
def test_a_part_that_shrinks_to_what_has_places_is_whole(away: bool) -> None:
    virtual = start(job(workers=workers(4)), ("n1", 3, 16))
    assert standing(virtual, 3.0) == ("Running", "ScheduledPartly", "2/4")
    change(virtual, counts(2))
    if away:
        virtual.restart()
    assert standing(virtual, 6.0) == ("Running", "ScheduledSucceed", "2/2")
    (condition,) = found(virtual).status.conditions or []
    assert (condition.reason, condition.message) == ("ScheduledSucceed", "")


def test_places_that_are_no_longer_wanted_are_dropped_before_there_are_pods() -> None:
    slow = leads(annotations={START_SECONDS: "60"})
    virtual = start(job(leader=slow, workers=workers(3)))
    assert standing(virtual, 3.0) == ("Starting", "ScheduledSucceed", "0/3")
    change(virtual, counts(1))
    assert standing(virtual, 6.0) == ("Starting", "ScheduledSucceed", "0/1")
    assert set(places(found(virtual))) == {"leader", "w-0"}


# --- nodes that are lost -----------------------------------------------------------------------------------------


def test_a_job_without_its_leader_holds_no_room_that_the_leader_needs() -> None:
    """Its workers would have to be made again anyway."""
    document = job(leader=leads(2), workers=workers(2, cpu=2))
    virtual = start(document, ("n1", 4, 16), ("n2", 2, 16))
    virtual.run(5.0)
    assert running(virtual) == {"leader": "n2", "w-0": "n1", "w-1": "n1"}
    lose(virtual, "n2")
    stage, state, _ = standing(virtual, 30.0)
    assert (stage, state) == ("Running", "ScheduledPartly")
    assert len(running(virtual)) == 2


def test_a_gang_that_cannot_come_back_holds_nothing() -> None:
    document = job(leader=leads(2), workers=workers(2, cpu=2), schedulerPolicy=policy("Gang"))
    virtual = start(document, ("n1", 4, 16), ("n2", 2, 16))
    virtual.run(5.0)
    assert found(virtual).stage == "Running"
    lose(virtual, "n2")
    assert standing(virtual, 20.0) == ("Rescheduling", "Unscheduled", "0/2")
    assert places(found(virtual)) == {}
    virtual.server.apply(job("other", priority=1))
    virtual.run(30.0)
    assert found(virtual, "other").stage == "Running"


NODE_LOSS: dict[str, tuple[Document, float, str]] = {
    # Of the job, when its node is lost, and in which stage it is by then.
    "pending": (job(leader=leads(5), workers=workers(2, cpu=5), minWorkersNum=2), 3.0, "Pending"),
    "starting": (job(leader=leads(annotations={START_SECONDS: "20"}), workers=workers(2)), 10.0, "Starting"),
    "running": (job(workers=workers(2), minWorkersNum=2), 10.0, "Running"),
}


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("stage", NODE_LOSS)
def test_a_node_is_lost_in_each_stage(stage: str, gone: bool) -> None:
    document, when, expected = NODE_LOSS[stage]
    virtual = start(document, *((("n1", 5, 16), ("n2", 5, 16)) if stage == "pending" else ROOMY))
    assert standing(virtual, when)[0] == expected
    if gone:
        virtual.server.delete(NODES, "", "n1")
    else:
        lose(virtual, "n1")
    if stage == "pending":
        add_node(virtual, "n3", 16, 16)
    assert standing(virtual, 90.0)[:2] == ("Running", "ScheduledSucceed")
    assert "n1" not in places(found(virtual)).values()
    assert running(virtual) == places(found(virtual))
    assert found(virtual).status.restarts == (0 if stage == "pending" else 1)


def test_all_nodes_are_lost_and_one_comes() -> None:
    virtual = start(job(workers=workers(2), minWorkersNum=2))
    virtual.run(10.0)
    for name in ("n1", "n2"):
        virtual.server.delete(NODES, "", name)
    assert standing(virtual, 60.0)[:2] == ("Rescheduling", "Unscheduled")
    add_node(virtual, "n3", 8, 16)
    assert standing(virtual, 80.0) == ("Running", "ScheduledSucceed", "2/2")


# --- ends --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", ["OnFailure", "Never"])
@pytest.mark.parametrize("limit", [0, 2])
def test_a_leader_that_always_fails_is_started_so_often(limit: int, restart: str) -> None:
    """Restarts of its container and pods that are made again count alike."""
    leader = leads(annotations={RUN_SECONDS: "5", EXIT_CODE: "1"}, restartPolicy=restart)
    virtual = start(job(leader=leader, restartLimit=limit))
    assert standing(virtual, 300.0)[0] == "Failed"
    assert found(virtual).status.reason == "LeaderRestartLimitExceeded"
    assert running(virtual) == {}


@pytest.mark.parametrize(("enough", "stage"), [(1, "Running"), (2, "Failed")])
def test_a_worker_set_that_always_fails(enough: int, stage: str) -> None:
    failing = template(annotations={RUN_SECONDS: "5", EXIT_CODE: "1"}, restartPolicy="Never")
    sets = {"a": (1, failing), "b": (1, template())}
    virtual = start(job(workers=sets, restartLimit=1, minWorkersNum=enough))
    assert standing(virtual, 120.0)[0] == stage


@pytest.mark.parametrize(
    ("document", "nodes"),
    [
        pytest.param(job(), (("n1", 1, 16),), id="pending"),
        pytest.param(job(leader=leads(annotations={START_SECONDS: "30"})), ROOMY, id="starting"),
        pytest.param(job(), ROOMY, id="running"),
    ],
)
@pytest.mark.parametrize(("clean", "left"), [("All", False), ("Running", False), ("None", True)])
def test_a_job_is_asked_to_end_in_each_stage(document: Document, nodes: Any, clean: str, left: bool) -> None:
    document = {**document, "spec": {**document["spec"], "cleanPodPolicy": clean}}
    virtual = start(document, *nodes)
    virtual.run(5.0)
    before = len(list(virtual.server.objects(PODS)))
    change(virtual, {"terminating": True})
    assert standing(virtual, 60.0)[0] == "Succeeded"
    assert len(list(virtual.server.objects(PODS))) == (before if left else 0)
    virtual.server.apply(job("next", leads(0.5), {"w": (1, template(0.5))}))
    virtual.run(70.0)
    assert found(virtual, "next").stage == "Running" or left, "its places are free again"


def test_places_without_a_pod_have_no_events_of_their_own() -> None:
    virtual = start(job(workers=workers(2, cpu=64)))
    virtual.run(10)
    bucket = virtual.server.bucket(EVENTS)
    events = [msgspec.json.decode(record.data) for record in bucket.objects.values()] if bucket is not None else []
    assert {each["involvedObject"]["kind"] for each in events} == {"TYJob"}
