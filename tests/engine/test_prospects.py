"""Who is asked when room has come free: nobody whom it cannot help, and of equals the first in line."""

from __future__ import annotations

from typing import Any

from podium.core.cluster import Cluster, GangFacts, TaskFacts
from podium.core.model import Gang, Phase, Queue
from podium.core.nodes import NodeFacts
from podium.core.profile import Profile, read_profile
from podium.engine.prospects import Prospects


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

    def prospects(self, by: Profile | None = None) -> Prospects:
        return Prospects(self.cluster, {"p": by or profile()})


def test_who_needs_more_than_there_is_need_not_be_asked() -> None:
    town = Town()
    fits, wide, deep = town.gang("fits", 8, 2), town.gang("wide", 8, 3), town.gang("deep", 9)
    prospects = town.prospects()
    assert [prospects.hopeful(each) for each in (fits, wide, deep)] == [True, False, False]


def test_who_may_take_from_others_or_is_not_let_in_is_always_asked() -> None:
    town = Town()
    deep, new = town.gang("deep", 9), town.gang("new", 9, phase=Phase.PENDING)
    assert town.prospects().hopeful(new)
    assert town.prospects(profile("allocate, preempt")).hopeful(deep)
    assert not town.prospects().hopeful(deep)


def test_of_equals_as_many_are_asked_as_there_is_room_for() -> None:
    town = Town()
    young = town.gang("young", 8, created=9)
    gangs = [town.gang(f"g{number}", 8, created=number) for number in range(3)]
    urgent = town.gang("urgent", 8, created=8, priority=5)
    other = town.gang("other", 4, created=7)
    prospects = town.prospects()
    assert all(prospects.hopeful(each) for each in (young, *gangs, urgent, other))
    assert sorted(prospects.too_late()) == ["g1", "g2", "young"]


def test_where_the_order_is_not_known_everybody_is_asked() -> None:
    town = Town()
    gangs = [town.gang(f"g{number}", 8, created=number) for number in range(4)]
    prospects = town.prospects(profile("allocate", "priority", "gang", "sla"))
    assert all(prospects.hopeful(each) for each in gangs)
    assert list(prospects.too_late()) == []
