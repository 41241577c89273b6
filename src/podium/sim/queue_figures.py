"""What the jobs of each queue met with, and how even that is.

Everything is over all jobs of a queue, also those that did not run: a queue that starves is not a quick one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podium.sim.ledger import LedgerJob
from podium.sim.statistics import Spread, evenness, spread


class QueueFigures(msgspec.Struct, frozen=True):
    """What a queue's jobs met with.  Jobs of no queue stand under an empty name, without a weight."""

    name: str
    weight: int | None
    jobs: int
    finished: int
    gpu_hours: float  # that its finished jobs asked for, times their run time
    never_started: int
    wait_seconds: Spread  # of all jobs: who never started waits to the end of the run
    slowdown: float | None  # from arrival to end, by the run time: the mean


def by_queue(jobs: Sequence[LedgerJob]) -> dict[str, list[LedgerJob]]:
    found: dict[str, list[LedgerJob]] = {}
    for job in jobs:
        found.setdefault(job.queue, []).append(job)
    return found


def wait_of(job: LedgerJob, end: float) -> float:
    """Who never starts waits to the end of the run, and longer."""
    return (job.started if job.started >= 0 else max(end, job.arrival)) - job.arrival


def _slowdown(jobs: Sequence[LedgerJob], end: float) -> float | None:
    """The mean over all jobs; of one that has not ended, the least that it can come to."""
    slow = []
    for job in jobs:
        ended = job.ended
        if ended < 0:
            ended = max(end, (job.started if job.started >= 0 else max(end, job.arrival)) + job.duration)
        slow.append((ended - job.arrival) / max(job.duration, 1.0))
    return sum(slow) / len(slow) if slow else None


def fairness(jobs: Sequence[LedgerJob], weights: dict[str, int], end: float) -> float | None:
    """How even the queues' slowdowns are, each times the queue's weight: with twice the weight, half is fair."""
    slow = {name: _slowdown(mine, end) for name, mine in by_queue(jobs).items()}
    known = [each * weights.get(name, 1) for name, each in slow.items() if each is not None]
    return evenness(known) if known else None


def queue_figures(jobs: Sequence[LedgerJob], weights: dict[str, int], end: float) -> list[QueueFigures]:
    found = []
    for name, mine in sorted(by_queue(jobs).items()):
        done = [job for job in mine if job.ended >= 0]
        slowdown = _slowdown(mine, end)
        found.append(
            QueueFigures(
                name=name,
                weight=weights.get(name, 1) if name else None,
                jobs=len(mine),
                finished=len(done),
                gpu_hours=round(sum(job.asks.gpu * job.duration for job in done) / 3600, 2),
                never_started=sum(job.started < 0 for job in mine),
                wait_seconds=spread([wait_of(job, end) for job in mine]),
                slowdown=round(slowdown, 3) if slowdown is not None else None,
            )
        )
    return found
