"""PodGroups of Koordinator's gangs: phases as the pods stand; and preemption by whole gangs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.model import Mode, State
from podium.dialects.koordinator.names import MIN_AVAILABLE, POD_GROUP, PODGROUPS
from podium.dialects.koordinator.podgroup_controller import PodGroupController
from podium.dialects.koordinator.profile import PROFILE
from podium.dialects.koordinator.types import PodGroup
from podium.kube.cache import Cache
from podium.kube.changes import Patch
from podium.kube.resources import PODS
from podium.kube.wire import Pod
from podium.runtime.configuration import default_profiles
from tests.core.world import World


def status_of(minimum: int, phase: str, pods: dict[str, int], said: str = "", **known: Any) -> dict[str, Any]:
    """What the controller writes into the status of a group with pods in these phases; `Bound` are not started.
    `said`: the minimum by their annotations."""
    cache = Cache()
    for resource in (PODS, PODGROUPS):
        cache.set_synced(resource)
    metadata = {"name": "g", "namespace": "ns", "uid": "g", "resourceVersion": "1"}
    status = {"phase": phase, **known}
    group = msgspec.convert({"metadata": metadata, "spec": {"minMember": minimum}, "status": status}, PodGroup)
    cache.apply(PODGROUPS, group)
    for phase_of_pod, count in pods.items():
        for number in range(count):
            name = f"p-{phase_of_pod.lower()}-{number}"
            bound = phase_of_pod != "Pending"
            document = {
                "metadata": {
                    "name": name,
                    "namespace": "ns",
                    "uid": name,
                    "resourceVersion": "1",
                    "labels": {POD_GROUP: "g"},
                    "annotations": {MIN_AVAILABLE: said},
                },
                "spec": {"nodeName": "n" if bound else ""},
                "status": {"phase": "Pending" if phase_of_pod == "Bound" else phase_of_pod},
            }
            cache.apply(PODS, msgspec.convert(document, Pod))
    outcome = PodGroupController().reconcile(("ns", "g"), cache, 0.0)
    written: dict[str, Any] = {"phase": phase, **known}
    for change in outcome.changes:
        assert isinstance(change, Patch)
        written |= change.patch["status"]
    return written


@pytest.mark.parametrize(
    ("pods", "before", "after"),
    [
        pytest.param({"Running": 2}, "Scheduled", "Running", marks=pytest.mark.case("G01", "both")),
        pytest.param({"Failed": 2}, "Scheduled", "Failed", marks=pytest.mark.case("G02", "both")),
        pytest.param({"Succeeded": 2}, "Scheduled", "Finished", marks=pytest.mark.case("G03", "both")),
        pytest.param({"Bound": 2}, "Scheduling", "Scheduled", marks=pytest.mark.case("G04", "both")),
        ({}, "", "Pending"),
        ({"Pending": 1}, "", "Pending"),
        ({"Pending": 2}, "Pending", "PreScheduling"),
        ({"Bound": 1, "Pending": 1}, "PreScheduling", "Scheduling"),
        ({"Running": 1, "Failed": 1}, "Running", "Failed"),
        ({"Succeeded": 2, "Failed": 1}, "Running", "Finished"),
        ({"Bound": 1, "Succeeded": 1}, "Running", "Scheduled"),
        ({"Succeeded": 1, "Failed": 1}, "Scheduling", "Failed"),
        ({"Pending": 1}, "PreScheduling", "Pending"),
        ({"Pending": 1}, "Scheduling", "Pending"),
        ({"Running": 1}, "Running", "Scheduling"),
        ({}, "Running", "Pending"),
        ({}, "Finished", "Finished"),
        ({}, "Failed", "Failed"),
    ],
)
def test_phases(pods: dict[str, int], before: str, after: str) -> None:
    assert status_of(2, before, pods)["phase"] == after


@pytest.mark.parametrize("ended", ["Finished", "Failed"])
def test_a_group_that_has_ended_stays_so_with_its_pods(ended: str) -> None:
    written = status_of(2, ended, {"Running": 2, "Succeeded": 1}, scheduled=2)
    assert (written["phase"], written["scheduled"], written["running"]) == (ended, 3, 2)
    assert status_of(2, ended, {"Pending": 2})["phase"] == "PreScheduling", "these are pods of another life"


def test_a_group_without_a_minimum_stays_pending() -> None:
    written = status_of(0, "Pending", {"Running": 1, "Succeeded": 1})
    assert (written["phase"], written["scheduled"]) == ("Pending", 2)


@pytest.mark.parametrize(("said", "phase"), [("2", "Running"), ("", "Scheduling"), ("x", "Scheduling")])
def test_the_minimum_is_the_one_that_is_in_force(said: str, phase: str) -> None:
    """Annotations override the group."""
    assert status_of(5, "Scheduling", {"Running": 3}, said=said)["phase"] == phase


def test_a_group_does_not_remember_a_minimum_that_was_overridden() -> None:
    assert "conditions" not in status_of(2, "Scheduling", {"Bound": 2, "Pending": 2}, said="4")


@pytest.mark.parametrize(
    ("before", "pods", "begun"),
    [
        ("Pending", {"Pending": 2}, False),
        ("PreScheduling", {"Pending": 2}, True),
        ("Pending", {"Running": 2}, True),
        ("Scheduling", {"Pending": 1}, False),
    ],
)
def test_when_a_group_was_scheduling_for_the_first_time(before: str, pods: dict[str, int], begun: bool) -> None:
    assert ("scheduleStartTime" in status_of(2, before, pods)) == begun
    known = "2026-01-01T00:00:00Z"
    assert status_of(2, before, pods, scheduleStartTime=known)["scheduleStartTime"] == known


@pytest.mark.case("G09", "head")
def test_counts_that_are_behind_are_corrected() -> None:
    written = status_of(4, "Scheduling", {"Running": 4}, scheduled=3)
    assert (written["phase"], written["scheduled"], written["running"]) == ("Running", 4, 4)


@pytest.mark.case("G11", "head")
def test_who_occupies_a_group_without_pods_stays() -> None:
    written = status_of(0, "Pending", {}, occupiedBy="test")
    assert (written["phase"], written["occupiedBy"]) == ("Pending", "test")


def test_a_group_remembers_that_its_minimum_was_bound() -> None:
    (said,) = status_of(2, "Scheduling", {"Bound": 2})["conditions"]
    assert (said["type"], said["status"]) == ("Satisfied", "True")
    known: dict[str, Any] = {"conditions": [said], "scheduled": 2}
    assert status_of(2, "Running", {"Running": 1, "Pending": 1}, **known)["conditions"] == [said]
    assert status_of(2, "Running", {}, **known)["conditions"] == [], "without pods it ends"


# --- preemption --------------------------------------------------------------------------------------------------

KOORDINATOR = default_profiles()["koord-scheduler"]


def crowded(*running: tuple[str, str], cpu: int = 32_000) -> World:
    world = World()
    for name in ("node-1", "node-2"):
        world.node(name, cpu=cpu)
    for name, node in running:
        world.task(name, at=node, cpu=16_000, gang_priority=1)
    return world


FULL = (("e1", "node-1"), ("e2", "node-1"), ("e3", "node-2"), ("e4", "node-2"))


def pending(
    world: World, *names: str, priority: int = 1000, mode: Mode = Mode.STRICT, preempts: bool = True
) -> None:
    id = world.gang("gang", minimum=len(names), priority=priority, mode=mode)
    for name in names:
        world.task(name, gang=id, cpu=16_000, priority=priority, preempts=preempts)


@pytest.mark.case("J01", "head")
def test_a_gang_makes_room_for_all_of_it() -> None:
    world = crowded(*FULL)
    pending(world, "p1", "p2")
    world.run(KOORDINATOR)
    assert world.evicted == {"e1", "e2"}
    assert world.promised == {"p1": "node-1", "p2": "node-1"}
    assert PROFILE.text


def test_the_youngest_make_room_wherever_they_are() -> None:
    world = World()
    for name in ("node-1", "node-2"):
        world.node(name, cpu=32_000)
    for age, (name, node) in enumerate(FULL):
        id = world.gang(name, priority=1, created=float(age))
        world.task(name, gang=id, at=node, cpu=16_000)
    pending(world, "p1", "p2")
    world.run(KOORDINATOR)
    assert world.evicted == {"e3", "e4"}


@pytest.mark.case("J02", "head")
@pytest.mark.parametrize("holds", [True, False])
def test_a_member_that_has_its_place_keeps_it(holds: bool) -> None:
    world = crowded(("e1", "node-1"), ("e2", "node-1"), ("e4", "node-2"))
    pending(world, "p1", "p2", mode=Mode.NON_STRICT if holds else Mode.STRICT)
    if holds:
        world.cluster.reserve(world.cluster.tasks["ns/p2"], "node-2")
    world.run(KOORDINATOR)
    assert world.evicted == {"e2"}, "there is room for one of them"
    assert set(world.promised.values()) == ({"node-1"} if holds else {"node-1", "node-2"})
    if holds:
        assert world.cluster.tasks["ns/p2"].row == world.cluster.nodes.rows["node-2"]


@pytest.mark.case("J03", "head")
@pytest.mark.parametrize("why", ["never", "no lower", "unresolvable", "nobody", "leaving", "attempted"])
def test_nobody_is_evicted_for_nothing(why: str) -> None:
    world = crowded(*FULL)
    if why == "never":
        pending(world, "p1", "p2", preempts=False)
    elif why == "no lower":
        pending(world, "p1", "p2", priority=1)
    elif why == "unresolvable":
        pending(world, "p1", "p2", "p3", "p4", "p5")
    elif why == "leaving":
        pending(world, "p1", "p2")
        for name in ("e1", "e2"):
            task = world.cluster.tasks[f"ns/{name}"]
            world.cluster.assign(task, State.RELEASING, task.row)
        for name in ("p1", "p2"):
            world.cluster.nominations.put(world.cluster.tasks[f"ns/{name}"], "node-1")
    elif why == "attempted":
        pending(world, "p1", "p2")
        world.run(KOORDINATOR)
        assert world.evicted == {"e1", "e2"}
    world.run(KOORDINATOR)
    assert world.evicted == set()
    assert world.placed == {}


def test_a_gang_is_taken_whole_or_its_surplus_never_the_pod_that_breaks_it() -> None:
    world = World()
    world.node("node-1", cpu=48_000)
    id = world.gang("victims", minimum=2, priority=1)
    for name in ("v1", "v2", "v3"):
        world.task(name, gang=id, at="node-1", cpu=16_000, priority=1)
    pending(world, "p1")
    world.run(KOORDINATOR)
    assert len(world.evicted) == 1, "one is beyond the minimum"
    world = World()
    world.node("node-1", cpu=32_000)
    id = world.gang("victims", minimum=2, priority=1)
    for name in ("v1", "v2"):
        world.task(name, gang=id, at="node-1", cpu=16_000, priority=1)
    pending(world, "p1")
    world.run(KOORDINATOR)
    assert world.evicted == {"v1", "v2"}
