"""allocate: gives admitted gangs their places, a queue and a gang at a time.

A gang is tried as a whole: what was placed is kept when it is ready, held to the end of the turn when it will be
once others have left, and undone otherwise.  A gang that is ready but has more tasks goes back in line, so that
what is beyond the minimum competes with the minimum of others.

Gangs that start together are tried one after the other, and kept when all of them are ready.

Places are reserved, across turns, where something is missing that is not room:

    a gang that is not strict    has found some of its places, and looks for the others
    a gang that is ready         waits for those that start with it
    a slot                       waits for its pod

The next queue is that with the smallest share; where the profile orders namespaces, that of the next namespace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial

from podium.core.actions.by_group import fill_by_group
from podium.core.actions.common import KEEP_ANSWERS
from podium.core.actions.gang_queue import GangQueue
from podium.core.actions.unschedulable_cache import UnschedulableCache
from podium.core.framework.action import Action
from podium.core.framework.diagnosis import diagnose, gang_refusal, overuse, queue_refusal
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.decisions import GangPhase
from podium.core.model.model import Gang, Mode, Phase, Queue, State, Task
from podium.reasons import GROUP_INCOMPLETE, MEMBERS_HELD, QUEUE_BLOCKED, Refusal, both, refuse


class Outcome(Enum):
    """What came of a gang's turn."""

    KEPT = "some of it has its places"
    HELD = "it has its places once others have left, or those that start with it are ready"
    NOTHING = "nothing could be done"


class Attempt:
    """What was tried for one gang: its tentative places, and why there are not more."""

    def __init__(self, gang: Gang, statement: Statement, refusal: Refusal | None) -> None:
        self.gang = gang
        self.statement = statement
        self.refusal = refusal


