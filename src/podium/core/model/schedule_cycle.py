"""The counters of a gang that fails fast, as the users of such gangs know them."""

from __future__ import annotations

from collections.abc import Iterable


class ScheduleCycle:
    """How often a gang that fails fast has been tried.

    A cycle begins with a try and is valid until a member finds no place.  `rounds` has the last cycle in which
    each member had its turn; one that has not been tried has none.
    """

    __slots__ = ("number", "rounds", "valid")

    def __init__(self) -> None:
        self.number = 1
        self.valid = True
        self.rounds: dict[str, int] = {}

    def begin(self, members: Iterable[str]) -> None:
        """All members have their turn; if all had it before, that is a new cycle."""
        known = dict.fromkeys(members, self.number)
        if self.rounds and all(self.rounds.get(id) == self.number for id in known):
            self.number += 1
            self.valid = True
            known = dict.fromkeys(known, self.number)
        self.rounds = known
