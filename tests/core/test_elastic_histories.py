"""Elastic jobs over time: nobody flaps, nobody starves, sizes stay within bounds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from podium.core.cycle import run_cycle
from podium.core.model.decisions import Failure, Resize
from podium.core.model.model import State
from tests.core.jobs import ROLE, Jobs, plan_profile
from tests.core.world import GIB, NOW

PLANNING = plan_profile()
PERIOD = 5.0


class Town(Jobs):
    """Jobs whose pods come and go at once, as their sizes say."""

    def __init__(self, cores: int) -> None:
        super().__init__()
        self.room("n1", cpu=cores, memory=10_000)
        self.now = NOW
        self.sizes: dict[str, list[tuple[float, int]]] = {}
        self._pods = 0

    def arrive(self, name: str, least: int, most: int, window: float = 60.0, level: int = 1000) -> None:
        self.job(name, least=least, most=most, window=window, level=level, submitted=self.now)
        self.sizes[name] = []

    def depart(self, name: str) -> None:
        gang = self.cluster.gangs[f"ns/{name}"]
        for task in list(gang.tasks.values()):
            if task.has_pod:
                self.cluster.remove_task(task.id)
            else:
                self.cluster.slots.remove(task.slot)
        self.cluster.remove_gang(gang.id)

    def step(self) -> None:
        """A plan, and what controllers make of it."""
        self.now += PERIOD
        decisions = run_cycle(self.cluster, PLANNING, self.now)
        assert not [each for each in decisions if isinstance(each, Failure)]
        for each in decisions:
            if isinstance(each, Resize):
                self._follow(each.gang, each.size)
        self.cluster.validate()

    def _follow(self, id: str, size: int) -> None:
        gang = self.cluster.gangs[id]
        bounds = gang.size
        assert bounds is not None
        assert bounds.least <= size <= bounds.most
        history = self.sizes[gang.name]
        if not history or history[-1][1] != size:
            history.append((self.now, size))
        amounts = {"cpu": 1000, "memory": GIB}
        self.cluster.slots.put_all([self._slot(gang.name, ROLE, index, amounts) for index in range(size)])
        pods = [task for task in gang.tasks.values() if task.has_pod]
        for task in sorted(pods, key=lambda each: each.started)[size:]:
            slot = task.slot
            self.cluster.remove_task(task.id)
            if slot and int(slot.rpartition("/")[2]) < size:
                self.cluster.slots.put_all([self._slot(gang.name, ROLE, int(slot.rpartition("/")[2]), amounts)])
        for index in range(size, 200):
            known = self.cluster.slots.get(f"slot/{gang.name}/{ROLE}/{index}")
            if known is not None:
                self.cluster.slots.remove(known.slot)
        for task in [each for each in gang.tasks.values() if each.state is State.RESERVED and not each.has_pod]:
            node = self.cluster.nodes.name(task.row)
            self._pods += 1
            self.trainer(gang.name, node, amounts, name=f"{gang.name}-p{self._pods}", started=self.now)

    def trainer(self, job: str, node: str, amounts: Any, role: str = ROLE, **facts: Any) -> None:
        facts["started"] = facts.get("started", self.now)
        super().trainer(job, node, amounts, role, **facts)

    def running(self, name: str) -> int:
        return self.cluster.gangs[f"ns/{name}"].counts[State.RUNNING]


def reversals(history: list[tuple[float, int]], window: float) -> int:
    """The most changes of direction within a window."""
    turns = [
        second[0]
        for first, second, third in zip(history, history[1:], history[2:], strict=False)
        if (second[1] - first[1]) * (third[1] - second[1]) < 0
    ]
    return max((sum(at <= other < at + window for other in turns) for at in turns), default=0)


@pytest.mark.parametrize("seed", range(3))
def test_no_job_flaps_while_others_come_and_go(seed: int) -> None:
    """About 330 arrivals and departures of each seed, a thousand together."""
    dice = random.Random(seed)
    town = Town(40)
    there: list[str] = []
    for number in range(330):
        if there and (len(there) > 8 or dice.random() < 0.45):
            town.depart(there.pop(dice.randrange(len(there))))
        else:
            name = f"j{number}"
            least = dice.randint(1, 3)
            town.arrive(name, least, least + dice.randint(0, 20), level=dice.choice([10, 100, 1000, 10_000]))
            there.append(name)
        for _ in range(dice.randint(1, 6)):
            town.step()
    worst = {name: reversals(history, 60.0) for name, history in town.sizes.items()}
    assert max(worst.values()) <= 1, worst


def test_when_nothing_happens_sizes_hardly_change() -> None:
    town = Town(44)
    for name, level in (("a", 100), ("b", 1000), ("c", 1000)):
        town.arrive(name, 1, 60, level=level)
    for _ in range(int(3600 / PERIOD)):
        town.step()
    changes = {name: len(history) for name, history in town.sizes.items()}
    print("changes of size in an hour:", changes)
    assert max(changes.values()) <= 20, changes
    assert sum(town.running(name) for name in "abc") == 44


@pytest.mark.parametrize("seed", range(20))
def test_whoever_waits_long_enough_runs(seed: int) -> None:
    """Whatever its level: there is always room for it if others go down to their least size."""
    dice = random.Random(seed)
    cores = dice.randint(12, 40)
    town = Town(cores)
    left = cores
    for number in range(dice.randint(2, 8)):
        least = dice.randint(1, 3)
        if least >= left - 1:
            break
        left -= least
        town.arrive(f"j{number}", least, 60, level=dice.choice([100, 1000, 10_000]))
    for _ in range(dice.randint(5, 60)):
        town.step()
    need = dice.randint(1, left)
    town.arrive("late", need, need, level=10)
    for _ in range(int(900 / PERIOD)):
        town.step()
    assert town.running("late") == need, [town.sizes, cores]


def test_scale_of_a_plan_that_finds_nothing() -> None:
    """A thousand jobs that wait beside a full cluster cost one refusal each, and not a search each."""
    town = Town(3)
    town.arrive("runs", 3, 3)
    town.step()
    for number in range(1000):
        town.arrive(f"w{number}", 2, 4)
    town.step()
    assert town.running("runs") == 3
