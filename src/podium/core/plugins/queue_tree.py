"""The tree of queues, made of what each queue says of its parent.

What they say need not hold together: a parent may be missing, and queues may be below each other in a circle.  The
tree is one all the same, and what was wrong is reported.  A queue without a parent hangs below the root of its
dialect; a root that nobody has made is imagined.
"""

from __future__ import annotations

from collections.abc import Mapping

from podium.core.model.model import Queue
from podium.queue_reasons import QUEUE_CYCLE, QUEUE_PARENT_MISSING
from podium.reasons import Refusal, refuse

ROOT = "root"


class QueueTree:
    """Who is below whom.

    `lines` holds for each queue the ids from itself up to its root, `children` those right below a queue.
    """

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self.faults: list[tuple[str, Refusal]] = []
        self.queues = dict(queues)
        self._parents: dict[str, str] = {}
        self._roots = {queue.dialect: queue.id for queue in queues.values() if (queue.name or queue.id) == ROOT}
        for id in sorted(queues):
            self._hang(queues[id])
        self._cut_cycles()
        self.children: dict[str, list[str]] = {id: [] for id in self.queues}
        for id, parent in self._parents.items():
            self.children[parent].append(id)
        self.to_root = {id: (id, *self._above(id)) for id in self.queues}

    @property
    def roots(self) -> list[str]:
        return [id for id in self.queues if id not in self._parents]

    def leaf(self, id: str) -> bool:
        return not self.children[id]

    def ancestors(self, id: str) -> tuple[str, ...]:
        """What is above a queue and below the root, nearest first."""
        return self.to_root[id][1:-1]

    def parting(self, left: str, right: str) -> tuple[str, str]:
        """Where the lines of two queues part, coming from the root: the first two that differ."""
        one, other = self.to_root[left][::-1], self.to_root[right][::-1]
        for first, second in zip(one, other, strict=False):
            if first != second:
                return first, second
        return left, right

    def kinship(self, left: str, right: str) -> int:
        """How many ancestors two queues share: the more, the closer."""
        one, other = self.to_root[left][:0:-1], self.to_root[right][:0:-1]
        shared = 0
        for first, second in zip(one, other, strict=False):
            if first != second:
                break
            shared += 1
        return shared

    # --- making a tree of it -----------------------------------------------------------------------------------

    def _hang(self, queue: Queue) -> None:
        if self._roots.get(queue.dialect) == queue.id:
            return
        named = queue.parent
        if named in self.queues and named:
            self._parents[queue.id] = named
            return
        if named:
            fault = refuse(QUEUE_PARENT_MISSING, queue=queue.name or queue.id, parent=named)
            self.faults.append((queue.id, fault))
        self._parents[queue.id] = self._root_of(queue)

    def _root_of(self, queue: Queue) -> str:
        root = self._roots.get(queue.dialect)
        if root is None:
            root = self._roots[queue.dialect] = f"{queue.dialect}/{ROOT}" if queue.dialect else ROOT
            self.queues[root] = Queue(root, ROOT, dialect=queue.dialect)
        return root

    def _cut_cycles(self) -> None:
        settled: set[str] = set()
        for start in sorted(self._parents):
            path: list[str] = []
            id = start
            while id in self._parents and id not in settled and id not in path:
                path.append(id)
                id = self._parents[id]
            if id in path:
                self._cut(path[path.index(id) :])
            settled.update(path)

    def _cut(self, cycle: list[str]) -> None:
        cut = min(cycle)
        reported = " < ".join([*cycle, cycle[0]])
        self._parents[cut] = self._root_of(self.queues[cut])
        for id in cycle:
            self.faults.append(
                (id, refuse(QUEUE_CYCLE, queue=self.queues[id].name or id, cycle=reported, cut=cut))
            )

    def _above(self, id: str) -> list[str]:
        found = []
        while id in self._parents:
            id = self._parents[id]
            found.append(id)
        return found
