"""The things that are scheduled: tasks in gangs in queues.

A task is one unit to place.  Tasks whose scheduling-relevant spec is equal share one class, so whatever depends on
the spec alone is computed once for all of them.  A gang is tasks that start together or not at all, with a minimum
in all and by role; a lone task is a gang of one.  Queues form a tree and share the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from podium.core.model.constraints import Constraints, PodSelection, Requirement
from podium.core.model.resources import Request
from podium.core.model.schedule_cycle import ScheduleCycle
from podium.reasons import Refusal

if TYPE_CHECKING:
    from podium.core.model.parties import Party


class State(IntEnum):
    """Where a task stands."""

    PENDING = 0
    ALLOCATED = 1  # decided in this cycle, not yet sent
    PIPELINED = 2  # has a place once others have left it
    BINDING = 3  # sent, not yet confirmed
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9
    RESERVED = 10  # holds a place across turns without being bound: its gang, or its pod, is not whole yet


_STATES = len(State)
PLACED = frozenset({State.ALLOCATED, State.BINDING, State.BOUND, State.RUNNING})
HOLDING = PLACED | {State.RESERVED}
READY = HOLDING | {State.SUCCEEDED}
ON_NODE = HOLDING | {State.RELEASING, State.UNKNOWN}
_BOUND = (State.BOUND, State.RUNNING, State.SUCCEEDED)
FINISHED = frozenset({State.SUCCEEDED, State.FAILED})


class Phase(IntEnum):
    """A gang's admission."""

    PENDING = 0
    INQUEUE = 1
    RUNNING = 2
    UNKNOWN = 3
    COMPLETED = 4


class Mode(IntEnum):
    """What becomes of the places that a gang has found when it has not found enough."""

    STRICT = 0  # they are given back
    NON_STRICT = 1  # they are kept, reserved, while the others are looked for


class MatchPolicy(IntEnum):
    """Which members count towards a gang's minimum."""

    WAITING_AND_RUNNING = 0  # all that have places
    ONCE_SATISFIED = 1  # the same, until so many have been bound once: then its members are placed one by one
    ONLY_WAITING = 2  # those that are not bound yet


class QuotaGate(IntEnum):
    """Whether a task stands behind a gate that its queue lifts: see `gates`."""

    NONE = 0
    CLOSED = 1
    OPENING = 2  # let through; it is still seen behind the gate


class TaskClass:
    """Tasks that are alike to the scheduler.  In the columns `carries` of `peers` each of them counts."""

    __slots__ = (
        "amounts",
        "best_effort",
        "carries",
        "columns",
        "constraints",
        "number",
        "population",
        "request",
    )

    def __init__(
        self, number: int, request: Request, constraints: Constraints, carries: tuple[int, ...] = ()
    ) -> None:
        self.number = number
        self.request = request
        self.constraints = constraints
        self.columns = request.columns
        self.amounts = request.amounts
        self.best_effort = request.best_effort
        self.carries = carries
        self.population = 0  # how many tasks of the class are known


