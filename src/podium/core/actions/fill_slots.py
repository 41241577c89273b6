"""fill slots: pods have come for places that were found before they were made; they are bound there.

That was decided when the places were found, so it needs neither a profile's period nor anybody's word on what else
their gang still waits for: a gang that grew beyond the room has its failed pods back all the same.  Only a gang
that has lost so many places that it could not start waits for new ones first.

`allocate` begins with this; between two turns of a profile with a period nothing else is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from podium.core.actions import holding
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.model import quorum
from podium.core.model.model import Gang, State


class FillSlots(Action):
    """Binds pods to the slots that are reserved for them."""

    name = "fill slots"
    PEACEFUL = True

    def run(self, session: Session) -> Iterator[None]:
        for gang in session.own:
            if gang.counts[State.RESERVED] and session.invalid(gang) is None:
                session.attempt(gang, partial(holding.check, session, gang, None), None)
                session.attempt(gang, partial(fill_slots, session, gang), None)
                yield


def fill_slots(session: Session, gang: Gang) -> None:
    """What is bound of one gang."""
    if not quorum.may_fill_slots(gang):
        return
    statement = session.statement()
    for task in [each for each in gang.tasks.values() if quorum.fills_slot(each)]:
        statement.claim(task)
    statement.commit()
