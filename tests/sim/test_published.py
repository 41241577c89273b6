"""The published figures of the packing experiment, on the traces that it was made with.

The traces are not part of the repository (see `bench.fgd`, where they are looked for).  Without them nothing here
runs, and the summary says so.  Two seeds of three policies always do; PODIUM_SOAK=1 makes the whole table.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bench.fgd import FIRST_SEED, LOAD, all_cases, figures, known_traces, show, table

from podium.core.cluster.fragmentation import Target, typical
from podium.sim.inflation import inflate
from podium.sim.policies import policy
from podium.sim.traces.openb import GpuNode, GpuPod, arrivals, read_nodes, read_pods


@pytest.fixture(scope="module")
def traces() -> Path:
    found = known_traces()
    if found is None:
        pytest.skip("the traces are not here: PODIUM_TRACES=DIR says where they are")
    return found


@pytest.fixture(scope="module")
def openb(traces: Path) -> tuple[list[GpuPod], list[GpuNode]]:
    nodes = read_nodes(traces / "openb_node_list_gpu_node.csv")
    return read_pods(traces / "openb_pod_list_default.csv", {node.model for node in nodes}), nodes


def test_worked_values_of_the_published_scores(openb: tuple[list[GpuPod], list[GpuNode]]) -> None:
    target = Target(typical(Counter(pod.shape for pod in openb[0])), lambda names: [])
    none = np.array([0], dtype=np.int32)
    free = np.full((8, 1), 1000, dtype=np.int64)
    cpu = np.array([96_000], dtype=np.int64)
    assert math.isclose(target.fragmented(free, cpu, none)[0], 1087.8187, abs_tol=1e-4)
    after = target.with_share(free, cpu - 3152, none, 810)
    assert np.allclose(after, 1140.5202, atol=1e-4)


@pytest.mark.parametrize("seed", [42, 43])
@pytest.mark.parametrize(
    ("name", "published"),
    [("dotprod", (90.54, 90.84)), ("bestfit", (93.13, 93.25)), ("fgd", (95.29, 95.32))],
)
def test_published_runs_come_out_equal(
    openb: tuple[list[GpuPod], list[GpuNode]], name: str, published: tuple[float, float], seed: int
) -> None:
    pods, nodes = openb
    result = inflate(arrivals(pods, nodes, LOAD, seed), pods, policy(name, seed))
    assert abs(result.gpu_allocation_percent - published[seed - FIRST_SEED]) <= 0.02


@pytest.mark.skipif(not os.environ.get("PODIUM_SOAK"), reason="PODIUM_SOAK=1 makes the whole table")
def test_the_whole_table(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = table(all_cases(traces))
    with capsys.disabled():
        show(found)
    assert [each for each in figures(found) if not each.good] == []
