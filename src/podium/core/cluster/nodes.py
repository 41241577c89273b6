"""Nodes as columns: one row a node, one column a resource: a question to all nodes is one vector operation.

    idle        = allocatable - used
    future idle = idle + releasing - pipelined

`used` counts everything that holds room, also what is on its way out; `releasing` is the part of it that is; and
`pipelined` what has been promised to tasks that wait for that part.  What is promised beyond that part is idle
room, and it is not given to others.

Rows keep their number for a node's whole life, so tasks can point at them.  `version` moves when the set of nodes
or a property that filters look at changes (labels, taints, capacity); `row_versions` when a row's numbers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.devices import Devices
from podium.core.cluster.properties import Properties
from podium.core.model.labels import Taint
from podium.core.model.resources import LIMIT, Dimensions, Request, Vector


class NodeFacts(msgspec.Struct, frozen=True):
    """What the outside says of a node."""

    name: str
    uid: str = ""
    allocatable: Mapping[str, int] = {}
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    images: Mapping[str, int] = {}  # by name, with their sizes
    volume_limits: Mapping[str, int] = {}  # by driver; one that is not named has no limit
    devices: int = 0  # how many it has that can be shared
    device_model: str = ""
    group: str = ""  # the group of nodes that it is in: queues name those that they may use
    queue: str = ""  # the id of the queue that it belongs to; "" when it is everybody's
    capacity: Mapping[str, int] = {}  # what it has, with what it keeps for itself: for reports alone


_FIRST_ROWS = 64
_TABLES = ("capacity", "allocatable", "used", "releasing", "pipelined")


class Nodes:
    """The table of nodes."""

    def __init__(self, dimensions: Dimensions) -> None:
        self.dimensions = dimensions
        self.version = 0
        self.facts: list[NodeFacts | None] = []
        self.properties = Properties()
        self.devices = Devices()
        self.rows: dict[str, int] = {}
        self.live: NDArray[np.bool_] = np.zeros(_FIRST_ROWS, dtype=bool)  # there, ready and not being left
        self.ranks: NDArray[np.int64] = np.zeros(_FIRST_ROWS, dtype=np.int64)  # order of names, for ties
        self.row_versions: NDArray[np.int64] = np.zeros(_FIRST_ROWS, dtype=np.int64)
        shape = (_FIRST_ROWS, max(8, dimensions.width))
        # A column lies together in memory: questions go to a few columns of many rows.
        self.capacity: NDArray[np.int64] = np.zeros(shape, dtype=np.int64, order="F")
        self.allocatable: NDArray[np.int64] = np.zeros(shape, dtype=np.int64, order="F")
        self.used: NDArray[np.int64] = np.zeros(shape, dtype=np.int64, order="F")
        self.releasing: NDArray[np.int64] = np.zeros(shape, dtype=np.int64, order="F")
        self.pipelined: NDArray[np.int64] = np.zeros(shape, dtype=np.int64, order="F")
        self.promises = 0  # how many tasks `pipelined` counts
        self.departures = 0  # how many tasks `releasing` counts
        self._free: list[int] = []
        self._ranks_of = -1

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """Rows in use or once in use: what vectors over nodes are long."""
        return len(self.facts)

    # --- the set of nodes ------------------------------------------------------------------------------------

    def put(self, facts: NodeFacts) -> int:
        """Adds a node or takes its new facts in; its row."""
        row = self.rows.get(facts.name)
        if row is None:
            row = self._new_row()
            self.rows[facts.name] = row
        old = self.facts[row]
        self.facts[row] = facts
        if old == facts:
            return row
        self.properties.put(row, old, facts)
        self.devices.put(row, facts.devices, facts.device_model)
        for resource in (*facts.allocatable, *facts.capacity):
            self.dimensions.column(resource)
        self.widen()
        self._fill(self.allocatable, row, facts.allocatable)
        self._fill(self.capacity, row, facts.capacity)
        self.live[row] = facts.ready
        self.version += 1
        self.row_versions[row] += 1
        return row

    def give(self, row: int, queue: str) -> None:
        """A node changes hands: nothing else about it is new, and thousands may do so at once."""
        facts = self.facts[row]
        assert facts is not None
        self.facts[row] = msgspec.structs.replace(facts, queue=queue)
        self.properties.owners.put(row, queue or None)
        self.version += 1
        self.row_versions[row] += 1

    def touch(self, row: int) -> None:
        """The numbers of a row are the same, and mean something else."""
        self.row_versions[row] += 1

    def _fill(self, table: NDArray[np.int64], row: int, amounts: Mapping[str, int]) -> None:
        table[row] = 0
        for name, amount in amounts.items():
            # Bounded as requests are: a node with absurd amounts must not make the sum over all of them overflow.
            table[row, self.dimensions.column(name)] = min(max(0, amount), LIMIT)

    def remove(self, name: str) -> None:
        """Takes a node out.  Its tasks must have been taken off it."""
        row = self.rows.pop(name)
        self.properties.put(row, self.facts[row], None)
        self.devices.put(row, 0, "")
        self.facts[row] = None
        self.live[row] = False
        for table in _TABLES:
            getattr(self, table)[row] = 0
        self._free.append(row)
        self.version += 1
        self.row_versions[row] += 1

    def name(self, row: int) -> str:
        facts = self.facts[row]
        assert facts is not None
        return facts.name

    def order(self) -> NDArray[np.int64]:
        """For each row its place in the order of names."""
        if self._ranks_of != self.version:
            self.ranks[: self.count] = self.count
            for rank, name in enumerate(sorted(self.rows)):
                self.ranks[self.rows[name]] = rank
            self._ranks_of = self.version
        return self.ranks[: self.count]

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        row = len(self.facts)
        self.facts.append(None)
        if row >= len(self.live):
            self._lengthen()
        return row

    def _lengthen(self) -> None:
        self.live = np.concatenate([self.live, np.zeros_like(self.live)])
        self.ranks = np.concatenate([self.ranks, np.zeros_like(self.ranks)])
        self.row_versions = np.concatenate([self.row_versions, np.zeros_like(self.row_versions)])
        for name in _TABLES:
            column = getattr(self, name)
            setattr(self, name, np.asfortranarray(np.concatenate([column, np.zeros_like(column)])))

    def widen(self) -> None:
        """Makes room for resources that have been named since."""
        missing = self.dimensions.width - self.allocatable.shape[1]
        if missing > 0:
            for name in _TABLES:
                column = getattr(self, name)
                setattr(self, name, np.asfortranarray(np.pad(column, ((0, 0), (0, max(missing, 8))))))

    # --- room ------------------------------------------------------------------------------------------------

    def idle(self, columns: Iterable[int] | slice = slice(None)) -> NDArray[np.int64]:
        """Free room of every row in the given columns."""
        chosen = columns if isinstance(columns, slice) else list(columns)
        result: NDArray[np.int64] = self.allocatable[: self.count, chosen] - self.used[: self.count, chosen]
        return result

    def future_idle(self, columns: Iterable[int] | slice = slice(None)) -> NDArray[np.int64]:
        """Room once everything that is leaving has left and everything promised has come."""
        chosen = columns if isinstance(columns, slice) else list(columns)
        result: NDArray[np.int64] = (
            self.idle(chosen) + self.releasing[: self.count, chosen] - self.pipelined[: self.count, chosen]
        )
        return result

    def future_idle_of(self, row: int, column: int) -> int:
        """The same for one row and column."""
        return int(
            self.allocatable[row, column]
            - self.used[row, column]
            + self.releasing[row, column]
            - self.pipelined[row, column]
        )

    def fits(self, request: Request, *, future: bool = False) -> NDArray[np.bool_]:
        """Which rows have room for one such task, now or in the future."""
        self.widen()
        room = self.future_idle(request.columns)
        if not future:
            room = np.minimum(room, self.idle(request.columns))
        result: NDArray[np.bool_] = (room >= request.amounts).all(axis=1) & self.live[: self.count]
        return result

    def fits_row(self, request: Request, row: int, *, future: bool = False) -> bool:
        """The same question to one row, without vectors."""
        if not self.live[row]:
            return False
        for column, amount in request.pairs:
            room = self.allocatable[row, column] - self.used[row, column]
            left = self.releasing[row, column] - self.pipelined[row, column]
            room += left if future else min(0, left)
            if room < amount:
                return False
        return True

    def add(self, column: NDArray[np.int64], row: int, request: Request, sign: int) -> None:
        """Adds a request to (or takes it from) one of the four tables, in one row."""
        for index, amount in request.pairs:
            column[row, index] += sign * amount
        self.row_versions[row] += 1

    def add_many(self, column: NDArray[np.int64], rows: NDArray[np.int64], request: Request, sign: int) -> None:
        """The same for many rows, which may repeat."""
        for index, amount in request.pairs:
            np.add.at(column[:, index], rows, sign * amount)
        np.add.at(self.row_versions, rows, 1)

    def total(self) -> Vector:
        """Everything that can be allocated on live nodes."""
        self.widen()
        chosen = self.live[: self.count]
        result: Vector = self.allocatable[: self.count][chosen].sum(axis=0)[: self.dimensions.width]
        return result
