"""The weights of the plugins that look at devices, and the seed of the one that draws."""

from __future__ import annotations

import pytest

from podium.core.model.constraints import Constraints, DeviceRequest
from tests.core.world import World, profile

HALF = Constraints(devices=DeviceRequest(share=500))


def half_used(plugin: str, weight: float) -> str:
    """Where half a device goes: next to another half, or to the node with more room for everything else."""
    world = World()
    for name in "ab":
        world.node(name, devices=2)
    world.task("there", HALF, at="b")
    world.node("full", devices=1)
    world.task("whole", Constraints(devices=DeviceRequest()), at="full")  # others want whole ones
    world.task("t", HALF)
    packing = {"name": plugin, "arguments": {f"{plugin}.weight": weight}}
    return world.run(profile(["predicates", "nodeorder", packing])).placed["t"]


@pytest.mark.argument("fgd", "fgd.weight")
@pytest.mark.argument("bestfit", "bestfit.weight")
@pytest.mark.argument("dotprod", "dotprod.weight")
@pytest.mark.argument("gpupacking", "gpupacking.weight")
@pytest.mark.argument("gpuclustering", "gpuclustering.weight")
@pytest.mark.argument("gpufilling", "gpufilling.weight")
@pytest.mark.parametrize("plugin", ["fgd", "bestfit", "dotprod", "gpupacking", "gpuclustering", "gpufilling"])
def test_a_weight_moves_a_task(plugin: str) -> None:
    assert half_used(plugin, 100) == "b"
    assert half_used(plugin, 0) == "a"


@pytest.mark.argument("random", "random.seed")
def test_another_seed_draws_other_nodes() -> None:
    def drawn(seed: int) -> dict[str, str]:
        world = World()
        for name in "abcdefgh":
            world.node(name)
        for index in range(8):
            world.task(f"t-{index}")
        return world.run(profile([{"name": "random", "arguments": {"random.seed": seed}}])).placed

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def scores(plugin: str, wanted: DeviceRequest, *held: int) -> list[float]:
    """What a plugin gives to nodes of two devices, of which so much is held; the last one has four."""
    world = World()
    for index, each in enumerate(held):
        name = f"n{index}"
        world.node(name, devices=2)
        if each:
            share = DeviceRequest(share=each) if each < 1000 else DeviceRequest(each // 1000)
            world.task(f"t{index}", Constraints(devices=share), at=name)
    world.node("four", devices=4)
    task = world.task("t", Constraints(devices=wanted))
    session = world.session(profile([plugin]))
    found: list[float] = session.candidates(task).suitability.tolist()
    return found[: len(held) + 1]


@pytest.mark.parametrize(
    ("plugin", "wanted", "expected"),
    [
        # Beside what is there already best, by what is left; then where nothing runs, the smaller node first.
        ("gpupacking", DeviceRequest(share=500), [31, 95, 94, 49, 29]),
        ("gpupacking", DeviceRequest(1), [31, 49, 49, 49, 29]),
        # Among those that have the same: 75; among others as well: 50; nobody: 25; only others: 0.
        ("gpuclustering", DeviceRequest(share=500), [37, 90, 90, 18, 25]),
        ("gpuclustering", DeviceRequest(1), [37, 15, 15, 93, 25]),
    ],
)
def test_what_a_node_is_worth(plugin: str, wanted: DeviceRequest, expected: list[float]) -> None:
    assert scores(plugin, wanted, 0, 500, 400, 1000) == expected


@pytest.mark.parametrize("plugin", ["fgd", "bestfit", "dotprod", "gpupacking", "gpuclustering", "gpufilling"])
@pytest.mark.parametrize("wanted", [DeviceRequest(share=500), DeviceRequest(1), DeviceRequest(2)])
def test_a_score_is_between_nothing_and_a_hundred(plugin: str, wanted: DeviceRequest) -> None:
    found = scores(plugin, wanted, 0, 500, 400, 1000)
    assert all(0 <= each <= 100 for each in found), found
