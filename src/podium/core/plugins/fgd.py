"""fgd: fragmentation gradient descent.  A task goes where it leaves the free devices of most use to others.

    score = 100 * weight / (1 + exp((F after - F before) / 1000))

F is the fragmentation of the node (see `fragmentation`), so 50 is no change.  A share goes on the device for which
that score is highest.  As published, scores are cut to whole numbers, so that differences below some 40
thousandths of a device are left to the order of names.

What usually comes to a cluster is what is on it and waits for it, unless it has been told otherwise.
"""

from __future__ import annotations

import numpy as np

from podium.core.constraints import WHOLE
from podium.core.devices import Index, Table, taken
from podium.core.fragmentation import Amounts, Target, target_of
from podium.core.model import Task, TaskClass
from podium.core.plugin import MAX_NODE_SCORE, Argument, Arguments, Plugin, Scores
from podium.core.resources import CPU
from podium.core.rows import Rows
from podium.core.session import Session

_SCALE = 1000.0
_NEVER = -1.0


class Fgd(Plugin):
    name = "fgd"
    ARGUMENTS = (Argument("fgd.weight", 1, "how much the score counts beside those of other plugins"),)

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number("fgd.weight")
        self._target: Target | None = None

    def on_session_open(self, session: Session) -> None:
        self._target = target_of(session.cluster)

    def applies(self, hook: str, task: Task) -> bool:
        return self._target is not None

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        return self._weight * np.trunc(self._gradient(cls, rows))

    def pick_device(self, cls: TaskClass, rows: Rows) -> Index:
        result: Index = np.trunc(self._by_device(cls, rows)).argmax(axis=0)
        return result

    def _gradient(self, cls: TaskClass, rows: Rows) -> Amounts:
        """How good one more task is for each row, 0 to 100."""
        wanted = cls.constraints.devices
        if wanted is not None and wanted.share < WHOLE:
            best: Amounts = self._by_device(cls, rows).max(axis=0)
            return best
        free = rows.devices()
        after = free if wanted is None else free - taken(wanted, free, rows.index)
        assert self._target is not None
        then = self._target.fragmented(after, _free_cpu(rows, rows.filled(CPU)), rows.device_models())
        return _sigmoid(self._before(rows, free) - then)

    def _by_device(self, cls: TaskClass, rows: Rows) -> Amounts:
        """The same for a share, by the device that it would go to."""
        wanted = cls.constraints.devices
        assert wanted is not None
        assert self._target is not None
        free = rows.devices()
        cpu = _free_cpu(rows, rows.filled(CPU))
        then = self._target.with_share(free, cpu, rows.device_models(), wanted.share)
        return np.where(free >= wanted.share, _sigmoid(self._before(rows, free) - then), _NEVER)

    def _before(self, rows: Rows, free: Table) -> Amounts:
        assert self._target is not None
        return self._target.fragmented(free, _free_cpu(rows, rows.used(CPU)), rows.device_models())


def _free_cpu(rows: Rows, taken: Index) -> Index:
    result: Index = rows.allocatable(CPU) - taken
    return result


def _sigmoid(gain: Amounts) -> Amounts:
    result: Amounts = MAX_NODE_SCORE / (1.0 + np.exp(-gain / _SCALE))
    return result
