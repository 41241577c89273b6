"""Draws from a seed: the same seed and the same questions give the same answers, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from podium.kube.backoff import Dice

T = TypeVar("T")


class Rng:
    """One stream of draws.  `fork` gives another one that does not depend on how much was drawn from this."""

    def __init__(self, seed: int, name: str = "") -> None:
        self._seed = int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8])
        self._dice = Dice(self._seed)

    def fork(self, name: str) -> Rng:
        return Rng(self._seed, name)

    def between(self, low: float, high: float) -> float:
        return self._dice.between(low, high)

    def chance(self, likely: float) -> bool:
        return self._dice.between(0.0, 1.0) < likely

    def whole(self, low: int, high: int) -> int:
        """A whole number; both ends may come."""
        return min(high, low + int(self._dice.between(0.0, high - low + 1)))

    def pick(self, some: Sequence[T]) -> T:
        return some[self.whole(0, len(some) - 1)]

    def shuffled(self, some: Sequence[T]) -> list[T]:
        left = list(some)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(len(left))]
