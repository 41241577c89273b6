"""random: any node that will do, and any device of it; what every policy must be better than.

There are no dice in the core: a draw is a hash of the seed and of what it is for, so that the same history gives
the same placements.  A node is drawn for each task; a device by what the node looks like then.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.devices import Index
from podium.core.framework.plugin import Argument, Arguments, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.constraints import WHOLE
from podium.core.model.model import Task, TaskClass
from podium.core.placement.rows import Rows

_MIX = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)


class RandomNode(Plugin):
    name = "random"
    ARGUMENTS = (Argument("random.seed", 0, "another seed gives other placements"),)

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._seed = arguments.integer("random.seed")

    def on_session_open(self, session: Session) -> None:
        self._ranks = session.cluster.nodes.order()

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: Scores) -> int | None:
        digest = hashlib.blake2b(f"{self._seed}/{task.id}".encode(), digest_size=8).digest()
        place = int.from_bytes(digest) % len(rows)
        by_name = np.argpartition(self._ranks[rows], place)
        return int(rows[by_name[place]])

    def pick_device(self, cls: TaskClass, rows: Rows) -> Index:
        wanted = cls.constraints.devices
        assert wanted is not None
        free = rows.devices()
        possible = free >= wanted.share
        state: NDArray[np.uint64] = self._ranks[rows.index].astype(np.uint64) + np.uint64(self._seed % (1 << 63))
        for line in free:
            state = _mixed(state * np.uint64(WHOLE + 1) + line.astype(np.uint64))
        number = state % np.maximum(np.count_nonzero(possible, axis=0), 1).astype(np.uint64)
        result: Index = np.argmax(possible & (np.cumsum(possible, axis=0) == number + 1), axis=0)
        return result


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in _MIX:
        state = (state ^ (state >> np.uint64(33))) * np.uint64(factor)
    return state ^ (state >> np.uint64(33))
