"""nodeowner: a node that belongs to a queue takes tasks of that queue only; other nodes take everybody's.

Which node belongs to which queue is a fact (`NodeFacts.queue`).  Who lends nodes to others, and takes them back,
is the matter of actions; where no action does, nodes of others are out of reach.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from podium.core.cluster.properties import ABSENT
from podium.core.framework.plugin import Mask, Plugin
from podium.core.framework.session import Session
from podium.core.model.model import Task
from podium.reasons import NODE_OWNED, Refusal, refuse


class NodeOwner(Plugin):
    name = "nodeowner"
    KEEPS_TO_OWNERS = True

    def on_session_open(self, session: Session) -> None:
        self._session = session
        self._properties = session.cluster.nodes.properties

    def signature(self, task: Task) -> Hashable:
        return task.gang.queue

    def mask(self, task: Task, session: Session) -> Mask:
        owners, count = self._properties.owners, self._properties.count
        result: Mask = owners.rows(count) == ABSENT
        return result | owners.equal(task.gang.queue, count)

    def refusals(self, task: Task) -> Iterator[tuple[Refusal, Mask]]:
        owners, count = self._properties.owners, self._properties.count
        for owner in owners.values:
            if owner != task.gang.queue:
                queue = self._session.queues.get(owner)
                yield (
                    refuse(NODE_OWNED, queue=queue.name if queue is not None else owner),
                    owners.equal(owner, count),
                )
