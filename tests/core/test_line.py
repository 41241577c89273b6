"""Queues in line: keys give the order that comparing all queues would give, and cost less."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from podium.core.actions.gang_queue import GangQueue
from podium.core.framework.framework import Framework
from podium.core.framework.plugin import Placed, Plugin
from podium.core.framework.session import Session
from podium.core.model.decisions import Decision
from podium.core.model.model import Gang, Phase, Queue
from podium.core.plugins import BUILT_IN
from podium.core.plugins.proportion import Proportion
from podium.core.profiles.profile import Profile
from tests.core.world import GIB, World, profile


def fair(plugin: str, actions: str = "enqueue, allocate, reclaim, gangreclaim") -> Profile:
    return profile(["gang"], [plugin, "predicates"], actions=actions)


def line_of(session: Session, gangs: Iterable[Gang], *, by_namespace: bool = False) -> GangQueue:
    line = GangQueue(session, by_namespace=by_namespace)
    assert all(pause is None for pause in line.filling(gangs))
    return line


def crowd(seed: int) -> World:
    """Queues of several weights and priorities with gangs that hold something and gangs that wait."""
    dice, world = random.Random(seed), World()
    for number in range(4):
        world.node(f"n{number}", cpu=4000)
    for number in range(dice.randrange(2, 9)):
        deserved = {"cpu": dice.choice([0, 1000, 4000])} if dice.random() < 0.7 else {}
        world.queue(
            f"q{number}",
            weight=dice.randrange(1, 4),
            priority=dice.choice([0, 0, 1]),
            deserved=deserved,
            created=dice.randrange(3),
            fifo=dice.random() < 0.2,
        )
        for index in range(dice.randrange(4)):
            name, size = f"g{number}-{index}", dice.randrange(1, 4)
            running = dice.random() < 0.4
            phase = Phase.RUNNING if running else dice.choice([Phase.PENDING, Phase.INQUEUE])
            gang = world.gang(
                name,
                queue=f"q{number}",
                minimum=dice.randrange(size + 1),
                created=dice.randrange(5),
                phase=phase,
                minimum_resources={"cpu": 500 * size},
            )
            for task in range(size):
                at = f"n{dice.randrange(4)}" if running else ""
                world.task(f"{name}-{task}", gang=gang, cpu=dice.choice([250, 500, 1500]), at=at)
    return world


def decided(seed: int, plugin: str) -> list[Decision]:
    return crowd(seed).run(fair(plugin)).decisions


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_keys_decide_as_comparing_does(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_key = [decided(seed, plugin) for seed in range(60)]
    monkeypatch.setattr(Framework, "queue_key", None)
    assert [decided(seed, plugin) for seed in range(60)] == by_key


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
@pytest.mark.parametrize("by_namespace", [False, True])
def test_the_next_queue_is_the_first_of_all_in_line(plugin: str, by_namespace: bool) -> None:
    """Whatever is placed, loses its place, leaves the line or comes back to it."""
    for seed in range(60):
        dice, world = random.Random(seed), crowd(seed)
        session = world.session(fair(plugin))
        gangs = list(session.gangs)
        for gang in gangs:
            gang.namespace = dice.choice(["one", "two"])
        assert session.queue_key is not None
        line, waiting = line_of(session, gangs, by_namespace=by_namespace), list(gangs)
        placed: list[Placed] = []
        while (queue := line.next_queue()) is not None:
            turn = [each for each in waiting if not by_namespace or each.namespace == min(_homes(waiting))]
            assert queue is session.first_queue([session.queues[each.queue] for each in turn])
            if dice.random() < 0.1:
                gone = line.drop_queue(queue)
                assert {each.id for each in gone} == {each.id for each in waiting if each.queue == queue.id}
                waiting = [each for each in waiting if each not in gone]
                continue
            gang = line.pop(queue)
            waiting.remove(gang)
            if gang.tasks and dice.random() < 0.7:
                task = dice.choice(list(gang.tasks.values()))
                placed.append(Placed(gang, task.cls, [task]))
                session.notify_allocated(placed[-1])
            if placed and dice.random() < 0.4:
                session.notify_deallocated(placed.pop(dice.randrange(len(placed))))
            if dice.random() < 0.4:
                line.push(gang)
                waiting.append(gang)
        assert not waiting


def _homes(gangs: list[Gang]) -> set[str]:
    return {gang.namespace for gang in gangs}


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_queue_that_was_served_is_the_only_one_looked_at(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many queues with a gang each cost twice as much."""
    asked = [0]
    of_plugin = BUILT_IN[plugin]
    compare, key = of_plugin.queue_order, of_plugin.queue_key

    def compared(self: Plugin, left: Queue, right: Queue) -> float:
        asked[0] += 1
        return compare(self, left, right)

    def keyed(self: Plugin, queue: Queue) -> tuple[float, ...]:
        asked[0] += 1
        return key(self, queue)

    monkeypatch.setattr(of_plugin, "queue_order", compared)
    monkeypatch.setattr(of_plugin, "queue_key", keyed)
    costs = []
    for size in (20, 40):
        world = World()
        world.node("n", cpu=100_000, memory=1000 * GIB)
        for number in range(size):
            world.queue(f"q{number}")
            gang = world.gang(f"g{number}", queue=f"q{number}")
            world.task(f"t{number}", gang=gang, cpu=100)
        asked[0] = 0
        assert len(world.run(fair(plugin, "enqueue, allocate")).placed) == size
        costs.append(asked[0])
    assert costs[1] <= 2.2 * costs[0]


class Backwards(Proportion):
    """Somebody's plugin that has an order of its own, and inherits the key of another."""

    name = "backwards"

    def queue_order(self, left: Queue, right: Queue) -> float:
        return (left.id < right.id) - (left.id > right.id)


def test_a_key_of_another_order_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "backwards", Backwards)
    world = World()
    world.node("n", cpu=1000)
    for id in ("a", "b", "c"):
        world.queue(id)
        world.task(f"in-{id}", queue=id)
    session = world.session(fair("backwards"))
    assert session.queue_key is None
    queue = line_of(session, session.gangs).next_queue()
    assert queue is not None
    assert queue.id == "c"
