"""What a look at a Job means for its status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.state import ABORTED, FINISHED, RUNNING, Counts
from podium.dialects.volcano.job.types import LARGEST_NUMBER, Job, JobCondition, TaskState
from podium.kube.changes import Change, Patch
from podium.kube.times import format_time, parse_time
from podium.kube.writing import count, status_patch

Document = dict[str, Any]


class Move(msgspec.Struct, frozen=True):
    """Into which phase a Job goes ("" for none), by which action, and why."""

    phase: str = ""
    reason: str = ""
    message: str = ""


def status_change(
    job: Job, move: Move, counts: Counts, tasks: Mapping[str, TaskState], version: int, retries: int, now: float
) -> tuple[Change, ...]:
    """The write that makes the status so, or none when it is so already.

    It is guarded by the version of the Job that was looked at: versions and retries are counted on from there.
    """
    status = job.status
    desired: Document = {
        "minAvailable": count(job.spec.min_available),
        "taskStatusCount": _task_states(status.task_status_count or {}, tasks),
        "pending": count(counts.pending),
        "running": count(counts.running),
        "succeeded": count(counts.succeeded),
        "failed": count(counts.failed),
        "terminating": count(counts.terminating),
        "unknown": count(counts.unknown),
        "version": count(version),
        "retryCount": count(retries),
        "replicas": count(min(job.total, LARGEST_NUMBER)),
    }
    state = status.state
    if move.phase and move.phase != state.phase:
        desired |= _moved(job, move, now)
    elif move.phase and (move.reason, move.message) != (state.reason, state.message):
        desired["state"] = {"phase": move.phase, "reason": move.reason or None, "message": move.message or None}
    return status_patch(JOBS, job, status, desired, exact=True)


def _moved(job: Job, move: Move, now: float) -> Document:
    since = format_time(now)
    state = {
        "phase": move.phase,
        "reason": move.reason or None,
        "message": move.message or None,
        "lastTransitionTime": since,
    }
    # One entry for each phase, the newest last.
    before = [each for each in job.status.conditions or () if each.status != move.phase]
    conditions = [*before, JobCondition(move.phase, since)]
    changed: Document = {
        "state": state,
        "conditions": [
            {"status": each.status, "lastTransitionTime": each.last_transition_time} for each in conditions
        ],
    }
    if move.phase in FINISHED or move.phase == ABORTED:
        began = next((each.last_transition_time for each in before if each.status == RUNNING), None)
        if began is not None:
            changed["runningDuration"] = go_duration(now - parse_time(began))
    return changed


def _task_states(seen: Mapping[str, TaskState], wanted: Mapping[str, TaskState]) -> Document | None:
    """The counts of each task in a merge patch: what is no longer there has to be named."""
    states: Document = {}
    for task in {**seen, **wanted}:
        if task not in wanted:
            states[task] = None
            continue
        phases = wanted[task].phase or {}
        gone = dict.fromkeys((seen[task].phase or {}) if task in seen else ())
        states[task] = {"phase": {**gone, **phases}}
    return states or None


def record_change(job: Job, records: Mapping[str, str]) -> tuple[Change, ...]:
    """Notes what was made for the Job.  Nobody else writes this, so it needs no guard."""
    known = job.status.controlled_resources or {}
    if all(known.get(key) == value for key, value in records.items()):
        return ()
    patch = {"status": {"controlledResources": dict(records)}}
    return (Patch(JOBS, job.namespace, job.name, patch, subresource="status", uid=job.uid),)


def go_duration(seconds: float) -> str:
    """A duration as Go prints it: 1h2m3s."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    text = f"{hours}h" if hours else ""
    text += f"{minutes}m" if hours or minutes else ""
    return f"{text}{rest}s"
