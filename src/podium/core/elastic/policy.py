"""What policies have in common: a plan is made of units, and of the room that there is.

A policy asks the room for places and gives units their `planned` sizes.  What the room has given is held from
then on: the plan and the placement are one.  What leaves, leaves later: a plan only tries what there will be
room for then, and takes that back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from podium.core.elastic.others import Others
from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import Unit


class Policy(Protocol):
    """A way to decide on sizes."""

    def plan(
        self, units: Sequence[Unit], room: SessionRoom, others: Others, now: float, *, whole: bool
    ) -> Iterator[None]:
        """Gives every unit its planned size; unless it is a `whole` plan, only to those that wait.

        It pauses before each that waits: there may be thousands, and each takes a while.
        """
        ...

    def score(self, unit: Unit) -> float:
        """By what a unit was ordered in the plan."""
        ...