class Allocate(Action):
    """Places pending tasks."""

    name = "allocate"
    ARGUMENTS = (KEEP_ANSWERS,)
    PEACEFUL = True

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        admitted = {gang.id: gang for gang in self._admitted(session)}
        gang_queue = GangQueue(session, admitted.values(), by_namespace=session.asks("namespace_order"))
        waiting: dict[str, deque[Task]] = {}
        unschedulable = UnschedulableCache(session)
        tried: set[str] = set()  # with another one that it starts with
        while (queue := gang_queue.next_queue()) is not None:
            if session.overused(queue):
                why = overuse(session, queue)
                for gang in gang_queue.drop_queue(queue):
                    session.refuse(gang, why(_placeable(gang)))
                continue
            gang = gang_queue.pop(queue)
            if gang.id in tried:
                tried.discard(gang.id)
                continue
            alone = gang.mode is Mode.STRICT and not gang.together and not gang.counts[State.RESERVED]
            refusal = unschedulable.refusal(gang) if alone else None
            if refusal is not None:
                outcome = Outcome.NOTHING
                session.refuse(gang, refusal)
            else:
                unit = [gang]
                if gang.together:
                    group = quorum.component(gang, session.cluster.gangs.get)
                    unit = [each for each in group if each.id in admitted]
                work = partial(self._allocate, session, unit, waiting, unschedulable)
                outcome = session.attempt(gang, work, Outcome.NOTHING)
                if outcome is not Outcome.KEPT:
                    tried.update(each.id for each in unit if each is not gang)
            if outcome is Outcome.KEPT and waiting[gang.id]:
                gang_queue.push(gang)
            elif outcome is Outcome.NOTHING and queue.fifo and not quorum.started(gang):
                for later in gang_queue.drop_queue(queue):
                    session.refuse(later, refuse(QUEUE_BLOCKED, queue=queue.name, gang=gang.name))
            yield

    def _admitted(self, session: Session) -> Iterator[Gang]:
        for gang in session.own:
            if gang.phase is Phase.PENDING:
                if session.admits:
                    continue
                gang.enter(Phase.INQUEUE)
                session.decisions.append(GangPhase(gang.id, Phase.INQUEUE))
            refusal = session.invalid(gang)
            if refusal is not None:
                session.refuse(gang, refusal)
            if gang.counts[State.RESERVED]:
                session.attempt(gang, partial(_check_reserved, session, gang, refusal), None)
            if refusal is not None:
                continue
            if next(_placeable(gang), None) is not None or next(_claimable(gang), None) is not None:
                yield gang

    def _allocate(
        self,
        session: Session,
        unit: Sequence[Gang],
        waiting: dict[str, deque[Task]],
        unschedulable: UnschedulableCache,
    ) -> Outcome:
        """Tries one gang, or all that start together."""
        before = unit[0].ready + unit[0].waiting
        tries = [self._try(session, gang, waiting) for gang in unit]
        lonely = bool(unit[0].together) and any(_lonely(session, gang, unit) for gang in unit)
        if not lonely and all(session.ready(gang) for gang in unit):
            return self._keep(session, tries, unschedulable)
        if not lonely and all(session.pipelined(each.gang) and not each.statement.empty for each in tries):
            session.held_back.extend(each.statement for each in tries)
            return Outcome.HELD
        placed = [gang.ready + gang.waiting for gang in unit]  # with what is tentative
        outcome = Outcome.NOTHING
        for each in reversed(tries):
            if self._reserve(session, each):
                outcome = Outcome.HELD
        if len(tries) == 1 and tries[0].refusal is not None and outcome is Outcome.NOTHING:
            unschedulable.learn(unit[0], placed[0] - before, tries[0].refusal)
        for each, found in zip(tries, placed, strict=True):
            refusal = each.refusal or _why_not(session, each.gang, unit)
            if refusal is not None:
                session.refuse(each.gang, gang_refusal(session, each.gang, found, refusal))
        return outcome

    def _try(self, session: Session, gang: Gang, waiting: dict[str, deque[Task]]) -> Attempt:
        """Finds places for one gang, in a statement of its own."""
        tasks = waiting.get(gang.id)
        if tasks is None:
            tasks = waiting[gang.id] = deque(session.sorted_tasks(_placeable(gang)))
        statement = session.statement()
        fill = partial(self._fill, session, session.queues[gang.queue], statement)
        if gang.policies:
            refusal = fill_by_group(session, gang, tasks, statement, fill)
        else:
            refusal = fill(tasks, partial(session.shortfall, gang), partial(session.ready, gang))
        return Attempt(gang, statement, refusal)

    def _keep(self, session: Session, tries: Sequence[Attempt], unschedulable: UnschedulableCache) -> Outcome:
        """All are ready: they get what they found, and what was reserved for them."""
        outcome = Outcome.NOTHING
        for each in tries:
            if each.gang.counts[State.RESERVED]:
                for task in list(_claimable(each.gang)):
                    each.statement.claim(task)
            if not each.statement.empty:
                outcome = Outcome.KEPT
            elif each.refusal is not None:
                session.refuse(each.gang, each.refusal)
                unschedulable.learn(each.gang, 0, each.refusal)
            each.statement.commit(gangs=len(tries))
        return outcome

    def _reserve(self, session: Session, each: Attempt) -> bool:
        """Not all are ready: whether what was found is kept all the same."""
        holds = each.gang.mode is Mode.NON_STRICT or (each.gang.together and session.ready(each.gang))
        if holds and each.statement.reserve():
            return True
        each.statement.rollback()
        return False

    def _fill(
        self,
        session: Session,
        queue: Queue,
        statement: Statement,
        tasks: deque[Task],
        size: Callable[[], int],
        done: Callable[[], bool],
    ) -> Refusal | None:
        """Places tasks in line until it is enough: the first reason why some found no place."""
        refusal: Refusal | None = None
        while tasks:
            batch = _equal_tasks(session, tasks, size())
            placed, cause = self._place(session, queue, batch, statement)
            for _ in range(placed):
                tasks.popleft()
            if cause is not None:
                refusal = both(refusal, cause)
                if session.keep_answers:
                    _drop_like(session, tasks, batch[0])
                else:
                    tasks.popleft()
            elif done():
                break
        return refusal

    def _place(
        self, session: Session, queue: Queue, batch: list[Task], statement: Statement
    ) -> tuple[int, Refusal | None]:
        """Places as many of some equal tasks as it can: how many, and why not more."""
        room = session.headroom(queue, batch)
        if room == 0:
            return 0, queue_refusal(session, queue, batch[0])
        candidates = session.candidates(batch[0])
        first = batch[0]
        if first.nominated >= 0 and candidates.fits(first, first.nominated):
            statement.place([first], [first.nominated])
            return 1, None
        rows = candidates.choose(batch[:room])
        if rows:
            statement.place(batch[: len(rows)], rows)
            return len(rows), None
        nodes = session.cluster.nodes
        if not nodes.promises and not nodes.departures:
            return 0, diagnose(session, first)  # nobody leaves: later is like now
        keeps = first.nominated >= 0 and candidates.fits(first, first.nominated, future=True)
        row = first.nominated if keeps else candidates.choose_later(first)
        if row is not None:
            statement.pipeline(first, row)
            return 1, None
        return 0, diagnose(session, first)


