"""The fulfilment policy: the unit that has the least of what it may have is first.

    fulfilment = (members - least) / (most - least)

Up passes and down passes take turns until neither changes anything.  An up pass offers one more member to each
unit, the least fulfilled first; a down pass takes one from each, the most fulfilled first, while more is asked
for than may be in use.  What waits counts as asked for, units and pods of others alike, so units make room for it.

Units are left alone whose members do not all run yet, unless some unit waits.  Sums say nothing of nodes: for what
still finds no place the most fulfilled give way until it does, as far as that helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from podium.core.elastic.later import Want
from podium.core.elastic.making_room import make_room_for_all
from podium.core.elastic.others import Others
from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import Request, Unit

_MOST_TRIES = 10  # units, and pods of others, that wait and cannot be helped, in a plan


class Record(msgspec.Struct):
    """What the whole cluster has, and what is asked of it: GPUs, cores, GiB."""

    total: Request
    asked: Request

    def add(self, request: Request, count: int) -> None:
        asked = self.asked
        self.asked = Request(
            asked.gpus + count * request.gpus,
            asked.cpus + count * request.cpus,
            asked.memory + count * request.memory,
        )


def fulfilment(unit: Unit) -> float:
    return (unit.expected - unit.least) / (unit.most - unit.least) if unit.elastic else 1.0


def sort_key(unit: Unit) -> tuple[float, float, float, float, str]:
    """The least fulfilled first, then who asks for less."""
    request = unit.request
    return (fulfilment(unit), request.gpus, request.cpus, request.memory, unit.name)


def sorted_units(units: Iterable[Unit], *keep: Callable[[Unit], bool]) -> list[Unit]:
    return sorted((unit for unit in units if all(each(unit) for each in keep)), key=sort_key)


def needs_gpu(unit: Unit) -> bool:
    return unit.request.gpus > 0


def step(unit: Unit, record: Record, max_load: float, fits: Callable[[], bool], *, down: bool) -> int:
    """One step of a dry run for one unit: how many members more.  `fits`: a node takes one."""
    return _step_down(unit, record, max_load) if down else _step_up(unit, record, max_load, fits)


def _step_down(unit: Unit, record: Record, max_load: float) -> int:
    if unit.planned > unit.most:
        return -1
    over = record.asked.gpus > _part(record.total.gpus, max_load) or record.asked.cpus > _part(
        record.total.cpus, max_load
    )
    return -1 if over and unit.planned > unit.least else 0


def _step_up(unit: Unit, record: Record, max_load: float, fits: Callable[[], bool]) -> int:
    if unit.planned >= unit.most:
        return unit.most - unit.planned
    total, asked, one = record.total, record.asked, unit.request
    if total.memory - asked.memory <= one.memory:
        return 0
    if _part(total.cpus, max_load) - asked.cpus < one.cpus:
        return 0
    if one.gpus and total.gpus - asked.gpus < one.gpus:
        return 0
    return 1 if fits() else 0


def _part(amount: float, part: float) -> float:
    """Of cores in thousandths, as everything else whole."""
    return math.floor(amount * 1000 * part) / 1000


class FulfilmentPolicy:
    """Plans by fulfilment."""

    def __init__(self, record: Record, max_load: float) -> None:
        self._record = record
        self._max_load = max_load

    def score(self, unit: Unit) -> float:
        return fulfilment(unit)

    def plan(
        self, units: Sequence[Unit], room: SessionRoom, others: Others, now: float, *, whole: bool
    ) -> Iterator[None]:
        live = sorted_units(units, lambda unit: not unit.completed)
        yield from room.later.begin(live)
        unmet = others.place(room)
        if whole:
            yield from room.extend_to_least(live)
        stuck: list[Unit] = []
        for unit in sorted((each for each in live if each.waiting), key=lambda each: (each.since, each.name)):
            yield
            if room.start(unit):
                unit.planned = unit.least
            elif not (room.later.leaving and room.later.start(unit)):
                stuck.append(unit)
        if not whole:
            return
        waits = any(unit.waiting for unit in live)
        may_change = [
            unit
            for unit in live
            if not unit.waiting
            and unit.elastic
            and (unit.planned > unit.most or not unit.frozen(now))
            and (waits or unit.running == unit.expected or not unit.expected)
        ]
        for unit in live:
            # For what can never be, nobody shrinks; nor does the load keep it out.
            if unit.waiting and room.could_ever_start(unit) and not room.kept_back(unit):
                for task in unit.obj.tasks.values():
                    self._record.add(room.request_of(task), 1)
            self._record.add(unit.request, max(0, unit.planned - unit.expected))
        for task in others.asking:
            self._record.add(room.request_of(task), 1)
        yield from self._passes(may_change, room)
        yield from room.settle_growth()
        for unit in may_change:
            yield
            for _ in range(unit.expected - unit.planned):
                room.later.leave(unit)
        yield from self._give_way([[room.later.place_wanted(task)] for task in unmet], may_change, room)
        short = [unit for unit in live if 0 < unit.planned < unit.least]
        yield from self._give_way(map(room.later.least_wanted, short), may_change, room)
        helpable = (unit for unit in stuck if room.could_ever_start(unit))
        yield from self._give_way(map(room.later.start_wanted, helpable), may_change, room)

    def _give_way(self, wanted: Iterable[list[Want]], units: Sequence[Unit], room: SessionRoom) -> Iterator[None]:
        """For each of what finds no place: those that have not grown, the most fulfilled first."""
        failed = 0
        for wants in wanted:
            donors = [each for each in reversed(units) if each.planned <= each.expected]
            failed += not (yield from make_room_for_all(room.later, wants, donors))
            if failed >= _MOST_TRIES:
                return

    def _passes(self, units: Sequence[Unit], room: SessionRoom) -> Iterator[None]:
        changed = True
        while changed:
            changed = False
            for unit in units:
                yield
                if unit.planned < unit.expected:
                    continue  # it gives way in this plan
                fits = lambda unit=unit: room.extend(unit)  # noqa: E731
                more = step(unit, self._record, self._max_load, fits, down=False)
                if more > 0:
                    self._record.add(unit.request, more)
                elif more < 0:
                    unit.planned += more
                    self._record.add(unit.request, more)
                changed |= more != 0
            for unit in reversed(units):
                if unit.planned > max(unit.expected, unit.least):
                    continue  # it has just grown
                more = step(unit, self._record, self._max_load, bool, down=True)
                if more:
                    unit.planned += more
                    self._record.add(unit.request, more)
                    changed = True
