"""What the plugins have in common that choose by what a task leaves of the free devices (see `fragmentation`).

Each has a measure of how much of a node's free devices is of no use, and says what a gain by that measure is
worth.  A share goes on the device where the gain is worth most; ties go to the first.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from podium.core.constraints import WHOLE
from podium.core.devices import Index, Table, taken
from podium.core.fragmentation import Amounts, Target
from podium.core.model import Task, TaskClass
from podium.core.plugin import Arguments, Plugin, Scores
from podium.core.resources import CPU
from podium.core.rows import Rows
from podium.core.session import Session

_NEVER = -np.inf


class Gradient(Plugin):
    """Follows a measure downwards."""

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number(f"{self.name}.weight")
        self._target: Target | None = None

    @abstractmethod
    def measure(self, session: Session) -> Target | None:
        """The measure; None where there is nothing to measure."""

    @abstractmethod
    def worth(self, gain: Amounts) -> Amounts:
        """What it is worth that so many thousandths of a device more are of use."""

    def on_session_open(self, session: Session) -> None:
        self._target = self.measure(session)

    def applies(self, hook: str, task: Task) -> bool:
        return self._target is not None

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        return self._weight * self._best(cls, rows)

    def pick_device(self, cls: TaskClass, rows: Rows) -> Index:
        result: Index = self._by_device(cls, rows).argmax(axis=0)
        return result

    def _best(self, cls: TaskClass, rows: Rows) -> Amounts:
        """What one more task is worth on each row; where it does not fit, any number."""
        wanted = cls.constraints.devices
        if wanted is not None and wanted.share < WHOLE:
            best: Amounts = self._by_device(cls, rows).max(axis=0)
            return np.where(best > _NEVER, best, 0.0)
        free = rows.devices()
        after = free if wanted is None else free - taken(wanted, free, rows.index)
        assert self._target is not None
        then = self._target.fragmented(after, _free_cpu(rows, rows.filled(CPU)), rows.device_models())
        return self.worth(self._before(rows, free) - then)

    def _by_device(self, cls: TaskClass, rows: Rows) -> Amounts:
        """The same for a share, by the device that it would go to."""
        wanted = cls.constraints.devices
        assert wanted is not None
        assert self._target is not None
        free = rows.devices()
        cpu = _free_cpu(rows, rows.filled(CPU))
        then = self._target.with_share(free, cpu, rows.device_models(), wanted.share)
        return np.where(free >= wanted.share, self.worth(self._before(rows, free) - then), _NEVER)

    def _before(self, rows: Rows, free: Table) -> Amounts:
        assert self._target is not None
        return self._target.fragmented(free, _free_cpu(rows, rows.used(CPU)), rows.device_models())


def _free_cpu(rows: Rows, taken: Index) -> Index:
    result: Index = rows.allocatable(CPU) - taken
    return result
