"""How a job stands, for whoever follows it to its end."""

from __future__ import annotations

from collections.abc import Mapping

from podium.dialects.arranger.types import FAILED, SUCCEEDED
from podium.dialects.dialect import Document, Progress, State

_ENDS = {SUCCEEDED: State.DONE, FAILED: State.FAILED}


def job_progress(job: Document, phases: Mapping[str, int]) -> Progress:
    status = job.get("status", {})
    stage = status.get("stage", "")
    ready = f"{status.get('readyWorkers', 0)} of {status.get('totalWorkers', 0)} workers ready"
    why = f": {status['message']}" if stage in _ENDS and status.get("message") else ""
    return Progress(_ENDS.get(stage, State.GOING), f"{stage or 'new'}, {ready}{why}")
