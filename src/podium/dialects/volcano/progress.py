"""How a Job stands, for whoever follows it to its end."""

from __future__ import annotations

from collections.abc import Mapping

from podium.dialects.dialect import Document, Progress, State
from podium.dialects.volcano.job.state import ABORTED, COMPLETED, FAILED, TERMINATED

_ENDS = {COMPLETED: State.DONE, FAILED: State.FAILED, TERMINATED: State.FAILED, ABORTED: State.FAILED}


def job_progress(job: Document, phases: Mapping[str, int]) -> Progress:
    spec, status = job.get("spec", {}), job.get("status", {})
    phase = status.get("state", {}).get("phase", "")
    count = sum(task.get("replicas", 0) for task in spec.get("tasks") or ())
    message = f"{status.get('succeeded', 0)} of {count} pods succeeded, {phases.get('Running', 0)} running"
    return Progress(_ENDS.get(phase, State.GOING), f"{phase or 'new'}, {message}")
