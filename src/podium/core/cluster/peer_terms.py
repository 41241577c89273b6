"""What the columns of `peers` count, and how the selections among them are found that may match some labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from podium.core.model.constraints import PodSelection, PodTerm, Port


class Matching(msgspec.Struct, frozen=True):
    """Tasks that all of some selections match."""

    selections: tuple[PodSelection, ...]


class RequiredAntiAffinity(msgspec.Struct, frozen=True):
    """Tasks that carry a required anti-affinity."""

    term: PodTerm


class PreferredAffinity(msgspec.Struct, frozen=True):
    """Tasks that carry a preferred affinity, or with a negative weight anti-affinity."""

    term: PodTerm
    weight: int


Key: TypeAlias = Matching | RequiredAntiAffinity | PreferredAffinity | Port


class SelectionIndex:
    """Finds the selections that may match some labels without trying all of them."""

    def __init__(self) -> None:
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._always: list[int] = []

    def add(self, column: int, matching: Matching) -> None:
        if any(selection.labels is None for selection in matching.selections):
            return
        conditions = [each for selection in matching.selections for each in selection.labels or ()]
        for each in conditions:
            if each.operator == "In":
                for value in each.values:
                    self._by_pair.setdefault((each.key, value), []).append(column)
                return
        for each in conditions:
            if each.operator == "Exists":
                self._by_key.setdefault(each.key, []).append(column)
                return
        self._always.append(column)

    def likely(self, labels: Mapping[str, str]) -> Iterator[int]:
        yield from self._always
        for pair in labels.items():
            yield from self._by_pair.get(pair, ())
            yield from self._by_key.get(pair[0], ())


class Look(msgspec.Struct, frozen=True):
    """Whom carriers look at, and what they say of it."""

    column: int
    topology: str
    preferred_affinity: bool
    weight: int
