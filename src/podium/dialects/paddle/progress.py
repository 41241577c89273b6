"""How a TrainingJob stands, for whoever follows it to its end."""

from __future__ import annotations

from collections.abc import Mapping

from podium.dialects.dialect import Document, Progress, State
from podium.dialects.paddle.types import FAILED, SUCCEEDED

_ENDS = {SUCCEEDED: State.DONE, FAILED: State.FAILED}


def job_progress(job: Document, phases: Mapping[str, int]) -> Progress:
    spec, status = job.get("spec", {}), job.get("status", {})
    phase, trainer = status.get("phase", ""), spec.get("trainer", {})
    sizes = f"{trainer.get('min-instance', 1)} to {trainer.get('max-instance', 1)}"
    message = f"{status.get('running', 0)} of {status.get('wanted', 0)} trainers run, of {sizes}"
    if phase == FAILED and status.get("reason"):
        message = status["reason"]
    return Progress(_ENDS.get(phase, State.GOING), f"{phase or 'waiting'}, {message}")
