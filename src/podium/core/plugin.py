"""The extension points: what a plugin can say, who asks it, and when.

A plugin implements the methods it needs and leaves the others alone; what it leaves alone is never called.  The
session finds out which methods a plugin has overridden, and which of them the profile's switches leave on.

Three grades of hooks on nodes.  The method a plugin implements states the grade, and with it the cost:

1. `mask`, `score`: over all nodes, a function of the class and of what filters look at (labels, taints, capacity).
   Evaluated once for a class and a version of the node set.
2. `mask_rows`, `score_rows`: a function of the class and of each row's own numbers.  After a placement only that
   row is evaluated again, so a gang of equal tasks is a few vector operations.
3. `predicate`, `node_order`: one task and one node at a time.  Asked best-first, only as far as an answer can
   still change the choice, and answers are kept until the node changes.
   `batch_predicate`, `batch_node_order`: a look at all nodes together, again for each task.  Tasks to which one
   applies are placed one at a time, still on vectors.

Where a hook takes a task it stands for all tasks of its kind: those of the same class for which every plugin's
`kind` says the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.model import Gang, Queue, Task, TaskClass
from podium.core.rows import Rows
from podium.reasons import Refusal

if TYPE_CHECKING:
    from podium.core.session import Session

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]

MAX_NODE_SCORE = 100.0


class Vote(IntEnum):
    """An opinion on admission or readiness."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class Placed(msgspec.Struct, frozen=True):
    """Equal tasks of one gang that got (or lost) their places together."""

    gang: Gang
    cls: TaskClass
    tasks: Sequence[Task]


