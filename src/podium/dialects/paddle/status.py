"""What a turn of the scheduler means for a TrainingJob, as patches of its status.

The scheduler writes how many trainers are wanted, the places that are kept, what the job has got so far, and the
condition that says why it waits.  The rest of the status is the controller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.core.actions.elastic import REPORT_SECONDS
from podium.core.model.model import Gang, State
from podium.dialects.dialect import Verdict
from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.paddle.translate import place_name
from podium.dialects.paddle.types import JobCondition, TrainingJob
from podium.kube.changes import Patch
from podium.kube.conditions import set_condition
from podium.kube.times import format_time, parse_time

Document = dict[str, Any]

SCHEDULED = "Scheduled"


def job_patch(job: TrainingJob, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    """Whether a job has its places, and if not, why."""
    if job.ended or (verdict is not None and verdict.repeated):
        return None
    conditions = [_document(each) for each in job.status.conditions or ()]
    started = gang.size is not None and gang.size.wanted > 0
    if verdict is not None and not started:
        after = set_condition(conditions, SCHEDULED, "False", verdict.refusal.code, str(verdict.refusal), now)
    elif verdict is not None and gang.counts[State.PENDING]:
        after = set_condition(conditions, SCHEDULED, "True", verdict.refusal.code, str(verdict.refusal), now)
    elif started:
        after = set_condition(conditions, SCHEDULED, "True", "Started", "its places have been found", now)
    else:
        return None
    return None if after is conditions else _patch(job, {"conditions": after})


def decided(job: TrainingJob, gang: Gang, nodes: Mapping[str, str]) -> Patch | None:
    """How many trainers there shall be, on which nodes there is room, and what counts for the next plan."""
    size = gang.size
    if size is None or job.ended:
        return None
    found = {place_name(slot): node for slot, node in nodes.items()}
    known = job.status.places or {}
    status: Document = {}
    if found != known:
        gone = {name: None for name in known if name not in found}
        status["places"] = {**gone, **found}
    if size.wanted != job.status.wanted:
        status["wanted"] = size.wanted
    scaled = format_time(size.scaled) if size.scaled else ""
    if scaled != job.status.last_scale_time:
        status["lastScaleTime"] = scaled
    if status or size.reported - parse_time(job.status.counted_at or None) >= REPORT_SECONDS:
        status |= {
            "podSeconds": round(size.served, 3),
            "countedAt": format_time(size.counted),
            "score": round(size.score, 3),
        }
    return _patch(job, status) if status else None


def _patch(job: TrainingJob, status: Document) -> Patch:
    return Patch(TRAININGJOBS, job.namespace, job.name, {"status": status}, subresource="status", uid=job.uid)


def _document(condition: JobCondition) -> Document:
    """A condition as it stands on the wire."""
    return {key: value for key, value in msgspec.to_builtins(condition).items() if value not in (None, "")}
