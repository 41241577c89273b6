"""Whom turns look at: what is stuck costs nothing, and nothing that could be placed is overlooked."""

from __future__ import annotations

import random
from collections.abc import Set

import pytest

from podium.core.cluster.cluster import Cluster
from podium.core.model.decisions import Bind, GangPhase, Refuse
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Gang, Phase, Queue
from podium.engine.quick_fit import QuickFit
from podium.engine.requeue import FLUSH, PACE, SLOWEST_PACE, ClusterEvents, Look, Requeue
from podium.kube.resources import NODES, PODS
from podium.kube.transport import MERGE_PATCH
from podium.numbers import Cause, Total
from podium.reasons import (
    GANG,
    NO_ROOM,
    SELECTOR,
    TOO_FEW,
    TOO_LARGE,
    UNPLACEABLE,
    Refusal,
    WakeOn,
    both,
    refuse,
)
from tests.engine.stage import Stage

QUEUES = {"q": Queue("q"), "fifo": Queue("fifo", fifo=True)}


def placeless(*causes: Refusal) -> Refusal:
    """No node can take it, each for one of some causes."""
    return refuse(UNPLACEABLE, len(causes), 1, tuple(Cause(cause, 1) for cause in causes))


MISMATCH = refuse(SELECTOR)
FULL = placeless(refuse(NO_ROOM, "cpu"))


class Waiting:
    """Gangs, and an attention that has looked at all of them once."""

    def __init__(self, **refusals: Refusal | None) -> None:
        self.cluster = Cluster()
        self.cluster.queues = QUEUES
        for id in refusals:
            self.add(id)
        self.requeue = Requeue(period=1.0)
        self.look(0.0)
        for id, refusal in refusals.items():
            if refusal is not None:
                self.requeue.decided([Refuse(id, refusal)])
        self.requeue.ended(self.gangs)

    @property
    def gangs(self) -> dict[str, Gang]:
        return self.cluster.gangs

    def add(self, id: str) -> None:
        self.cluster.put_gang(GangFacts(id, "ns", id, "fifo" if id.startswith("fifo") else "q"))
        self.cluster.settle()

    def look(self, now: float, quick_fit: QuickFit | None = None) -> set[str] | None:
        """Who is asked in the turn that is due; None if there is none."""
        look = self.requeue.due(now, bool(self.gangs))
        if look is Look.NOTHING:
            return None
        return self.requeue.begin(look, self.cluster, now, quick_fit)


def test_nothing_happens_nothing_is_asked() -> None:
    waiting = Waiting(a=FULL, b=None)
    assert waiting.look(1.0) is None
    assert waiting.requeue.next_due(waiting=True) == FLUSH
    assert waiting.requeue.next_due(waiting=False) is None


def test_a_new_gang_is_asked_alone() -> None:
    waiting = Waiting(a=FULL, b=None)
    waiting.add("new")
    waiting.requeue.cluster_events.add(ClusterEvents(gangs={"new"}))
    assert waiting.look(1.0) == {"new"}
    assert waiting.look(2.0) is None


@pytest.mark.parametrize(
    ("cluster_events", "asked"),
    [
        (ClusterEvents(room=True), {"room", "silent", "mixed"}),
        (ClusterEvents(nodes=True), {"room", "silent", "labels", "small", "mixed"}),
        (ClusterEvents(gangs={"members"}), {"members"}),
    ],
)
def test_only_news_that_can_lift_a_refusal_matter(cluster_events: ClusterEvents, asked: set[str]) -> None:
    waiting = Waiting(
        room=FULL,
        silent=None,
        labels=placeless(MISMATCH),
        small=placeless(MISMATCH, refuse(TOO_LARGE, "cpu")),
        mixed=placeless(MISMATCH, refuse(NO_ROOM, "cpu")),
        members=refuse(TOO_FEW, need=2, have=1),
    )
    waiting.requeue.cluster_events.add(cluster_events)
    assert waiting.look(1.0) == asked


class NoRoom(QuickFit):
    """Nobody who waits for room has a prospect."""

    def __init__(self) -> None:
        pass

    def without(self, waiting: Set[str]) -> set[str]:
        return set(waiting)


