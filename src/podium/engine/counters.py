"""What the scheduler has done, in numbers: for whoever wants to know how it fares.

The machine only counts.  Durations here are differences of times that it was given; how long its own work takes
is measured by whoever runs it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import assert_never

import msgspec

from podium.core.model.decisions import (
    Bind,
    Decision,
    Evict,
    Journal,
    LookAgain,
    ModelOnly,
    Refuse,
    Report,
    Request,
    Reserve,
    Resize,
    TimeOut,
)
from podium.core.model.model import Gang, Task
from podium.engine.outcomes import Outcome, failure_reason, may_not_bind

# Upper bounds in milliseconds: a turn takes a fraction of one, a gang may wait for an hour.
BOUNDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 6e5, 3.6e6)


class Histogram:
    """How often a duration fell below each bound."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def observe(self, milliseconds: float) -> None:
        self.counts[bisect_left(BOUNDS, milliseconds)] += 1
        self.sum += milliseconds


class Progress(msgspec.Struct):
    """When a gang was first and last given places."""

    first: float
    last: float


class Counters:
    """Counts since the start, and what is still known of gangs that exist."""

    def __init__(self) -> None:
        self.turns = 0
        self.bound = 0
        self.failed: Counter[Outcome] = Counter()  # binds that were refused, or whose outcome was not known
        self.failures: Counter[str] = Counter()  # the same by how they failed
        self.forbidden = ""  # why no pod can be bound at all, since the last one that was
        self.victims = 0
        self.reserved = 0  # places that were held for tasks without binding them
        self.timed_out = 0  # gangs that held places for as long as they may
        self.resized = 0  # sizes of elastic gangs that were changed
        self.drift = 0  # numbers that the self-check found wrong
        self.preemptions = 0  # steps that pushed anybody out
        self.refusals: Counter[str] = Counter()  # of gangs, by the reason's code
        self.retries: Counter[str] = Counter()  # refusals by gang
        self.paths: Counter[str] = (
            Counter()
        )  # gangs by the way they took: "batch", or a slow one and who forced it
        self.progress: dict[str, Progress] = {}  # by gang
        self.task_latency = Histogram()  # from a task's creation to its bind
        self.gang_latency = Histogram()  # from a gang's creation to its first places

    def decided(self, decisions: Iterable[Decision], gangs: Mapping[str, Gang], now: float) -> None:
        """A step of a turn."""
        evicted = 0
        for decision in decisions:
            match decision:
                case Bind():
                    self._placed(decision.gang, gangs, now)
                case Evict():
                    evicted += 1
                case Journal():
                    self.paths.update(decision.paths.values())
                case Refuse():
                    self.refusals[decision.refusal.code] += 1
                    self.retries[decision.gang] += 1
                case Reserve():
                    self.reserved += 1
                case Resize():
                    self.resized += 1
                case TimeOut():
                    self.timed_out += 1
                case Request() | ModelOnly() | Report() | LookAgain():
                    pass
                case _:
                    assert_never(decision)
        self.victims += evicted
        self.preemptions += evicted > 0

    def _placed(self, id: str, gangs: Mapping[str, Gang], now: float) -> None:
        progress = self.progress.get(id)
        if progress is not None:
            progress.last = now
            return
        self.progress[id] = Progress(now, now)
        gang = gangs.get(id)
        self.gang_latency.observe(max(0.0, now - gang.created) * 1000 if gang is not None else 0.0)

    def bind_answered(self, task: Task | None, outcome: Outcome, error: Exception | None, now: float) -> None:
        if outcome is not Outcome.DONE:
            self.failed[outcome] += 1
            self.failures[failure_reason(error)] += 1
            if may_not_bind(error):
                self.forbidden = str(error)
            return
        self.bound += 1
        self.forbidden = ""
        if task is not None:
            self.task_latency.observe(max(0.0, now - task.created) * 1000)

    def forget_all_but(self, gangs: Container[str]) -> None:
        """What belongs to gangs that are gone is of no interest."""
        for known in (self.retries, self.progress):
            for id in [each for each in known if each not in gangs]:
                del known[id]
