"""Resources as columns: a name is a number once, and amounts are integers from then on.

CPU counts in thousandths of a core, memory in bytes, everything else in whole units.  A request is sparse: it
names only the columns it asks for, so that a node short of GPUs still takes a pod that wants none, and a
comparison touches three columns and not thirty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.int64]

CPU, MEMORY, PODS = 0, 1, 2

# Beyond this (a pebibyte, or 10^15 of anything) an amount is a mistake or an attack.  Such amounts of 8,000 nodes
# still add up within 64 bits, and no node is that large, so a capped request fits nowhere, which is the truth.
LIMIT = 1 << 50


class Request(msgspec.Struct, frozen=True):
    """What one task takes: (column, amount) pairs in order of columns, each amount positive."""

    pairs: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> list[int]:
        return [column for column, _ in self.pairs]

    @property
    def amounts(self) -> Vector:
        return np.array([amount for _, amount in self.pairs], dtype=np.int64)

    @property
    def best_effort(self) -> bool:
        """Asks for nothing but its place among the pods of a node."""
        return all(column == PODS for column, _ in self.pairs)

    def amount(self, column: int) -> int:
        for each, amount in self.pairs:
            if each == column:
                return amount
        return 0


class Dimensions:
    """The names of all resources seen so far, each with its column.  Columns are never given back."""

    def __init__(self) -> None:
        self.names = ["cpu", "memory", "pods"]
        self._columns = {name: column for column, name in enumerate(self.names)}

    @property
    def width(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """The column of a resource; a new name gets the next one."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = len(self.names)
            self.names.append(name)
        return found

    def find(self, name: str) -> int | None:
        return self._columns.get(name)

    def request(self, amounts: Mapping[str, int]) -> Request:
        """A request from amounts by name.  Every task is one pod."""
        pairs = {self.column(name): min(amount, LIMIT) for name, amount in amounts.items() if amount > 0}
        pairs[PODS] = 1
        return Request(tuple(sorted(pairs.items())))

    def vector(self, amounts: Mapping[str, int]) -> Vector:
        """Amounts as a dense vector; names that are not given count zero."""
        for name in amounts:
            self.column(name)
        dense = np.zeros(self.width, dtype=np.int64)
        for name, amount in amounts.items():
            dense[self._columns[name]] = min(amount, LIMIT)
        return dense

    def dense(self, request: Request) -> Vector:
        vector = np.zeros(self.width, dtype=np.int64)
        for column, amount in request.pairs:
            vector[column] = amount
        return vector

    def described(self, columns: Iterable[int]) -> str:
        return ", ".join(self.names[column] for column in columns)
