"""Tasks that are the same to every term that looks at tasks, and how many of them each row holds.  See `peers`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.core.model.model import State

Counts: TypeAlias = NDArray[np.int64]

_FIRST_ROWS = 64


class Slot(IntEnum):
    """How a task is on its row."""

    PRESENT = 0
    LEAVING = 1
    PROMISED = 2


class Party:
    """Tasks that are the same to every selection."""

    __slots__ = ("compared", "counts", "kin", "labels", "matching", "namespace", "said", "size", "topologies")

    def __init__(self, namespace: str, labels: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels  # those that some selection looks at
        self.size = 0  # how many tasks
        self.matching: frozenset[int] = frozenset()  # the columns that count it
        self.kin = 0  # the same for all parties that the same columns count
        self.compared = 0  # with how many keys it has been compared
        self.counts: dict[Slot, Counts] = {}
        self.topologies: dict[bool, tuple[str, ...]] = {}  # of the carriers that look at it, by whether they draw
        self.said: dict[tuple[bool, str], dict[Slot, Counts]] = {}  # what they say together, by topology


def slot_of(state: State) -> Slot:
    if state is State.RELEASING:
        return Slot.LEAVING
    return Slot.PROMISED if state is State.PIPELINED else Slot.PRESENT


def count(counts: dict[Slot, Counts], slot: Slot, row: int, amount: int) -> None:
    known = counts.get(slot)
    if known is None or row >= len(known):
        known = counts[slot] = lengthened(known, row + 1)
    known[row] += amount


def total_of(counted: Iterable[dict[Slot, Counts]], slots: tuple[Slot, ...], length: int) -> Counts | None:
    """The sum over parties and slots; None when there is nothing at all."""
    total: Counts | None = None
    own = False
    for each in counted:
        for slot in slots:
            counts = each.get(slot)
            if counts is None or not counts.any():
                continue
            if len(counts) < length:
                counts = each[slot] = lengthened(counts, length)
            if total is None:
                total = counts[:length]
            elif own:
                total += counts[:length]
            else:
                total, own = total + counts[:length], True
    return total


def lengthened(counts: Counts | None, length: int) -> Counts:
    size = _FIRST_ROWS
    while size < length:
        size *= 2
    longer = np.zeros(size, dtype=np.int64)
    if counts is not None:
        longer[: len(counts)] = counts
    return longer
