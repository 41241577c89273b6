"""Each placement policy of TYJobs does what its name says, on the same jobs and nodes."""

from __future__ import annotations

import pytest

from tests.generated import DOCS
from tests.tyjob_policies import Figures, all_figures, pictures


@pytest.fixture(scope="module")
def found() -> dict[str, Figures]:
    return all_figures()


def test_binpack_uses_the_fewest_nodes(found: dict[str, Figures]) -> None:
    same = {name: each.nodes for name, each in found.items() if each.pods == found["BinPack"].pods}
    assert len(same) == 5, "Gang has fewer pods to place"
    assert same["BinPack"] == min(same.values()) < max(same.values())


def test_jobaffinity_and_its_opposite(found: dict[str, Figures]) -> None:
    spread = {name: each.nodes_a_job for name, each in found.items()}
    assert min(spread, key=spread.__getitem__) == "JobAffinity"
    assert max(spread, key=spread.__getitem__) == "JobAntiAffinity"


def test_minfragment_keeps_cpu_and_memory_closest(found: dict[str, Figures]) -> None:
    apart = {name: each.fragmentation for name, each in found.items()}
    assert min(apart, key=apart.__getitem__) == "MinFragment"


def test_leaderfirst_gives_leaders_idle_nodes_and_workers_busy_ones(found: dict[str, Figures]) -> None:
    gpus = {name: each.gpu_at_leaders for name, each in found.items()}
    cpus = {name: each.cpu_at_workers for name, each in found.items()}
    assert min(gpus, key=gpus.__getitem__) == "LeaderFirst"
    assert max(cpus, key=cpus.__getitem__) == "LeaderFirst"


def test_gang_never_starts_a_part(found: dict[str, Figures]) -> None:
    assert found["BinPack"].partly > 0
    assert found["Gang"].partly == 0


def test_the_pictures_are_what_the_simulator_draws_now(found: dict[str, Figures]) -> None:
    for name, text in pictures(found).items():
        assert (DOCS / "pictures" / name).read_text() == text, f"{name} is stale: python -m tests.generated"
