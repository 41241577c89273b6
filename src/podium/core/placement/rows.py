"""A few rows of the node table, looked at as if more tasks of a class had been put on them already.

This is what a plugin's node-local hooks get.  `added` says how many such tasks each row is imagined to hold in
addition, so one call scores a hundred rows at several fillings, and placing a gang needs a handful of vector
operations instead of a few for each task.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster import devices
from podium.core.cluster.nodes import Nodes
from podium.core.model.constraints import WHOLE
from podium.core.model.model import Task, TaskClass

Amounts = NDArray[np.int64]
# By row the device that a share goes to.
Pick = Callable[[TaskClass, "Rows"], Amounts]


def pick_closest(cls: TaskClass, rows: Rows) -> Amounts:
    """Where a share leaves least: what holds unless a plugin says otherwise."""
    assert cls.constraints.devices is not None
    return devices.closest(cls.constraints.devices, rows.devices())


class Rows:
    """Rows of the table, with imagined additions."""

    __slots__ = (
        "_allocatable",
        "_cls",
        "_devices",
        "_filled",
        "_nodes",
        "_pick",
        "added",
        "index",
        "later",
        "task",
    )

    def __init__(
        self,
        nodes: Nodes,
        cls: TaskClass,
        index: Amounts,
        added: Amounts | int = 0,
        *,
        later: bool = False,
        pick: Pick = pick_closest,
        task: Task | None = None,
    ) -> None:
        self._nodes = nodes
        self._cls = cls
        self._allocatable: dict[int, Amounts] = {}  # several hooks look at the same columns
        self._filled: dict[int, Amounts] = {}
        self._devices: Amounts | None = None
        self._pick = pick
        self.index = index
        self.added = added
        self.later = later  # as it will be once those that are leaving have left
        self.task = task  # one of those that it is about: they are of one class, and equal to all node hooks

    @property
    def imagines_none(self) -> bool:
        """Whether the rows are looked at as they are."""
        return isinstance(self.added, int) and not self.added

    def only(self, index: Amounts) -> Rows:
        """Some of the rows, where nothing is imagined."""
        assert isinstance(self.added, int)
        return Rows(self._nodes, self._cls, index, self.added, later=self.later, pick=self._pick, task=self.task)

    def allocatable(self, column: int) -> Amounts:
        found = self._allocatable.get(column)
        if found is None:
            found = self._allocatable[column] = self._nodes.allocatable[self.index, column]
        return found

    def filled(self, column: int) -> Amounts:
        """What would be taken with one more task, beside the imagined ones."""
        found = self._filled.get(column)
        if found is None:
            found = self._nodes.used[self.index, column]
            amount = self._cls.request.amount(column)
            if amount:
                found += (self.added + 1) * amount
            self._filled[column] = found
        return found

    def used(self, column: int) -> Amounts:
        """What is taken, with the imagined tasks."""
        return self.filled(column) - self._cls.request.amount(column)

    # --- devices -----------------------------------------------------------------------------------------------

    def devices(self) -> Amounts:
        """What is free of each device, with the imagined tasks: a line a device, a column for each row."""
        if self._devices is None:
            free = self._nodes.devices.free(self.index, later=self.later)
            wanted = self._cls.constraints.devices
            if wanted is not None and not self.imagines_none:
                added = np.broadcast_to(self.added, self.index.shape)
                for step in range(int(added.max(initial=0))):
                    view = Rows(self._nodes, self._cls, self.index, step, later=self.later)
                    view._devices = free
                    # Where the room has ended there is nothing to imagine.
                    more = (added > step) & (devices.room(wanted, free) > 0)
                    picked = self._pick(self._cls, view) if wanted.share < WHOLE else added
                    free = free - devices.taken(wanted, free, picked) * more
            self._devices = free
        return self._devices

    def device_counts(self) -> Amounts:
        return self._nodes.devices.counts(self.index)

    def device_models(self) -> NDArray[np.int32]:
        """The numbers of the rows' models, as `Devices.model_numbers` has them."""
        return self._nodes.devices.models(self.index)

    def tenants(self) -> Amounts:
        """How many tasks have a share (line 0) or k whole devices (line k), with the imagined ones."""
        found = self._nodes.devices.tenants(self.index)
        wanted = self._cls.constraints.devices
        if wanted is not None:
            found[devices.tenancy(wanted)] += self.added
        return found

    def picked(self) -> tuple[int, ...]:
        """The devices that one more task gets, of the only row."""
        wanted = self._cls.constraints.devices
        assert wanted is not None
        free = self.devices()
        picked = self._pick(self._cls, self) if wanted.share < WHOLE else self.index
        return devices.chosen(devices.taken(wanted, free, picked))

    # --- room --------------------------------------------------------------------------------------------------

    def fits(self) -> NDArray[np.bool_]:
        """Which rows take one more task of the class."""
        result: NDArray[np.bool_] = self._nodes.live[self.index]
        for column, _ in self._cls.request.pairs:
            filled = self.filled(column)
            if self.later or self._nodes.promises:
                promised = self._nodes.pipelined[self.index, column] - self._nodes.releasing[self.index, column]
                filled = filled + (promised if self.later else np.maximum(promised, 0))
            result &= filled <= self.allocatable(column)
        wanted = self._cls.constraints.devices
        if wanted is not None:
            free = self.devices() if self.imagines_none else self._nodes.devices.free(self.index, later=self.later)
            result &= devices.room(wanted, free) > self.added
        return result
