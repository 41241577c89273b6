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
`signature` says the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.framework.arguments import Argument as Argument
from podium.core.framework.arguments import Arguments as Arguments
from podium.core.model.model import Gang, Queue, Task, TaskClass
from podium.core.model.subgroups import SubGroup
from podium.core.placement.rows import Rows
from podium.reasons import Refusal

if TYPE_CHECKING:
    from podium.core.framework.session import Session

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


class Plugin:
    """The base of every plugin.  Each method's docstring says what it is asked and what its answer means."""

    name: ClassVar[str] = ""
    ARGUMENTS: ClassVar[tuple[Argument, ...]] = ()
    # What others may rely on.  A plugin says it of itself; nobody knows plugins by name.
    PLAIN_ORDER: ClassVar[bool] = False  # its `job_order` puts equal new gangs of a queue by priority, then age
    GUARDS_PARTS: ClassVar[bool] = False  # it keeps gangs from losing a part, not from leaving as a whole
    KEEPS_TO_OWNERS: ClassVar[bool] = False  # it lets nobody onto a node that belongs to another queue
    ORDERS_FLAT: ClassVar[bool] = False  # it orders all queues by shares of their own
    BY_WEIGHT: ClassVar[bool] = False  # it shares out by the weights of queues
    ORDERS_TREE: ClassVar[bool] = False  # with enableHierarchy it orders them by a tree of its own

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        self.arguments = arguments
        self.hierarchy = hierarchy  # the switch enableHierarchy

    def has(self, hook: str) -> bool:
        """Whether the plugin, as it is configured, has an opinion on something; without one it is not asked."""
        kind = type(self)
        found = _OWN_METHODS.get((kind, hook))  # it is asked for every hook in every turn
        if found is None:
            found = _OWN_METHODS[kind, hook] = getattr(kind, hook, None) is not getattr(Plugin, hook, None)
        return found

    @classmethod
    def orders_plainly(cls) -> bool:
        """Whether its order of equal new gangs is that of priority and age: it has none, or says so."""
        return cls.PLAIN_ORDER or cls.job_order is Plugin.job_order

    # --- the session -----------------------------------------------------------------------------------------

    def on_session_open(self, session: Session) -> None:
        """At the start of a profile's turn: take what the other hooks will need from the session.

        Plugins are made anew for each turn and keep nothing from one to the next.
        """

    def on_session_close(self, session: Session) -> None:
        """At the end of a turn, after all actions."""

    def on_allocate(self, placed: Placed) -> None:
        """Equal tasks of one gang got places, tentatively or not: running sums go up.

        This is the batch form: one call for all that were placed together.  A gang that cannot be kept is reported
        again, by `on_deallocate`.
        """

    def on_deallocate(self, placed: Placed) -> None:
        """Tasks lost their places, by eviction or because a tentative step was undone: running sums go down."""

    # --- admission -------------------------------------------------------------------------------------------

    def job_valid(self, gang: Gang) -> Refusal | None:
        """Before anything else about a gang: why it cannot be scheduled, whatever the room."""
        return None

    def job_enqueueable(self, gang: Gang) -> Vote:
        """May this gang come in?  Only asked of gangs that say how much they need at least."""
        return Vote.ABSTAIN

    def admission_refusal(self, gang: Gang) -> Refusal | None:
        """Why this plugin votes against a gang's admission, with its numbers: for the diagnosis of a gang."""
        return None

    def job_enqueued(self, gang: Gang) -> None:
        """This gang came in: reserve what it will need."""

    # --- orders: negative when the first goes first, zero when this plugin does not mind -----------------------

    def namespace_order(self, left: str, right: str) -> float:
        """Which namespace is served next.  Without an order of namespaces queues alone decide."""
        return 0

    def queue_order(self, left: Queue, right: Queue) -> float:
        """Which queue is served next; among equals the older one.  Asked anew after each gang."""
        return 0

    def queue_key(self, queue: Queue) -> tuple[float, ...]:
        """`queue_order` as numbers, smaller first, for those who can: it spares comparing all queues each time.

        They may only change when something of the queue itself is placed or loses its place.
        """
        raise AssertionError("only called when overridden")

    def victim_queue_order(self, left: Queue, right: Queue, preemptor: Queue) -> float:
        """Whose tasks go first for the sake of `preemptor`; without an opinion those of the queue served last."""
        return 0

    def job_order(self, left: Gang, right: Gang) -> float:
        """Within a queue which gang is next, among equals the older one; in reverse, whose tasks go first."""
        return 0

    def job_key(self, gang: Gang) -> float:
        """`job_order` as a number, smaller first, for those who can: it spares comparing gangs in pairs."""
        raise AssertionError("only called when overridden")

    def sub_job_order(self, left: SubGroup, right: SubGroup) -> float:
        """Within a gang which of its sub-groups is next, after those that its policies require.

        Among equals by the number in the first label in which they differ, then by name.
        """
        return 0

    def task_order(self, left: Task, right: Task) -> float:
        """Within a gang or sub-group which task is next, among equals by the number in its name; in reverse, who
        goes first."""
        return 0

    def task_key(self, task: Task) -> float:
        """`task_order` as a number."""
        raise AssertionError("only called when overridden")

    def cluster_order(self, left: str, right: str) -> float:
        """Which of several clusters, by name, is to get a job.

        No built-in action asks: podium schedules one cluster.  For actions of users that send jobs elsewhere.
        """
        return 0

    # --- queues ----------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> bool:
        """Whether a queue gets nothing more now."""
        return False

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """May this queue take this task?  A refusal says which limit binds."""
        return None

    def headroom(self, queue: Queue, cls: TaskClass, count: int) -> int | None:
        """The batch form of `allocatable`: how many of `count` equal tasks the queue may take, from the first on.

        None: ask `allocatable` for each.  A plugin with `allocatable` and without this one has its gangs placed
        one task at a time.
        """
        return None

    def preemptive(self, queue: Queue, task: Task) -> bool:
        """May this queue take from others for this task?"""
        return True

    # --- gangs -----------------------------------------------------------------------------------------------

    def job_ready(self, gang: Gang) -> bool:
        """May what was placed of this gang be kept?"""
        return True

    def shortfall(self, gang: Gang) -> int:
        """The batch form of `job_ready`: how many more tasks must be placed before it can be true.

        A plugin with `job_ready` and without this one has its gangs placed one task at a time.
        """
        return 1

    def job_pipelined(self, gang: Gang) -> Vote:
        """Do the places a gang has, and those it was promised, make it whole?"""
        return Vote.ABSTAIN

    def job_starving(self, gang: Gang) -> bool:
        """Does this gang lack what it must have, so that others may have to go for it?"""
        return False

    def job_refused(self, gang: Gang, refusal: Refusal) -> Refusal | None:
        """A gang is not placed now, for this reason: another one in its place, such as that it never will be."""
        return None

    def sub_job_ready(self, group: SubGroup) -> bool:
        """May what was placed of this sub-group be kept?  Only asked for gangs with sub-groups."""
        return True

    def sub_job_shortfall(self, group: SubGroup) -> int:
        """The batch form of `sub_job_ready`, as `shortfall` is of `job_ready`."""
        return 1

    def sub_job_pipelined(self, group: SubGroup) -> Vote:
        """Do the places a sub-group has, and those it was promised, make it whole?"""
        return Vote.ABSTAIN

    # --- victims ---------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Which of these tasks of the same queue may be evicted for the preemptor."""
        return list(candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Which of these tasks of other queues may be evicted for the reclaimer."""
        return list(candidates)

    def victim_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Which of these running tasks should move on.

        The hook of the action shuffle, which is not built in yet; an action of a user's may ask it.
        """
        return []

    # --- holding nodes back ------------------------------------------------------------------------------------

    def target_job(self, gangs: Sequence[Gang]) -> Gang | None:
        """For which of these waiting gangs nodes are to be held back.

        The hook of the action elect, which is not built in yet; an action of a user's may ask it.
        """
        return None

    def reserved_nodes(self) -> None:
        """Hold one more node back for the gang that `target_job` named.

        The hook of the action reserve, which is not built in yet; an action of a user's may ask it.
        """

    # --- nodes -----------------------------------------------------------------------------------------------

    def signature(self, task: Task) -> Hashable:
        """What the node hooks look at beside the class, such as the queue: tasks are alike when this is equal."""
        return None

    def applies(self, hook: str, task: Task) -> bool:
        """Whether a node hook has anything to say on a task's kind: one that does not costs nothing."""
        return True

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Before any node is looked at: why no node can do."""
        return None

    def mask(self, task: Task, session: Session) -> Mask:
        """Which nodes can take the kind as far as their properties go.  Asked once for a kind."""
        raise AssertionError("only called when overridden")

    def mask_rows(self, cls: TaskClass, rows: Rows) -> Mask:
        """Which rows can take one more, as far as their own numbers go.  Asked again for rows that changed."""
        raise AssertionError("only called when overridden")

    def predicate(self, task: Task, row: int) -> Refusal | None:
        """May this task go to this node?  Asked best first, for as few nodes as the choice needs."""
        return None

    def batch_predicate(self, task: Task, later: bool) -> Mask:
        """Which of all nodes can take this task, seen together; `later`: once those leaving have left."""
        raise AssertionError("only called when overridden")

    def score(self, task: Task, session: Session) -> Scores:
        """How much each node suits the kind, 0 to 100 times the plugin's weight.  Asked once for a kind."""
        raise AssertionError("only called when overridden")

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        """How much each row suits one more of the class.  Asked again for rows that changed."""
        raise AssertionError("only called when overridden")

    def node_order(self, task: Task, row: int) -> float:
        """How much this node suits this task.  Asked best first, as far as the answer can change the choice."""
        return 0.0

    @property
    def node_order_maximum(self) -> float:
        """The most that `node_order` can give: the search stops where it could not change the choice."""
        return MAX_NODE_SCORE

    def batch_node_order(self, task: Task, rows: NDArray[np.int64]) -> Scores:
        """How much each of these nodes suits this task, seen together."""
        raise AssertionError("only called when overridden")

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: Scores) -> int | None:
        """The last word on which of these nodes to take; None leaves it to the scores."""
        return None

    def pick_device(self, cls: TaskClass, rows: Rows) -> NDArray[np.int64]:
        """On which of each row's devices (by number) a share of one goes.

        Asked for classes that want a share; one that has no room for it must not be named where another has.
        The first plugin that has the hook decides alone; without one the share goes where it leaves least.
        """
        raise AssertionError("only called when overridden")

    # --- groups of nodes in the network --------------------------------------------------------------------------

    def hyper_node_order(self, group: SubGroup, nodes: Sequence[str]) -> Scores:
        """How much each of these groups of nodes suits a sub-group.

        No built-in action asks yet: limits on the network between pods are read and not acted on.
        """
        raise AssertionError("only called when overridden")

    def hyper_node_gradient(self, group: Gang | SubGroup, within: str) -> Sequence[Sequence[str]] | None:
        """The groups of nodes in which a gang or sub-group may be, the closest ones first, those of equal
        distance together.

        No built-in action asks yet: limits on the network between pods are read and not acted on.
        """
        return None

    # --- explanation -----------------------------------------------------------------------------------------

    def refusals(self, task: Task) -> Iterable[tuple[Refusal, Mask]]:
        """Why this plugin's masks leave rows out, each reason with its rows: for the diagnosis of a task."""
        return ()


_OWN_METHODS: dict[tuple[type[Plugin], str], bool] = {}  # which hooks a kind of plugins implements