class Task:
    """One unit to place."""

    __slots__ = (
        "cls",
        "created",
        "devices",
        "gang",
        "gated",
        "has_pod",
        "id",
        "labels",
        "name",
        "namespace",
        "nominated",
        "party",
        "preemptable",
        "preempts",
        "priority",
        "protected",
        "quota_gate",
        "role",
        "row",
        "slot",
        "started",
        "state",
        "suffix",
    )

    def __init__(
        self,
        id: str,
        namespace: str,
        name: str,
        cls: TaskClass,
        *,
        role: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.id = id
        self.namespace = namespace
        self.name = name
        self.cls = cls
        self.labels: Mapping[str, str] = labels if labels is not None else {}
        self.party: Party | None = None  # who is the same to all terms that look at tasks, as `peers` knows it
        self.role = role
        self.priority = 0
        self.created = 0.0
        self.started = 0.0
        self.slot = ""  # the place in its owner that it fills: see `slots`
        self.has_pod = True  # without one it can be placed and reserved, but not bound
        self.preemptable = True
        self.preempts = True  # may push others out
        self.gated = False
        self.quota_gate = QuotaGate.NONE
        self.protected = False  # belongs to the system: never a victim of conformance
        self.gang: Gang
        self.state = State.PENDING
        self.row = -1
        self.devices: tuple[int, ...] = ()  # those of its row that it has, by number
        self.nominated = -1
        tail = name.rpartition("-")[2]
        self.suffix = int(tail) if tail.isdigit() else -1  # order among siblings: worker-2 before worker-10

    @property
    def best_effort(self) -> bool:
        return self.cls.best_effort

    def __repr__(self) -> str:
        return f"<Task {self.namespace}/{self.name} {self.state.name}>"


class NetworkTopology(msgspec.Struct, frozen=True):
    """How far apart in the network some tasks may be.  Kept, and not acted on yet."""

    hard: bool = True
    tier: int | None = None  # the highest that they may spread over
    tier_name: str = ""


class SubGroupPolicy(msgspec.Struct, frozen=True):
    """Which members of a gang form groups of their own: see `subgroups`."""

    name: str
    size: int = 1  # members that make a group whole
    minimum: int = 0  # whole groups without which the gang does not start
    selector: tuple[Requirement, ...] = ()
    keys: tuple[str, ...] = ()  # labels whose values distinguish the groups
    topology: NetworkTopology | None = None


class Size(msgspec.Struct, frozen=True):
    """How many members an elastic gang may have, how many it has been asked to have, and what decides on that.

    The second half is the scheduler's own: what an API says of it counts when the gang is read for the first time.
    """

    least: int
    most: int
    wanted: int  # 0: it has not been started
    role: str = ""  # of the members that are counted; the others are always the same number
    level: int = 1  # of two gangs at odds, the one with ten times the level gets ten times the share
    window: float = 0.0  # seconds after a change in which there is no other one
    user: str = ""  # whose quota it counts against
    scaled: float = 0.0  # when it was last changed, or sent back to wait
    served: float = 0.0  # seconds that members have run, all together, up to
    counted: float = 0.0  # this time
    score: float = 0.0  # what the policy made of that
    reported: float = 0.0  # when that was last written

    def as_decided(self, known: Size | None) -> Size:
        """The same with what is decided here, where something has been."""
        if known is None:
            return self
        return msgspec.structs.replace(
            self,
            wanted=known.wanted,
            scaled=known.scaled,
            served=known.served,
            counted=known.counted,
            score=known.score,
            reported=known.reported,
        )


class Disruption(msgspec.Struct, frozen=True):
    """That a gang leaves as one: since when, and why."""

    since: float
    why: str


class Gang:
    """Tasks that start together."""

    def __init__(
        self,
        id: str,
        namespace: str,
        name: str,
        queue: str,
        changed: dict[Gang, None],
    ) -> None:
        self.id = id
        self.namespace = namespace
        self.name = name
        self.queue = queue
        self.named_queue = queue  # which need not exist: see `Cluster.substitutes`
        self._changed = changed  # where gangs are noted whose counts have moved
        self.minimum = 1
        self.minimum_by_role: dict[str, int] = {}
        self.minimum_resources: dict[str, int] | None = None
        self.least_resources: dict[str, int] = {}  # what the cluster must have in all before it is tried
        self.priority = 0
        self.created = 0.0
        self.phase = Phase.PENDING
        self.preemptable = True
        self.attributes: dict[str, str] = {}
        self.policies: tuple[SubGroupPolicy, ...] = ()  # of groups inside the gang
        self.topology: NetworkTopology | None = None
        self.mode = Mode.STRICT
        self.fail_fast = False  # the first member that finds no place ends a try: others are not tried after it
        self.match = MatchPolicy.WAITING_AND_RUNNING
        self.satisfied_once = False  # whether enough members have been bound at one time
        self.bound_in_part = 0  # members that are bound, while others wait that were to be bound with them
        self.sub_priority = 0  # among gangs of equal priority
        self.waiting_time: float | None = None  # in seconds, for which it may hold places without being whole
        self.held_since: float | None = None  # when it got the first of the places that it holds
        self.cycle = ScheduleCycle()
        self.as_one = False  # as a victim: all of its members go, or none
        self.disruption: Disruption | None = None  # that it has to leave as one, as the API has it
        self.together: tuple[str, ...] = ()  # the ids of the gangs that start with it
        self.longest_wait: float | None = None  # in seconds, after which it is to be let in
        self.size: Size | None = None  # of an elastic one: see `decisions.Resize`
        self.queue_name = ""  # as its users call it
        self.fault: Refusal | None = None  # why it can never be scheduled as it is
        self.profile = ""  # whose gang it is: only that profile decides on it
        self.tasks: dict[str, Task] = {}
        self.counts = [0] * _STATES
        self.role_counts: dict[str, list[int]] = {}
        self.pending_best_effort = 0
        self.role_best_effort: Counter[str] = Counter()  # the same by role

    def add(self, task: Task) -> None:
        task.gang = self
        self.tasks[task.id] = task
        self._count(task, 1)

    def remove(self, task: Task) -> None:
        del self.tasks[task.id]
        self._count(task, -1)

    def move(self, task: Task, state: State) -> None:
        """Gives a task another state; the counts follow."""
        self._count(task, -1)
        task.state = state
        self._count(task, 1)
        if state in _BOUND and self.match is MatchPolicy.ONCE_SATISFIED and not self.satisfied_once:
            self.remember()

    def remember(self) -> None:
        """Notes it when enough members are bound: that stays so, whatever becomes of them."""
        self.satisfied_once |= self.count(_BOUND) >= max(1, self.minimum)

    def count_in_part(self, count: int) -> None:
        """So many bound members count for those that wait."""
        if count != self.bound_in_part:
            self.bound_in_part = count
            self.note()

    def move_all(self, tasks: Sequence[Task], before: State, state: State) -> None:
        """The same for tasks of one class and role that have one state."""
        self.note()
        first, count = tasks[0], len(tasks)
        for task in tasks:
            task.state = state
        for counts in (self.counts, self.role_counts[first.role]):
            counts[before] -= count
            counts[state] += count
        if before is State.PENDING and first.best_effort:
            free = sum(1 for task in tasks if not task.gated)
            self.pending_best_effort -= free
            self.role_best_effort[first.role] -= free

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.note()

    def resize(self, size: Size) -> None:
        self.size = size

    def note(self) -> None:
        """Something has changed that sums depend on."""
        self._changed[self] = None

    def _count(self, task: Task, sign: int) -> None:
        self.note()
        self.counts[task.state] += sign
        roles = self.role_counts.get(task.role)
        if roles is None:
            roles = self.role_counts[task.role] = [0] * _STATES
        roles[task.state] += sign
        if task.state is State.PENDING and task.best_effort and not task.gated:
            self.pending_best_effort += sign
            self.role_best_effort[task.role] += sign

    def count(self, states: Iterable[State]) -> int:
        counts = self.counts
        return sum(counts[state] for state in states)

    def count_role(self, role: str, states: Iterable[State]) -> int:
        counts = self.role_counts.get(role)
        return 0 if counts is None else sum(map(counts.__getitem__, states))

    @property
    def ready(self) -> int:
        """Tasks that hold a place or have done their work."""
        counts = self.counts  # written out: this is the question asked most often
        return (
            counts[State.ALLOCATED]
            + counts[State.BINDING]
            + counts[State.BOUND]
            + counts[State.RUNNING]
            + counts[State.SUCCEEDED]
            + counts[State.RESERVED]
        )

    @property
    def waiting(self) -> int:
        """Tasks with the promise of a place."""
        return self.counts[State.PIPELINED]

    def __repr__(self) -> str:
        return f"<Gang {self.id} {self.phase.name} {self.ready}/{self.minimum}>"


class PathStep(msgspec.Struct, frozen=True):
    """One step of a queue's way from the root of a tree of shares, with the weight of the branch."""

    name: str
    weight: float = 1.0


class NodeGroups(msgspec.Struct, frozen=True):
    """Which groups of nodes a queue wants or shuns."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    anti_required: tuple[str, ...] = ()
    anti_preferred: tuple[str, ...] = ()


class Queue(msgspec.Struct):
    """One node of the tree of queues.  Resources are by name; an absent name in `capability` is no limit."""

    id: str
    name: str = ""
    parent: str = ""
    weight: int = 1
    capability: dict[str, int] = {}
    guarantee: dict[str, int] = {}
    deserved: dict[str, int] = {}
    priority: int = 0
    reclaimable: bool = True
    open: bool = True
    fifo: bool = False
    created: float = 0.0
    dialect: str = ""  # whose queue it is: shares are among the queues of one
    path: tuple[PathStep, ...] = ()  # its place in a tree of shares, from the root on
    groups: NodeGroups | None = None
    group_limits: dict[str, dict[str, int]] = {}  # by group of nodes: what the queue may hold there
    # Of queues that own nodes: see `cluster.ownership`.
    owns_rest: bool = False  # in its dialect, nodes that belong to no queue are this one's
    lends: bool = False  # tasks of other queues may use what is idle on its nodes
    borrows: bool = False  # its tasks may use idle nodes of queues that lend
    lenders: tuple[str, ...] = ()  # the ids of those that it borrows from; without any, from all
    preempts: bool = True  # its tasks may push others off its own nodes


class Budget(msgspec.Struct, frozen=True):
    """How many tasks of a selection may be disturbed now."""

    id: str
    selection: PodSelection
    allowed: int = 0


class Quota(msgspec.Struct, frozen=True):
    """What a namespace may hold and holds, by name as the quota spells it."""

    id: str
    namespace: str
    hard: Mapping[str, int] = {}
    used: Mapping[str, int] = {}
