"""Devices of nodes, each with its own room: so that a GPU can be shared, and shares and whole GPUs do not collide.

A sum over a node does not say whether a task fits: two GPUs with half of each free are room for two halves and
not for a whole one.  So beside the columns of `nodes`, which hold the sums, there is a table with a line a device
and a column a node, in thousandths of a device:

    free        = 1000 where there is a device, minus used
    future free = free + releasing - pipelined

A task asks for a share of one device or for some whole ones.  Which devices a task has is noted in the task; a
whole device is always the free one with the lowest number, a share goes where a plugin says (`pick_device`), or
where it leaves least.  Tasks that ask for no device, and clusters that have none, never come here.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.properties import Column
from podium.core.model.constraints import WHOLE, DeviceRequest
from podium.core.model.model import ON_NODE, State, Task

Table = NDArray[np.int64]  # a line a device, a column a row of the node table
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

# No machine has more.  A pod that names a device beyond this is mistaken.
MOST = 256

_FIRST = (8, 64)
_NEVER = np.iinfo(np.int64).max


class Devices:
    """The devices of all nodes."""

    def __init__(self) -> None:
        self._models = Column()
        self._with_devices = 0  # rows
        self._capacity: Table = np.zeros(_FIRST, dtype=np.int64)
        self._used: Table = np.zeros(_FIRST, dtype=np.int64)
        self._releasing: Table = np.zeros(_FIRST, dtype=np.int64)
        self._pipelined: Table = np.zeros(_FIRST, dtype=np.int64)
        # Line 0: how many tasks with a share are on a node; line k: how many with k whole devices.
        self._tenants: Table = np.zeros((_FIRST[0] + 1, _FIRST[1]), dtype=np.int64)

    def put(self, row: int, count: int, model: str) -> None:
        """A node has so many devices of a model; none when it is gone."""
        if count or row < self._capacity.shape[1]:
            self._reserve(row, count)
            self._with_devices += bool(count) - bool(self._capacity[0, row])
            self._capacity[:, row] = 0
            self._capacity[:count, row] = WHOLE
        self._models.put(row, model or None)

    def _reserve(self, row: int, count: int) -> None:
        lines, columns = self._capacity.shape
        while row >= columns:
            columns *= 2
        lines = max(lines, count)
        if (lines, columns) == self._capacity.shape:
            return
        for name in ("_capacity", "_used", "_releasing", "_pipelined", "_tenants"):
            old = getattr(self, name)
            new = np.zeros((lines + (name == "_tenants"), columns), dtype=np.int64)
            new[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, new)

    # --- questions ---------------------------------------------------------------------------------------------

    def admitted(self, wanted: DeviceRequest, count: int) -> Mask:
        """Which of the first `count` rows have devices of a model that will do."""
        self._reserve(count - 1, 0)
        result: Mask = self._capacity[0, :count] > 0
        if wanted.models:
            models = frozenset(wanted.models)
            result &= self._models.where(lambda model: model in models, count)
        return result

    def roomy(self, wanted: DeviceRequest, count: int) -> Mask:
        """Which of the first `count` rows have room for one such task now."""
        return room(wanted, self.free(slice(0, count))) > 0

    def free(self, rows: Index | slice, *, later: bool = False) -> Table:
        """What is free of each device of some rows, now or once those that are leaving have left."""
        try:
            room: Table = self._capacity[:, rows]
        except IndexError:  # nodes without devices beyond all that have some
            assert isinstance(rows, np.ndarray)
            self._reserve(int(rows.max()), 0)
            room = self._capacity[:, rows]
        room = room - self._used[:, rows]
        if later:
            room += self._releasing[:, rows] - self._pipelined[:, rows]
        np.maximum(room, 0, out=room)
        return room

    def counts(self, rows: Index) -> Index:
        """How many devices each row has."""
        result: Index = np.count_nonzero(self._capacity[:, rows], axis=0)
        return result

    def tenants(self, rows: Index) -> Table:
        """By row how many tasks have a share (line 0) and how many have k whole devices (line k)."""
        return self._tenants[:, rows]

    def models(self, rows: Index) -> NDArray[np.int32]:
        """The number of each row's model, -1 if it names none."""
        return self._models.of(rows)

    def model_numbers(self, names: Iterable[str]) -> list[int]:
        """The numbers of the models among these that some node names."""
        wanted = frozenset(names)
        return [number for number, name in enumerate(self._models.values) if name in wanted]

    @property
    def any(self) -> bool:
        """Whether any node has devices."""
        return self._with_devices > 0

    @property
    def largest(self) -> int:
        """How many devices the node with most of them has."""
        return int(np.count_nonzero(self._capacity, axis=0).max())

    # --- taking and giving back ----------------------------------------------------------------------------------

    def settle(self, task: Task, reported: tuple[int, ...]) -> None:
        """A task has come to its row or has left it: which devices it has.  What the API says is true."""
        wanted = task.cls.constraints.devices
        assert wanted is not None
        if reported:
            task.devices = reported
        elif task.state not in ON_NODE and task.state is not State.PIPELINED:
            task.devices = ()
        if task.row >= 0 and not task.devices:
            free = self.free(np.array([task.row], dtype=np.int64), later=task.state is State.PIPELINED)
            has = np.flatnonzero(self._capacity[:, task.row])
            if np.any(room(wanted, free) > 0):
                task.devices = chosen(taken(wanted, free, closest(wanted, free)))
            else:
                # It is there although there is no room: it counts where that does the least harm.
                fullest = np.argsort(-free[has, 0], kind="stable")[: wanted.count]
                task.devices = tuple(sorted(has[fullest].tolist()))

    def book(self, task: Task, sign: int) -> None:
        """A task's devices are taken, or given back."""
        wanted = task.cls.constraints.devices
        assert wanted is not None
        if not task.devices:
            return
        self._reserve(task.row, max(max(task.devices) + 1, wanted.count))
        lines, amount = list(task.devices), sign * wanted.share
        if task.state is State.PIPELINED:
            self._pipelined[lines, task.row] += amount
            return
        self._used[lines, task.row] += amount
        self._tenants[tenancy(wanted), task.row] += sign
        if task.state is State.RELEASING:
            self._releasing[lines, task.row] += amount

    def validate(self, tasks: Iterable[Task]) -> None:
        """Sums everything up anew and compares."""
        afresh = Devices()
        afresh._reserve(self._capacity.shape[1] - 1, self._capacity.shape[0])
        for task in tasks:
            if task.cls.constraints.devices is None:
                assert not task.devices, f"{task} has devices and asked for none"
            elif task.row >= 0:
                afresh.book(task, 1)
        for name in ("_used", "_releasing", "_pipelined", "_tenants"):
            found, wanted = getattr(self, name), getattr(afresh, name)
            assert np.array_equal(found, wanted), f"devices{name} differs from the sum over tasks"


