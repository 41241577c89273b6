"""Units give way: one member after the other goes, in a trial, until something has its place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import Unit

Place = Callable[[], bool]  # tries to find a place


def make_room(room: SessionRoom, place: Place, donors: list[Unit]) -> bool:
    """Takes one after the other from the first of the donors, never below its least size, until there is room."""
    while not place():
        while donors and donors[0].planned <= donors[0].least:
            donors.pop(0)
        if not donors or not room.leave(donors[0]):
            return False
        donors[0].planned -= 1
    return True


def make_room_for_all(
    room: SessionRoom, places: Sequence[Place], donors: list[Unit]
) -> Generator[None, None, bool]:
    """Room for all of something, or nobody shrinks for it.  It pauses after each place: there may be thousands."""
    mark, before = room.mark(), [(unit, unit.planned) for unit in donors]
    for place in places:
        if not make_room(room, place, donors):
            break
        yield
    else:
        return True
    room.undo(mark)
    for unit, planned in before:
        unit.planned = planned
    return False
