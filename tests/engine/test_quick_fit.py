"""Who is asked when room has come free: nobody whom it cannot help, and of equals the first in line."""

from __future__ import annotations

from typing import Any

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Gang, Phase, Queue
from podium.core.profiles.profile import Profile, read_profile
from podium.engine.quick_fit import QuickFit


def profile(actions: str = "allocate, backfill", *plugins: str) -> Profile:
    names = plugins or ("priority", "gang", "drf")
    return read_profile({"actions": actions, "tiers": [{"plugins": [{"name": name} for name in names]}]})


class Town:
    """Two nodes with eight GPUs each, and gangs that wait."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cluster.put_queue(Queue("q"))
        for name in ("a", "b"):
            self.cluster.put_node(NodeFacts(name, "", {"cpu": 64_000, "memory": 1 << 40, "pods": 9, "gpu": 8}))

    def gang(self, name: str, gpus: int, pods: int = 1, **facts: Any) -> Gang:
        known = {"phase": Phase.INQUEUE, "profile": "p", **facts}
        gang = self.cluster.put_gang(GangFacts(name, "ns", name, "q", pods, **known))
        for number in range(pods):
            self.cluster.put_task(TaskFacts(f"{name}-{number}", "ns", f"{name}-{number}", name, {"gpu": gpus}))
        return gang

    def without(self, *gangs: Gang, by: Profile | None = None) -> list[str]:
        """Which of some gangs need not be asked."""
        self.cluster.settle()
        return sorted(QuickFit(self.cluster, {"p": by or profile()}).without({gang.id for gang in gangs}))


def test_who_needs_more_than_there_is_need_not_be_asked() -> None:
    town = Town()
    fits, wide, deep = town.gang("fits", 8, 2), town.gang("wide", 8, 3), town.gang("deep", 9)
    assert town.without(fits, wide, deep) == ["deep", "wide"]
    assert town.without(fits, deep) == ["deep"]


def test_who_may_take_from_others_or_is_not_let_in_is_always_asked() -> None:
    town = Town()
    deep, new = town.gang("deep", 9), town.gang("new", 9, phase=Phase.PENDING)
    assert town.without(new) == []
    assert town.without(deep, by=profile("allocate, preempt")) == []
    assert town.without(deep) == ["deep"]


def test_who_wants_several_kinds_of_places_is_always_asked() -> None:
    town = Town()
    mixed = town.gang("mixed", 9)
    town.cluster.put_task(TaskFacts("mixed-small", "ns", "mixed-small", "mixed", {"gpu": 1}))
    assert town.without(mixed) == []


def test_of_equals_as_many_are_asked_as_there_is_room_for() -> None:
    town = Town()
    young = town.gang("young", 8, created=9)
    gangs = [town.gang(f"g{number}", 8, created=number) for number in range(3)]
    urgent = town.gang("urgent", 8, created=8, priority=5)
    other = town.gang("other", 4, created=7)
    assert town.without(young, *gangs, urgent, other) == ["g1", "g2", "young"]


def test_where_the_order_is_not_known_everybody_is_asked() -> None:
    town = Town()
    gangs = [town.gang(f"g{number}", 8, created=number) for number in range(4)]
    assert town.without(*gangs, by=profile("allocate", "priority", "gang", "sla")) == []


def test_a_gang_stands_in_another_line_when_it_asks_for_something_else() -> None:
    town = Town()
    gang = town.gang("gang", 9)
    assert town.without(gang) == ["gang"]
    town.cluster.remove_task("gang-0")
    town.cluster.put_task(TaskFacts("gang-1", "ns", "gang-1", "gang", {"gpu": 8}))
    assert town.without(gang) == []
    town.cluster.validate()
    town.cluster.remove_gang("gang")
    assert town.without(gang) == []
    assert not town.cluster.accounts.equal_demand
