"""Pods and Jobs in pools, as Ai-Scheduler's users write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.dialects.aibee.names import POOL, POOLS, SCHEDULER
from podium.dialects.workloads import NAMESPACE, Ask, Document, Rng, Workload, pod, template


def pool(name: str, *nodes: str, **spec: Any) -> Document:
    """A pool of the nodes with these host names."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    return {
        "apiVersion": POOLS.api_version,
        "kind": POOLS.kind,
        "metadata": {"name": name},
        "spec": {"nodeSelector": {"matchExpressions": [expression]}, **spec},
    }


def job(name: str, pods: int, ask: Ask, **spec: Any) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"completions": pods, "parallelism": pods, "template": template(ask), **spec},
    }


def _ask(rng: Rng) -> Ask:
    """What the draw wants, in a pool: in one of its own, or where everybody is who names none, or a wrong one."""
    home = rng.pick(("left", "left", "right", "right", "", "gone"))
    marks = {POOL: home} if home else {}
    return msgspec.structs.replace(rng.ask(), scheduler=SCHEDULER, naming={}, annotations=marks)


def _some_pods(rng: Rng, name: str) -> list[Document]:
    ask = _ask(rng)
    return [pod(f"{name}-{number}", ask) for number in range(rng.whole(1, 3))]


def _some_job(rng: Rng, name: str) -> list[Document]:
    return [job(name, rng.whole(1, 3), _ask(rng), backoffLimit=3)]


WORKLOADS: Mapping[str, Workload] = {"pooled": Workload(_some_pods), "pooled-job": Workload(_some_job)}
SURROUNDINGS = (pool("left", "node-1"), pool("right", "node-2", "node-3"))
