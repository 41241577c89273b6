"""A TrainingJob in the core's words: a gang of master, pservers, etcd and trainers, with a size and slots.

All of it starts together or not at all.  Its places are found before anything is created; they stand in the
status, with the number of trainers that is wanted.  Until there is such a number nothing is created.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from podium.core.cluster.slots import slot_id
from podium.core.model.facts import GangFacts
from podium.core.model.model import Phase, Size
from podium.dialects.dialect import Slot
from podium.dialects.kubernetes.membership import slot_owner
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.paddle.admission import check_job
from podium.dialects.paddle.names import SCHEDULER, TRAINER, USER, gang_id, object_name
from podium.dialects.paddle.pods import replicas_of, roles_of, template_of
from podium.dialects.paddle.types import TrainingJob
from podium.kube.times import parse_time
from podium.kube.wire import Pod
from podium.reasons import BAD_SPEC, Refusal, refuse
from podium.schema.pod_defaults import default_pod_spec

Document = dict[str, Any]

_MOST_SERVED = 1e15  # s; sums of more lose the seconds that are added


def read_job(job: TrainingJob, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
    """A job as it is now, and why it cannot be scheduled as it is."""
    wrong = check_job(job) if not job.ended else []
    refusal = refuse(BAD_SPEC, field=wrong[0].path, detail=wrong[0].detail) if wrong else None
    roles = {role: min(replicas_of(job, role), _size_of(job, role)) for role in roles_of(job)} if not wrong else {}
    facts = GangFacts(
        id=gang_id(job.namespace, job.name),
        namespace=job.namespace,
        name=job.name,
        queue="",
        minimum=sum(roles.values()),
        minimum_by_role=roles,
        created=parse_time(job.metadata.creation_timestamp),
        phase=Phase.INQUEUE,
        profile=SCHEDULER,
        size=_size(job) if _schedulable(job) and not wrong else None,
    )
    return facts, refusal


def _schedulable(job: TrainingJob) -> bool:
    return not job.ended and not job.deleting


def _size(job: TrainingJob) -> Size:
    spec, status = job.spec, job.status
    bounds = (spec.trainer.min_instance, spec.trainer.max_instance)
    least, most = bounds if not job.winding_down else (job.wanted, job.wanted)
    return Size(
        least=least,
        most=most,
        wanted=job.wanted,
        role=TRAINER,
        level=spec.level,
        window=spec.window or 0.0,
        user=job.labels.get(USER, ""),
        scaled=parse_time(status.last_scale_time or None),
        served=max(0.0, min(status.pod_seconds, _MOST_SERVED)),
        counted=parse_time(status.counted_at or None),
        score=status.score,
    )


def slots_of(job: TrainingJob) -> list[Slot]:
    """Its places, with the nodes that are kept for them.  A job that is wrong, or over, needs none."""
    if not _schedulable(job) or check_job(job):
        return []
    owner, places = slot_owner(job.namespace, job.uid), job.status.places or {}
    found: list[Slot] = []
    for role in roles_of(job):
        pod = _pod(msgspec.json.encode(template_of(job, role)), job.namespace)
        name = object_name(job.name, role)
        found += (
            Slot(slot_id(owner, role, index), f"{name}-{index}", pod, role, places.get(f"{role}/{index}", ""))
            for index in range(_size_of(job, role))
        )
    return found


def _size_of(job: TrainingJob, role: str) -> int:
    """How many pods of a role there are to be.  A least that is raised counts when the job has grown to it."""
    if role != TRAINER or not job.wanted:
        return replicas_of(job, role)
    # When one of them is done, those that are lost are not made again: no place is kept without a pod.
    return min(job.wanted, job.status.running) if job.winding_down else job.wanted


def place_name(slot: str) -> str:
    """What a slot is called in the status: its role and index."""
    return "/".join(slot.rsplit("/", 2)[1:])


@lru_cache(maxsize=4096)
def _pod(template: bytes, namespace: str) -> Pod:
    """A pod as a server would fill it in."""
    document: Document = msgspec.json.decode(template)
    default_pod_spec(document["spec"])
    for container in document["spec"]["containers"]:
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        container["resources"] = {**resources, "requests": asked}
    document["metadata"]["namespace"] = namespace
    return msgspec.convert(document, Pod)
