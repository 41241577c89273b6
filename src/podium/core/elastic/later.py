"""The room that there will be: what is there now, less what has been promised, and more of it as units give way.

    begin                    what is about to leave already
    leave, stay, end         one member of a unit goes: the one that its controller would take; or it need not
    place, extend, start     what then has room: it is promised
    keep_free                what pods of others find that wait

All of that is only tried: in a statement, and in the limits beside it, that are taken back when the plan has been
made.  Who wants room asks with a `Want`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from podium.core.elastic.limits import Limits
from podium.core.elastic.unit import Unit
from podium.core.framework.plugin import Mask
from podium.core.framework.session import Session
from podium.core.model.model import HOLDING, Gang, State, Task

# Of a plan; the next one goes on.  What nobody can be helped with costs no more than this.
_MOST_LEAVING = 2000
_PORTION = 20  # units that are looked at before others get their turn

_PRESENT = HOLDING | {State.PENDING}  # a member in one of these is there, or is to come


class Want(msgspec.Struct):
    """Something for which units may give way."""

    place: Callable[[], bool]  # tries to find a place
    helps: Callable[[Unit], bool]  # whether it may help if a unit has less


class Leaving(msgspec.Struct):
    """A member that is to go, and how it was."""

    unit: Unit
    task: Task
    state: State


class Later:
    """The room of one plan, once those have left who are to leave."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._trial = session.statement()
        self._orders: dict[str, Iterator[Task]] = {}
        self._budget = _MOST_LEAVING
        self._possible: dict[object, Mask] = {}  # the rows where a task of a kind could be

    def close(self) -> None:
        self.undo((0, 0))

    def mark(self) -> tuple[int, int]:
        return self._trial.checkpoint(), self._limits.mark()

    def undo(self, mark: tuple[int, int]) -> None:
        self._trial.rollback(mark[0])
        self._limits.undo(mark[1])
        self._orders.clear()  # those that were to leave may be asked again

    # --- who leaves ----------------------------------------------------------------------------------------------

    def begin(self, units: Sequence[Unit]) -> Iterator[None]:
        """What units have beyond what they are asked to have is about to go; of one sent back to wait, all."""
        for number, unit in enumerate(units):
            if number % _PORTION == 0:
                yield
            if unit.waiting:
                for task in [each for each in unit.obj.tasks.values() if each.has_pod and each.state in HOLDING]:
                    self._leave(unit, task)
            else:
                for _ in range(max(0, _present(unit) - unit.planned)):
                    if self.leave(unit) is None:
                        break

    @property
    def leaving(self) -> bool:
        """Whether there will be more room than there is."""
        return bool(self._session.cluster.nodes.departures)

    @property
    def spent(self) -> bool:
        """Whether as many have been asked to go as a plan may ask."""
        return self._budget <= 0

    def leave(self, unit: Unit) -> Leaving | None:
        """The next member of a unit goes."""
        order = self._orders.get(unit.name)
        if order is None:
            order = self._orders[unit.name] = iter(_leaving_order(unit))
        task = next(order, None)
        if task is None or self.spent:
            return None
        self._budget -= 1
        return self._leave(unit, task)

    def end(self, unit: Unit) -> None:
        """All of a unit goes."""
        for task in [each for each in unit.obj.tasks.values() if each.state in _PRESENT]:
            self._leave(unit, task)

    def _leave(self, unit: Unit, task: Task) -> Leaving:
        leaving = Leaving(unit, task, task.state)
        if task.state in HOLDING:
            self._trial.evict(task, "")
        self._limits.leave(unit, [task])
        return leaving

    def stay(self, leaving: Leaving) -> bool:
        """Lets a member stay that was to go, if nobody needs its place."""
        unit, task, session = leaving.unit, leaving.task, self._session
        held = leaving.state in HOLDING
        if held:
            room = session.cluster.nodes.fits_row(task.cls.request, task.row, future=True)
            if not room or task.cls.constraints.devices is not None:  # which devices are another question
                return False
            if not session.headroom(session.queues[task.gang.queue], [task]):
                return False
        if not self._limits.claim(unit, [task]):
            return False
        if held:
            self._trial.spare(task, leaving.state)
        self._orders.pop(unit.name, None)
        return True

    # --- who comes -----------------------------------------------------------------------------------------------

    def place(self, task: Task) -> bool:
        """Promises a task that waits a place that others leave."""
        if not self._session.headroom(self._session.queues[task.gang.queue], [task]):
            return False
        row = self._session.candidates(task).choose_later(task)
        if row is None:
            return False
        self._trial.pipeline(task, row)
        return True

    def extend(self, unit: Unit) -> bool:
        """Promises a unit one more member."""
        assert unit.like is not None
        trial, limits = self.mark()
        (task,) = self._trial.extend(unit.like, 1)
        if self._limits.claim(unit, [task]) and self.place(task):
            return True
        self._trial.rollback(trial)
        self._limits.undo(limits)
        return False

    def start(self, unit: Unit) -> bool:
        """Promises a unit that waits all of its places."""
        trial, limits = self.mark()
        tasks = slots_of(unit)
        if self._limits.claim(unit, tasks) and all(map(self.place, tasks)):
            return True
        self._trial.rollback(trial)
        self._limits.undo(limits)
        return False

    def keep_free(self, tasks: Sequence[Task]) -> list[Task]:
        """Keeps room free for equal tasks of others, as far as there is any: those that find none."""
        done = 0
        while done < len(tasks):
            rows = self._session.candidates(tasks[done]).choose(tasks[done:])
            if not rows:
                break
            for task, row in zip(tasks[done:], rows, strict=False):
                self._trial.place([task], [row])
            done += len(rows)
        return list(tasks[done:])

    def expect(self, tasks: Sequence[Task]) -> None:
        """Tasks of others that will have places, sooner or later: they are part of the load."""
        self._limits.expect(tasks)

    # --- what is wanted ------------------------------------------------------------------------------------------

    def place_wanted(self, task: Task) -> Want:
        return Want(partial(self.place, task), partial(self._is_where, task))

    def start_wanted(self, unit: Unit) -> list[Want]:
        """What a unit that waits has to find: that it may, and then its places."""
        tasks = slots_of(unit)
        entry = Want(partial(self._limits.claim, unit, tasks), partial(self._limits.helps, unit, tasks))
        return [entry, *map(self.place_wanted, tasks)]

    def growth_wanted(self, unit: Unit) -> Want:
        """A place for one more member of a unit."""
        like = unit.like
        assert like is not None
        return Want(
            partial(self.extend, unit),
            lambda donor: self._limits.helps(unit, [like], donor) or self._is_where(like, donor),
        )

    def least_wanted(self, unit: Unit) -> list[Want]:
        """What a unit lacks whose own least has been raised."""
        return [self.growth_wanted(unit)] * (unit.least - unit.planned)

    @property
    def less_load_wanted(self) -> Want:
        """That there is no more load than is to be."""
        return Want(lambda: not self._limits.overloaded, self._limits.loads)

    def _is_where(self, task: Task, unit: Unit) -> bool:
        """Whether some of a unit is on a node on which a task could be."""
        session = self._session
        kind = session.signature(task)
        rows = self._possible.get(kind)
        if rows is None:
            nodes, cls = session.cluster.nodes, task.cls
            enough = (nodes.allocatable[: nodes.count, cls.columns] >= cls.amounts).all(axis=1)
            rows = self._possible[kind] = session.candidates(task, refresh=False).static & enough
        return any(bool(rows[each.row]) for each in _members(unit) if each.row >= 0)


def slots_of(unit: Unit) -> list[Task]:
    """What a unit that waits has to find places for."""
    gang: Gang = unit.obj
    return [task for task in gang.tasks.values() if task.state is State.PENDING and not task.gated]


def _members(unit: Unit) -> list[Task]:
    gang: Gang = unit.obj
    role = gang.size.role if gang.size is not None else ""
    return [task for task in gang.tasks.values() if task.role == role and task.state in _PRESENT]


def _present(unit: Unit) -> int:
    gang: Gang = unit.obj
    return gang.count_role(gang.size.role if gang.size is not None else "", _PRESENT)


def _leaving_order(unit: Unit) -> list[Task]:
    """Its members in the order in which a Job's controller takes them away: who has no pod, who does not run, and
    then the youngest."""
    return sorted(
        _members(unit),
        key=lambda task: (
            task.has_pod,
            task.state is not State.PENDING,
            task.state is State.RUNNING,
            -task.started,
            -task.created,
            task.name,
        ),
    )
