"""Units give way: one member after the other goes, in a trial, until something has its place."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from podium.core.elastic.later import Later, Leaving, Want
from podium.core.elastic.unit import Unit


def make_room(later: Later, want: Want, donors: Sequence[Unit]) -> bool:
    """Takes one after the other from the first of the donors that can help, never below its least size.

    Which members leave a unit is not for a plan to say, so some may go from where that helps nobody.  When there
    is room, those that need not go stay, beginning with the donor that was last to give.
    """
    gone: list[Leaving] = []
    going = _going(later, want, donors)
    while not want.place():
        leaving = next(going, None)
        if leaving is None:
            return False
        gone.append(leaving)
    needed: set[str] = set()
    for each in reversed(gone):
        if each.unit.name not in needed and later.stay(each):
            each.unit.planned += 1
        else:
            needed.add(each.unit.name)
    return True


def _going(later: Later, want: Want, donors: Sequence[Unit]) -> Iterator[Leaving]:
    for donor in donors:
        helps = donor.planned > donor.least and want.helps(donor)
        while helps and donor.planned > donor.least and (leaving := later.leave(donor)) is not None:
            donor.planned -= 1
            yield leaving


def make_room_for_all(later: Later, wants: Sequence[Want], donors: Sequence[Unit]) -> Generator[None, None, bool]:
    """Room for all of something, or nobody shrinks for it.  It pauses after each place: there may be thousands."""
    mark, before = later.mark(), [(unit, unit.planned) for unit in donors]
    for want in wants:
        if not make_room(later, want, donors):
            break
        yield
    else:
        return True
    later.undo(mark)
    for unit, planned in before:
        unit.planned = planned
    return False
