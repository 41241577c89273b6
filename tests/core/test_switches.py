"""Every switch of the configuration file turns something off: the same cluster with the switch on and off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.core.framework.plugin import Plugin, Scores
from podium.core.model.model import Phase, Task
from podium.core.plugins import BUILT_IN
from tests.core.world import World, profile


class Leader(Plugin):
    """Has the last word on nodes."""

    name = "leader"

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: Scores) -> int | None:
        return int(rows[-1])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "leader", Leader)


def run(world: World, switched: str, switch: str, on: bool, *others: str, actions: str = "allocate") -> World:
    """A turn in which one plugin has one switch on or off."""
    return world.run(profile([{"name": switched, switch: on}, *others], actions=actions))


def two_gangs(**second: Any) -> World:
    """Room for one of two gangs of one."""
    world = World()
    world.node("n", cpu=1000)
    for created, name in enumerate("ab"):
        gang = world.gang(name, created=created, **(second if name == "b" else {}))
        world.task(f"{name}-0", gang=gang)
    return world


@pytest.mark.argument("switch", "enableJobOrder")
def test_the_order_of_gangs() -> None:
    assert set(run(two_gangs(priority=9), "priority", "enableJobOrder", True).placed) == {"b-0"}
    assert set(run(two_gangs(priority=9), "priority", "enableJobOrder", False).placed) == {"a-0"}


@pytest.mark.argument("switch", "enableTaskOrder")
def test_the_order_of_tasks() -> None:
    def placed(on: bool) -> set[str]:
        world = World()
        world.node("n", cpu=1000)
        gang = world.gang("g")
        world.task("g-0", gang=gang)
        world.task("g-1", gang=gang, priority=9)
        return set(run(world, "priority", "enableTaskOrder", on).placed)

    assert (placed(True), placed(False)) == ({"g-1"}, {"g-0"})


@pytest.mark.argument("switch", "enableJobReady")
@pytest.mark.argument("switch", "enableJobPipelined")
@pytest.mark.parametrize(("switch", "off"), [("enableJobReady", {"g-0"}), ("enableJobPipelined", set())])
def test_whether_a_gang_is_whole(switch: str, off: set[str]) -> None:
    """Room for one of two: without a say on readiness it is kept, without one on promises it is only promised."""

    def outcome(on: bool) -> tuple[set[str], bool]:
        world = World()
        world.node("n", cpu=1000)
        gang = world.gang("g", minimum=2)
        for index in range(2):
            world.task(f"g-{index}", gang=gang)
        run(world, "gang", switch, on)
        return set(world.placed), bool(world.promised)

    assert outcome(True) == (set(), False)
    assert outcome(False) == (off, switch == "enableJobPipelined")


@pytest.mark.argument("switch", "enableQueueOrder")
def test_the_order_of_queues() -> None:
    def placed(on: bool) -> set[str]:
        world = World()
        world.node("n", cpu=1000)
        for name, priority in (("a", 0), ("b", 9)):
            world.queue(name, priority=priority)
            world.task(f"{name}-0", queue=name)
        return set(run(world, "capacity", "enableQueueOrder", on).placed)

    assert (placed(True), placed(False)) == ({"b-0"}, {"a-0"})


@pytest.mark.argument("switch", "enableHierarchy")
def test_whether_queues_form_a_tree() -> None:
    def placed(on: bool) -> int:
        world = World()
        world.node("n")
        world.queue("root")
        world.queue("parent", parent="root", capability={"cpu": 1000})
        world.queue("leaf", parent="parent")
        for index in range(3):
            world.task(f"t-{index}", queue="leaf")
        return len(run(world, "capacity", "enableHierarchy", on).placed)

    assert (placed(True), placed(False)) == (1, 3)


@pytest.mark.argument("switch", "enablePredicate")
def test_filters() -> None:
    def placed(on: bool) -> dict[str, str]:
        world = World()
        world.node("n", unschedulable=True)
        world.task("t")
        return run(world, "predicates", "enablePredicate", on).placed

    assert (placed(True), placed(False)) == ({}, {"t": "n"})


@pytest.mark.argument("switch", "enableNodeOrder")
def test_scores() -> None:
    def placed(on: bool) -> dict[str, str]:
        world = World()
        world.node("a")
        world.node("b")
        world.task("there", at="b")
        world.task("t")
        return run(world, "binpack", "enableNodeOrder", on).placed

    assert (placed(True), placed(False)) == ({"t": "b"}, {"t": "a"})


@pytest.mark.argument("switch", "enableBestNode")
def test_the_last_word() -> None:
    def placed(on: bool) -> dict[str, str]:
        world = World()
        world.node("a")
        world.node("b")
        world.task("t")
        return run(world, "leader", "enableBestNode", on).placed

    assert (placed(True), placed(False)) == ({"t": "b"}, {"t": "a"})


@pytest.mark.argument("switch", "enabledAllocatable")
@pytest.mark.argument("switch", "enableJobEnqueued")
def test_limits_of_queues() -> None:
    def outcome(switch: str, on: bool) -> tuple[int, Phase]:
        world = World()
        world.node("n")
        world.queue("small", capability={"cpu": 1000})
        for index in range(2):
            world.task(f"t-{index}", queue="small")
        late = world.gang("late", queue="small", phase=Phase.PENDING, minimum_resources={"cpu": 2000})
        run(world, "capacity", switch, on, actions="enqueue, allocate")
        return len(world.placed), world.cluster.gangs[late].phase

    assert outcome("enabledAllocatable", True) == (1, Phase.PENDING)
    assert outcome("enabledAllocatable", False) == (2, Phase.PENDING)
    assert outcome("enableJobEnqueued", False) == (1, Phase.INQUEUE)


@pytest.mark.argument("switch", "enabledOverused")
def test_queues_that_have_enough() -> None:
    def refusals(on: bool) -> str:
        world = World()
        world.node("n", cpu=1000)
        world.task("there", at="n")
        world.task("t", cpu=0, memory=0, more={"example.com/foo": 1})
        return run(world, "proportion", "enabledOverused", on).refusal("t")

    assert "queue q holds 0 of the 0 example.com/foo that the cluster has" in refusals(True)
    assert "queue q" not in refusals(False)


def starving(queue: str = "q", **victim: Any) -> World:
    """A full node, and a gang of high priority that needs its room."""
    world = World()
    world.node("n", cpu=2000)
    world.queue("other")
    for index in range(2):
        world.task(f"v-{index}", at="n", queue=queue, **victim)
    world.task("t", gang=world.gang("t", priority=9))
    return world


@pytest.mark.parametrize(
    ("switch", "build", "plugins", "action", "on", "off"),
    [
        pytest.param(
            *("enablePreemptable", lambda: starving(protected=True), ["conformance", "gang"], "preempt", 0, 1),
            marks=pytest.mark.argument("switch", "enablePreemptable"),
        ),
        pytest.param(
            *("enableReclaimable", lambda: starving("other", protected=True), ["conformance", "gang"]),
            *("reclaim", 0, 1),
            marks=pytest.mark.argument("switch", "enableReclaimable"),
        ),
        pytest.param(
            *("enableJobStarving", starving, ["gang"], "preempt", 1, 0),
            marks=pytest.mark.argument("switch", "enableJobStarving"),
        ),
    ],
)
def test_who_may_be_pushed_out(
    switch: str, build: Callable[[], World], plugins: Sequence[str], action: str, on: int, off: int
) -> None:
    first, *others = plugins
    assert len(run(build(), first, switch, True, *others, actions=action).evicted) == on
    assert len(run(build(), first, switch, False, *others, actions=action).evicted) == off


@pytest.mark.argument("switch", "enablePreemptive")
def test_who_may_take_from_others() -> None:
    """The reclaimer's queue deserves nothing, so it may not, unless nobody is asked."""

    def evicted(on: bool) -> int:
        world = World()
        world.node("n", cpu=2000)
        world.queue("rich", deserved={"cpu": 1000})
        for index in range(2):
            world.task(f"v-{index}", at="n", queue="rich")
        world.task("t")
        return len(run(world, "capacity", "enablePreemptive", on, "gang", actions="reclaim").evicted)

    assert (evicted(True), evicted(False)) == (0, 1)
