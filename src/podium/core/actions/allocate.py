"""allocate: gives admitted gangs their places, a queue and a gang at a time.

A gang is tried as a whole: what was placed is kept when it is ready, held to the end of the turn when it will be
once others have left, and undone otherwise.  A gang that is ready but has more tasks goes back in line, so that
what is beyond the minimum competes with the minimum of others.

Gangs that start together are tried one after the other, and those are kept that are ready with all they wait for.

Places are reserved, across turns, where something is missing that is not room:

    a gang that is not strict    has found some of its places, and looks for the others
    a gang that is ready         waits for those that start with it
    a slot                       waits for its pod

A group that cannot start is tried once more with what later groups hold (`holding`).

The next queue is that with the smallest share; where the profile orders namespaces, that of the next namespace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum
from functools import partial

from podium.core.actions import holding
from podium.core.actions.by_group import fill_by_group
from podium.core.actions.common import KEEP_ANSWERS
from podium.core.actions.fill_slots import fill_slots
from podium.core.actions.gang_queue import GangQueue
from podium.core.actions.holding import Attempt
from podium.core.actions.portions import chosen
from podium.core.actions.unschedulable_cache import UnschedulableCache
from podium.core.framework.action import Action
from podium.core.framework.diagnosis import diagnose, gang_refusal, overuse, queue_refusal
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.decisions import GangPhase
from podium.core.model.model import Gang, Mode, Phase, Queue, State, Task
from podium.queue_reasons import QUEUE_BLOCKED
from podium.reasons import MEMBERS_HELD, Refusal, both, refuse


class Outcome(Enum):
    """What came of a gang's turn."""

    KEPT = "some of it has its places"
    HELD = "it has its places once others have left, or those that start with it are ready"
    NOTHING = "nothing could be done"


