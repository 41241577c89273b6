"""Placing many equal tasks at once gives exactly what placing them one by one gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.placement.placement import Index, Scores, best_rows, place


def one_by_one(room: Index, base: Scores, slope: Scores, ranks: Index, count: int) -> list[int]:
    used = np.zeros(len(room), dtype=np.int64)
    chosen: list[int] = []
    for _ in range(count):
        scores = np.where(used < room, base + slope * used, -np.inf)
        if not np.any(scores > -np.inf):
            break
        row = min(range(len(room)), key=lambda each: (-scores[each], ranks[each]))
        chosen.append(row)
        used[row] += 1
    return chosen


@settings(max_examples=300)
@given(st.data())
def test_batch_equals_one_by_one(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    small = st.integers(-3, 3)
    room = np.array(data.draw(st.lists(st.integers(0, 20), min_size=size, max_size=size)), dtype=np.int64)
    base = np.array(data.draw(st.lists(small, min_size=size, max_size=size)), dtype=float)
    slope = np.array(data.draw(st.lists(small, min_size=size, max_size=size)), dtype=float)
    ranks = np.array(data.draw(st.permutations(range(size))), dtype=np.int64)
    count = data.draw(st.integers(1, 40))

    def evaluate(rows: Index, added: Index) -> Scores:
        result: Scores = np.where(added < room[rows], base[rows] + slope[rows] * added, -np.inf)
        return result

    first = evaluate(np.arange(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    assert place(first, ranks, count, evaluate) == one_by_one(room, base, slope, ranks, count)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=30), st.integers(1, 30), st.randoms())
def test_the_best_rows_are_the_first_of_a_full_sort(values: list[int], count: int, random: object) -> None:
    scores = np.array([float(v) if v > -2 else -np.inf for v in values])
    ranks = np.array(sorted(range(len(values)), key=lambda i: (i * 7919) % 31), dtype=np.int64)
    expected = sorted((i for i in range(len(values)) if scores[i] > -np.inf), key=lambda i: (-scores[i], ranks[i]))
    assert best_rows(scores, ranks, count).tolist() == expected[:count]
