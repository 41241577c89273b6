"""Answers as data: what commands print, what `-o json` and the Python client give, what pages show."""

from __future__ import annotations

import msgspec


class NodesOut(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes that are out for one reason."""

    nodes: int
    reason: str  # its code, as docs/reasons.md lists it
    message: str


class Funnel(msgspec.Struct, frozen=True, rename="camel"):
    """Which nodes are out for what; `matching` are those that only room keeps out."""

    nodes: int
    matching: int
    out: tuple[NodesOut, ...] = ()


class Amounts(msgspec.Struct, frozen=True, rename="camel"):
    """A queue's arithmetic in one resource, in the units of `kubectl`.  A `limit` of None is none."""

    resource: str
    used: str
    deserved: str
    limit: str | None
    waiting: str
    borrowed: str


class QueueStanding(msgspec.Struct, frozen=True, rename="camel"):
    """How a queue stands."""

    name: str
    share: float | None = None  # how much of what it deserves it holds
    weight: int = 1
    weights: int = 0
    open: bool = True
    amounts: tuple[Amounts, ...] = ()
    running: int = 0  # gangs
    waiting: int = 0
    nodes: int | None = None  # of a queue that owns nodes: how many; what it deserves is what these have


class Member(msgspec.Struct, frozen=True, rename="camel"):
    """A pod of a gang, and its node."""

    pod: str
    state: str
    node: str = ""


class GangView(msgspec.Struct, frozen=True, rename="camel"):
    """A gang, how many members it needs, and how they stand."""

    name: str
    namespace: str
    queue: str
    need: int
    placed: int
    waiting: int
    members: tuple[Member, ...] = ()
    together: tuple[str, ...] = ()


class Ahead(msgspec.Struct, frozen=True, rename="camel"):
    """Somebody who is served before."""

    name: str
    namespace: str
    asks: dict[str, str]
    since: float
    priority: int = 0


class Position(msgspec.Struct, frozen=True, rename="camel"):
    """A place in a queue's line, beginning with 1, and the first of those before it."""

    position: int
    of: int
    ahead: tuple[Ahead, ...] = ()


class RemedyView(msgspec.Struct, frozen=True, rename="camel"):
    """What would unblock it, tried on a copy of the model, and the commands for it."""

    sentence: str
    commands: tuple[str, ...]


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """Why something waits, and what would help."""

    object: str  # kind/name
    namespace: str
    state: str  # waiting, running, done, empty
    sentence: str
    reason: str = ""
    hint: str = ""
    scheduler: str = ""
    since: float = 0.0
    funnel: Funnel | None = None
    gangs: tuple[GangView, ...] = ()
    queue: QueueStanding | None = None
    position: Position | None = None
    remedies: tuple[RemedyView, ...] = ()
    cut: bool = False  # the search ended early: something else may help as well, or less be enough


class WorkloadRow(msgspec.Struct, frozen=True, rename="camel"):
    """One workload: a job, a group, or a pod by itself."""

    namespace: str
    kind: str
    name: str
    queue: str
    state: str  # R: it runs; PD: it waits
    placed: int
    pods: int
    gpus: float
    requests: dict[str, str]
    since: float  # it has run, or waited, since then
    priority: int = 0
    position: int | None = None
    nodes: tuple[str, ...] = ()
    reason: str = ""
    why: str = ""
    message: str = ""  # the whole sentence


class NodeRow(msgspec.Struct, frozen=True, rename="camel"):
    """One node.  States as sinfo has them: idle, mix, alloc, drain for a closed one, down for one not ready."""

    name: str
    state: str
    gpus: float
    gpus_used: float
    model: str
    cpu: str
    cpu_used: str
    memory: str
    memory_used: str
    pods: int
    queue: str = ""
    taints: tuple[str, ...] = ()


class QueueList(msgspec.Struct, frozen=True, rename="camel"):
    """Everything that `podium queue` shows."""

    workloads: tuple[WorkloadRow, ...]
    queues: tuple[QueueStanding, ...]