@pytest.mark.parametrize(
    ("cluster_events", "holds", "asked"),
    [
        (ClusterEvents(room=True), False, set()),
        (ClusterEvents(room=True), True, {"a", "b"}),
        (ClusterEvents(room=True, nodes=True), False, {"a", "b"}),
    ],
)
def test_the_quick_look_at_the_room_is_for_when_only_room_has_changed(
    cluster_events: ClusterEvents, holds: bool, asked: set[str]
) -> None:
    """Other nodes may fit now, and places that are held are room for whoever is before their holders."""
    waiting = Waiting(a=FULL, b=FULL)
    if holds:
        waiting.cluster.accounts.holding["c"] = waiting.gangs["a"]
    waiting.requeue.cluster_events.add(cluster_events)
    assert waiting.look(1.0, NoRoom()) == asked


def test_a_gang_waits_for_what_its_tasks_wait_for() -> None:
    assert refuse(GANG, placed=0, need=2, cause=placeless(MISMATCH)).wake_on == {WakeOn.NODES}
    assert refuse(GANG, placed=0, need=2, cause=FULL).wake_on == {WakeOn.ROOM}
    either = both(placeless(MISMATCH), FULL)
    assert either is not None
    assert either.wake_on == {WakeOn.NODES, WakeOn.ROOM}
    assert refuse(GANG, placed=1, need=2, cause=either).wake_on == {WakeOn.NODES, WakeOn.ROOM}


def test_a_gang_for_which_the_cluster_is_too_small_waits_for_nodes() -> None:
    never = Total("gpu", members=10, need=80, total=64)
    assert refuse(GANG, placed=8, need=10, cause=FULL, never=never).wake_on == {WakeOn.NODES}
    holding = refuse(GANG, placed=8, need=10, cause=FULL, never=never, holds=True)
    assert holding.wake_on == {WakeOn.ROOM}, "one that holds what it finds holds what comes free"


def test_a_gang_that_is_refused_twice_in_a_turn_waits_for_either() -> None:
    waiting = Waiting(a=placeless(MISMATCH))
    waiting.requeue.decided([Refuse("a", FULL)])
    waiting.requeue.cluster_events.add(ClusterEvents(room=True))
    assert waiting.look(1.0) == {"a"}
    waiting.requeue.decided([Refuse("a", placeless(MISMATCH))])
    waiting.requeue.cluster_events.add(ClusterEvents(room=True))
    assert waiting.look(2.0) == set()


def test_what_was_bound_does_not_help_who_needs_another_node() -> None:
    waiting = Waiting(a=placeless(MISMATCH), b=FULL)
    waiting.requeue.decided([Bind("t", "n", "other", 1)])
    assert waiting.look(1.0) == {"b"}
    assert waiting.look(1.0 + FLUSH) == {"a", "b"}


def test_what_is_bound_may_be_a_victim_later() -> None:
    waiting = Waiting(a=FULL)
    waiting.requeue.decided([Bind("t", "n", "other", 1)])
    assert waiting.look(0.5) is None
    assert waiting.look(1.0) == {"a"}


def test_time_alone_is_looked_at_now_and_then() -> None:
    waiting = Waiting(a=FULL)
    assert waiting.look(FLUSH - 1) is None
    assert waiting.look(FLUSH) == {"a"}


def test_in_a_queue_that_serves_in_order_nobody_is_overtaken() -> None:
    waiting = Waiting(fifo_first=FULL, a=FULL)
    waiting.add("fifo_second")
    waiting.requeue.cluster_events.add(ClusterEvents(gangs={"fifo_second"}))
    assert waiting.look(1.0) == {"fifo_first", "fifo_second"}


def test_a_gang_that_was_promised_places_is_there_to_defend_them() -> None:
    waiting = Waiting(a=FULL, b=FULL)
    waiting.cluster.put_task(TaskFacts("t", "ns", "t", "a", nominated="n"))
    waiting.add("new")
    waiting.requeue.cluster_events.add(ClusterEvents(gangs={"new"}))
    assert waiting.look(1.0) == {"a", "new"}


def test_a_gang_that_was_let_in_is_asked_again() -> None:
    waiting = Waiting(a=None)
    waiting.requeue.decided([GangPhase("a", Phase.INQUEUE)])
    waiting.requeue.ended(["a"])
    assert waiting.look(PACE) == {"a"}
    waiting.requeue.ended(["a"])
    assert waiting.look(1.0) is None


