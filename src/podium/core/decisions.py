"""What a cycle decided, as plain data.  The shell carries it out; results come back as facts."""

from __future__ import annotations

import msgspec

from podium.core.model import Phase
from podium.reasons import Refusal


class Bind(msgspec.Struct, frozen=True):
    """A task gets its node, with so many of its gang in all: what belonged together can be told after a crash."""

    task: str
    node: str
    gang: str
    members: int


class Nominate(msgspec.Struct, frozen=True):
    """A task waits for room on a node that others are leaving; with no node, it does so no longer."""

    task: str
    node: str


class Ungate(msgspec.Struct, frozen=True):
    """A task's queue has room for it: the gate that stood for the queue's quota is lifted."""

    task: str


class Evict(msgspec.Struct, frozen=True):
    """A task has to go."""

    task: str
    why: str


class GangPhase(msgspec.Struct, frozen=True):
    """A gang came into another phase."""

    gang: str
    phase: Phase


class Refuse(msgspec.Struct, frozen=True):
    """Why a gang, or one task of it, is not placed."""

    gang: str
    refusal: Refusal
    task: str = ""


class QueueFault(msgspec.Struct, frozen=True):
    """A queue's own numbers do not hold together; the refusal says which, and what was made of them."""

    queue: str
    refusal: Refusal


class Failure(msgspec.Struct, frozen=True):
    """A plugin or an action raised an exception: who, what it said, and the trace for the log."""

    who: str
    error: str
    trace: str


class Journal(msgspec.Struct, frozen=True):
    """How a turn went: by gang, the way its tasks took to their places, with the hooks that forced a slow one."""

    paths: dict[str, str]


Decision = Bind | Nominate | Ungate | Evict | GangPhase | Refuse | QueueFault | Failure | Journal
