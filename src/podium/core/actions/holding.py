"""Places that are held for gangs which are not whole: who may start, who holds, and who takes from whom.

    startable     gangs that have enough, and so have those they wait for: these are kept
    reserve       the others hold what they found, or give it back
    take          a group that would start with what later groups hold takes it
    check         before a turn: what is held for nothing is given back
    give_slots_back   a gang that had enough, lost some of it and finds nothing else holds nothing without a pod
    time_out      a gang that has held places for as long as it may gives them back, with all that are tied to it

All groups stand in one fixed order (`quorum.order_of`).  A group takes from later ones and from those that wait
for it, and only if it starts with that, or one of its members beyond the minimum does; who loses a place gives all
back.  So the first group that could start alone always can, and nobody gives up anything for nothing: gangs that
hold places block nobody for good.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

from podium.core.framework.reserved import queue_allows, still_fits
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model import quorum
from podium.core.model.decisions import TimeOut
from podium.core.model.model import Gang, Mode, State, Task, TaskClass
from podium.reasons import TIMED_OUT, Refusal, refuse

Place = tuple[Task, int]


class Attempt:
    """What was tried for one gang: its tentative places, and why there are not more."""

    def __init__(self, gang: Gang, statement: Statement, refusal: Refusal | None) -> None:
        self.gang = gang
        self.statement = statement
        self.refusal = refusal


# --- who starts, and who holds -----------------------------------------------------------------------------------


def startable(session: Session, unit: Sequence[Gang]) -> set[str]:
    """Of gangs that were tried together, those that have enough, with all that they wait for, by id."""
    if len(unit) == 1 and not unit[0].together:
        return {unit[0].id} if session.ready(unit[0]) else set()
    tried = {gang.id for gang in unit}
    found = {gang.id for gang in unit if session.ready(gang)}
    waited_for: dict[str, list[str]] = {}  # by whom
    lacking: list[str] = []
    for gang in unit:
        for id in quorum.partners(gang) if gang.id in found else ():
            if id in tried:
                waited_for.setdefault(id, []).append(gang.id)
            elif not _has_enough(session, id):
                lacking.append(gang.id)
    # Who waits for one that lacks something lacks something: each is looked at once, however long the chain.
    lacking += tried - found
    while lacking:
        id = lacking.pop()
        found.discard(id)
        lacking += waited_for.pop(id, ())
    return found


def all_promised(session: Session, tries: Sequence[Attempt]) -> bool:
    """Whether all of them are whole once others have left."""
    tried = {each.gang.id for each in tries}
    return all(
        not each.statement.empty
        and session.pipelined(each.gang)
        and all(id in tried or _has_enough(session, id) for id in quorum.partners(each.gang))
        for each in tries
    )


def reserve(session: Session, each: Attempt, *, failed: bool = False) -> bool:
    """A gang cannot start: whether what was found for it is kept all the same.

    `failed`: one of those it was tried with fails fast, and did.  Then it is not time that they wait for, and one
    that fails fast itself gives back what it has held for them.
    """
    gang = each.gang
    waits = bool(gang.together) and session.ready(gang) and not (failed and gang.fail_fast)
    holds = gang.mode is Mode.NON_STRICT or waits
    if holds and each.statement.reserve():
        watch(session, gang)
        return True
    each.statement.rollback()
    if gang.fail_fast and not holds:
        statement = session.statement()
        _release(statement, [gang], "it waits for room, and holds none meanwhile")
        statement.commit()
    return False


def _has_enough(session: Session, id: str) -> bool:
    gang = session.cluster.gangs.get(id)
    return gang is not None and gang.fault is None and quorum.satisfied(gang)


# --- taking what later groups hold -------------------------------------------------------------------------------


def may_take(session: Session, unit: Sequence[Gang]) -> bool:
    """Whether there is anything that a group could take, from later ones or from its own places."""
    if not session.holders:
        return False
    return any(gang.counts[State.RESERVED] for gang in unit) or bool(_later(session, unit))


def take(
    session: Session,
    unit: Sequence[Gang],
    tries: Callable[[Sequence[Gang]], Generator[None, None, list[Attempt]]],
    keep: Callable[[list[Attempt]], object],
) -> Generator[None, None, bool]:
    """Tries a group as if neither it nor those after it held anything; whether it starts with that.

    Then those after it keep what is not needed: a group all of its places, or none.  Else all is as it was.
    """
    later = _later(session, unit)
    releasing = session.statement()
    own = _release(releasing, unit, "")
    held = [(group, _release(releasing, group, _why(unit[0]))) for group in later]
    if any(session.overused(session.queues[gang.queue]) for gang in unit):
        releasing.rollback()
        return False
    # In the order in which they would be tried if none of them had anything.
    found = yield from tries(sorted(unit, key=session.job_key))
    starting = startable(session, unit)
    if unit[0].id not in starting or all(each.statement.empty for each in found):
        for each in reversed(found):
            each.statement.rollback()
        releasing.rollback()
        return False
    for each in reversed(found):
        if each.gang.id not in starting:
            each.statement.rollback()
    restoring = session.statement()
    _restore(session, restoring, [place for place in own if place[0].gang.id not in starting])
    for _, places in held:
        _restore(session, restoring, places)
    releasing.commit()
    restoring.commit()
    keep([each for each in found if each.gang.id in starting])
    return True


def _later(session: Session, unit: Sequence[Gang]) -> list[list[Gang]]:
    """The groups that hold places, have not got enough, and are after this one or wait for it, first first."""
    if not session.holders:
        return []
    mine, ids = quorum.order_of(unit), {gang.id for gang in unit}
    seen = set(ids)
    found: list[tuple[quorum.Order, list[Gang]]] = []
    for gang in session.holders.values():
        if gang.id in seen or not gang.counts[State.RESERVED]:
            continue
        group = session.group_of(gang)
        seen |= {each.id for each in group}
        order = quorum.order_of(group)
        behind = order > mine or any(id in ids for each in group for id in quorum.partners(each))
        if behind and _waits(session, group):
            found.append((order, group))
    return [group for _, group in sorted(found, key=lambda each: each[0])]


def _waits(session: Session, group: Sequence[Gang]) -> bool:
    """Whether a group holds places because it cannot start: not for pods that are yet to be made."""
    find = session.cluster.gangs.get
    return any(
        gang.counts[State.RESERVED] and (not quorum.satisfied(gang) or quorum.unsatisfied_partners(gang, find))
        for gang in group
    )


def _release(statement: Statement, gangs: Iterable[Gang], why: str) -> list[Place]:
    """Gives back what some gangs hold; where that was."""
    held = [task for gang in gangs for task in gang.tasks.values() if task.state is State.RESERVED]
    places = [(task, task.row) for task in held]
    for task in held:
        statement.release(task, why)
    return places


def _restore(session: Session, statement: Statement, places: Sequence[Place]) -> None:
    """Holds some places again if all of them are still there."""
    mark = statement.checkpoint()
    for task, row in places:
        queue = session.queues.get(task.gang.queue)
        if queue is None or not session.headroom(queue, [task]) or not session.candidates(task).fits(task, row):
            statement.rollback(mark)
            return
        statement.restore(task, row)


def _why(gang: Gang) -> str:
    return f"taken by {gang.namespace}/{gang.name}, which is before it and can start"


# --- what is held for nothing ------------------------------------------------------------------------------------


def check(session: Session, gang: Gang, refusal: Refusal | None) -> None:
    """Gives back what is reserved for nothing.

    A gang that cannot start as it is holds nothing.  And a node may have been closed, or shrunk, since: nothing is
    bound to a place that does not fit.  Nor may it bring its queue above what that may have: the limit may be a
    lower one by now, and a slot whose pod has failed gets its place back, though others came in between.
    """
    statement = session.statement()
    within: set[TaskClass] = set()  # what is true of one is true of all that ask for the same
    for task in [each for each in gang.tasks.values() if each.state is State.RESERVED]:
        if refusal is not None:
            statement.release(task, str(refusal))
        elif not still_fits(session, task):
            statement.release(task, "its place does not fit any longer")
        elif task.cls in within or queue_allows(session, task):
            within.add(task.cls)
        else:
            statement.release(task, "its queue may not have so much any longer")
    statement.commit()
    watch(session, gang)


def give_slots_back(session: Session, gang: Gang) -> None:
    """A gang whose lost places cannot be found again gives back those for which there are no pods.

    Others could use them, and it will need all of them anew.
    """
    if gang.mode is Mode.NON_STRICT or gang.together or quorum.satisfied(gang):
        return
    statement = session.statement()
    for task in [each for each in gang.tasks.values() if each.state is State.RESERVED and not each.has_pod]:
        statement.release(task, "its gang has lost other places, and cannot start with what is left")
    statement.commit()


# --- time --------------------------------------------------------------------------------------------------------


def watch(session: Session, gang: Gang) -> None:
    """A gang that holds places is looked at when its time is over, though nothing happens."""
    deadline = _deadline(gang)
    if deadline is not None:
        session.look_again(gang, deadline)


def overdue(session: Session, gang: Gang) -> bool:
    deadline = _deadline(gang)
    return deadline is not None and session.now >= deadline


def _deadline(gang: Gang) -> float | None:
    if gang.waiting_time is None or gang.held_since is None or not gang.counts[State.RESERVED]:
        return None
    return gang.held_since + gang.waiting_time


def time_out(session: Session, gang: Gang) -> None:
    """A gang's time is over: all that are tied to it give back what they hold, and are not tried again."""
    statement = session.statement()
    group = [each for each in session.group_of(gang) if quorum.yet_to_start(each)]
    _release(statement, group, f"{gang.namespace}/{gang.name} was not whole in time")
    statement.commit()
    for each in group:
        each.fault = refuse(TIMED_OUT, gang=f"{gang.namespace}/{gang.name}", seconds=gang.waiting_time or 0.0)
        session.decisions.append(TimeOut(each.id))
        session.refuse(each, each.fault)
