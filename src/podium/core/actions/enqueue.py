"""enqueue: which gangs may have their pods created and compete for room."""

from __future__ import annotations

from podium.core.action import Action
from podium.core.actions.line import Line
from podium.core.decisions import GangPhase
from podium.core.model import Phase
from podium.core.session import Session
from podium.reasons import QUEUE_BLOCKED, refuse


class Enqueue(Action):
    """Admits pending gangs in order.  One that is refused holds up those behind it only in a fifo queue."""

    name = "enqueue"

    def run(self, session: Session) -> None:
        line = Line(session, (gang for gang in session.own if gang.phase is Phase.PENDING))
        while (queue := line.next_queue()) is not None:
            gang = line.pop(queue)
            if gang.minimum_resources is None or session.enqueueable(gang):
                session.enqueued(gang)
                gang.phase = Phase.INQUEUE
                session.decisions.append(GangPhase(gang.id, Phase.INQUEUE))
            elif queue.fifo:
                for later in line.drop_queue(queue):
                    session.refuse(later, refuse(QUEUE_BLOCKED, queue=queue.name, gang=gang.name))
