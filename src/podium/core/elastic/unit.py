"""A unit: an elastic gang as a policy sees it, with its score.

The score says how much a unit has got so far, for what it is worth:

    weighted   what a member weighs x seconds of its members / level     (the default)
    literal    level x what a member weighs x seconds of its members

Whoever has the smallest score is served first.  Divided by the level, ten times the level is ten times the share,
and a low level still gets on; multiplied by it, as the formula was first written down, a high level comes last.

The seconds are those of all members together, also of those that are gone: else a unit would be rewarded for
having shrunk.  `literal` time counts them once for each member that runs now.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.core.model.model import Task
from podium.core.model.resources import CPU, MEMORY

GIB = 1 << 30

WEIGHTED, LITERAL = "weighted", "literal"
POD_SECONDS = "podSeconds"


class Request(msgspec.Struct, frozen=True):
    """What one member asks for, in the order of what is dear."""

    gpus: float = 0.0
    cpus: float = 0.0
    memory: float = 0.0  # GiB


def request_of(task: Task, gpu: int | None) -> Request:
    """What a task asks for; `gpu` is the column of GPUs, if any are known."""
    request = task.cls.request
    gpus = float(request.amount(gpu)) if gpu is not None else 0.0
    return Request(gpus, request.amount(CPU) / 1000, request.amount(MEMORY) / GIB)


class Weights(msgspec.Struct, frozen=True):
    """What a GPU, a core and a GiB count."""

    gpu: float = 100.0
    cpu: float = 10.0
    memory: float = 1.0


class Scoring(msgspec.Struct, frozen=True):
    """How scores are made."""

    mode: str = WEIGHTED
    time: str = POD_SECONDS
    weights: Weights = Weights()

    def weight(self, request: Request) -> int:
        """The resource score of one member: at least 1, or what asks for little would weigh nothing."""
        weights = self.weights
        found = weights.gpu * request.gpus + weights.cpu * request.cpus + weights.memory * request.memory
        return max(1, int(found))

    def score(self, unit: Unit) -> float:
        seconds = unit.served * (unit.running if self.time == LITERAL else 1)
        value = self.weight(unit.request) * seconds
        return value * unit.level if self.mode == LITERAL else value / unit.level

    def rate(self, unit: Unit) -> float:
        """By how much a second of one more member raises the score."""
        value = self.weight(unit.request) * (unit.level if self.mode == LITERAL else 1 / unit.level)
        return value * (unit.running if self.time == LITERAL else 1)


class Unit:
    """What is scheduled as one: it has `expected` members planned, and `running` ones run."""

    __slots__ = (
        "completed",
        "expected",
        "frozen_until",
        "least",
        "level",
        "like",
        "most",
        "name",
        "obj",
        "planned",
        "request",
        "running",
        "served",
        "since",
        "submitted",
        "user",
    )

    def __init__(
        self,
        name: str,
        *,
        level: int = 1,
        least: int = 1,
        most: int = 1,
        expected: int = 0,
        running: int = 0,
        served: float = 0.0,
        request: Request | None = None,
        submitted: float = 0.0,
        since: float | None = None,
        frozen_until: float = 0.0,
        user: str = "",
        completed: bool = False,
        obj: Any = None,
        like: Task | None = None,
    ) -> None:
        self.name = name
        self.level = level
        self.least = least
        self.most = most
        self.expected = expected  # members it is asked to have; 0: it has not been started
        self.planned = expected  # the same, as a plan changes it
        self.running = running
        self.served = served  # seconds that its members have run
        self.request = request if request is not None else Request()
        self.submitted = submitted
        self.since = submitted if since is None else since  # when it began to wait
        self.frozen_until = frozen_until
        self.user = user
        self.completed = completed
        self.obj = obj
        self.like = like  # one of its members, of which there may be more

    @property
    def waiting(self) -> bool:
        """Whether it has not been started."""
        return self.planned == 0

    @property
    def elastic(self) -> bool:
        return self.least < self.most

    def frozen(self, now: float) -> bool:
        return now < self.frozen_until

    @property
    def tie(self) -> tuple[float, float, float, float, float, str]:
        """Among equal scores: the higher level, then more GPUs, cores and memory, then who came first."""
        request = self.request
        return (-self.level, -request.gpus, -request.cpus, -request.memory, self.submitted, self.name)

    def __repr__(self) -> str:
        return f"<Unit {self.name} {self.planned} of {self.least}-{self.most}>"
