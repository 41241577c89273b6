"""Quotas of namespaces and groups of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.model.decisions import Refuse
from podium.core.model.model import NodeGroups, Phase, Queue
from podium.core.profiles.profile import Profile
from podium.queue_reasons import ADMISSION_FULL
from tests.core.world import GIB, World, profile

# --- resourcequota -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hard", "used", "admitted"),
    [
        ({"cpu": 4000}, {}, 2),
        ({"cpu": 3000}, {}, 1),
        ({"cpu": 4000}, {"cpu": 1000}, 1),
        ({"cpu": 1000}, {}, 0),
        ({"requests.cpu": 2000}, {}, 1),
        ({"requests.cpu": 4000}, {"requests.cpu": 2000}, 1),
        ({"pods": 3}, {}, 1),
        ({"count/pods": 3}, {}, 1),
        ({"limits.cpu": 1}, {}, 2),
        ({"memory": GIB}, {}, 0),
        ({}, {}, 2),
    ],
)
def test_a_gang_is_admitted_as_far_as_every_quota_allows(
    hard: dict[str, int], used: dict[str, int], admitted: int
) -> None:
    world = World()
    world.quota("quota", hard, used)
    world.quota("wide", {"cpu": 1_000_000})
    for name in ("one", "two"):
        minimum = {"cpu": 2000, "memory": 2 * GIB, "pods": 2}
        world.gang(name, phase=Phase.PENDING, minimum_resources=minimum)
    world.run(profile(["resourcequota"], actions="enqueue"))
    assert sum(gang.phase is Phase.INQUEUE for gang in world.cluster.gangs.values()) == admitted


def test_a_quota_concerns_its_own_namespace_only() -> None:
    world = World()
    world.quota("quota", {"cpu": 1})
    world.cluster.remove_quota("quota")
    world.gang("one", phase=Phase.PENDING, minimum_resources={"cpu": 2000})
    world.run(profile(["resourcequota"], actions="enqueue"))
    assert world.cluster.gangs["ns/one"].phase is Phase.INQUEUE


def test_what_no_node_offers_is_not_overlooked() -> None:
    world = World()
    world.node("n")
    world.gang("one", phase=Phase.PENDING, minimum_resources={"cpu": 1000, "example.com/fpga": 1})
    world.run(profile(["overcommit"], actions="enqueue"))
    assert world.cluster.gangs["ns/one"].phase is Phase.PENDING


# --- nodegroup ---------------------------------------------------------------------------------------------------


def grouped(groups: NodeGroups | None, **queue: Any) -> World:
    world = World()
    world.cluster.put_queue(Queue("q", "q", groups=groups, **queue))
    for name in "abc":
        world.node(name, group=name)
    world.node("plain")
    return world


def by(**arguments: Any) -> Profile:
    return profile([{"name": "nodegroup", "arguments": arguments}])


def possible(world: World, profile: Profile) -> set[str]:
    task = world.task("t")
    candidates = world.session(profile).candidates(task)
    return {name for name, row in world.cluster.nodes.rows.items() if candidates.fits(task, row)}


@pytest.mark.parametrize(
    ("groups", "strict", "expected"),
    [
        (None, True, set()),
        (None, False, {"plain"}),
        (NodeGroups(required=("a",)), True, {"a"}),
        (NodeGroups(required=("a",)), False, {"a"}),
        (NodeGroups(required=("a",), preferred=("b",)), True, {"a", "b"}),
        (NodeGroups(required=("a",), anti_required=("a",)), True, set()),
        (NodeGroups(preferred=("a", "b"), anti_required=("b",)), True, {"a"}),
        (NodeGroups(anti_preferred=("c",)), True, {"c"}),
        (NodeGroups(anti_required=("c",), anti_preferred=("c",)), True, {"c"}),
        (NodeGroups(anti_required=("c",)), True, set()),
    ],
)
@pytest.mark.argument("nodegroup", "strict")
def test_the_groups_of_a_queue(groups: NodeGroups | None, strict: bool, expected: set[str]) -> None:
    assert possible(grouped(groups), by(strict=strict)) == expected


@pytest.mark.parametrize(
    ("groups", "ordered", "expected"),
    [
        (NodeGroups(required=("b",), preferred=("a",)), False, "b"),
        (NodeGroups(preferred=("b",), anti_preferred=("a",)), False, "b"),
        (NodeGroups(preferred=("c", "b", "a")), False, "a"),
        (NodeGroups(preferred=("c", "b", "a")), True, "c"),
    ],
)
@pytest.mark.argument("nodegroup", "enablePreferredOrder")
def test_the_score_of_a_group(groups: NodeGroups, ordered: bool, expected: str) -> None:
    world = grouped(groups)
    world.task("t")
    assert world.run(by(enablePreferredOrder=ordered)).placed == {"t": expected}


def test_tasks_of_one_class_in_two_queues_go_to_their_own_groups() -> None:
    world = grouped(NodeGroups(required=("a",)))
    world.queue("other", groups=NodeGroups(required=("b",)))
    world.task("t")
    world.task("u", queue="other")
    assert world.run(by()).placed == {"t": "a", "u": "b"}


@pytest.mark.parametrize(("hierarchy", "placed"), [(True, {"t": "b"}), (False, {})])
def test_a_queue_inherits_from_its_ancestors_where_the_hierarchy_counts(
    hierarchy: bool, placed: dict[str, str]
) -> None:
    world = grouped(None, parent="middle")
    world.queue("middle", parent="top")
    world.queue("top", groups=NodeGroups(required=("b",)))
    world.task("t")
    assert world.run(profile([{"name": "nodegroup", "enableHierarchy": hierarchy}])).placed == placed


def test_what_a_queue_holds_of_a_group_is_limited() -> None:
    limits = {"a": {"cpu": 2000}, "b": {"cpu": 1000}}
    world = grouped(NodeGroups(required=("a", "b")), group_limits=limits)
    gang = world.gang("g", minimum=0)
    world.task("there", at="a", gang=gang)
    for index in range(4):
        world.task(f"g-{index}", gang=gang)
    world.run(by())
    assert sorted(world.placed.values()) == ["a", "b"]
    assert "used up its limit" in world.refusal("g")


def test_what_is_given_back_may_be_used_again() -> None:
    world = grouped(NodeGroups(required=("a",)), group_limits={"a": {"cpu": 2000}})
    gang = world.gang("g", minimum=3)
    for index in range(3):
        world.task(f"g-{index}", gang=gang)
    world.task("small")
    plugins = profile(["gang", "nodegroup"])
    assert world.run(plugins).placed == {"small": "a"}  # the gang gave its two places back


def test_the_refusal_names_the_queue() -> None:
    world = grouped(NodeGroups(required=("x",)))
    world.task("t")
    assert "4 node(s) were not of a node group that queue q may use" in world.run(by()).refusal("t")


def test_who_is_not_let_in_is_told_what_is_full() -> None:
    world = World()
    world.node("n", cpu=100_000)
    world.queue("small", capability={"cpu": 4000})
    for created, name in enumerate(("first", "second")):
        world.gang(
            name, queue="small", phase=Phase.PENDING, minimum_resources={"cpu": 3000}, created=float(created)
        )
    world.run(profile(["proportion"], actions="enqueue"))
    refused = [each.refusal for each in world.decisions if isinstance(each, Refuse)]
    assert [each.reason for each in refused] == [ADMISSION_FULL]
    assert world.refusal("second") == str(refused[0])
