"""What observed objects mean to the model, and to those that wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang, State
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.engine.records import Bound
from podium.engine.scheduler import CHECK_SECONDS, Scheduler
from podium.engine.world import World
from podium.kube.resources import (
    NAMESPACES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    RESOURCEQUOTAS,
    Resource,
)
from podium.kube.wire import Object, Pod, struct_of
from tests.core.world import profile
from tests.engine.bare import Bare
from tests.engine.stage import Stage

PLAIN = profile(["gang"], ["predicates"])


class Seen(World):
    """A world that is shown documents."""

    def __init__(self) -> None:
        super().__init__(DIALECTS)
        self.serve({"volcano"})
        self._count = 0
        self.show(NODES, "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
        self.take_cluster_events()

    def show(self, resource: Resource, name: str, **fields: Any) -> Object:
        self._count += 1
        metadata = {"name": name, "namespace": "ns" if resource.namespaced else "", "uid": name}
        metadata |= fields.pop("metadata", {}) | {"resourceVersion": str(self._count)}
        view = self.views.get(resource) or struct_of(resource)
        obj: Object = msgspec.convert({"metadata": metadata, **fields}, type=view)
        self.observe(resource, obj)
        return obj

    def pod(self, name: str, node: str = "", *, cpu: str = "1", phase: str = "Pending", **fields: Any) -> Pod:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        spec = {"schedulerName": "volcano", "containers": [container], **({"nodeName": node} if node else {})}
        pod = self.show(PODS, name, spec=spec, status={"phase": phase}, **fields)
        assert isinstance(pod, Pod)
        return pod


@pytest.fixture
def world() -> Seen:
    return Seen()


# --- what is news ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", [PODDISRUPTIONBUDGETS, RESOURCEQUOTAS, NAMESPACES, PRIORITYCLASSES])
def test_everything_that_may_have_been_in_the_way_is_news(world: Seen, resource: Resource) -> None:
    world.show(resource, "x")
    assert world.take_cluster_events().room
    assert not world.take_cluster_events().room


def test_a_pod_that_waits_concerns_its_gang_alone(world: Seen) -> None:
    world.pod("p")
    cluster_events = world.take_cluster_events()
    assert len(cluster_events.gangs) == 1
    assert not cluster_events.room
    assert not cluster_events.growth


def test_a_pod_that_runs_when_it_is_first_seen_has_taken_room(world: Seen) -> None:
    world.pod("p", "n", phase="Running")
    cluster_events = world.take_cluster_events()
    assert cluster_events.growth
    assert not cluster_events.gangs
    world.pod("p", "n", phase="Running", metadata={"labels": {"app": "x"}})
    assert world.take_cluster_events().room, "others may have kept away from it"


def test_a_pod_that_somebody_else_has_placed_concerns_its_gang(world: Seen) -> None:
    world.pod("p")
    world.take_cluster_events()
    world.pod("p", "n")
    cluster_events = world.take_cluster_events()
    assert cluster_events.growth
    assert len(cluster_events.gangs) == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_leaves_its_room(world: Seen, phase: str) -> None:
    world.pod("p", "n", phase="Running")
    world.take_cluster_events()
    world.pod("p", "n", phase=phase)
    assert world.take_cluster_events().room
    world.pod("p", "n", phase=phase)
    assert not world.take_cluster_events().room


# --- binds under way ---------------------------------------------------------------------------------------------


def test_a_bind_that_was_sent_holds_its_room_until_the_watch_shows_it(world: Seen) -> None:
    world.pod("p")
    world.assumed["p"] = Bound("n", "plan")
    world.pod("p", metadata={"labels": {"app": "x"}})
    task = world.cluster.tasks["p"]
    assert (task.state, task.row) == (State.BINDING, 0)
    world.pod("p", "n")
    assert task.gang.tasks["p"].state is State.BOUND
    assert "p" not in world.assumed


def test_one_that_is_evicted_before_its_bind_was_seen_keeps_its_room_whatever_old_events_say(world: Seen) -> None:
    world.pod("p")
    world.assumed["p"] = Bound("n", "plan")
    world.evicting["p"] = None
    for label in ("x", "y"):
        world.pod("p", metadata={"labels": {"app": label}})
        task = world.cluster.tasks["p"]
        assert (task.state, task.row) == (State.RELEASING, 0)
        assert "p" in world.evicting


def test_a_pod_that_is_seen_for_the_first_time_with_a_bind_under_way(world: Seen) -> None:
    world.assumed["p"] = Bound("n", "plan")
    world.pod("p")
    assert world.cluster.tasks["p"].state is State.BINDING


def test_what_a_task_was_promised_stays_while_its_bind_is_under_way(world: Seen) -> None:
    world.pod("p")
    before = world.cluster.tasks["p"].cls
    world.assumed["p"] = Bound("n", "plan")
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": "volcano", "containers": [container], "nodeSelector": {"disk": "ssd"}}
    world.show(PODS, "p", spec=spec)
    assert world.cluster.tasks["p"].cls is before
    del world.assumed["p"]
    world.show(PODS, "p", spec=spec, status={"phase": "Pending"})
    assert world.cluster.tasks["p"].cls is not before


def test_a_pod_that_was_asked_for_is_known_and_an_older_one_is_not_believed(world: Seen) -> None:
    asked = world.pod("p", "n")
    other = Seen()
    other.reread(asked)
    assert other.cache.find(PODS, Pod, ("ns", "p")) is asked
    assert other.cluster.tasks["p"].state is State.BOUND
    newer = world.pod("p", "n", phase="Running")
    world.reread(asked)
    assert world.cache.find(PODS, Pod, ("ns", "p")) is newer
    assert world.cluster.tasks["p"].state is State.RUNNING


# --- groups ------------------------------------------------------------------------------------------------------


def test_a_class_of_priorities_that_comes_later_counts_for_groups_that_name_it(world: Seen) -> None:
    world.show(PODGROUPS, "g", spec={"minMember": 1, "priorityClassName": "high"})
    (gang,) = world.cluster.gangs.values()
    assert gang.priority == 0
    world.show(PRIORITYCLASSES, "high", value=7)
    assert gang.priority == 7


# --- turns -------------------------------------------------------------------------------------------------------


def scheduler() -> Scheduler:
    return Scheduler(World(DIALECTS), {"volcano": PLAIN})


def tied(found: Scheduler, *names: str) -> list[Gang]:
    ids = tuple(f"ns/{name}" for name in names)
    cluster = found.world.cluster
    gangs = [cluster.put_gang(GangFacts(id, "ns", id[3:], "q", together=ids)) for id in ids]
    cluster.settle()
    return gangs


@pytest.mark.parametrize(
    ("chosen", "backing_off", "after"),
    [
        ({"ns/a", "ns/b"}, (), {"ns/a", "ns/b"}),
        ({"ns/b"}, (), {"ns/a", "ns/b"}),  # one is to be looked at: so is the other
        (set(), (), set()),
        ({"ns/c"}, (), {"ns/c"}),
        ({"ns/a", "ns/c"}, (), {"ns/a", "ns/b", "ns/c"}),
        ({"ns/b", "ns/c"}, ("ns/a",), {"ns/c"}),  # one is left alone: so is the other
    ],
)
def test_gangs_that_start_together_are_looked_at_together(
    chosen: set[str], backing_off: tuple[str, ...], after: set[str]
) -> None:
    found = scheduler()
    tied(found, "a", "b")
    for id in backing_off:
        found._backoff.leave_alone(id, 0.0, plan="p")
    assert found._with_partners(chosen) == after


def test_wrong_sums_are_counted_put_right_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.node("n1")
    stage.pod("a")
    stage.settle()
    assert stage.scheduler.counters.drift == 0
    stage.world.cluster.nodes.used[0, 0] += 5
    stage.server.now += CHECK_SECONDS
    stage.pod("b")
    stage.settle()
    assert stage.scheduler.counters.drift == 1
    assert "corrected 1 wrong sums" in caplog.text
    stage.world.cluster.validate()


def test_what_a_scheduler_does_is_counted() -> None:
    stage = Stage()
    stage.node("n1", cpu="2")
    stage.group("g", 2)
    for number in range(2):
        stage.pod(f"g-{number}", "g")
    stage.settle()
    stage.pod("late")
    stage.settle()
    counters = stage.scheduler.counters
    assert counters.bound == 2
    assert len(counters.progress) == 1
    assert sum(counters.refusals.values()) >= 1
    assert counters.turns >= 1


def test_words_come_at_full_pace_when_no_bind_is_under_way() -> None:
    stage = Stage()
    stage.node("n1", cpu="3")
    for number in range(3):
        stage.pod(f"bound-{number}")
    stage.settle()
    assert len(stage.placed) == 3
    stage.server.now += 10
    for number in range(12):
        stage.pod(f"waits-{number}")
    stage.settle(0.3)
    assert all(stage.message(f"waits-{number}") for number in range(12))


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_so_many_turns_and_no_more(turns: int) -> None:
    bare = Bare(turns=turns)
    bare.put(NODES, {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8", "pods": "110"}}})
    bare.put(QUEUES, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    for number in range(3):
        spec = {"schedulerName": "volcano", "containers": [container]}
        bare.put(PODS, {"metadata": {"name": f"p{number}"}, "spec": spec, "status": {"phase": "Pending"}})
        bare.settle()
    assert bool(bare.placed) == bool(turns)
    assert len(bare.placed) <= turns
    assert bare.scheduler.counters.turns == turns
