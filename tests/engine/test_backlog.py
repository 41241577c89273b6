"""Queues that own nodes are looked at in portions: in order, nobody is left out, and nobody is asked in vain."""

from __future__ import annotations

import random

import numpy as np
import pytest

from podium.core.cluster.cluster import Cluster
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Queue
from podium.engine.backlog import PORTION
from podium.engine.line import Line
from podium.kube.resources import PODS
from tests.dialects.pool_stage import PoolStage


def add(cluster: Cluster, id: str, cpu: int, priority: int = 0, created: float = 0.0) -> None:
    facts = GangFacts(id, "ns", id, "q", 1, priority=priority, created=created, phase=Phase.INQUEUE)
    cluster.put_gang(facts)
    cluster.put_task(TaskFacts(f"t-{id}", "ns", f"t-{id}", id, {"cpu": cpu}))


@pytest.mark.parametrize("seed", range(10))
def test_a_line_is_what_a_list_would_be(seed: int) -> None:
    """Gangs come, change and go; they are put, woken and left out: compared with plain sets and sorting."""
    dice = random.Random(seed)
    cluster = Cluster()
    cluster.put_queue(Queue("q"))
    line = Line(cluster.accounts, "q")
    column = cluster.dimensions.column("cpu")
    known: dict[str, tuple[int, int, float]] = {}  # cpu, priority, created
    put: set[str] = set()
    woken: set[str] = set()
    for step in range(60):
        for number in range(dice.randint(0, 12)):
            id = f"g{step}-{number}"
            known[id] = (dice.randint(1, 9), dice.choice((0, 0, 5)), float(dice.randint(0, 3)))
            add(cluster, id, *known[id])
        for id in dice.sample(sorted(known), min(len(known), dice.randint(0, 4))):
            del known[id]
            cluster.remove_task(f"t-{id}")
            cluster.remove_gang(id)
            put.discard(id)
            woken.discard(id)
        cluster.settle()
        line.follow(cluster.dimensions.width, lambda gang: True)
        assert line.rows.keys() == known.keys()
        chosen = set(dice.sample(sorted(known), dice.randint(0, len(known))))
        if dice.random() < 0.5:
            for id in chosen:
                line.put(cluster.gangs[id])
            put |= chosen
        else:
            assert line.wake(chosen) == bool(chosen)
            woken |= chosen
        woken -= put
        assert line.woken == len(woken)
        if dice.random() < 0.5:
            room = np.zeros(cluster.dimensions.width, dtype=np.int64)
            room[:] = 1 << 40
            room[column] = (
                cluster.tasks[f"t-{dice.choice(sorted(known))}"].cls.request.amount(column) if known else 0
            )
            line.leave_out({priority: [room] for priority in (0, 5)}.__getitem__)
            fits = {id for id in woken if cluster.tasks[f"t-{id}"].cls.request.amount(column) <= room[column]}
            woken = fits
        wanted = sorted(put | woken, key=lambda id: (-known[id][1], known[id][2], id))[:PORTION]
        assert sorted(line.take(PORTION)) == sorted(wanted)
        put -= set(wanted)
        woken -= set(wanted)
        assert line.waiting == bool(put | woken)


def test_a_gang_without_pods_is_in_line_too() -> None:
    cluster = Cluster()
    cluster.put_queue(Queue("q"))
    line = Line(cluster.accounts, "q")
    cluster.put_gang(GangFacts("ns/empty", "ns", "empty", "q", 1, priority=3, phase=Phase.PENDING))
    cluster.settle()
    line.follow(cluster.dimensions.width, lambda gang: True)
    assert line.rows.keys() == {"ns/empty"}


def crowded(waiting: int) -> PoolStage:
    """Pool a is full, and many pods of different specs wait for it; pool b has room."""
    stage = PoolStage()
    for name in "ab":
        stage.pool(name, disableBorrowing=True)
        for number in range(2):
            stage.add_node(f"n{name}{number}", name, cpu=8)
    for number in range(2):
        stage.task(f"full-{number}", "a", 8)
    stage.settle()
    for number in range(waiting):
        stage.task(f"w-{number:03}", "a", 5, labels={"n": str(number)}, terminationGracePeriodSeconds=number)
    return stage


