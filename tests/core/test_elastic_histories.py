"""Elastic jobs over time: nobody flaps, nobody starves, sizes stay within bounds."""

from __future__ import annotations

import os
import random
from itertools import combinations
from typing import Any

import pytest

from podium.core.cycle import run_cycle
from podium.core.model.decisions import Failure, Resize
from podium.core.model.model import State
from tests.core.jobs import ROLE, Jobs, plan_profile
from tests.core.world import GIB, NOW

PERIOD = 5.0
WINDOW = 60.0
MOST_CHANGES = 10  # of size, of a job in an hour in which nothing happens


class Town(Jobs):
    """Jobs whose pods come and go at once, as their sizes say."""

    def __init__(self, cores: int, **options: Any) -> None:
        super().__init__()
        self.planning = plan_profile(**options)
        quotas: dict[str, dict[str, int]] = options.get("quotas", {})
        self.limited = list(quotas) or ["", "alice"]  # users who are limited together, and to what
        self.most = sum(each["cpu"] // 1000 for each in quotas.values()) or int(
            cores * options.get("maxLoadDesired", 1.0)
        )
        self.users: dict[str, str] = {}
        self.room("n1", cpu=cores, memory=10_000)
        self.now = NOW
        self.sizes: dict[str, list[tuple[float, int]]] = {}
        self._pods = 0

    def arrive(self, name: str, least: int, most: int, *, level: int = 1000, user: str = "") -> None:
        self.job(name, least=least, most=most, window=WINDOW, level=level, submitted=self.now, user=user)
        self.sizes[name] = []
        self.users[name] = user

    def depart(self, name: str) -> None:
        gang = self.cluster.gangs[f"ns/{name}"]
        for task in list(gang.tasks.values()):
            if task.has_pod:
                self.cluster.remove_task(task.id)
            else:
                self.cluster.slots.remove(task.slot)
        self.cluster.remove_gang(gang.id)
        del self.users[name]

    def step(self) -> None:
        """A plan, and what controllers make of it."""
        self.now += PERIOD
        decisions = run_cycle(self.cluster, self.planning, self.now)
        assert not [each for each in decisions if isinstance(each, Failure)]
        for each in decisions:
            if isinstance(each, Resize):
                self._follow(each.gang, each.size)
        self.cluster.validate()
        assert sum(self.running(name) for name, user in self.users.items() if user in self.limited) <= self.most

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


ARRIVALS = 1000 if os.environ.get("PODIUM_SOAK") else 334  # and departures, of each seed
LIMITS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "load": {"maxLoadDesired": 0.9},
    "user": {"quotas": {"alice": {"cpu": 20_000}}},
    "fulfilment": {"policy": "fulfilment"},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", LIMITS)
def test_no_job_flaps_while_others_come_and_go(seed: int, limit: str) -> None:
    """More than a thousand arrivals and departures for each limit, over the seeds."""
    dice = random.Random(seed)
    town = Town(40, **LIMITS[limit])
    there: list[str] = []
    for number in range(ARRIVALS):
        if there and (len(there) > 8 or dice.random() < 0.45):
            town.depart(there.pop(dice.randrange(len(there))))
        else:
            name = f"j{number}"
            least = dice.randint(1, 3)
            level, user = dice.choice([10, 100, 1000, 10_000]), dice.choice(["", "alice"])
            town.arrive(name, least, least + dice.randint(0, 20), level=level, user=user)
            there.append(name)
        for _ in range(dice.randint(1, 6)):
            town.step()
    worst = {name: reversals(history, WINDOW) for name, history in town.sizes.items()}
    assert max(worst.values()) <= 1, worst


@pytest.mark.parametrize(
    ("levels", "shares"),
    [
        ({"a": 1000, "b": 1000, "c": 1000}, {"a": 1, "b": 1, "c": 1}),
        ({"a": 100, "b": 1000}, {"a": 1, "b": 10}),
    ],
)
def test_when_nothing_happens_sizes_hardly_change_and_shares_are_fair(
    levels: dict[str, int], shares: dict[str, int]
) -> None:
    """Both at once: as fair as they are to be after ten minutes, and no more changes in an hour than the bound."""
    town = Town(44)
    for name, level in levels.items():
        town.arrive(name, 1, 60, level=level)
    served = dict.fromkeys(levels, 0.0)
    for step in range(int(3600 / PERIOD)):
        town.step()
        for name in levels if step < 600 / PERIOD else ():
            served[name] += town.running(name) * PERIOD
    changes = {name: len(history) for name, history in town.sizes.items()}
    print(f"changes of size in an hour: {changes}, of {MOST_CHANGES}; seconds: {served}")
    assert max(changes.values()) <= MOST_CHANGES, changes
    assert sum(town.running(name) for name in levels) == 44
    for one, other in combinations(levels, 2):
        most = 1.1 if shares[one] == shares[other] else 1.2
        ratio = (served[one] / shares[one]) / (served[other] / shares[other])
        assert 1 / most <= ratio <= most, served


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limit", LIMITS)
def test_whoever_waits_long_enough_runs(seed: int, limit: str) -> None:
    """Whatever its level, and whatever fills up: there is always room for it if others go down to their least."""
    dice = random.Random(seed)
    cores = dice.randint(12, 40)
    town = Town(cores, **LIMITS[limit])
    left = {"load": int(cores * 0.9), "user": min(cores, 20)}.get(limit, cores)
    user = "alice" if limit == "user" else ""
    for number in range(dice.randint(2, 8)):
        least = dice.randint(1, 3)
        if least >= left - 1:
            break
        left -= least
        town.arrive(f"j{number}", least, 60, level=dice.choice([100, 1000, 10_000]), user=user)
    for _ in range(dice.randint(5, 60)):
        town.step()
    need = dice.randint(1, left)
    town.arrive("late", need, need, level=10, user=user)
    for _ in range(int(900 / PERIOD)):
        town.step()
    assert town.running("late") == need, [town.sizes, cores]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", ["nothing", "load", "user"])
def test_whoever_waits_long_enough_runs_while_others_keep_coming(seed: int, limit: str) -> None:
    """Small ones of high levels, that find room sooner: without patience it would wait for ever."""
    dice = random.Random(seed)
    town = Town(22, **LIMITS[limit])
    ends: dict[str, float] = {}
    late = NOW + 300.0
    need = dice.randint(3, 10)
    while town.now < late + 900.0:
        for name in [each for each, end in ends.items() if end <= town.now]:
            town.depart(name)
            del ends[name]
        if dice.random() < 0.5 and len(ends) < 25:
            least, name = dice.randint(1, 4), f"j{town.now:.0f}"
            town.arrive(name, least, least + dice.choice([0, 5]), level=dice.choice([1000, 10_000]), user="alice")
            ends[name] = town.now + dice.randint(30, 300)
        if town.now == late:
            town.arrive("late", need, need, level=10, user="alice")
        town.step()
    assert town.running("late") == need


def test_scale_of_a_plan_that_finds_nothing() -> None:
    """A thousand jobs that wait beside a full cluster cost one refusal each, and not a search each."""
    town = Town(3)
    town.arrive("runs", 3, 3)
    town.step()
    for number in range(1000):
        town.arrive(f"w{number}", 2, 4)
    town.step()
    assert town.running("runs") == 3
