"""The tree of units, ordered by score: the next one to be served is leftmost, the first to give way rightmost.

There is one tree, and no queues of those that run, wait and have ended: what has not been started has got nothing
and is leftmost; what has ended is taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sortedcontainers import SortedKeyList

from podium.core.elastic.unit import Scoring, Unit
from podium.errors import UsageError

Key = tuple[float, tuple[float, float, float, float, float, str]]


class GpuPriorityCFS:
    """Units in the order of their scores; of equal ones, GPUs go before cores, and cores before memory."""

    def __init__(self, units: Iterable[Unit] = (), scoring: Scoring | None = None) -> None:
        self.scoring = scoring if scoring is not None else Scoring()
        self._keys: dict[str, Key] = {}
        self._tree: SortedKeyList = SortedKeyList(key=lambda unit: self._keys[unit.name])
        for unit in units:
            self._keys[unit.name] = self.key(unit)
        self._tree.update(units)

    def key(self, unit: Unit) -> Key:
        return self.scoring.score(unit), unit.tie

    def score(self, unit: Unit) -> float:
        """The score under which a unit stands in the tree."""
        return self._keys[unit.name][0]

    def add_unit(self, unit: Unit) -> None:
        if unit.name in self._keys:
            raise UsageError(f"{unit.name} is in the tree already")
        self._keys[unit.name] = self.key(unit)
        self._tree.add(unit)

    def del_unit(self, unit: Unit) -> None:
        """Takes a unit out, under the score with which it came in: that may have moved."""
        if unit.name not in self._keys:
            raise UsageError(f"{unit.name} is not in the tree")
        self._tree.remove(unit)
        del self._keys[unit.name]

    def left_most(self) -> Unit | None:
        return self._tree[0] if self._tree else None

    def right_most(self) -> Unit | None:
        return self._tree[-1] if self._tree else None

    def traverse(self, *callbacks: Callable[[Unit], object]) -> None:
        """Every unit, the leftmost first, each by all callbacks."""
        for unit in self._tree:
            for callback in callbacks:
                callback(unit)

    def __len__(self) -> int:
        return len(self._tree)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._tree)

    def __reversed__(self) -> Iterator[Unit]:
        found: Iterator[Unit] = reversed(self._tree)
        return found
