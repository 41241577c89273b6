"""TrainingJobs as Paddle's users write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.workloads import NAMESPACE, Document, Rng, Workload
from podium.kube.pod_script import EXIT_CODE, RUN_SECONDS, TERMINATION_SECONDS, WORK_SECONDS


def training_job(
    name: str,
    trainers: tuple[int, int],
    *,
    cpu: str = "1",
    gpus: int = 0,
    pservers: int = 1,
    fault_tolerant: bool = True,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Document:
    """A job with so many trainers, from and to."""
    amounts = {"cpu": cpu, **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    small = {"requests": {"cpu": "500m"}}
    return {
        "apiVersion": TRAININGJOBS.api_version,
        "kind": TRAININGJOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": dict(annotations or {})},
        "spec": {
            "fault_tolerant": fault_tolerant,
            "trainer": {
                "entrypoint": "python train.py",
                "workspace": "/home/job",
                "min-instance": trainers[0],
                "max-instance": trainers[1],
                "resources": {"requests": dict(amounts), "limits": dict(amounts)},
            },
            "pserver": {"min-instance": pservers, "max-instance": pservers, "resources": small},
            "master": {"resources": small},
            **spec,
        },
    }


def _some_job(rng: Rng, name: str) -> list[Document]:
    """Elastic or not, of any priority, with work that ends, fails, or is shared by its trainers."""
    ask = rng.ask()
    least = rng.whole(1, 2)
    most = least + (rng.whole(1, 3) if rng.chance(0.7) else 0)
    tolerant = most > least or rng.chance(0.5)
    # No trainer works for longer than a cluster is watched before it counts as at rest.
    script = {WORK_SECONDS: str(least * rng.whole(20, 50))} if tolerant else {RUN_SECONDS: str(rng.whole(10, 60))}
    if rng.chance(0.2):
        script[TERMINATION_SECONDS] = str(rng.whole(1, 20))
    if rng.chance(0.1):
        script = {RUN_SECONDS: str(rng.whole(5, 20)), EXIT_CODE: "1"}
    spec: Document = {"freezingWindow": rng.pick((0, 5, "10s"))}
    if rng.chance(0.5):
        spec.update(priority=rng.pick(("Experiment", "Offline", "Normal", "Production", 50)))
    if tolerant and rng.chance(0.2):
        spec["etcd"] = {"replicas": 3}
    made = training_job(
        name,
        (least, most),
        gpus=ask.gpus if rng.chance(0.3) else 0,
        pservers=rng.whole(0, 2),
        fault_tolerant=tolerant,
        annotations={**script, **(ask.naming if rng.chance(0.3) else {})},
        **spec,
    )
    return [made]


WORKLOADS: Mapping[str, Workload] = {"trainingjob": Workload(_some_job, gang=True)}
