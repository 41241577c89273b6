"""TrainingJobs under every fault."""

from __future__ import annotations

import os

import pytest

from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.run import run_history

SEEDS = range(200 if os.environ.get("PODIUM_SOAK") else 5)


@pytest.mark.parametrize("number", FAULTS)
def test_they_live_through_every_fault(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mostly TrainingJobs, beside pods and gangs of others."""
    kinds = population.workloads()
    jobs = dict.fromkeys(("trainingjob", "training", "paddle"), kinds["trainingjob"])
    monkeypatch.setattr(population, "workloads", lambda: {**jobs, "pod": kinds["pod"], "group": kinds["group"]})
    profiles = embedded_profiles()
    failed = [result for seed in SEEDS if (result := run_history(number, seed, profiles)).violation]
    assert not failed, "\n".join(f"seed {each.seed}: {each.violation}" for each in failed)
