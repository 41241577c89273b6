"""Workloads of all dialects at once under every fault, half of them in one queue that has a capability."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from podium.dialects.aibee.names import POOL
from podium.dialects.volcano.names import QUEUE_NAME
from podium.dialects.workloads import Document, Rng, Workload
from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.run import run_history

SEEDS = range(200 if os.environ.get("PODIUM_SOAK") else 5)
QUEUE = "limited"
# As many of each API, whatever they are.
KINDS = ("vcjob", "group", "koordgang", "koordpodgroup", "tyjob", "tyjob", "pooled", "pooled-job", "trainingjob",
         "trainingjob", "pod", "job")  # fmt: skip


def mixed() -> dict[str, Workload]:
    known = population.workloads()
    return {f"{kind}-{place}": _sometimes_named(known[kind]) for place, kind in enumerate(KINDS)}


def _sometimes_named(workload: Workload) -> Workload:
    def make(rng: Rng, name: str) -> list[Document]:
        made = workload.make(rng, name)
        if rng.chance(0.5):
            for document in made:
                _name(document)
        return made

    return msgspec.structs.replace(workload, make=make)


def _name(value: Any) -> None:
    """Whatever has pods names the queue, as its users would."""
    if isinstance(value, list):
        for each in value:
            _name(each)
    if not isinstance(value, dict):
        return
    spec = value.get("spec")
    if value.get("kind") == "TrainingJob" or (isinstance(spec, dict) and "containers" in spec):
        annotations = value.setdefault("metadata", {}).setdefault("annotations", {})
        annotations.pop(POOL, None)
        annotations[QUEUE_NAME] = QUEUE
    if isinstance(spec, dict) and "queue" in spec:
        spec["queue"] = QUEUE
    for each in value.values():
        _name(each)


@pytest.mark.parametrize("number", FAULTS)
def test_all_live_through_every_fault(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = mixed()
    monkeypatch.setattr(population, "workloads", lambda: kinds)
    profiles = embedded_profiles()
    failed = [result for seed in SEEDS if (result := run_history(number, seed, profiles)).violation]
    assert not failed, "\n".join(f"seed {each.seed}: {each.violation}" for each in failed)
