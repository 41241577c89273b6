"""What the plugins have in common that choose by what a task leaves of the free devices (see `fragmentation`).

Each has a measure of how much of a node's free devices is of no use, and says what a gain by that measure is
worth.  A share goes on the device where the gain is worth most; ties go to the first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeAlias

import numpy as np

from podium.core.cluster.devices import Index, taken
from podium.core.cluster.fragmentation import Amounts, Target
from podium.core.framework.plugin import Arguments, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.constraints import WHOLE
from podium.core.model.model import Task, TaskClass
from podium.core.model.resources import CPU
from podium.core.placement.rows import Rows

_NEVER = -np.inf


_Ask: TypeAlias = tuple[int, int, int]  # CPU, share and number of devices
_Found: TypeAlias = tuple[Amounts, Index | None]  # figures, and the devices that they are of


class _Known:
    """A figure of each row, the device that it is of, and the tick of the session at which it was found."""

    __slots__ = ("devices", "found", "ticks")

    def __init__(self, rows: int) -> None:
        self.found: Amounts = np.zeros(rows)
        self.devices: Index = np.zeros(rows, dtype=np.int64)
        self.ticks: Index = np.full(rows, -1, dtype=np.int64)


class Gradient(Plugin):
    """Follows a measure downwards."""

    # Whether a worth is the same, to the last bit, however many rows were looked at together: then the device that
    # a score was found for is the one to take, without another look.
    EXACT: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number(f"{self.name}.weight")
        self._target: Target | None = None
        self._known: dict[_Ask | None, _Known] = {}

    @abstractmethod
    def measure(self, session: Session) -> Target | None:
        """The measure; None where there is nothing to measure."""

    @abstractmethod
    def worth(self, gain: Amounts) -> Amounts:
        """What it is worth that so many thousandths of a device more are of use."""

    def on_session_open(self, session: Session) -> None:
        self._target = self.measure(session)
        self._session = session
        self._known = {}

    def applies(self, hook: str, task: Task) -> bool:
        return self._target is not None

    def score_rows(self, cls: TaskClass, rows: Rows) -> Scores:
        if rows.later or not isinstance(rows.added, int) or len(rows.index) == 1:
            return self._weight * self._best(cls, rows, self._before(rows))[0]
        known = self._remembered(_ask(cls), rows, lambda view: self._best(cls, view, self._now(view)))
        return self._weight * known.found[rows.index]

    def _now(self, rows: Rows) -> Amounts:
        known = self._remembered(None, rows, lambda view: (self._before(view), None))
        result: Amounts = known.found[rows.index]
        return result

    def _remembered(self, what: _Ask | None, rows: Rows, find: Callable[[Rows], _Found]) -> _Known:
        """What was found out about rows, as far as they have not changed since; the others are asked again."""
        known = self._known.get(what)
        if known is None:
            known = self._known[what] = _Known(self._session.cluster.nodes.count)
        stale = rows.index[known.ticks[rows.index] < self._session.stamps[rows.index]]
        if len(stale):
            # Floating point adds a single column in another order than several, and a score that is cut to a whole
            # number may hang on the last bit: so one is never asked alone here.
            several = stale if len(stale) > 1 else np.repeat(stale, 2)
            known.found[several], devices = find(rows.only(several))
            if devices is not None:
                known.devices[several] = devices
            known.ticks[stale] = self._session.tick
        return known

    def pick_device(self, cls: TaskClass, rows: Rows) -> Index:
        known = self._known.get(_ask(cls)) if self.EXACT and rows.imagines_none and not rows.later else None
        if known is not None and (known.ticks[rows.index] >= self._session.stamps[rows.index]).all():
            found: Index = known.devices[rows.index]  # as it was scored
            return found
        result: Index = self._by_device(cls, rows, self._before(rows)).argmax(axis=0)
        return result

    def _best(self, cls: TaskClass, rows: Rows, before: Amounts) -> _Found:
        """What one more task is worth on each row, and for a share on which device; where it does not fit, any."""
        wanted = cls.constraints.devices
        if wanted is not None and wanted.share < WHOLE:
            by_device = self._by_device(cls, rows, before)
            best = by_device.max(axis=0)
            return np.where(best > _NEVER, best, 0.0), by_device.argmax(axis=0)
        free = rows.devices()
        after = free if wanted is None else free - taken(wanted, free, rows.index)
        assert self._target is not None
        then = self._target.fragmented(after, _free_cpu(rows, rows.filled(CPU)), rows.device_models())
        return self.worth(before - then), None

    def _by_device(self, cls: TaskClass, rows: Rows, before: Amounts) -> Amounts:
        """The same for a share, by the device that it would go to."""
        wanted = cls.constraints.devices
        assert wanted is not None
        assert self._target is not None
        free = rows.devices()
        cpu = _free_cpu(rows, rows.filled(CPU))
        then = self._target.with_share(free, cpu, rows.device_models(), wanted.share)
        return np.where(free >= wanted.share, self.worth(before - then), _NEVER)

    def _before(self, rows: Rows) -> Amounts:
        assert self._target is not None
        return self._target.fragmented(rows.devices(), _free_cpu(rows, rows.used(CPU)), rows.device_models())


def _free_cpu(rows: Rows, taken: Index) -> Index:
    result: Index = rows.allocatable(CPU) - taken
    return result


def _ask(cls: TaskClass) -> _Ask:
    """Of what is asked for only this counts here: classes that differ in other things share the answers."""
    wanted = cls.constraints.devices
    share, count = (wanted.share, wanted.count) if wanted is not None else (0, 0)
    return cls.request.amount(CPU), share, count
