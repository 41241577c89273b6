"""The figures that people read, in their order and with their words: of the tables in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from podium.sim.drawing.axes import duration, number

Document = dict[str, Any]


class Line(msgspec.Struct, frozen=True):
    """One figure: where it stands in the document, its words, its unit, which is better (0: neither).

    `means` says what it is; `given`: it is part of the question and not of the answer.
    """

    path: str
    words: str
    unit: str = ""
    better: int = 0
    means: str = ""
    given: bool = False


_WAIT = "from a job's arrival until its last pod runs; who never starts waits to the end"
_ENDED = "from a job's arrival to its end, of the jobs that ended"

_USED = "what running pods ask for, of all there is"
_GIVEN = "of what was asked for and there, what was given"
_LOST = "of the free GPUs, those of no use to the usual pod where they are"

LINES = (
    Line("nodes", "nodes", means="of the cluster", given=True),
    Line("gpus", "GPUs", means="of the cluster", given=True),
    Line(
        "never_started",
        "jobs that never start",
        better=-1,
        means="a run with more of them than another is best in nothing",
    ),
    Line("wait_seconds.mean", "wait, mean", "s", -1, _WAIT),
    Line("wait_seconds.p50", "wait, p50", "s", -1, "half of all jobs wait no longer"),
    Line("wait_seconds.p95", "wait, p95", "s", -1, "95 of 100 jobs wait no longer"),
    Line("wait_seconds.p99", "wait, p99", "s", -1, "99 of 100 jobs wait no longer"),
    Line("fairness", "fairness", better=1, means="1: queues are slowed down in proportion to their weights"),
    Line("placed", "pods placed", better=1, means="that were given a node"),
    Line("refused", "pods refused", better=-1, means="for which no node had room"),
    Line("gpu_allocation_percent", "GPUs given out", "%", 1, "of all GPUs, when no more pods come"),
    # Of fewer free ones, more are of no use: neither is better.
    Line("fragmented_percent", "free GPUs that are of no use", "%", means="where they are, to the usual pod"),
    Line("utilisation_percent.gpu", "GPU utilisation", "%", 1, _USED),
    Line("utilisation_percent.cpu", "CPU utilisation", "%", 1, _USED),
    Line("utilisation_percent.memory", "memory utilisation", "%", 1, _USED),
    Line("allocation_percent.gpu", "GPU allocation ratio", "%", 1, _GIVEN),
    Line("allocation_percent.cpu", "CPU allocation ratio", "%", 1, _GIVEN),
    Line(
        "allocation_percent.memory",
        "memory allocation ratio",
        "%",
        1,
        _GIVEN,
    ),
    Line("evictions", "evictions", better=-1, means="pods that were pushed out for others, and begin anew"),
    Line("makespan_seconds", "makespan", "s", -1, "from the beginning to the end of the last job"),
    Line("completion_seconds.mean", "completion, mean", "s", -1, _ENDED),
    Line("completion_seconds.p50", "completion, p50", "s", -1, "half of these take no longer"),
    Line("completion_seconds.p95", "completion, p95", "s", -1, "95 of 100 take no longer"),
    Line("completion_seconds.p99", "completion, p99", "s", -1, "99 of 100 take no longer"),
    Line("finished", "jobs finished", better=1, means="that came to their end"),
    Line("unfinished", "jobs that did not finish", better=-1, means="at the end of the run"),
    Line(
        "fragmentation_percent",
        "fragmentation",
        "%",
        -1,
        _LOST,
    ),
    Line("jobs", "jobs", means="that came", given=True),
    Line("pods", "pods", means="that came", given=True),
)


def name_of(run: Document) -> str:
    return str(run.get("run") or run.get("profile") or "run")


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

    reported = [line for line in LINES if is_reported(line)]
    if len(runs) < 2:
        return reported
    # What was asked about comes first: of what is given only that which differs; what is the same comes last.
    same = [line for line in reported if line.given and len({value_of(run, line.path) for run in runs}) == 1]
    return [*(line for line in reported if line not in same), *same]


def starving(runs: Sequence[Document]) -> set[int]:
    """The runs in which more jobs never start than in others: none is quick because it leaves somebody out."""
    counts = [int(value_of(run, "never_started") or 0) for run in runs]
    return {place for place, count in enumerate(counts) if count > min(counts)}


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


def best(values: Sequence[float | None], line: Line, left_out: Collection[int] = ()) -> set[int]:
    """Which of several runs are best, if they differ as far as can be seen; who is `left_out` never is."""
    reported = [value for place, value in enumerate(values) if value is not None and place not in left_out]
    every = [value for value in values if value is not None]
    if not line.better or not reported or len({shown(value, line.unit) for value in every}) < 2:
        return set()
    top = shown(max(reported) if line.better > 0 else min(reported), line.unit)
    found = {place for place, value in enumerate(values) if shown(value, line.unit) == top}
    return found - set(left_out)