def tenancy(wanted: DeviceRequest) -> int:
    """The line of `tenants` in which a task counts."""
    return 0 if wanted.share < WHOLE else wanted.count


def room(wanted: DeviceRequest, free: Table) -> Index:
    """How many such tasks each column of a table of free devices takes.  Equal shares: no order packs more."""
    if wanted.share < WHOLE:
        result: Index = (free // wanted.share).sum(axis=0)
        return result
    whole: Index = np.count_nonzero(free >= WHOLE, axis=0)
    return whole // wanted.count


def closest(wanted: DeviceRequest, free: Table) -> Index:
    """By column the device on which a share leaves least; ties by number."""
    result: Index = np.argmin(np.where(free >= wanted.share, free, _NEVER), axis=0)
    return result


def taken(wanted: DeviceRequest, free: Table, picked: Index) -> Table:
    """What one task takes of each device: a share of the picked one, or the first free ones as a whole."""
    if wanted.share < WHOLE:
        amounts: Table = np.zeros_like(free)
        amounts[picked, np.arange(free.shape[1])] = wanted.share
        return amounts
    whole = free >= WHOLE
    whole &= np.cumsum(whole, axis=0) <= wanted.count
    return whole * np.int64(WHOLE)


def chosen(amounts: Table) -> tuple[int, ...]:
    """The devices of which something is taken, in a table of one column."""
    return tuple(np.flatnonzero(amounts[:, 0]).tolist())