class Allocate(Action):
    """Places pending tasks."""

    name = "allocate"
    ARGUMENTS = (KEEP_ANSWERS,)
    PEACEFUL = True

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        for gang in session.own if session.holders else ():
            if gang.fault is None and holding.overdue(session, gang):
                session.attempt(gang, partial(holding.time_out, session, gang), None)
        candidates = yield from chosen(session.own, partial(self._admits, session))
        admitted = {gang.id: gang for gang in candidates}
        gang_queue = GangQueue(session, by_namespace=session.asks("namespace_order"))
        yield from gang_queue.filling(candidates)
        waiting: dict[str, deque[Task]] = {}
        unschedulable = UnschedulableCache(session)
        tried: set[str] = set()  # with another one that it starts with
        while (queue := gang_queue.next_queue()) is not None:
            over = session.overused(queue)
            if over and not _holds_some(session, queue):
                why = overuse(session, queue)
                for gang in gang_queue.drop_queue(queue):
                    session.refuse(gang, why(_placeable(gang)))
                continue
            gang = gang_queue.pop(queue)
            if gang.id in tried:
                tried.discard(gang.id)
                continue
            unit = [gang]
            if session.cluster.accounts.tied:
                group = (each for each in session.group_of(gang) if each.id in admitted)
                unit = sorted(group, key=lambda each: (each is not gang, session.job_key(each)))
                yield
            for each in unit:
                if each.fail_fast and not quorum.started(each):
                    each.cycle.begin(each.tasks)
            # What holds places, or could take them from others, is looked at by itself.
            refusal = None
            if gang.mode is Mode.STRICT and not gang.together and not session.holders:
                refusal = unschedulable.refusal(gang)
            if refusal is not None:
                outcome = Outcome.NOTHING
                session.refuse(gang, refusal)
            else:
                work = self._allocate(session, unit, waiting, unschedulable, over)
                outcome = yield from session.attempting(gang, work, Outcome.NOTHING)
                if outcome is not Outcome.KEPT:
                    # What a queue has enough of says nothing about those of other queues.
                    tried.update(
                        each.id for each in unit if each is not gang and (not over or each.queue == queue.id)
                    )
            for each in unit:
                each.cycle.valid &= not each.fail_fast or quorum.started(each)
            if outcome is Outcome.KEPT and waiting.get(gang.id):
                gang_queue.push(gang)
            elif outcome is Outcome.NOTHING and queue.fifo and not quorum.started(gang):
                for later in gang_queue.drop_queue(queue):
                    session.refuse(later, refuse(QUEUE_BLOCKED, queue=queue.name, gang=gang.name))
            yield

    def _admits(self, session: Session, gang: Gang) -> bool:
        """Whether a gang is in and has something to place; those that cannot be placed learn why."""
        if gang.phase is Phase.PENDING:
            if session.admits:
                return False
            gang.enter(Phase.INQUEUE)
            session.decisions.append(GangPhase(gang.id, Phase.INQUEUE))
        refusal = session.invalid(gang)
        if refusal is not None:
            session.refuse(gang, refusal)
        if gang.counts[State.RESERVED]:
            session.attempt(gang, partial(holding.check, session, gang, refusal), None)
            session.attempt(gang, partial(fill_slots, session, gang), None)
        if refusal is not None:
            return False
        return next(_placeable(gang), None) is not None or next(_claimable(gang), None) is not None

    def _allocate(
        self,
        session: Session,
        unit: Sequence[Gang],
        waiting: dict[str, deque[Task]],
        unschedulable: UnschedulableCache,
        over: bool,
    ) -> Generator[None, None, Outcome]:
        """Tries one gang, or all that are tied to it; `over`: its queue gets no more than later gangs hold."""
        before = unit[0].ready + unit[0].waiting
        tries = [] if over else (yield from self._tries(session, unit, waiting))
        starting = set() if over else holding.startable(session, unit)
        if len(unit) > 1:
            yield
        # One that has enough is always ready, also with nothing found for it.
        in_vain = not starting or all(_found_nothing_more(each) for each in tries)
        if in_vain and holding.may_take(session, unit):
            for each in reversed(tries):
                each.statement.rollback()
            if (yield from self._take(session, unit, waiting, unschedulable)):
                return Outcome.KEPT
            for gang in unit:
                waiting.pop(gang.id, None)
            tries = [] if over else (yield from self._tries(session, unit, waiting))
        if over:
            why = overuse(session, session.queues[unit[0].queue])
            for gang in unit:
                if gang.queue == unit[0].queue:
                    session.refuse(gang, why(_placeable(gang)))
            return Outcome.NOTHING
        if not starting and holding.all_promised(session, tries):
            session.held_back.extend(each.statement for each in tries)
            return Outcome.HELD
        if starting.issuperset(each.gang.id for each in tries):
            return self._keep(session, tries, unschedulable)
        placed = [gang.ready + gang.waiting for gang in unit]  # with what is tentative
        outcome = Outcome.NOTHING
        failed = any(each.gang.fail_fast and each.refusal is not None for each in tries)
        for each in reversed(tries):
            if each.gang.id not in starting and holding.reserve(session, each, failed=failed):
                outcome = Outcome.HELD
        if starting:
            outcome = self._keep(session, [each for each in tries if each.gang.id in starting], unschedulable)
        elif len(tries) == 1 and tries[0].refusal is not None and outcome is Outcome.NOTHING:
            unschedulable.learn(unit[0], placed[0] - before, tries[0].refusal)
        for each, found in zip(tries, placed, strict=True):
            if each.gang.id not in starting:
                if outcome is Outcome.NOTHING:
                    holding.give_slots_back(session, each.gang)
                refusal = each.refusal or _why_not(session, each.gang, found)
                session.refuse(each.gang, gang_refusal(session, each.gang, found, refusal))
        return outcome

    def _take(
        self,
        session: Session,
        unit: Sequence[Gang],
        waiting: dict[str, deque[Task]],
        unschedulable: UnschedulableCache,
    ) -> Generator[None, None, bool]:
        """Whether a group starts with what later ones hold."""
        fresh: dict[str, deque[Task]] = {}
        taken = yield from holding.take(
            session,
            unit,
            lambda gangs: self._tries(session, gangs, fresh),
            lambda tries: self._keep(session, tries, unschedulable),
        )
        if taken:
            waiting |= fresh
        return taken

    def _tries(
        self, session: Session, unit: Sequence[Gang], waiting: dict[str, deque[Task]]
    ) -> Generator[None, None, list[Attempt]]:
        """Finds places for all of them.  Thousands may be tied to each other: others want a turn in between."""
        tries: list[Attempt] = []
        for gang in unit:
            tries.append(self._try(session, gang, waiting))
            if len(unit) > 1:
                yield
        return tries

    def _try(self, session: Session, gang: Gang, waiting: dict[str, deque[Task]]) -> Attempt:
        """Finds places for one gang, in a statement of its own."""
        tasks = waiting.get(gang.id)
        if tasks is None:
            tasks = waiting[gang.id] = deque(session.sorted_tasks(_placeable(gang)))
        statement = session.statement()
        fill = partial(self._fill, session, session.queues[gang.queue], statement, gang.fail_fast)
        if gang.policies:
            refusal = fill_by_group(session, gang, tasks, statement, fill)
        else:
            # Where only those count that wait, all that can be placed must be placed at one time.
            done = (lambda: False) if quorum.counts_waiting_only(gang) else partial(session.ready, gang)
            refusal = fill(tasks, partial(session.shortfall, gang), done)
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

    def _fill(
        self,
        session: Session,
        queue: Queue,
        statement: Statement,
        fail_fast: bool,
        tasks: deque[Task],
        size: Callable[[], int],
        done: Callable[[], bool],
    ) -> Refusal | None:
        """Places tasks in line until it is enough: the first reason why some found no place.

        If they fail fast, those behind the first one that finds none are not tried.
        """
        refusal: Refusal | None = None
        while tasks:
            batch = _equal_tasks(session, tasks, size())
            placed, cause = self._place(session, queue, batch, statement)
            for _ in range(placed):
                tasks.popleft()
            if cause is not None:
                refusal = both(refusal, cause)
                if fail_fast and not done():
                    break
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


def _holds_some(session: Session, queue: Queue) -> bool:
    """Whether places that are only held are a part of what a queue has."""
    return any(gang.queue == queue.id and gang.counts[State.RESERVED] for gang in session.holders.values())


def _found_nothing_more(each: Attempt) -> bool:
    """Whether a gang has enough, and there is no place for a member that is beyond that, or comes back."""
    gang = each.gang
    return each.statement.empty and quorum.bound_enough(gang) and not gang.counts[State.RESERVED]


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


def _why_not(session: Session, gang: Gang, placed: int) -> Refusal:
    """What keeps a gang whose tasks found places, or had none to look for."""
    held = sum(1 for task in gang.tasks.values() if task.state is State.PENDING and task.gated)
    if held:
        return refuse(MEMBERS_HELD, count=held)
    find = session.cluster.gangs.get
    awaited = quorum.unsatisfied_partners(gang, find)
    if awaited:
        return quorum.incomplete(gang, awaited, find)
    # Those that could be placed are too few: where only those count that wait, what is bound does not.
    return quorum.too_few(gang, quorum.counted(gang, placed))


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
