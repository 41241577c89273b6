"""Placing equal tasks: the n best rows, a heap, and a re-score of the row just used.

A placement changes no row but its own.  So of n equal tasks, one-by-one greedy never uses a row outside the n best
ones: after k placements at most k rows have changed, and n - k unchanged rows of that set are still at least as
good as anything outside it.  The heap holds these rows with the score of one more task on each; the scores at
higher fillings are computed for all of them in one vector operation when the first is needed.  The result equals
one-by-one greedy by construction, and a property test compares the two.

Ties go to the node whose name comes first, everywhere, so that results are exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
Scores = NDArray[np.float64]

# The score of one more task on each row, when `added` such tasks have been imagined there; -inf where none fits.
Evaluate = Callable[[Index, Index], Scores]

_LEVELS_AT_ONCE = 8


def best_row(scores: Scores, ranks: Index) -> int | None:
    """The place of the best score; ties by rank; None when nothing is possible."""
    if not len(scores):
        return None
    best = scores.max()
    if best == -np.inf:
        return None
    level = np.flatnonzero(scores == best)
    return int(level[0] if len(level) == 1 else level[np.argmin(ranks[level])])


def best_rows(scores: Scores, ranks: Index, count: int) -> Index:
    """The `count` best rows (fewer if fewer are possible), best first; ties by rank."""
    possible = np.flatnonzero(scores > -np.inf)
    if len(possible) > count:
        values = scores[possible]
        threshold = np.partition(values, len(values) - count)[len(values) - count]
        above = possible[values > threshold]
        level = possible[values == threshold]
        needed = count - len(above)
        if len(level) > needed:
            level = level[np.argpartition(ranks[level], needed - 1)[:needed]]
        possible = np.concatenate([above, level])
    order = np.lexsort((ranks[possible], -scores[possible]))
    result: Index = possible[order]
    return result


def place(scores: Scores, ranks: Index, count: int, evaluate: Evaluate) -> list[int]:
    """The rows that `count` equal tasks go to, in the order in which greedy chooses them.

    `scores` holds the score of a first task on every row.  Shorter than `count` when the room ends.
    """
    if count == 1:
        row = best_row(scores, ranks)
        return [] if row is None else [row]
    rows = best_rows(scores, ranks, count)
    if len(rows) == 0:
        return []
    ladder = _Ladder(rows, evaluate)
    # Entries: (-score, rank, place among the candidates, how many are on it already).
    numbers = rows.tolist()
    heap = list(
        zip((-scores[rows]).tolist(), ranks[rows].tolist(), range(len(rows)), [0] * len(rows), strict=True)
    )
    chosen: list[int] = []
    while heap and len(chosen) < count:
        _, rank, candidate, level = heap[0]
        chosen.append(numbers[candidate])
        score = ladder.score(candidate, level + 1)
        if score > -np.inf:
            heapq.heapreplace(heap, (-score, rank, candidate, level + 1))
        else:
            heapq.heappop(heap)
    return chosen


class _Ladder:
    """Scores of the candidates at rising fillings, computed for all of them some levels at a time."""

    def __init__(self, rows: Index, evaluate: Evaluate) -> None:
        self._rows = rows
        self._evaluate = evaluate
        self._levels: list[list[float]] = []  # [level - 1][candidate]

    def score(self, candidate: int, level: int) -> float:
        while level > len(self._levels):
            self._climb()
        return self._levels[level - 1][candidate]

    def _climb(self) -> None:
        # The first re-score is one level: a spreading policy uses most rows once and needs no more.
        count = 1 if not self._levels else _LEVELS_AT_ONCE
        first = len(self._levels) + 1
        added = np.repeat(np.arange(first, first + count, dtype=np.int64), len(self._rows))
        scores = self._evaluate(np.tile(self._rows, count), added)
        self._levels += scores.reshape(count, len(self._rows)).tolist()
