"""nodeowner: a node that belongs to a queue takes tasks of that queue only; other nodes take everybody's.

Which node belongs to which queue is a fact (`NodeFacts.queue`, see `cluster.ownership`).  Who lends nodes to
others, and takes them back, is the matter of actions: while one looks for places on the nodes of a lender, it says
so in `session.borrowing`.  Where no action does, nodes of others are out of reach.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from podium.core.framework.plugin import Mask, Plugin
from podium.core.framework.session import Session
from podium.core.model.model import Task
from podium.queue_reasons import NODE_OWNED, NOT_LENT
from podium.reasons import Refusal, refuse


class NodeOwner(Plugin):
    name = "nodeowner"
    KEEPS_TO_OWNERS = True

    def on_session_open(self, session: Session) -> None:
        self._session = session

    def signature(self, task: Task) -> Hashable:
        return self._session.borrowing.get(task.gang.id, task.gang.queue)

    def mask(self, task: Task, session: Session) -> Mask:
        loan = session.borrowing.get(task.gang.id)
        return session.ownership.home(task.gang.queue) if loan is None else loan.rows

    def refusals(self, task: Task) -> Iterator[tuple[Refusal, Mask]]:
        """Nodes of others are out of reach, or had nothing to lend: these are worth another look."""
        session, queue = self._session, self._session.queues.get(task.gang.queue)
        out = ~session.ownership.home(task.gang.queue)
        lenders = session.ownership.lenders(queue) if queue is not None and task.preemptable else []
        for lender in lenders:
            yield refuse(NOT_LENT, queue=lender.name), session.ownership.owned(lender.id) & out
        lending = {lender.id for lender in lenders}
        for owner in session.ownership.owners:
            if owner not in lending:
                known = session.queues.get(owner)
                name = known.name if known is not None else owner
                yield refuse(NODE_OWNED, queue=name), session.ownership.owned(owner) & out
