"""The figures that people read, in their order and with their words: of the tables in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podium.sim.drawing.axes import duration, number

Document = dict[str, Any]


class Line(msgspec.Struct, frozen=True):
    """One figure: where it stands in the document, its words, its unit, and which is better (0: neither)."""

    path: str
    words: str
    unit: str = ""
    better: int = 0


LINES = (
    Line("nodes", "nodes"),
    Line("gpus", "GPUs"),
    Line("jobs", "jobs"),
    Line("pods", "pods"),
    Line("placed", "pods placed", better=1),
    Line("refused", "pods refused", better=-1),
    Line("finished", "jobs finished", better=1),
    Line("unfinished", "jobs that did not finish", better=-1),
    Line("gpu_allocation_percent", "GPUs given out", "%", 1),
    Line("fragmented_percent", "free GPUs that are of no use", "%"),  # of fewer free ones, more are
    Line("utilisation_percent.gpu", "GPU utilisation", "%", 1),
    Line("utilisation_percent.cpu", "CPU utilisation", "%", 1),
    Line("utilisation_percent.memory", "memory utilisation", "%", 1),
    Line("allocation_percent.gpu", "GPU allocation ratio", "%", 1),
    Line("allocation_percent.cpu", "CPU allocation ratio", "%", 1),
    Line("allocation_percent.memory", "memory allocation ratio", "%", 1),
    Line("wait_seconds.mean", "wait, mean", "s", -1),
    Line("wait_seconds.p50", "wait, p50", "s", -1),
    Line("wait_seconds.p95", "wait, p95", "s", -1),
    Line("wait_seconds.p99", "wait, p99", "s", -1),
    Line("completion_seconds.mean", "completion, mean", "s", -1),
    Line("completion_seconds.p50", "completion, p50", "s", -1),
    Line("completion_seconds.p95", "completion, p95", "s", -1),
    Line("completion_seconds.p99", "completion, p99", "s", -1),
    Line("makespan_seconds", "makespan", "s", -1),
    Line("fairness", "fairness", better=1),
    Line("evictions", "evictions", better=-1),
    Line("fragmentation_percent", "fragmentation", "%", -1),
)


def value_of(document: Document, path: str) -> float | None:
    """A figure of a run; None where it has none."""
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int | float) else None


def lines_of(runs: Sequence[Document]) -> list[Line]:
    """The figures that any of the runs has; what nobody asks for is left out."""

    def is_reported(line: Line) -> bool:
        values = [value_of(run, line.path) for run in runs]
        if line.path.startswith("utilisation_percent.") and not any(values):
            return False
        return any(value is not None for value in values)

    return [line for line in LINES if is_reported(line)]


def shown(value: float | None, unit: str) -> str:
    """A figure in words."""
    if value is None:
        return "–"
    if unit == "s":
        return duration(value)
    return f"{number(value)} {unit}".strip()


def queue_named(name: str) -> str:
    """What to call a queue."""
    return name or "no queue"


def best(values: Sequence[float | None], line: Line) -> set[int]:
    """Which of several runs are best, if they differ as far as can be seen."""
    reported = [value for value in values if value is not None]
    if not line.better or len({shown(value, line.unit) for value in reported}) < 2:
        return set()
    top = shown(max(reported) if line.better > 0 else min(reported), line.unit)
    return {place for place, value in enumerate(values) if shown(value, line.unit) == top}
