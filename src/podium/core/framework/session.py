"""One profile's turn on the cluster: its plugins, what they are asked about, and what has been decided so far.

Who is asked what is the framework's matter (with the rules in `hooks`).  The session holds what a turn works
on: the queues and gangs, the places of each kind of tasks, tentative changes, and the decisions.

Nothing that a plugin or an action raises ends the scheduler.  Work on one gang is an attempt: if it fails, its
changes are undone and the gang is refused with the name of who failed.  An action that fails elsewhere ends there;
the next one begins, and what still waits at the end is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.budgets import Budgets
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.ownership import Loan, Ownership
from podium.core.framework.answers import watch_answers
from podium.core.framework.framework import EnabledPlugin, Framework
from podium.core.framework.plugin import Arguments, Placed, Plugin
from podium.core.framework.plugin_errors import failure_of
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.decisions import Decision, Journal, LookAgain, Nominate, QueueFault, Refuse
from podium.core.model.model import Gang, State, Task
from podium.core.model.resources import Vector
from podium.core.model.subgroups import SubGroup, subgroups_of
from podium.core.placement.candidates import Candidates
from podium.queue_reasons import NO_QUEUE
from podium.reasons import FAILED, Refusal, refuse

if TYPE_CHECKING:
    from podium.core.framework.action import Action

T = TypeVar("T")


class Session(Framework):
    """One turn."""

    def __init__(
        self,
        cluster: Cluster,
        tiers: Sequence[Sequence[EnabledPlugin]],
        now: float,
        arguments: dict[str, Arguments] | None = None,
        actions: Sequence[Action] = (),
        *,
        profile: str | None = None,
        asked: Iterable[str] | None = None,
    ) -> None:
        """`profile` decides on its own gangs (all, if None): those that are asked, or all that wait."""
        super().__init__(tiers)
        self.cluster = cluster
        self.now = now
        self._profile = profile
        self.admits = any(action.ADMITS for action in actions)  # or else gangs need not be let in
        self.decisions: list[Decision] = []
        self.held_back: list[Statement] = []  # gangs that are whole once others have left: kept until the end
        self.promised: list[Task] = []  # tasks that were nominated a place which others are leaving
        self.keep_answers = True  # what a hook said of a node stands until the node changes
        self.moves: list[str] = []  # the queues of what has been placed or lost its place, in order
        self.tick = 0  # moves with every change of a row
        self.stamps: NDArray[np.int64] = np.zeros(cluster.nodes.count, dtype=np.int64)  # the tick of each row
        self._arguments = arguments or {}
        self._candidates: dict[Hashable, Candidates] = {}
        self.minimums: dict[str, NDArray[np.float64]] = {}  # see `shares.minimum_of`
        self._subgroups: dict[str, list[SubGroup]] = {}
        self._groups: dict[str, list[Gang]] | None = None
        self._open: list[Statement] = []  # what is undone should whoever works on it fail
        self._running = ""  # the action whose turn it is
        self._failures: set[str] = set()  # who has been reported
        self._reported: set[str] = set()  # gangs that know why they wait
        self._last_judged: tuple[tuple[str, int], Refusal, Refusal] | None = None
        self._broken: Refusal | None = None  # what ended an action early
        for each in (entry for tier in tiers for entry in tier):
            watch_answers(each.plugin, cluster.nodes.count)
        self._signing = self._all("signature")
        self._judges: list[Plugin] = []  # nobody has an opinion before it is ready
        cluster.settle()
        self.budgets = Budgets(cluster.budgets.values(), cluster.peers)
        cluster.nodes.widen()
        self.total: Vector = cluster.nodes.total()
        self.shared: Vector = cluster.shared()
        self.queues = dict(cluster.queues)
        self.holders = dict(cluster.accounts.holding)  # gangs that hold places, and some that did
        self.ownership = Ownership(self.queues, cluster.nodes.properties)
        self.borrowing: dict[str, Loan] = {}  # by gang: where it looks for places that are not its queue's
        # Shares and sums count everybody; decisions are on one's own, as far as there is anything to decide.
        self.own: list[Gang] = []
        active = cluster.accounts.active
        for gang in active.values() if asked is None else [active[id] for id in asked if id in active]:
            if not self.owns(gang, profile):
                continue
            if gang.queue in self.queues:
                self.own.append(gang)
            else:
                self.refuse(gang, refuse(NO_QUEUE, queue=gang.queue_name or gang.queue))
        self._open_plugins()
        self._judges = self._all("job_refused") if self._broken is None else []
        self._listeners = self._all("on_allocate")
        self._forgetters = self._all("on_deallocate")

    @property
    def gangs(self) -> Iterator[Gang]:
        """All gangs of known queues.  Most are neither waiting nor changing: prefer the cluster's accounts."""
        return (gang for gang in self.cluster.gangs.values() if gang.queue in self.queues)

    # --- sizes -------------------------------------------------------------------------------------------------

    @property
    def elastic(self) -> list[Gang]:
        """The profile's gangs with a size, those that are left alone among them: a plan is about all."""
        active = self.cluster.accounts.active.values()
        return [gang for gang in active if gang.size is not None and self.owns(gang, self._profile)]

    @property
    def waiting_gangs(self) -> Iterator[Gang]:
        """The profile's gangs of which something waits, those that are left alone among them."""
        for gang in self.cluster.accounts.active.values():
            if gang.counts[State.PENDING] and self.owns(gang, self._profile):
                yield gang

    def set_aside(self, gangs: Container[str]) -> None:
        """Gangs that no other action of this turn decides on."""
        self.own = [gang for gang in self.own if gang.id not in gangs]

    @property
    def last_plan(self) -> float | None:
        """When sizes were last planned; None if they never were."""
        known = self.cluster.planned.get(self._profile)
        return None if known is None else known[0]

    @property
    def gangs_changed(self) -> bool:
        """Whether gangs with a size came, changed or went since the last look at them."""
        known = self.cluster.planned.get(self._profile)
        return known is None or known[1] != self.cluster.elastic_changes

    def planned(self, period: float, gang: Gang, *, whole: bool) -> None:
        """Sizes were looked at: a `whole` plan, or what came alone.  The next plan is when the period is over."""
        last = self.last_plan
        at = self.now if whole or last is None else last
        self.cluster.planned[self._profile] = (at, self.cluster.elastic_changes)
        self.look_again(gang, at + period)

    @staticmethod
    def owns(gang: Gang, profile: str | None) -> bool:
        return profile is None or gang.profile == profile

    def is_own(self, gang: Gang) -> bool:
        """Whether this profile decides on a gang, in this turn or in another one."""
        return self.owns(gang, self._profile)

    def may_evict(self, task: Task) -> bool:
        """A profile's victims are its own pods: what others placed is not its to take away."""
        return self.is_own(task.gang)

    def close(self) -> None:
        """Ends the turn.  What waits for others to leave goes back to pending, with its place remembered."""
        for statement in reversed(self.held_back):
            statement.nominate()
        for task in self.promised:
            self.cluster.nominations.put(task, self.cluster.nodes.name(task.row))
            self.cluster.assign(task, State.PENDING, -1)
        self._release()
        if self._broken is not None:
            self._report_waiting(self._broken)
        if self.paths:
            self.decisions.append(Journal(dict(self.paths.items())))
        for plugin in self._all("on_session_close"):
            try:
                plugin.on_session_close(self)
            except Exception as error:
                self.blame(error)

    def dismiss(self) -> None:
        """Lets go of everything.

        A session and what it has made know each other: they would stay until a collector comes along, which has
        the whole model to walk through and is not called often.
        """
        self.__dict__.clear()

    def _release(self) -> None:
        """A promise that was not made again is none any more: what it waited for is not to come."""
        nominees = self.cluster.nominations.tasks
        if not nominees:
            return
        own = {gang.id for gang in self.own}
        kept = {task.id for task in self.promised}
        kept.update(each.task for each in self.decisions if isinstance(each, Nominate))  # of gangs held to the end
        for task in nominees:
            if task.state is State.PENDING and task.gang.id in own and task.id not in kept:
                self.cluster.nominations.put(task, "")
                self.decisions.append(Nominate(task.id, ""))

    def take_decisions(self) -> list[Decision]:
        """What has been decided since the last time."""
        taken, self.decisions = self.decisions, []
        return taken

    def arguments(self, action: str) -> Arguments:
        return self._arguments.get(action, Arguments())

    def statement(self) -> Statement:
        made = Statement(self)
        self._open.append(made)
        return made

    def subgroups(self, gang: Gang) -> list[SubGroup]:
        """The groups inside a gang, if it has any."""
        found = self._subgroups.get(gang.id)
        if found is None:
            found = self._subgroups[gang.id] = subgroups_of(gang)
        return found

    def group_of(self, gang: Gang) -> list[Gang]:
        """The gangs that are tied to one by their lists, itself first."""
        if self._groups is None:
            tied = quorum.components(self.cluster.accounts.tied.values(), self.cluster.gangs.get)
            self._groups = {gang.id: group for group in tied for gang in group}
        found = self._groups.get(gang.id)
        return [gang] if found is None else [gang, *(each for each in found if each is not gang)]

    def touch(self, rows: Sequence[int]) -> None:
        """Rows have changed: what is known of them is looked at again when it is next needed."""
        self.tick += 1
        self.stamps[rows] = self.tick

    def touched_since(self, tick: int) -> NDArray[np.int64]:
        return np.flatnonzero(self.stamps > tick)

    def refuse(self, gang: Gang, refusal: Refusal, task: Task | None = None) -> None:
        if not isinstance(refusal, Refusal):  # an action may be anybody's code
            raise TypeError(f"want a Refusal of gang {gang.name}, got {refusal!r}")
        if self._judges:
            refusal = self._judged(gang, refusal)
        self._reported.add(gang.id)
        self.decisions.append(Refuse(gang.id, refusal, task.id if task is not None else ""))

    def _judged(self, gang: Gang, refusal: Refusal) -> Refusal:
        """What plugins make of a refusal; they are asked once about that of a gang's ten thousand equal tasks."""
        asked = (gang.id, self.tick)
        if self._last_judged is not None and self._last_judged[:2] == (asked, refusal):
            return self._last_judged[2]
        judged = refusal
        for plugin in self._judges:
            try:
                judged = plugin.job_refused(gang, judged) or judged
            except Exception as error:
                self.blame(error)
        self._last_judged = (asked, refusal, judged)
        return judged

    def look_again(self, gang: Gang, at: float) -> None:
        """Time alone may change what is decided on a gang: it is looked at then, though nothing happens."""
        self.decisions.append(LookAgain(gang.id, at))

    def report(self, queue: str, refusal: Refusal) -> None:
        """Says that a queue's own numbers do not hold together."""
        self.decisions.append(QueueFault(queue, refusal))

    def notify_allocated(self, placed: Placed) -> None:
        """Everybody is notified before a failure counts: what is undone then is undone by everybody."""
        failed: Exception | None = None
        self.moves.append(placed.gang.queue)
        for plugin in self._listeners:
            try:
                plugin.on_allocate(placed)
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def notify_deallocated(self, placed: Placed) -> None:
        """Nobody can keep a place from being given back."""
        self.moves.append(placed.gang.queue)
        for plugin in self._forgetters:
            try:
                plugin.on_deallocate(placed)
            except Exception as error:
                self.blame(error)

    # --- when a plugin or an action fails ------------------------------------------------------------------------

    def _open_plugins(self) -> None:
        """Nothing is decided in a turn for which a plugin is not ready: it may be the one with the limits."""
        for plugin in self._all("on_session_open"):
            try:
                plugin.on_session_open(self)
            except Exception as error:
                self._broken = self._broken or self.blame(error)
        if self._broken is not None:
            self._report_waiting(self._broken)
            self.own = []

    def steps(self, action: Action) -> Iterator[None]:
        """Runs an action as far as it comes."""
        self._running = action.name
        try:
            yield from action.run(self) or ()
        except Exception as error:
            self._undo()
            self._broken = self._broken or self.blame(error)
        self._open.clear()

    def attempt(self, gang: Gang, work: Callable[[], T], failed: T) -> T:
        """Does something about one gang.  Should it fail, it is undone, the gang is refused, and others go on."""
        self._open.clear()
        try:
            return work()
        except Exception as error:
            self._undo()
            self.refuse(gang, self.blame(error))
            return failed
        finally:
            self._open.clear()

    def attempting(self, gang: Gang, work: Generator[None, None, T], failed: T) -> Generator[None, None, T]:
        """The same for work on many gangs at once, which pauses now and then with its statements open."""
        self._open.clear()
        try:
            return (yield from work)
        except Exception as error:
            self._undo()
            self.refuse(gang, self.blame(error))
            return failed
        finally:
            self._open.clear()

    def blame(self, error: Exception) -> Refusal:
        failure = failure_of(error, self._running)
        if failure.who not in self._failures:
            self._failures.add(failure.who)
            self.decisions.append(failure)
        return refuse(FAILED, who=failure.who, error=failure.error)

    def _undo(self) -> None:
        for statement in reversed(self._open):
            if statement not in self.held_back:
                statement.rollback()

    def _report_waiting(self, refusal: Refusal) -> None:
        """Reports a reason for all that wait and have none."""
        for gang in self.own:
            if gang.counts[State.PENDING] and gang.id not in self._reported:
                self.refuse(gang, refusal)

    # --- nodes -------------------------------------------------------------------------------------------------

    def signature(self, task: Task) -> Hashable:
        """What makes tasks equal to all node hooks: the class, and what else a plugin looks at."""
        if not self._signing:
            return task.cls.number
        return (task.cls.number, *(plugin.signature(task) for plugin in self._signing))

    def same_signature(self, left: Task, right: Task) -> bool:
        """Whether two tasks are equal to all node hooks."""
        return left.cls is right.cls and all(
            plugin.signature(left) == plugin.signature(right) for plugin in self._signing
        )

    def candidates(self, task: Task, *, refresh: bool = True) -> Candidates:
        """Where a kind of tasks can go and how good each place is, kept up to date with what has been placed.

        Who asks about single rows only needs no fresh scores.
        """
        signature = self.signature(task)
        found = self._candidates.get(signature)
        if found is None:
            found = self._candidates[signature] = Candidates(self, task)
        if refresh:
            found.refresh()
        return found
