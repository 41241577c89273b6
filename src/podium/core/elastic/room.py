"""The room that units plan with: the session's own, so that what is planned fits on a node.

What units get now is kept: it is placed by a statement that the plan commits.  What they would get once others
have left is tried in `later`, and taken back when the plan has been made.

    start, extend ...        now: kept
    hold                     the places that a unit found which has waited for long

What is asked for in large numbers is asked for in batches of equal members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby

import numpy as np

from podium.core.elastic.growth import Growth, Members
from podium.core.elastic.later import Later, slots_of
from podium.core.elastic.limits import Limits
from podium.core.elastic.unit import Request, Unit, request_of
from podium.core.framework.diagnosis import diagnose, gang_refusal, queue_refusal
from podium.core.framework.reserved import still_fits
from podium.core.framework.session import Session
from podium.core.model.model import Gang, State, Task
from podium.reasons import MEMBERS_HELD, Refusal, refuse

_PORTION = 20  # units that are looked at before others get their turn


class SessionRoom:
    """The room of one plan."""

    def __init__(self, session: Session, limits: Limits, gpu: int | None = None) -> None:
        """`gpu` is the column of GPUs."""
        self._session = session
        self._gpu = gpu
        self._limits = limits
        self.kept = session.statement()
        self.later = Later(session, limits)
        self.refusals: dict[str, Refusal] = {}  # why units that wait do
        self._failed: dict[object, Refusal] = {}  # what units of a shape were refused for
        self._growth = Growth(session)
        self._kinds: dict[str, object] = {}
        self._ever: dict[object, bool] = {}  # whether tasks of some kinds would fit if they were alone

    # --- now -----------------------------------------------------------------------------------------------------

    def start(self, unit: Unit) -> bool:
        gang: Gang = unit.obj
        pending = [task for task in gang.tasks.values() if task.state is State.PENDING]
        held = [task for task in gang.tasks.values() if task.state is State.RESERVED]
        shape = (gang.queue, gang.namespace, unit.user, *sorted(task.cls.number for task in pending)), bool(held)
        known = self._failed.get(shape)
        if known is None:
            known = self._try(unit, gang, pending, held)
            if known is None:
                return True
            if not held:  # with what it holds, it is like no other
                self._failed[shape] = known
        self.refusals[unit.name] = known
        return False

    def _try(self, unit: Unit, gang: Gang, pending: list[Task], held: list[Task]) -> Refusal | None:
        """Why a unit cannot be started; None if it has been."""
        gated = sum(task.gated for task in pending)
        refusal = refuse(MEMBERS_HELD, count=gated) if gated else self._session.invalid(gang)
        if refusal is None:
            refusal = self._limits.refusal(unit, pending)
        if refusal is not None:
            return refusal
        mark = self.kept.checkpoint()
        lost = [task for task in held if not still_fits(self._session, task)]
        for task in lost:
            self.kept.release(task, "its place does not fit any longer")
        found = len(held) - len(lost)
        for tasks in self._equal([*pending, *lost]):
            placed, refusal = self._place(tasks)
            found += placed
            if refusal is not None:
                self.kept.rollback(mark)
                self._limits.give_back(unit, pending)
                return gang_refusal(self._session, gang, found, refusal)
        assert gang.size is not None
        self.kept.resize(gang, gang.size.least)
        return None

    def hold(self, unit: Unit) -> None:
        """A unit that has waited for long keeps what it finds, as far as its limits let it."""
        for tasks in self._equal(slots_of(unit)):
            allowed = [task for task in tasks if self._limits.refusal(unit, [task]) is None]
            placed, _ = self._place(allowed) if allowed else (0, None)
            self._limits.give_back(unit, allowed[placed:])

    def release(self, unit: Unit) -> None:
        """A unit that waits holds nothing, or nothing any longer."""
        gang: Gang = unit.obj
        if gang.counts[State.RESERVED]:
            held = [each for each in gang.tasks.values() if each.state is State.RESERVED]
            for task in held:
                self.kept.release(task, "another job has waited for longer")
            self._limits.give_back(unit, held)

    def _equal(self, tasks: Sequence[Task]) -> Iterator[list[Task]]:
        """Tasks that are alike, those that ask for most of what is rare first."""
        ordered = sorted(tasks, key=lambda task: (task.role, task.cls.number, task.suffix, task.name))
        for _, some in groupby(ordered, key=lambda task: (task.role, self._session.signature(task))):
            yield list(some)

    def _place(self, tasks: list[Task]) -> tuple[int, Refusal | None]:
        """Places equal tasks of one gang: how many, and why not more."""
        session, done = self._session, 0
        queue = session.queues[tasks[0].gang.queue]
        while done < len(tasks):
            rest = tasks[done:]
            allowed = session.headroom(queue, rest)
            if not allowed:
                return done, queue_refusal(session, queue, rest[0])
            rows = session.candidates(rest[0]).choose(rest[:allowed])
            if not rows:
                return done, diagnose(session, rest[0])
            self.kept.place(rest[: len(rows)], rows)
            done += len(rows)
        return done, None

    # --- one more member -----------------------------------------------------------------------------------------

    def settle_growth(self) -> Iterator[None]:
        """New members become slots, in the places that they have been given: equal ones together."""
        equal: dict[int, list[tuple[Task, list[int]]]] = {}
        for unit, rows in self._growth.take():
            assert unit.like is not None
            equal.setdefault(unit.like.cls.number, []).append((unit.like, rows))
        for wanted in equal.values():
            for first in range(0, len(wanted), _PORTION):
                yield
                self.kept.extend_all(wanted[first : first + _PORTION])

    def extend_to_least(self, units: Sequence[Unit]) -> Iterator[None]:
        """Units whose own least has been raised: that waits for nothing but room."""
        for unit in [each for each in units if 0 < each.planned < each.least]:
            yield
            while unit.planned < unit.least and self.extend(unit):
                pass

    def extend(self, unit: Unit, count: int = 1) -> bool:
        return self.extend_all([unit], count)

    def extend_all(self, units: Sequence[Unit], count: int) -> bool:
        """Places so many more members of each unit, as far as it may grow; or nothing of all that."""
        wanted = [(unit, min(count, unit.most - unit.planned)) for unit in units]
        mark, allowed = self._growth.mark(), []
        for unit, more in wanted:
            assert unit.like is not None
            if self._limits.binding and self._limits.refusal(unit, [unit.like] * more) is not None:
                break
            allowed.append((unit, more))
        if len(allowed) == len(wanted) and all(map(self._extend_whole, self._alike(allowed).values())):
            for unit, more in wanted:
                unit.planned += more
            return True
        self._growth.undo(mark)
        if self._limits.binding:
            for unit, more in allowed:
                assert unit.like is not None
                self._limits.give_back(unit, [unit.like] * more)
        return False

    def extend_in_order(self, units: Sequence[Unit]) -> Generator[None, None, list[Unit]]:
        """Places one more member of each unit, in order, while there is room: those that got one."""
        got: list[Unit] = []
        full: set[object] = set()
        for number, (kind, some) in enumerate(groupby(units, key=self._kind)):
            if number % _PORTION == 0:
                yield
            for unit in some if self._limits.binding else ():
                assert unit.like is not None
                if kind not in full and self._limits.refusal(unit, [unit.like]) is None:
                    if self._extend([(unit, 1)]):
                        got.append(unit)
                    else:
                        self._limits.give_back(unit, [unit.like])
                        full.add(kind)
            if not self._limits.binding and kind not in full:
                asked = [(unit, 1) for unit in some]
                placed = self._extend(asked)
                got += [unit for unit, _ in asked[:placed]]
                if placed < len(asked):
                    full.add(kind)
        for unit in got:
            unit.planned += 1
        return got

    def tell_apart(self, units: Sequence[Unit]) -> Iterator[None]:
        """Which units are alike, some at a time: plugins say that of each, and a pass needs it of all."""
        for number, unit in enumerate(units):
            if number % _PORTION == 0:
                yield
            self._kind(unit)

    def _kind(self, unit: Unit) -> object:
        kind = self._kinds.get(unit.name)
        if kind is None:
            assert unit.like is not None
            kind = self._kinds[unit.name] = (self._session.signature(unit.like), unit.obj.queue)
        return kind

    def _alike(self, wanted: Sequence[tuple[Unit, int]]) -> dict[object, list[tuple[Unit, int]]]:
        found: dict[object, list[tuple[Unit, int]]] = {}
        for unit, more in wanted:
            found.setdefault(self._kind(unit), []).append((unit, more))
        return found

    def _extend_whole(self, wanted: Sequence[tuple[Unit, int]]) -> bool:
        return self._extend(wanted, whole=True) == sum(more for _, more in wanted)

    def _extend(self, wanted: Sequence[tuple[Unit, int]], *, whole: bool = False) -> int:
        """New members of units that are alike, in order: how many were placed.

        Where it is to be the `whole` of it, what does not fit at once is not begun.
        """
        session, placed = self._session, 0
        total, like = sum(more for _, more in wanted), wanted[0][0].like
        assert like is not None
        queue = session.queues[like.gang.queue]
        batch, ahead = [like] * total, Members(wanted)
        while placed < total:
            allowed = session.headroom(queue, batch[placed:])
            rows = session.candidates(like).choose(batch[: min(allowed, total - placed)]) if allowed else []
            if not rows or (whole and len(rows) < total and session.candidates(like, refresh=False).room_only):
                return placed
            self._growth.add(like, rows, list(ahead.take(rows)))
            placed += len(rows)
        return placed

    # --- what could be ------------------------------------------------------------------------------------------

    def request_of(self, task: Task) -> Request:
        return request_of(task, self._gpu)

    def kept_back(self, unit: Unit) -> bool:
        """Whether quotas, or its queue, keep out a unit that waits, whatever room there is."""
        session, tasks = self._session, slots_of(unit)
        queue = session.queues[unit.obj.queue]
        return self._limits.kept_back(unit, tasks) or any(
            session.headroom(queue, same) < len(same) for same in self._equal(tasks)
        )

    def could_ever_start(self, unit: Unit, *, alone: bool = False) -> bool:
        """Whether a unit that waits could have room on empty nodes, and what its limits leave when all other units
        have their least, or when it is alone."""
        tasks = list(unit.obj.tasks.values())
        wanted = tasks if alone else slots_of(unit)
        return self.could_ever_fit(tasks) and self._limits.could_ever(unit, wanted, alone=alone)

    def could_ever_fit(self, tasks: Sequence[Task]) -> bool:
        """Whether some tasks would fit if nobody else were there."""
        alike = Counter(map(self._session.signature, tasks))
        kind = frozenset(alike.items())
        found = self._ever.get(kind)
        if found is None:
            found = self._ever[kind] = self._fit_alone(tasks)
        return found

    def _fit_alone(self, tasks: Sequence[Task]) -> bool:
        nodes = self._session.cluster.nodes
        free = nodes.allocatable[: nodes.count].copy()
        for same in self._equal(tasks):
            cls, left = same[0].cls, len(same)
            rows = self._session.candidates(same[0], refresh=False).static
            columns = cls.columns
            room = np.where(rows, (free[:, columns] // cls.amounts).min(axis=1), 0) if columns else rows * left
            for row in np.flatnonzero(room > 0):
                taken = min(left, int(room[row]))
                free[row, columns] -= taken * cls.amounts
                left -= taken
                if not left:
                    break
            if left:
                return False
        return True

    def close(self) -> None:
        """What was only tried is taken back; what was given is kept."""
        self.later.close()
        self.kept.commit()
