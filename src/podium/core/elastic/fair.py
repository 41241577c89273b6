"""The fair policy: scores are made even, by one member at a time.

    1. From the leftmost unit on: what waits is started at its least size, or passed over.  Then, pass after pass,
       every unit that runs gets one more, until a pass changes nothing.
    2. If that changed nothing: some units shrink, the rightmost first.  For the leftmost unit that waits, until it
       has room; if there is none to be made for it, nobody shrinks for it.  If nobody waits, for units that have
       got far less than others, until the scores would be even some windows from now.

Only a unit whose score is far above the mean gives way, and only for one with a lower score.  A unit that has
waited for longer than the patience goes first: its places are held as they are found, and whoever has more than
the least gives way for it.  Units that have just been changed are left alone for their window.

Pods of others come first.  Room is kept free for those that wait, and units shrink for those that find none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import product

import msgspec

from podium.core.elastic.cfs import GpuPriorityCFS
from podium.core.elastic.later import Want
from podium.core.elastic.making_room import make_room, make_room_for_all
from podium.core.elastic.others import Others
from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import Scoring, Unit
from podium.core.model.model import Task

# Scores are to be even after so many windows: sooner, sizes would swing; later, fairness would be late.
_WINDOWS = 10
_LEAST_HORIZON = 300.0
_MOST_TRIES = 10  # units that wait and cannot be helped, in a plan


class Fairness(msgspec.Struct, frozen=True):
    """What the policy can be told."""

    scoring: Scoring = Scoring()
    threshold: float = 0.2  # how far above the mean a score must be before its unit gives way
    patience: float = 600.0
    may_end: Callable[[Unit, Unit], bool] | None = None  # whether a unit may send another one back to wait


class FairPolicy:
    """Plans with a tree of scores."""

    def __init__(self, fairness: Fairness) -> None:
        self._fairness = fairness

    def order(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """The leftmost first."""
        self.tree = GpuPriorityCFS(units, self._fairness.scoring)
        return list(self.tree)

    def score(self, unit: Unit) -> float:
        return self.tree.score(unit)

    def plan(
        self, units: Sequence[Unit], room: SessionRoom, others: Others, now: float, *, whole: bool
    ) -> Iterator[None]:
        order = self.order([unit for unit in units if not unit.completed])
        yield
        for unit in order:
            if unit.planned > unit.most:
                unit.planned = unit.most  # its own most has been lowered: that cannot wait
        yield from room.later.begin(order)
        unmet = others.place(room)
        yield
        if whole:
            yield from room.extend_to_least(order)
        patient = yield from self._patient(order, room, now)
        waiting = [unit for unit in order if unit.waiting]
        if patient is not None:
            waiting.remove(patient)
            waiting.insert(0, patient)
        stuck = yield from self._start(waiting, patient, room)
        if not whole:
            return
        yield from grow(order, room, now)
        changed = any(unit.planned != unit.expected for unit in order)
        shrinking = _Shrinking(self._fairness, self.tree, order, room, now)
        yield from shrinking.for_others(unmet)
        shrinking.for_load()
        yield from shrinking.for_least()
        if stuck and (patient is not None or not changed):
            yield from shrinking.for_waiting(stuck, patient)
        elif not any(unit.planned != unit.expected for unit in order):
            yield from shrinking.for_evenness()

    def _patient(self, order: Sequence[Unit], room: SessionRoom, now: float) -> Generator[None, None, Unit | None]:
        """The unit that has waited longest, and too long, and could have room at all."""
        late = [unit for unit in order if unit.waiting and now - unit.since >= self._fairness.patience]
        found = None
        late.sort(key=lambda each: (each.since, each.tie))
        # Who has to wait for its own user's other jobs does not keep the turn from those whom others can help.
        for alone, unit in product((False, True), late):
            if room.could_ever_start(unit, alone=alone):
                found = unit
                break
            yield
        for unit in order:
            if unit.waiting and unit is not found:
                room.release(unit)
        return found

    def _start(
        self, waiting: Sequence[Unit], patient: Unit | None, room: SessionRoom
    ) -> Generator[None, None, list[Unit]]:
        """Starts what has room: those that have none, not even once those that are leaving have left."""
        stuck: list[Unit] = []
        for unit in waiting:
            yield
            if room.start(unit):
                unit.planned = unit.least
                continue
            if unit is patient:
                room.hold(unit)
            promised = room.later.leaving and len(stuck) < _MOST_TRIES and room.later.start(unit)
            if not promised:
                stuck.append(unit)
        return stuck


def grow(order: Sequence[Unit], room: SessionRoom, now: float) -> Iterator[None]:
    """One more member for every unit that runs, pass after pass, until the room ends.

    While all of a pass fits, sizes do not depend on the order within it: then several passes are made at once.
    Members that are alike get what they would get one by one; of unlike ones, other nodes may be filled first.
    """

    def growing() -> list[Unit]:
        return [
            unit
            for unit in order
            if not unit.waiting
            and unit.planned < unit.most
            and unit.planned >= unit.expected
            and not unit.frozen(now)
            and unit not in full
        ]

    full: set[Unit] = set()
    passes = 1
    yield from room.tell_apart(order)
    while units := growing():
        yield
        if room.extend_all(units, passes):
            passes *= 2
        elif passes > 1:
            passes = 1
        else:
            got = yield from room.extend_in_order(units)
            full.update(set(units) - set(got))
    yield from room.settle_growth()


class _Shrinking:
    """Who gives way, and for whom."""

    def __init__(
        self, fairness: Fairness, tree: GpuPriorityCFS, order: Sequence[Unit], room: SessionRoom, now: float
    ) -> None:
        self._fairness = fairness
        self._tree = tree
        self._order = order
        self._room, self._later = room, room.later
        self._now = now
        mean = sum(map(tree.score, order)) / max(1, len(order))
        self._far = mean * (1 + fairness.threshold)

    def _donors(self, *, above: float | None, frozen: bool = False) -> list[Unit]:
        """The rightmost first: those that have more than the least, and a score that is far `above`."""
        return [
            unit
            for unit in reversed(self._order)
            if unit.planned > unit.least
            and unit.planned <= unit.expected  # one that has just grown is not taken from
            and (frozen or not unit.frozen(self._now))
            and (above is None or self._tree.score(unit) > max(self._far, above))
        ]

    def for_others(self, tasks: Sequence[Task]) -> Iterator[None]:
        """Pods that are no unit's: those that matter more than a unit need not wait for its window."""
        failed = 0
        for task in tasks:
            urgent = any(task.priority > unit.obj.priority for unit in self._order)
            donors = self._donors(above=None, frozen=urgent)
            if urgent:
                donors = [
                    unit for unit in donors if task.priority > unit.obj.priority or not unit.frozen(self._now)
                ]
            failed += not (yield from make_room_for_all(self._later, [self._later.place_wanted(task)], donors))
            if failed >= _MOST_TRIES:
                return

    def for_load(self) -> None:
        """More than is wanted is in use, or will be: as far as that can be helped."""
        want = self._later.less_load_wanted
        if not want.place():
            make_room(self._later, want, self._donors(above=None))

    def for_least(self) -> Iterator[None]:
        """Units whose own least has been raised, and which found no room for it."""
        for unit in [each for each in self._order if 0 < each.planned < each.least]:
            wants = self._later.least_wanted(unit)
            yield from make_room_for_all(self._later, wants, self._donors(above=None))

    def for_waiting(self, stuck: Sequence[Unit], patient: Unit | None) -> Iterator[None]:
        failed = 0
        for unit in stuck:
            above = None if unit is patient else self._tree.score(unit)
            donors = self._donors(above=above)
            yield
            if not self._room.could_ever_fit(list(unit.obj.tasks.values())):
                continue
            wants = self._later.start_wanted(unit)
            if self._room.could_ever_start(unit) and (yield from make_room_for_all(self._later, wants, donors)):
                continue
            failed += not self._end_others(unit, wants)
            if failed >= _MOST_TRIES:
                return

    def _end_others(self, unit: Unit, wants: Sequence[Want]) -> bool:
        """Sends units back to wait for the sake of one that may do that; the rightmost first."""
        may_end = self._fairness.may_end
        if may_end is None:
            return False
        ended = [each for each in reversed(self._order) if not each.waiting and may_end(unit, each)]
        if not ended:
            return False
        mark, before = self._later.mark(), [(each, each.planned) for each in self._order]
        donors = self._donors(above=None)

        def place(want: Want) -> bool:
            while not make_room(self._later, want, donors):
                other = next((each for each in ended if each.planned and want.helps(each)), None)
                if other is None:
                    return False
                self._later.end(other)
                other.planned = 0
            return True

        if all(map(place, wants)):
            return True
        self._later.undo(mark)
        for each, planned in before:
            each.planned = planned
        return False

    def for_evenness(self) -> Iterator[None]:
        """From units that have got far more than others to those that have got less, as far as it evens out.

        One member at a time.  Both sides are heaps: there may be thousands, and a step moves two of them.  Where
        the first to give has nothing that the taker could use, the next ones are asked.
        """
        scoring, tree = self._fairness.scoring, self._tree
        donors = self._donors(above=0.0)
        giving = set(donors)
        lower = [
            unit
            for unit in self._order
            if not unit.waiting
            and unit.planned == unit.expected < unit.most
            and unit not in giving
            and not unit.frozen(self._now)
        ]
        sizes = {unit: unit.planned for unit in (*donors, *lower)}

        def horizon(unit: Unit) -> float:
            size = unit.obj.size
            return max(_LEAST_HORIZON, _WINDOWS * (size.window if size is not None else 0.0))

        def then(unit: Unit, more: int = 0) -> float:
            """The score that a unit will have, with so many members more."""
            return tree.score(unit) + scoring.rate(unit) * (sizes[unit] + more) * horizon(unit)

        givers = [(-then(unit), number) for number, unit in enumerate(donors)]
        takers = [(then(unit), number) for number, unit in enumerate(lower)]
        heapq.heapify(givers)
        heapq.heapify(takers)

        def evens_out(giver: Unit, taker: Unit) -> bool:
            """Whether one more would leave them closer than they are."""
            apart, after = then(giver) - then(taker), then(giver, -1) - then(taker, 1)
            return apart + after > 0 and tree.score(taker) < tree.score(giver)

        while givers and takers and not self._later.spent:
            yield
            taker = lower[takers[0][1]]
            if not evens_out(donors[givers[0][1]], taker):
                return
            found = None
            for entry in _first_ones(givers) if sizes[taker] < taker.most else ():
                giver = donors[entry[1]]
                if not evens_out(giver, taker):
                    break
                if self._gives(giver, taker):
                    found = entry
                    break
            if found is None:
                heapq.heappop(takers)
                continue
            giver = donors[found[1]]
            sizes[giver], sizes[taker] = giver.planned, sizes[taker] + 1
            heapq.heapreplace(takers, (then(taker), takers[0][1]))
            if found is givers[0]:
                heapq.heappop(givers)
            else:
                givers.remove(found)
                heapq.heapify(givers)
            if giver.planned > giver.least:
                heapq.heappush(givers, (-then(giver), found[1]))

    def _gives(self, giver: Unit, taker: Unit) -> bool:
        """Promises a unit one more member for one, or as many as it takes, of another one."""
        mark, before = self._later.mark(), giver.planned
        if make_room(self._later, self._later.growth_wanted(taker), [giver]):
            return True
        self._later.undo(mark)
        giver.planned = before
        return False


def _first_ones(heap: list[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """The first of a heap, and then some more."""
    yield heap[0]
    yield from heapq.nsmallest(_MOST_TRIES, heap)[1:]
