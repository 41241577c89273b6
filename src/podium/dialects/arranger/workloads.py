"""Jobs as Arranger's users write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.types import BASIC_POLICIES, CLEAN_POLICIES, QUEUE_POLICIES
from podium.dialects.workloads import NAMESPACE, Document, Rng, Workload, template
from podium.kube.pod_script import EXIT_CODE


def job(name: str, leader: Document, workers: Mapping[str, tuple[int, Document]], **spec: Any) -> Document:
    """A job with a leader and sets of so many workers."""
    sets = [{"name": each, "counts": count, "template": pods} for each, (count, pods) in workers.items()]
    return {
        "apiVersion": TYJOBS.api_version,
        "kind": TYJOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"leader": {"name": "learner", "template": leader}, "workerSets": sets, **spec},
    }


def _some_job(rng: Rng, name: str) -> list[Document]:
    """Of any policy; its leader may fail, and its workers may do more than it waits for."""
    leader, actor = template(rng.ask()), template(rng.ask())
    counts = {"actor": (rng.whole(1, 3), actor)}
    if rng.chance(0.3):
        counts["judge"] = (1, template(rng.ask()))
    total = sum(count for count, _ in counts.values())
    made = job(
        name,
        leader,
        counts,
        minWorkersNum=rng.whole(1, total),
        priority=rng.whole(1, 10),
        cleanPodPolicy=rng.pick(CLEAN_POLICIES),
        restartLimit=rng.whole(0, 3),
        schedulerPolicy={
            "basicPolicy": rng.pick(BASIC_POLICIES),
            "jobQueuePolicy": rng.pick(QUEUE_POLICIES),
        },
    )
    if rng.chance(0.2):
        leader["metadata"]["annotations"][EXIT_CODE] = "1"
    return [made]


WORKLOADS: Mapping[str, Workload] = {"tyjob": Workload(_some_job, gang=True)}
