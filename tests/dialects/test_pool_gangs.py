"""Gangs of Volcano's and of other APIs in pools: whose they are, and who speaks for them."""

from __future__ import annotations

import pytest

from podium.dialects.aibee.names import POOL
from podium.dialects.volcano.names import GROUP_NAME, PODGROUPS, QUEUE_NAME
from tests.dialects.pool_stage import PoolStage
from tests.dialects.test_pool_victims import gang
from tests.embedded.server import Document


def volcano_group(stage: PoolStage, name: str, queue: str = "", annotations: Document | None = None) -> None:
    """Of two members."""
    stage.apply(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"minMember": 2, **({"queue": queue} if queue else {})},
        }
    )


def members(stage: PoolStage, group: str, pool: str | None, **marks: str) -> None:
    for number in range(2):
        stage.task(f"{group}-{number}", pool, 1, annotations={GROUP_NAME: group, **marks})


@pytest.mark.parametrize("named_by", ["its pods", "the group"])
def test_a_group_of_volcano_s_default_queue_is_in_the_pool_that_is_named(named_by: str) -> None:
    """Volcano's admission writes that queue on every group that names none."""
    stage = PoolStage()
    stage.pool("a")
    stage.pool("b")
    stage.add_node("na", "a", cpu=2)
    stage.add_node("nb", "b", cpu=2)
    volcano_group(stage, "g", annotations={POOL: "a"} if named_by == "the group" else {})
    members(stage, "g", "a" if named_by == "its pods" else None)
    stage.settle()
    assert stage.placed == {"g-0": "na", "g-1": "na"}
    volcano_group(stage, "h", annotations={POOL: "a"} if named_by == "the group" else {})
    members(stage, "h", "a" if named_by == "its pods" else None)
    stage.settle()
    assert (stage.placed["h-0"], stage.placed["h-1"]) == ("nb", "nb"), "it borrows whole"
    assert stage.home_of("h-0") == "a"


def test_a_group_of_another_queue_stays_there() -> None:
    stage = PoolStage()
    stage.apply(
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}
    )
    stage.pool("a")
    stage.add_node("na", "a", cpu=2)
    volcano_group(stage, "g", "q")
    members(stage, "g", "a")
    stage.settle()
    assert stage.placed == {}
    assert stage.home_of("g-0") == "q"


def test_volcano_s_mark_on_members_does_not_move_their_group() -> None:
    """What a group of Volcano's own says of its queue holds in that API, as in Volcano."""
    stage = PoolStage()
    stage.apply(
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}
    )
    volcano_group(stage, "g", annotations={QUEUE_NAME: "q"})
    members(stage, "g", None, **{QUEUE_NAME: "q"})
    stage.settle()
    assert stage.home_of("g-0") == "default"


def test_a_group_goes_back_to_its_queue_when_nobody_names_a_pool_any_more() -> None:
    stage = PoolStage()
    stage.pool("a")
    volcano_group(stage, "g")
    members(stage, "g", "a")
    stage.settle()
    assert stage.home_of("g-0") == "a"
    for number in range(2):
        stage.server.ok("DELETE", f"/api/v1/namespaces/default/pods/g-{number}", {"gracePeriodSeconds": 0})
    members(stage, "g", None)
    stage.settle()
    assert stage.home_of("g-0") == "default"


def test_the_pool_of_a_gang_that_does_not_exist_is_told_by_its_name() -> None:
    stage = PoolStage()
    stage.add_node("nd", cpu=8)
    gang(stage, "u", "gone", ["", ""], 2)
    volcano_group(stage, "v")
    members(stage, "v", "gone")
    stage.settle()
    assert set(stage.placed.values()) == {"nd"}
    for group in "uv":
        said = [each for number in range(2) for each in stage.warnings(f"{group}-{number}")]
        assert "queue gone does not exist, so it is in Default" in said
        assert stage.home_of(f"{group}-0") == "Default"


@pytest.mark.parametrize("restarted", [False, True])
def test_pods_whose_group_is_gone_are_at_home_and_guests_as_before(restarted: bool) -> None:
    stage = PoolStage()
    stage.pool("a", disableBorrowing=True)
    stage.pool("b")
    stage.add_node("na", "a", cpu=4)
    for group, pool in (("g", "a"), ("h", "b")):
        volcano_group(stage, group)
        for number in range(2):
            stage.task(f"{group}-{number}", pool, 1, node="na", priority=9, annotations={GROUP_NAME: group})
    stage.settle()
    for group in "gh":
        stage.server.ok("DELETE", PODGROUPS.path("default", group))
    if restarted:
        stage.restart()
    stage.settle()
    stage.task("p", "a", 2)
    stage.settle()
    assert stage.placed == {"g-0": "na", "g-1": "na", "p": "na"}
    stage.task("q", "a", 1, priority=5)
    stage.settle()
    assert "q" not in stage.placed, "those at home are before it"
