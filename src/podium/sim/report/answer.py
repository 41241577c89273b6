"""The answer in words: what changed from the first run to the others, or what came of one.

A comparison is read against its first run.  Waits are of all jobs, the same ones in every run: a job that never
started waits to the end, so a run that starves somebody does not look quicker for it.  What differs by less than
can be seen is said to be unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from podium.sim.drawing.axes import number
from podium.sim.report.rows import name_of, queue_named, shown, value_of

Document = dict[str, Any]

SAME = 0.01  # of a wait, and of a percentage in points times a hundred: below it nothing has changed
_SHORT = 1.0  # second: a wait below it is none
_QUEUES = 6  # that are named in a sentence


def answer(runs: Sequence[Document]) -> list[str]:
    """Some sentences, the most important one first."""
    if len(runs) == 1:
        said = [_alone(runs[0])]
    else:
        said = [_compared(runs[0], run) for run in runs[1:]]
    return [*filter(None, said), *(line for run in runs for line in _never(run, len(runs) > 1))]


def _alone(run: Document) -> str:
    if "curve" in run:
        return f"{_percent(value_of(run, 'gpu_allocation_percent') or 0)} of the GPUs were given out."
    jobs, never = run.get("jobs", 0), run.get("never_started", 0)
    if not jobs:
        return "There were no jobs."
    parts = [f"{'All' if not never else f'{jobs - never:,} of'} {jobs:,} jobs started"]
    typical, late = value_of(run, "wait_seconds.p50"), value_of(run, "wait_seconds.p95")
    if typical is not None:
        parts.append(f"half of all jobs waited at most {shown(typical, 's')}, 95 % at most {shown(late, 's')}")
    for key, word in (("gpu", "GPUs"), ("cpu", "cores")):
        used = value_of(run, f"utilisation_percent.{key}")
        if used:
            parts.append(f"{_percent(used)} of the {word} were in use on average")
            break
    return "; ".join(parts) + "."


def _compared(base: Document, run: Document) -> str:
    """`with weights 3:1, production waits 42 % less, research 58 % more; use of GPUs unchanged`."""
    if "curve" in run:
        parts = [_share(base, run, "gpu_allocation_percent", "GPUs given out")]
    else:
        parts = [
            _waits(base, run),
            *(_share(base, run, f"utilisation_percent.{key}", f"use of {word}") for key, word in _resources(run)),
            _count(base, run, "evictions", "evictions"),
            _count(base, run, "never_started", "jobs that never start"),
        ]
    parts = list(filter(None, parts))
    return f"{name_of(run)} instead of {name_of(base)}: {'; '.join(parts)}." if parts else ""


def _resources(run: Document) -> Iterator[tuple[str, str]]:
    """GPUs if there are any, else CPU."""
    has_gpus = bool(run.get("gpus"))
    yield ("gpu", "GPUs") if has_gpus else ("cpu", "CPU")


def _waits(base: Document, run: Document) -> str:
    before = {queue["name"]: queue["wait_seconds"]["mean"] for queue in base.get("queues", ())}
    after = {queue["name"]: queue["wait_seconds"]["mean"] for queue in run.get("queues", ())}
    both = [name for name in before if name in after]
    if len(both) < 2:
        return _wait("jobs", "wait", value_of(base, "wait_seconds.mean"), value_of(run, "wait_seconds.mean"))
    changes = sorted(both, key=lambda name: (after[name] or 0.0) - (before[name] or 0.0))
    named = changes if len(changes) <= _QUEUES else [*changes[: _QUEUES // 2], *changes[-_QUEUES // 2 :]]
    parts = [_wait(queue_named(name), "waits", before[name], after[name]) for name in named]
    return ", ".join(filter(None, parts))


def _wait(who: str, verb: str, before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    if max(before, after) < _SHORT:
        return f"{who}: hardly any wait, as before"
    if abs(after - before) <= SAME * max(before, after):
        return f"{who} {verb} as long as before"
    if before < _SHORT:
        return f"{who} {verb} {shown(after, 's')} instead of not at all"
    if after >= 3 * before:
        return f"{who} {verb} {number(after / before)} times as long"
    change = f"{round(100 * abs(after - before) / before)} %"
    return f"{who} {verb} {change} {'less' if after < before else 'longer'}"


def _share(base: Document, run: Document, path: str, words: str) -> str:
    before, after = value_of(base, path), value_of(run, path)
    if before is None or after is None:
        return ""
    if abs(after - before) < 100 * SAME / 2:
        return f"{words} unchanged ({_percent(after)})"
    return f"{words} {_percent(after)} instead of {_percent(before)}"


def _percent(value: float) -> str:
    """Words do with whole ones; the table has the rest."""
    return f"{round(value)} %" if value >= 10 else shown(round(value, 1), "%")


def _count(base: Document, run: Document, path: str, words: str) -> str:
    before, after = value_of(base, path) or 0, value_of(run, path) or 0
    return f"{number(after)} {words} instead of {number(before)}" if before != after else ""


def _never(run: Document, several: bool) -> Iterator[str]:
    """Who never started, and why: the same reason is said once."""
    count = run.get("never_started") or 0
    if not count:
        return
    of = f"{name_of(run)}: " if several else ""
    by_reason: dict[str, list[Document]] = {}
    for job in run.get("never", ()):
        by_reason.setdefault(job["why"], []).append(job)
    reasons = []
    for why, jobs in list(by_reason.items())[:3]:
        named = ", ".join(job["name"] for job in jobs[:3]) + (" and others" if len(jobs) > 3 else "")
        reasons.append(f"{named}: {why or 'nobody looked at it before the end'}")
    them = "1 job never starts" if count == 1 else f"{count:,} of {run['jobs']:,} jobs never start"
    yield f"{of}{them}. {'; '.join(reasons)}."