def _placeable(gang: Gang) -> Iterator[Task]:
    """Tasks that wait for a place with room; those that ask for none are left to backfill."""
    for task in gang.tasks.values():
        if task.state is State.PENDING and not task.gated and not task.best_effort:
            yield task


def _claimable(gang: Gang) -> Iterator[Task]:
    """Tasks with a pod and a place that is reserved for them: they can be bound."""
    if gang.counts[State.RESERVED]:
        for task in gang.tasks.values():
            if task.state is State.RESERVED and task.has_pod:
                yield task


def _lonely(session: Session, gang: Gang, unit: Sequence[Gang]) -> list[str]:
    """The gangs that it starts with, that are not tried with it, and that are not ready."""
    if not gang.together:
        return []
    tried = {each.id for each in unit}
    return [id for id in quorum.unsatisfied_partners(gang, session.cluster.gangs.get) if id not in tried]


def _why_not(session: Session, gang: Gang, unit: Sequence[Gang]) -> Refusal | None:
    """What keeps a gang whose tasks found places, or had none to look for."""
    held = sum(1 for task in gang.tasks.values() if task.state is State.PENDING and task.gated)
    if held:
        return refuse(MEMBERS_HELD, count=held)
    awaited = quorum.unsatisfied_partners(gang, session.cluster.gangs.get)
    return refuse(GROUP_INCOMPLETE, awaited=tuple(awaited)) if awaited else None


def _check_reserved(session: Session, gang: Gang, refusal: Refusal | None) -> None:
    """Gives back what is reserved for nothing.

    A gang that cannot start as it is holds nothing.  And a node may have been closed, or shrunk, since: nothing is
    bound to a place that does not fit.
    """
    statement = session.statement()
    for task in [each for each in gang.tasks.values() if each.state is State.RESERVED]:
        if refusal is not None:
            statement.release(task, str(refusal))
        elif _fits_no_longer(session, task):
            statement.release(task, "its place does not fit any longer")
    statement.commit()


def _fits_no_longer(session: Session, task: Task) -> bool:
    """Whether a task could not be put again where it is."""
    row, trial = task.row, session.statement()
    trial.release(task, "")
    fits = session.candidates(task).fits(task, row)
    trial.rollback()
    return not fits


def _equal_tasks(session: Session, tasks: deque[Task], count: int) -> list[Task]:
    """The first tasks in line as far as they are alike, `count` at the most."""
    first = tasks[0]
    if session.candidates(first, refresh=False).one_by_one:
        return [first]
    batch: list[Task] = []
    for task in tasks:
        if (
            len(batch) == count
            or task.role != first.role
            or task.nominated >= 0
            or not session.same_signature(first, task)
        ):
            break
        batch.append(task)
    return batch or [first]


def _drop_like(session: Session, tasks: deque[Task], failed: Task) -> None:
    """What is like a task that found no place will find none either in this turn."""
    kept = [task for task in tasks if not session.same_signature(failed, task)]
    tasks.clear()
    tasks.extend(kept)
