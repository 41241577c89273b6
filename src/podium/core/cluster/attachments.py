"""Volumes attached to nodes, counted by driver, for the limits that drivers have.

A shared volume counts once on a node; a task's own counts for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from podium.core.model.constraints import Attachment
from podium.core.model.model import Task

Counts = NDArray[np.int64]

UNLIMITED = np.iinfo(np.int64).max


class Attachments:
    """What is attached where."""

    def __init__(self) -> None:
        self._attached: dict[str, Counter[int]] = {}  # by driver: volumes by row
        self._shared: dict[Attachment, Counter[int]] = {}  # by volume: tasks by row
        self._limits: dict[str, dict[int, int]] = {}  # by driver: the limit by row

    def put_limits(self, row: int, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        for driver in before.keys() - after.keys():
            self._limits[driver].pop(row, None)
        for driver, limit in after.items():
            self._limits.setdefault(driver, {})[row] = limit

    def book(self, task: Task, sign: int) -> None:
        """A task came to its row, or leaves it."""
        for volume in task.cls.constraints.attachments:
            counts = self._attached.setdefault(volume.driver, Counter())
            if not volume.handle:
                counts[task.row] += sign
                continue
            users = self._shared.setdefault(volume, Counter())
            before = users[task.row]
            users[task.row] = before + sign
            if before + sign == 0 or before == 0:
                counts[task.row] += sign

    @property
    def counts(self) -> dict[str, dict[int, int]]:
        """Volumes by driver and row, as far as there are any."""
        found = {driver: dict(+rows) for driver, rows in self._attached.items()}
        return {driver: rows for driver, rows in found.items() if rows}

    def room(self, wanted: tuple[Attachment, ...], rows: Counts, added: Counts | int) -> NDArray[np.bool_]:
        """Which rows take one more task with these volumes, when `added` such tasks are imagined there."""
        fits = np.ones(len(rows), dtype=bool)
        for driver in {volume.driver for volume in wanted}:
            limits = self._limits.get(driver)
            if not limits:
                continue
            own = sum(1 for volume in wanted if volume.driver == driver and not volume.handle)
            shared = {volume for volume in wanted if volume.driver == driver and volume.handle}
            limit = _vector(limits, rows, UNLIMITED)
            needed = _vector(self._attached.get(driver, {}), rows, 0) + own * (1 + added)
            for volume in shared:
                needed = needed + (_vector(self._shared.get(volume, {}), rows, 0) == 0)
            fits &= needed <= limit
        return fits


def _vector(values: Mapping[int, int], rows: Counts, absent: int) -> Counts:
    return np.array([values.get(row, absent) for row in rows.tolist()], dtype=np.int64)
