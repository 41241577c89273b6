"""allocate: gives admitted gangs their places, a queue and a gang at a time.

A gang is tried as a whole: what was placed is kept when it is ready, held when it will be once others have left,
and undone otherwise.  A gang that is ready but has more tasks goes back in line, so that what is beyond the
minimum competes with the minimum of others.

The next queue is that with the smallest share; where the profile orders namespaces, that of the next namespace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial

from podium.core.action import Action
from podium.core.actions.by_group import fill_by_group
from podium.core.actions.common import KEEP_ANSWERS
from podium.core.actions.hopeless import Hopeless, told
from podium.core.actions.line import Line
from podium.core.decisions import GangPhase
from podium.core.diagnosis import diagnose
from podium.core.model import Gang, Phase, Queue, State, Task
from podium.core.session import Session
from podium.core.statement import Statement
from podium.reasons import MEMBERS_HELD, QUEUE_BLOCKED, QUEUE_OVERUSED, Refusal, refuse


class Outcome(Enum):
    """What came of a gang's turn."""

    KEPT = "some of it has its places"
    HELD = "it has its places once others have left"
    NOTHING = "nothing could be done"


class Allocate(Action):
    """Places pending tasks."""

    name = "allocate"
    ARGUMENTS = (KEEP_ANSWERS,)

    def run(self, session: Session) -> Iterator[None]:
        session.keep_answers = session.arguments(self.name).flag(KEEP_ANSWERS.name)
        line = Line(session, self._admitted(session), by_namespace=session.asks("namespace_order"))
        waiting: dict[str, deque[Task]] = {}
        hopeless = Hopeless(session)
        while (queue := line.next_queue()) is not None:
            if session.overused(queue):
                for gang in line.drop_queue(queue):
                    session.refuse(gang, refuse(QUEUE_OVERUSED, queue=queue.name))
                continue
            gang = line.pop(queue)
            refusal = hopeless.refusal(gang)
            if refusal is not None:
                outcome = Outcome.NOTHING
                session.refuse(gang, refusal)
            else:
                tasks = waiting.get(gang.id)
                if tasks is None:
                    tasks = waiting[gang.id] = deque(session.sorted_tasks(_placeable(gang)))
                work = partial(self._allocate, session, queue, gang, tasks, hopeless)
                outcome = session.attempt(gang, work, Outcome.NOTHING)
            if outcome is Outcome.KEPT and waiting[gang.id]:
                line.push(gang)
            elif outcome is Outcome.NOTHING and queue.fifo and gang.ready < max(1, gang.minimum):
                for later in line.drop_queue(queue):
                    session.refuse(later, refuse(QUEUE_BLOCKED, queue=queue.name, gang=gang.name))
            yield

    def _admitted(self, session: Session) -> Iterator[Gang]:
        for gang in session.own:
            if gang.phase is Phase.PENDING:
                if "enqueue" in session.actions:
                    continue
                gang.enter(Phase.INQUEUE)
                session.decisions.append(GangPhase(gang.id, Phase.INQUEUE))
            refusal = session.invalid(gang)
            if refusal is not None:
                session.refuse(gang, refusal)
            elif next(_placeable(gang), None) is not None:
                yield gang

    def _allocate(
        self, session: Session, queue: Queue, gang: Gang, tasks: deque[Task], hopeless: Hopeless
    ) -> Outcome:
        """Tries one gang."""
        before = gang.ready + gang.waiting
        statement = session.statement()
        fill = partial(self._fill, session, queue, statement)
        if gang.policies:
            refusal = fill_by_group(session, gang, tasks, statement, fill)
        else:
            refusal = fill(tasks, partial(session.shortfall, gang), partial(session.ready, gang))
        if session.ready(gang):
            kept = not statement.empty
            statement.commit()
            if not kept and refusal is not None:
                session.refuse(gang, refusal)
                hopeless.learn(gang, 0, refusal)
            return Outcome.KEPT if kept else Outcome.NOTHING
        if session.pipelined(gang) and not statement.empty:
            session.held.append(statement)
            return Outcome.HELD
        placed = gang.ready + gang.waiting
        statement.rollback()
        if refusal is None:
            held = sum(1 for task in gang.tasks.values() if task.state is State.PENDING and task.gated)
            refusal = refuse(MEMBERS_HELD, count=held) if held else None
        if refusal is not None:
            hopeless.learn(gang, placed - before, refusal)
            session.refuse(gang, told(gang, placed, refusal))
        return Outcome.NOTHING

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
                refusal = refusal or cause
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
            # Whoever leaves no room without saying why must not be asked for ever.
            return 0, session.allocatable(queue, batch[0]) or refuse(QUEUE_OVERUSED, queue=queue.name)
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


def _equal_tasks(session: Session, tasks: deque[Task], count: int) -> list[Task]:
    """The first tasks in line as far as they are alike, `count` at the most."""
    first = tasks[0]
    if session.candidates(first, refresh=False).one_by_one:
        return [first]
    batch: list[Task] = []
    for task in tasks:
        if len(batch) == count or task.role != first.role or task.nominated >= 0 or not session.alike(first, task):
            break
        batch.append(task)
    return batch or [first]


def _drop_like(session: Session, tasks: deque[Task], failed: Task) -> None:
    """What is like a task that found no place will find none either in this turn."""
    kept = [task for task in tasks if not session.alike(failed, task)]
    tasks.clear()
    tasks.extend(kept)
