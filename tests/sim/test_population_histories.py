"""Every dialect's workloads, and all of them at once, under every fault."""

from __future__ import annotations

import os

import pytest

from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.run import run_history
from tests.sim.populations import POPULATIONS

SEEDS = range(200 if os.environ.get("PODIUM_SOAK") else 5)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", FAULTS)
@pytest.mark.parametrize("lives", POPULATIONS)
def test_all_live_through_every_fault(lives: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = POPULATIONS[lives]()
    monkeypatch.setattr(population, "workloads", lambda: kinds)
    profiles = embedded_profiles()
    failed = [result for seed in SEEDS if (result := run_history(number, seed, profiles)).violation]
    assert not failed, "\n".join(f"seed {each.seed}: {each.violation}" for each in failed)
