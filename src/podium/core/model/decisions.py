"""What a cycle decided, as plain data.  The shell carries it out; results come back as facts.

Decisions are of three sorts, by what becomes of them:

    Request     a write to a pod, sent by the dispatcher: Bind, Nominate, Ungate, Evict
    ModelOnly   a change that the model has already, and that the dialect writes on the gang's object if it has a
                place for it: Reserve, Release, Resize, TimeOut
    Report      nothing is changed by it; for people, counters and the requeue: GangPhase, Refuse, QueueFault,
                Failure, Journal

and LookAgain, which is about time alone.  Whoever reads decisions handles those it is about one by one, and the
others by their sort; `assert_never` over `Decision` finds whom a new sort concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from podium.core.model.model import Phase, Task
from podium.reasons import Refusal


class Request(msgspec.Struct, frozen=True):
    """A write to the pod of a task."""


class ModelOnly(msgspec.Struct, frozen=True):
    """A change that stands in the model; nothing is sent for it but what the gang's dialect writes."""


class Report(msgspec.Struct, frozen=True):
    """Something to know; nothing is changed by it."""


class Bind(Request, frozen=True):
    """A task gets its node, with so many of its gang, and of so many gangs, in all.

    That travels with every bind: what belonged together is known from the pods alone after a crash.
    """

    task: str
    node: str
    gang: str
    members: int
    gangs: int = 1


class Nominate(Request, frozen=True):
    """A task waits for room on a node that others are leaving; with no node, it does so no longer."""

    task: str
    node: str


class Reserve(ModelOnly, frozen=True):
    """A task holds a place on a node from now on, without being bound: its gang is not whole, or it has no pod."""

    task: str
    node: str
    gang: str


class Release(ModelOnly, frozen=True):
    """A task gives the place back that was reserved for it."""

    task: str
    gang: str
    why: str


class Resize(ModelOnly, frozen=True):
    """An elastic gang is to have so many members; its dialect writes that, and its controller follows."""

    gang: str
    size: int


class LookAgain(msgspec.Struct, frozen=True):
    """Time alone may change what is decided on a gang: it is to be looked at then."""

    gang: str
    at: float


class Ungate(Request, frozen=True):
    """A task's queue has room for it: the gate that stood for the queue's quota is lifted."""

    task: str


class Evict(Request, frozen=True):
    """A task has to go, within its own grace period or the one that is given, in seconds."""

    task: str
    why: str
    grace: int | None = None


class GangPhase(Report, frozen=True):
    """A gang came into another phase."""

    gang: str
    phase: Phase


class TimeOut(ModelOnly, frozen=True):
    """A gang has held places for as long as it may: it gave them back, and is not tried again as it is.  Its
    dialect says so on its pods."""

    gang: str


class Refuse(Report, frozen=True):
    """Why a gang, or one task of it, is not placed."""

    gang: str
    refusal: Refusal
    task: str = ""


class QueueFault(Report, frozen=True):
    """A queue's own numbers do not hold together; the refusal says which, and what was made of them."""

    queue: str
    refusal: Refusal


class Failure(Report, frozen=True):
    """A plugin or an action raised an exception: who, what it said, and the trace for the log."""

    who: str
    error: str
    trace: str


class Journal(Report, frozen=True):
    """How a turn went: by gang, the way its tasks took to their places, with the hooks that forced a slow one."""

    paths: dict[str, str]


Decision = (
    Bind
    | Reserve
    | Release
    | Resize
    | LookAgain
    | Nominate
    | Ungate
    | Evict
    | GangPhase
    | TimeOut
    | Refuse
    | QueueFault
    | Failure
    | Journal
)


def by_gang(decisions: list[Decision], tasks: Mapping[str, Task], most: int) -> Iterator[list[Decision]]:
    """The decisions of one step in parts of about so many, each gang's in one part and in their order.

    A plan decides on thousands of gangs in one step, and each decision has to be written down in several places.
    """
    if len(decisions) <= most:
        yield decisions
        return
    found: dict[str, list[Decision]] = {}
    for decision in decisions:
        found.setdefault(_gang_of(decision, tasks), []).append(decision)
    part: list[Decision] = []
    for some in found.values():
        if part and len(part) + len(some) > most:
            yield part
            part = []
        part += some
    yield part


def _gang_of(decision: Decision, tasks: Mapping[str, Task]) -> str:
    """The gang that a decision is about; "" if it is about none."""
    match decision:
        case Nominate() | Ungate() | Evict():
            task = tasks.get(decision.task)
            return task.gang.id if task is not None else ""
        case QueueFault() | Failure() | Journal():
            return ""
        case _:
            return decision.gang
