"""How much of what is free is of no use to the usual tasks, against the definition, shape by shape."""

from __future__ import annotations

import numpy as np
import pytest

from podium.core.cluster.fragmentation import Shape, Target

MODELS = ["", "a100", "v100"]


def numbers(names: object) -> list[int]:
    return [MODELS.index(name) for name in names]  # type: ignore[attr-defined]


def plain(weights: dict[Shape, float], free: list[int], cpu: int, model: str) -> float:
    """For each shape, what it cannot use: everything where it cannot run, and devices with too little for it."""
    result = 0.0
    for shape, weight in weights.items():
        useful = [each for each in free if each >= shape.share]
        able = shape.count and len(useful) >= shape.count and cpu >= shape.cpu
        if able and (not shape.models or model in shape.models.split("|")):
            result += weight * (sum(free) - sum(useful))
        else:
            result += weight * sum(free)
    return result


def workload(rng: np.random.Generator, *, models: bool) -> dict[Shape, float]:
    found = {}
    for _ in range(6):
        count = int(rng.integers(0, 3))
        share = int(rng.choice([250, 500, 1000])) if count else 0
        wanted = str(rng.choice(["", "a100", "a100|v100"])) if models and count else ""
        found[Shape(int(rng.integers(0, 5)) * 1000, share, count, wanted)] = float(rng.integers(1, 5)) / 8
    return found


@pytest.mark.parametrize("columns", [1, 7, 450])
@pytest.mark.parametrize("models", [False, True])
def test_the_measure_is_its_definition(columns: int, models: bool) -> None:
    rng = np.random.default_rng(columns)
    for _ in range(3):
        weights = workload(rng, models=models)
        target = Target(weights, numbers)
        free = rng.integers(0, 5, size=(4, columns)) * 250
        cpu = rng.integers(0, 5, size=columns) * 1000
        model = rng.integers(0, 3, size=columns, dtype=np.int32)
        found = target.fragmented(free, cpu, model)
        then = target.with_share(free, cpu, model, 250)
        for column in range(columns):
            devices, name = free[:, column].tolist(), MODELS[model[column]]
            assert found[column] == pytest.approx(plain(weights, devices, cpu[column], name))
            for device in range(4):
                taken = [each - 250 * (index == device) for index, each in enumerate(devices)]
                assert then[device, column] == pytest.approx(plain(weights, taken, cpu[column], name))