def test_many_gangs_are_looked_at_less_often() -> None:
    waiting = Waiting(**dict.fromkeys((f"g{number}" for number in range(1000)), FULL))
    waiting.requeue.cluster_events.add(ClusterEvents(room=True))
    assert waiting.look(0.1) is None
    assert len(waiting.look(0.5) or ()) == 1000
    assert waiting.requeue.next_due(waiting=True) is not None
    waiting.requeue.cluster_events.add(ClusterEvents(room=True))
    assert len(waiting.look(0.5 + SLOWEST_PACE) or ()) == 1000


@pytest.mark.parametrize("full", [True, False])
def test_a_selector_that_matches_nothing_is_not_tried_again_because_room_came_free(full: bool) -> None:
    """Whether the cluster was full when they came or not: the next one that fits takes the room, and nobody else
    is asked."""
    stage = Stage()
    stage.node("n", cpu="4")
    stage.pod("old", cpu="4" if full else "2", schedulerName="default-scheduler")
    stage.settle()
    for number in range(50):
        stage.pod(f"stuck-{number}", schedulerName="default-scheduler", nodeSelector={"disk": "ssd"})
    stage.pod("next", cpu="4", schedulerName="default-scheduler")
    stage.settle()
    refused = stage.scheduler.counters.refusals.copy()
    stage.server.ok("DELETE", PODS.path("default", "old"), {"gracePeriodSeconds": 0})
    stage.settle()
    assert stage.placed == {"next": "n"}
    assert stage.scheduler.counters.refusals == refused, "nobody was asked in vain"
    stage.server.ok("PATCH", NODES.path("", "n"), {"metadata": {"labels": {"disk": "ssd"}}}, media=MERGE_PATCH)
    stage.server.ok("DELETE", PODS.path("default", "next"), {"gracePeriodSeconds": 0})
    stage.settle()
    assert len(stage.placed) == 4, "and when the label comes they are"


def test_members_that_can_go_are_not_held_up_by_those_that_never_can() -> None:
    """Two of three are enough, and one of the three fits nowhere: room is what the gang waits for."""
    stage = Stage()
    stage.node("n", cpu="4")
    stage.pod("old", cpu="4", schedulerName="default-scheduler")
    stage.settle()
    stage.group("g", 2)
    stage.pod("g-0", group="g", nodeSelector={"disk": "ssd"})
    stage.pod("g-1", group="g")
    stage.pod("g-2", group="g")
    stage.settle()
    assert stage.placed == {"old": "n"}
    stage.server.ok("DELETE", PODS.path("default", "old"), {"gracePeriodSeconds": 0})
    stage.settle()
    assert stage.placed == {"g-1": "n", "g-2": "n"}


ALLOCATE_ONLY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


@pytest.mark.parametrize("seed", range(12))
def test_a_scheduler_that_starts_anew_finds_nothing_that_was_overlooked(seed: int) -> None:
    dice = random.Random(seed)
    stage = Stage(ALLOCATE_ONLY)
    pods: list[str] = []
    nodes = 0
    for step in range(25):
        what = dice.choice(("node", "pods", "gang", "end", "end", "cordon"))
        if what == "node":
            nodes += 1
            stage.node(f"n{nodes}", cpu=str(dice.randint(1, 4)))
        elif what == "pods":
            for number in range(dice.randint(1, 3)):
                pods.append(f"p{step}-{number}")
                stage.pod(pods[-1], cpu=str(dice.randint(1, 3)))
        elif what == "gang":
            size = dice.randint(2, 4)
            stage.group(f"g{step}", size, minResources={"cpu": str(size)} if dice.random() < 0.5 else None)
            for number in range(size):
                pods.append(f"g{step}-{number}")
                stage.pod(pods[-1], group=f"g{step}", cpu="1")
        elif what == "end" and pods:
            name = pods.pop(dice.randrange(len(pods)))
            stage.server.ok("DELETE", PODS.path("default", name), {"gracePeriodSeconds": 0})
        elif nodes:
            stage.cordon(f"n{dice.randint(1, nodes)}", dice.random() < 0.5)
        stage.settle()
    placed = stage.placed
    stage.restart()
    stage.settle()
    assert stage.placed == placed