def test_everybody_is_asked_once_though_not_at_once() -> None:
    stage = crowded(100)
    turns = stage.scheduler.counters.turns
    stage.settle()
    assert stage.scheduler.counters.turns - turns >= 100 // PORTION
    assert all("nodes are available" in stage.message(f"w-{number:03}") for number in range(100))


def test_who_comes_to_another_queue_is_asked_beside_the_next_portion() -> None:
    stage = crowded(200)

    def step() -> None:
        stage.tell()
        for ticket in stage.machine.run(stage.server.now, 20):
            stage.carry_out(ticket)
        wake = stage.machine.next_wake(stage.server.now)
        stage.server.now = max(stage.server.now, wake or 0.0)

    begun = stage.scheduler.counters.turns
    while stage.scheduler.counters.turns < begun + 4:
        step()
    stage.task("newcomer", "b", 1)
    turns = stage.scheduler.counters.turns
    while "newcomer" not in stage.placed:
        step()
    assert stage.scheduler.counters.turns - turns <= 2
    asked = sum(stage.scheduler.counters.refusals.values())
    stage.settle()
    assert sum(stage.scheduler.counters.refusals.values()) > asked, "others were still to be asked"
    assert len(stage.placed) == 3


def test_room_for_one_is_given_to_the_first_and_the_others_are_left_alone() -> None:
    stage = crowded(100)
    stage.task("first", "a", 5, priority=7)
    stage.settle()
    stage.bury()
    stage.settle()
    assert "first" in stage.placed
    asked = sum(stage.scheduler.counters.refusals.values())
    (full,) = (name for name in stage.placed if name.startswith("full"))
    stage.server.ok("DELETE", PODS.path("default", full), {"gracePeriodSeconds": 0})
    stage.settle()
    assert len(stage.placed) == 2
    assert sum(stage.scheduler.counters.refusals.values()) - asked <= PORTION


def test_who_may_push_others_out_is_asked_though_there_is_no_room() -> None:
    stage = crowded(100)
    stage.task("small", "a", 1, priority=3)  # pushes one of the large ones out, and leaves seven
    stage.settle()
    stage.bury()
    for number in range(20):
        stage.task(f"large-{number}", "a", 8, priority=5)
    stage.settle()
    stage.bury()
    stage.settle()
    placed = [name for name in stage.placed if not name.startswith("full")]
    assert len([name for name in placed if name.startswith("large")]) == 2, placed


@pytest.mark.parametrize("seed", range(6))
def test_a_scheduler_that_starts_anew_finds_nothing_that_was_overlooked(seed: int) -> None:
    dice = random.Random(seed)
    stage = PoolStage()
    for name in "ab":
        stage.pool(name, disableBorrowing=dice.random() < 0.5)
        stage.add_node(f"n{name}", name, cpu=8)
    pods: list[str] = []
    for step in range(12):
        for number in range(dice.randint(0, 12)):
            pods.append(f"p{step}-{number}")
            stage.task(pods[-1], dice.choice("ab"), dice.randint(1, 8), priority=dice.choice((0, 0, 0, 5)))
        for _ in range(dice.randint(0, 4)):
            if pods:
                name = pods.pop(dice.randrange(len(pods)))
                stage.server.call("DELETE", PODS.path("default", name), {"gracePeriodSeconds": 0})
        stage.settle()
        stage.bury()
    stage.settle(60)
    placed = stage.placed
    stage.restart()
    stage.settle(60)
    assert stage.placed == placed


def test_many_that_were_promised_places_wait_for_them_in_peace() -> None:
    """They are asked in every turn, beside a portion of the others, and are no reason for another turn."""
    count = PORTION + 4
    stage = PoolStage()
    stage.pool("a", disableBorrowing=True)
    stage.add_node("n", "a", cpu=count)
    for number in range(count):
        stage.task(f"low-{number}", "a", 1, node="n")
    for number in range(count):
        stage.task(f"high-{number}", "a", 1, priority=5)
    stage.settle(1)
    assert len(stage.leaving) == count
    assert all(stage.nominated(f"high-{number}") == "n" for number in range(count))
    turns = stage.scheduler.counters.turns
    stage.settle(1)
    assert stage.scheduler.counters.turns - turns < PORTION
    stage.bury()
    stage.settle()
    assert sorted(stage.placed) == sorted(f"high-{number}" for number in range(count))
