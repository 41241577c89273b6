"""The inflation experiment on a small trace of our own.  `test_published` is about the real ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from podium.core.cluster.fragmentation import Filling, Shape, Target, typical
from podium.core.model.constraints import DeviceRequest
from podium.runtime.configuration import default_profiles
from podium.sim.inflation import Inflation, inflate
from podium.sim.policies import POLICIES, policy
from podium.sim.traces.openb import GpuNode, GpuPod, arrivals
from podium.sim.traces.stream import Stream


def small() -> tuple[list[GpuPod], list[GpuNode]]:
    """Some nodes of two kinds, and pods that would fill three quarters of them."""
    nodes = [
        GpuNode(f"n{number:02d}", 32_000 if number % 3 else 96_000, 1 << 38, 2 if number % 3 else 8, "T4")
        for number in range(24)
    ]
    stream = Stream(1)
    pods = []
    for number in range(130):
        kind = stream.below(10)
        wanted = None if kind == 0 else DeviceRequest(1, 100 * (1 + kind)) if kind < 5 else DeviceRequest(1)
        if kind == 9:
            wanted = DeviceRequest(2)
        pods.append(GpuPod(f"p{number:03d}", 2000 + 1000 * stream.below(6), 1 << 30, wanted))
    return pods, nodes


def run(name: str, seed: int) -> Inflation:
    pods, nodes = small()
    return inflate(arrivals(pods, nodes, 1.3, seed), pods, policy(name, seed))


@pytest.mark.parametrize("seed", [42, 43])
@pytest.mark.parametrize("name", ["random", "bestfit", "fgd"])
def test_a_run_adds_up_and_repeats(name: str, seed: int) -> None:
    result = run(name, seed)
    assert result.placed + result.refused == result.pods
    assert result.curve[-1].arrived_percent in (129, 130)
    assert 70 < result.gpu_allocation_percent <= 100
    assert all(0 <= point.fragmented_percent <= 100 for point in result.curve)
    assert result == run(name, seed)
    assert result.trace_hash != run(name, seed + 10).trace_hash


def test_packing_beats_dice() -> None:
    means = {name: sum(run(name, seed).gpu_allocation_percent for seed in range(42, 46)) / 4 for name in POLICIES}
    assert min(means, key=lambda name: means[name]) == "random"
    assert means["fgd"] > means["random"] + 1


@pytest.mark.parametrize("name", ["fgd", "podium-gpu"])
def test_naming_models_does_not_cost_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the pods name models: as many nodes are measured as when none does, and nothing is searched."""
    measured = [0]

    def count(original: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def counted(target: Target, free: np.ndarray, *rest: Any) -> np.ndarray:
            measured[0] += free.shape[1]
            return original(target, free, *rest)

        return counted

    def searched(*_: object, **__: object) -> None:
        raise AssertionError("the models of nodes are searched")

    monkeypatch.setattr(Target, "fragmented", count(Target.fragmented))
    monkeypatch.setattr(Target, "with_share", count(Target.with_share))
    monkeypatch.setattr(np, "isin", searched)
    pods, nodes = small()
    nodes = [msgspec.structs.replace(node, model=("T4", "V100")[n % 2]) for n, node in enumerate(nodes)]
    costs = []
    for naming in (False, True):
        asked = [
            pod
            if pod.devices is None or number % 3 or not naming
            else msgspec.structs.replace(pod, devices=msgspec.structs.replace(pod.devices, models=("T4",)))
            for number, pod in enumerate(pods)
        ]
        measured[0] = 0
        profile = default_profiles()[name] if name == "podium-gpu" else policy(name, 42)
        inflate(arrivals(asked, nodes, 1.3, 42), asked, profile)
        costs.append(measured[0])
    assert costs[1] <= 1.5 * costs[0]


# --- fragmentation, by hand --------------------------------------------------------------------------------------


def test_fragmentation_of_a_node_by_hand() -> None:
    weights = {Shape(4000, 1000, 1): 0.5, Shape(1000, 500, 1): 0.25, Shape(2000): 0.25}
    target = Target(weights, lambda names: [])
    free = np.array([[1000, 300], [600, 0]], dtype=np.int64)
    cpu = np.array([5000, 5000], dtype=np.int64)
    found = target.fragmented(free, cpu, np.array([-1, -1], dtype=np.int32))
    # First node: a whole one cannot use the 600, a half can use both, and who wants no GPU can use nothing.
    # Second node: nobody can use the 300.
    assert found.tolist() == [0.5 * 600 + 0.25 * 0 + 0.25 * 1600, 300.0]
    poor = target.fragmented(free, np.array([3000, 0], dtype=np.int64), np.array([-1, -1], dtype=np.int32))
    assert poor.tolist() == [0.5 * 1600 + 0.25 * 0 + 0.25 * 1600, 300.0]


def test_what_is_out_of_reach_of_a_node_by_hand() -> None:
    weights = {Shape(4000, 1000, 1): 2, Shape(1000, 500, 1): 1, Shape(0, 500, 1, "T4"): 1, Shape(9000): 7}
    target = Filling(weights, lambda names: [0])
    free = np.array([[1000, 1000, 300], [1000, 600, 0]], dtype=np.int64)
    cpu, models = np.array([6000, 3500, 0], dtype=np.int64), np.array([0, 1, 0], dtype=np.int32)
    # First node: for whole ones there is CPU for one and a half, halves can use everything.
    # Second node: no whole one has the CPU, halves can use everything, and who wants a T4 finds none.
    # Third node: nobody can use the 300.
    expected = [0.5 * 500, 0.5 * 1600 + 0.25 * 1600, 300.0]
    assert target.fragmented(free, cpu, models).tolist() == expected
    assert Filling({Shape(0, 500, 1): 1}, lambda names: []).fragmented(free, cpu * 0, models).tolist() == [
        0,
        0,
        300,
    ]


@pytest.mark.parametrize("measure", [Target, Filling])
def test_a_share_taken_of_each_device_is_the_same_as_the_node_then(measure: type[Target]) -> None:
    weights = {
        Shape(4000, 1000, 1): 0.4,
        Shape(1000, 370, 1): 0.3,
        Shape(1000, 1000, 2, "T4"): 0.2,
        Shape(500): 0.1,
    }
    target = measure(weights, lambda names: [0] if "T4" in names else [])
    free = np.array([[1000, 400, 1000], [600, 1000, 1000], [370, 90, 0]], dtype=np.int64)
    cpu, models = np.array([5000, 900, 4000], dtype=np.int64), np.array([0, 1, 0], dtype=np.int32)
    taken = target.with_share(free, cpu, models, 370)
    for line in range(3):
        after = free.copy()
        after[line] -= 370
        possible = free[line] >= 370
        expected = target.fragmented(np.maximum(after, 0), cpu, models)
        assert np.array_equal(taken[line][possible], expected[possible])


def test_the_usual_workload_is_the_commonest_shapes() -> None:
    counts = Counter({Shape(1): 50, Shape(2, 500, 1): 45, Shape(3, 1000, 1): 5})
    assert typical(counts) == {Shape(1): (50 / 100) / (95 / 100), Shape(2, 500, 1): (45 / 100) / (95 / 100)}
    assert list(typical(Counter({Shape(1): 5, Shape(2): 5}))) == [Shape(2), Shape(1)]
    assert typical(Counter()) == {}