class Arguments:
    """A plugin's or action's arguments, as the configuration file gives them.

    Volcano 1.1 wrote all values as strings; both spellings are read.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values = dict(values or {})

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return default
        try:
            return float(value)
        except (TypeError, ValueError):
            return default

    def integer(self, key: str, default: int) -> int:
        return int(self.number(key, default))

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return default

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key)
        return default if value is None else str(value)


class Plugin:
    """The base of every plugin.  Each method's docstring says which action calls it and when."""

    name: ClassVar[str] = ""

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        self.arguments = arguments
        self.hierarchy = hierarchy  # the switch enableHierarchy

    def has(self, hook: str) -> bool:
        """Whether the plugin, as it is configured, has an opinion on something; without one it is not asked."""
        return getattr(type(self), hook) is not getattr(Plugin, hook)

    # --- the session -----------------------------------------------------------------------------------------

    def on_session_open(self, session: Session) -> None:
        """At the start of a cycle: take what the other hooks will need from the session."""

    def on_session_close(self, session: Session) -> None:
        """At the end of a cycle, after all actions."""

    def on_allocate(self, placed: Placed) -> None:
        """Tasks got places (tentatively or not): running sums go up."""

    def on_deallocate(self, placed: Placed) -> None:
        """Tasks lost their places, by eviction or because a tentative step was undone: running sums go down."""

    # --- admission -------------------------------------------------------------------------------------------

    def job_valid(self, gang: Gang) -> Refusal | None:
        """All actions, before looking at a gang: why it cannot be scheduled whatever the room."""
        return None

    def job_enqueueable(self, gang: Gang) -> Vote:
        """enqueue: may this gang come in?  Any reject loses; the first tier with a permit decides."""
        return Vote.ABSTAIN

    def job_enqueued(self, gang: Gang) -> None:
        """enqueue: this gang came in; reserve what it will need."""

    # --- orders: negative when the first goes first, zero when this plugin does not mind -----------------------

    def namespace_order(self, left: str, right: str) -> float:
        """allocate with enableNamespaceOrder: which namespace is next."""
        return 0

    def queue_order(self, left: Queue, right: Queue) -> float:
        """enqueue, allocate, reclaim: which queue is next."""
        return 0

    def victim_queue_order(self, left: Queue, right: Queue, preemptor: Queue) -> float:
        """reclaim: whose tasks go first for the sake of `preemptor`."""
        return 0

    def job_order(self, left: Gang, right: Gang) -> float:
        """Within a queue: which gang is next; in reverse, whose tasks are victims first."""
        return 0

    def task_order(self, left: Task, right: Task) -> float:
        """Within a gang: which task is next; in reverse, which is a victim first."""
        return 0

    def job_key(self, gang: Gang) -> float:
        """`job_order` as a number, smaller first, for those who can: it spares comparing gangs in pairs."""
        raise AssertionError("only called when overridden")

    def task_key(self, task: Task) -> float:
        """`task_order` as a number."""
        raise AssertionError("only called when overridden")

    # --- queues ----------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        """allocate, reclaim: a queue that gets nothing now.  One plugin that says so is enough."""
        return False

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """allocate, backfill, preempt: may this queue take this task?  All must agree."""
        return None

    def headroom(self, queue: Queue, cls: TaskClass, count: int) -> int | None:
        """How many of `count` equal tasks the queue may take; None: ask `allocatable` for each."""
        return None

    def preemptive(self, queue: Queue, task: Task) -> bool:
        """reclaim: may this queue take from others for this task?  All must agree."""
        return True

    # --- gangs -----------------------------------------------------------------------------------------------

    def job_ready(self, gang: Gang) -> bool:
        """allocate: may what was placed of this gang be kept?  All must agree."""
        return True

    def shortfall(self, gang: Gang) -> int:
        """How many more tasks must be placed before `job_ready` can be true: the size of a batch."""
        return 1

    def job_pipelined(self, gang: Gang) -> Vote:
        """allocate, preempt, reclaim: do the promised places make the gang whole?"""
        return Vote.ABSTAIN

    def job_starving(self, gang: Gang) -> bool:
        """preempt, reclaim: does this gang lack what it must have?"""
        return False

    # --- victims ---------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """preempt: which of these may be evicted for the preemptor.  Plugins of a tier must agree."""
        return list(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """reclaim: the same between queues."""
        return list(candidates)

    def victim_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """shuffle: which running tasks should move on."""
        return []

    # --- nodes -----------------------------------------------------------------------------------------------

    def kind(self, task: Task) -> Hashable:
        """What the node hooks look at beside the class, such as the queue: tasks are alike when this is equal."""
        return None

    def applies(self, hook: str, task: Task) -> bool:
        """Whether a node hook has anything to say on a task's kind: one that does not costs nothing."""
        return True

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Before any node is looked at: why no node can do."""
        return None

    def mask(self, task: Task, session: Session) -> Mask:
        """Grade 1: which nodes can take the kind as far as their properties go."""
        raise AssertionError("only called when overridden")

    def mask_rows(self, cls: TaskClass, rows: Rows) -> Mask:
        """Grade 2: which rows can take one more, as far as their own numbers go."""
        raise AssertionError("only called when overridden")

    def batch_predicate(self, task: Task, later: bool) -> Mask:
        """Grade 3: which of all nodes can take this task, seen together; `later`: once those leaving have left."""
        raise AssertionError("only called when overridden")

    def predicate(self, task: Task, row: int) -> Refusal | None:
        """Grade 3: may this task go to this node?"""
        return None

    def score(self, task: Task, session: Session) -> Scores:
        """Grade 1: how much each node suits the kind, 0 to 100 times the plugin's weight."""
        raise AssertionError("only called when overridden")

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        """Grade 2: how much each row suits one more of the class."""
        raise AssertionError("only called when overridden")

    def node_order(self, task: Task, row: int) -> float:
        """Grade 3: how much this node suits this task."""
        return 0.0

    @property
    def node_order_maximum(self) -> float:
        """The most that `node_order` can give: the search stops where it could not change the choice."""
        return MAX_NODE_SCORE

    def batch_node_order(self, task: Task, rows: NDArray[np.int64]) -> Scores:
        """Grade 3: how much each of these nodes suits this task, seen together."""
        raise AssertionError("only called when overridden")

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: Scores) -> int | None:
        """The last word on which node to take; None leaves it to the scores."""
        return None

    # --- explanation -----------------------------------------------------------------------------------------

    def refusals(self, task: Task) -> Iterable[tuple[Refusal, Mask]]:
        """Why this plugin's masks leave rows out, each reason with its rows: for the diagnosis of a task."""
        return ()
