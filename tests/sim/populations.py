"""Who lives on the clusters of histories: mostly the workloads of one dialect, or as many of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from podium.dialects.aibee.names import POOL
from podium.dialects.volcano.names import QUEUE_NAME
from podium.dialects.workloads import Document, Rng, Workload
from podium.sim.histories import population

QUEUE = "limited"
# As many of each API, whatever they are.
KINDS = ("vcjob", "group", "koordgang", "koordpodgroup", "tyjob", "tyjob", "pooled", "pooled-job", "trainingjob",
         "trainingjob", "pod", "job")  # fmt: skip


def mostly(*kinds: str) -> dict[str, Workload]:
    """These kinds, beside some pods and gangs of others."""
    known = population.workloads()
    repeated = {f"{kind}-{place}": known[kind] for place, kind in enumerate(kinds * (4 // len(kinds)))}
    return {**repeated, "pod": known["pod"], "group": known["group"]}


def mixed() -> dict[str, Workload]:
    """All dialects at once, half of them in one queue that has a capability."""
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


POPULATIONS: dict[str, Callable[[], dict[str, Workload]]] = {
    "koordinator": partial(mostly, "koordgang", "koordgroup", "koordpodgroup"),
    "arranger": partial(mostly, "tyjob"),
    "pools": partial(mostly, "pooled", "pooled-job"),
    "paddle": partial(mostly, "trainingjob"),
    "mixed": mixed,
}
