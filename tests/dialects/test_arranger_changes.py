"""TYJobs while others change them, their pods, their nodes and their queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.dialects import DIALECTS
from podium.dialects.arranger.names import JOB, ROLE
from podium.kube.admission import Hook, Surroundings
from podium.kube.pod_script import EXIT_CODE, RUN_SECONDS, START_SECONDS
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Pod
from podium.runtime.configuration import embedded_profiles
from podium.sim.virtual import VirtualCluster
from tests.dialects.arranger_stage import (
    add_node,
    add_used,
    change,
    cluster,
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

SLOW = {START_SECONDS: "20"}


def pods(virtual: VirtualCluster) -> dict[str, str]:
    """All pods of the job, by what they are called in it, and their phases."""
    found = [each for each in virtual.server.objects(PODS) if isinstance(each, Pod)]
    return {each.name.removeprefix("j-"): each.status.phase for each in found if each.name.startswith("j-")}


# --- the job -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("stage", ["Starting", "Rescheduling"])
def test_counts_change_in_each_stage(stage: str, number: int) -> None:
    if stage == "Starting":
        virtual = start(job(leader=leads(annotations=SLOW), workers=workers(2)), ("n1", 8, 16))
    else:
        virtual = start(job(workers=workers(2)), ("n1", 8, 16))
        virtual.run(5.0)
        lose(virtual, "n1")
    assert standing(virtual, 10.0)[0] == stage
    change(virtual, counts(number))
    assert standing(virtual, 15.0) == (stage, found(virtual).status.schedule_state, f"0/{number}")
    if stage == "Rescheduling":
        add_node(virtual, "n2", 8, 16)
    assert standing(virtual, 60.0) == ("Running", "ScheduledSucceed", f"{number}/{number}")
    assert running(virtual) == places(found(virtual))
    assert len(running(virtual)) == 1 + number


def test_a_leader_of_another_name_takes_over() -> None:
    """It is another pod, and so it counts as a restart; it stays where the first one was."""
    virtual = start(job())
    virtual.run(5.0)
    change(virtual, {"leader": {"name": "boss", "template": template()}})
    assert standing(virtual, 10.0) == ("Running", "ScheduledSucceed", "1/1")
    assert running(virtual) == places(found(virtual)) == {"boss": "n1", "w-0": "n1"}
    assert found(virtual).status.restarts == 1


@pytest.mark.parametrize("clean", ["All", "Running", "None"])
def test_a_job_is_asked_to_end_while_it_looks_for_new_places(clean: str) -> None:
    virtual = start(job(cleanPodPolicy=clean), ("n1", 8, 16))
    virtual.run(5.0)
    lose(virtual, "n1")
    assert standing(virtual, 15.0)[0] == "Rescheduling"
    change(virtual, {"terminating": True})
    assert standing(virtual, 20.0)[0] == "Succeeded"
    assert found(virtual).status.reason == "Terminating"


LEFT = {
    "All": {},
    "Running": {"leader": "ended", "done-0": "Succeeded"},
    "None": {"leader": "ended", "done-0": "Succeeded", "busy-0": "Running"},
}


@pytest.mark.parametrize("clean", LEFT)
@pytest.mark.parametrize(("code", "stage"), [("0", "Succeeded"), ("1", "Failed")])
def test_what_is_cleaned_however_a_job_ends(code: str, stage: str, clean: str) -> None:
    ending = leads(annotations={RUN_SECONDS: "10", EXIT_CODE: code}, restartPolicy="Never")
    sets = {"done": (1, template(annotations={RUN_SECONDS: "3"})), "busy": (1, template())}
    virtual = start(job(leader=ending, workers=sets, restartLimit=0, cleanPodPolicy=clean))
    assert standing(virtual, 60.0)[0] == stage
    assert pods(virtual) == {name: stage if phase == "ended" else phase for name, phase in LEFT[clean].items()}


# --- pods that somebody's admission has changed ------------------------------------------------------------------


def _with_admission(of: str, spoil: Callable[[Document], None]) -> VirtualCluster:
    """A cluster that changes the pods of one role as they are made: n1 is fuller, n2 has the faster disk."""

    def mutate(pod: Document, old: Document | None, around: Surroundings) -> None:
        labels = pod["metadata"].get("labels") or {}
        if old is None and JOB in labels and labels.get(ROLE) == of:
            spoil(pod["spec"])

    first, *others = DIALECTS
    dialects = (msgspec.structs.replace(first, hooks=(*first.hooks, Hook(PODS, mutate=mutate))), *others)
    virtual = VirtualCluster(embedded_profiles(), dialects)
    add_node(virtual, "n1", 8, 16, labels={"disk": "hdd"})
    add_node(virtual, "n2", 8, 16, labels={"disk": "ssd"})
    add_used(virtual, "n1", 3, 1)
    return virtual


def _selects(spec: Document) -> None:
    spec["nodeSelector"] = {"disk": "ssd"}


def _asks_for(cpu: str) -> Callable[[Document], None]:
    def grow(spec: Document) -> None:
        spec["containers"][0]["resources"]["requests"]["cpu"] = cpu

    return grow


@pytest.mark.parametrize("basic", ["BinPack", "Gang"])
@pytest.mark.parametrize("spoil", [_selects, _asks_for("6")], ids=["selector", "size"])
@pytest.mark.parametrize("of", ["leader", "worker"])
def test_a_pod_that_no_longer_fits_its_place_is_placed_anew(
    of: str, spoil: Callable[[Document], None], basic: str
) -> None:
    virtual = _with_admission(of, spoil)
    virtual.server.apply(job(schedulerPolicy=policy(basic)))
    assert standing(virtual, 20.0) == ("Running", "ScheduledSucceed", "1/1")
    moved, stays = ("leader", "w-0") if of == "leader" else ("w-0", "leader")
    assert running(virtual) == places(found(virtual)) == {moved: "n2", stays: "n1"}


def test_a_pod_that_fits_nowhere_any_more_fails_the_job() -> None:
    virtual = _with_admission("worker", _asks_for("64"))
    virtual.server.apply(job())
    assert standing(virtual, 20.0)[:2] == ("Failed", "ScheduledFailed")
    assert pods(virtual) == {}


# --- nodes -------------------------------------------------------------------------------------------------------


def test_a_node_is_closed_while_the_leader_starts() -> None:
    """Places without pods move; the leader stays where it is."""
    virtual = start(job(leader=leads(annotations=SLOW), workers=workers(2)))
    virtual.run(5.0)
    virtual.server.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
    assert standing(virtual, 60.0) == ("Running", "ScheduledSucceed", "2/2")
    assert running(virtual) == places(found(virtual)) == {"leader": "n1", "w-0": "n2", "w-1": "n2"}


def test_a_node_is_drained() -> None:
    virtual = start(job(workers=workers(2), minWorkersNum=2))
    virtual.run(5.0)
    virtual.server.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
    for name in ("leader", "w-0", "w-1"):
        virtual.server.delete(PODS, "default", f"j-{name}")
    assert standing(virtual, 20.0) == ("Running", "ScheduledSucceed", "2/2")
    assert running(virtual) == places(found(virtual)) == {"leader": "n2", "w-0": "n2", "w-1": "n2"}
    assert found(virtual).status.restarts == 1


@pytest.mark.parametrize("when", [3.0, 5.0], ids=["before its place is dropped", "after that"])
def test_a_leader_that_cannot_come_back_to_its_node_gets_the_room_of_its_workers(when: float) -> None:
    """Its controller makes it again at once, or when there is another place."""
    virtual = start(job(leader=leads(4), workers=workers(3, cpu=4)), *((f"n{index}", 4, 16) for index in range(4)))
    assert standing(virtual, when) == ("Running", "ScheduledSucceed", "3/3")
    home = places(found(virtual))["leader"]
    virtual.server.patch(NODES, "", home, {"spec": {"unschedulable": True}})
    virtual.server.delete(PODS, "default", "j-leader")
    assert standing(virtual, 30.0) == ("Running", "ScheduledPartly", "2/3")
    assert running(virtual) == places(found(virtual))
    assert home not in running(virtual).values()
    assert found(virtual).status.restarts == 1


def test_a_node_that_shrinks_keeps_what_still_fits() -> None:
    virtual = start(job(leader=leads(annotations=SLOW), workers=workers(4)), ("n1", 8, 16))
    virtual.run(5.0)
    room = {"cpu": "3", "memory": "16Gi", "pods": "110"}
    virtual.server.patch(NODES, "", "n1", {"status": {"capacity": room, "allocatable": room}}, "status")
    assert standing(virtual, 15.0) == ("Starting", "ScheduledPartly", "0/4")
    assert standing(virtual, 60.0) == ("Running", "ScheduledPartly", "2/4")
    assert len(places(found(virtual))) == 3


# --- queues ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("basic", "expected"),
    [("BinPack", ("Running", "ScheduledPartly", "2/4")), ("Gang", ("Pending", "Unscheduled", "0/4"))],
)
def test_the_limit_of_a_queue_that_the_templates_name(basic: str, expected: tuple[str, str, str]) -> None:
    """Places count before there are pods."""
    virtual = cluster()
    add_node(virtual, "n1", 8, 16)
    virtual.server.apply(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "limited"},
            "spec": {"capability": {"cpu": "3"}},
        }
    )
    pod = template(annotations={"scheduling.volcano.sh/queue-name": "limited"})
    virtual.server.apply(job(leader=pod, workers={"w": (4, pod)}, schedulerPolicy=policy(basic)))
    assert standing(virtual, 12.0) == expected
    (condition,) = found(virtual).status.conditions or []
    assert "queue limited" in condition.message
