"""What filters look at, by column: labels, taints and images of all nodes.  A question is a vector operation.

A label key is a column that holds for each row the number of its value.  The same column answers a selector
(`key = value` is one comparison), gives the topology domain of each row, and sums pods by domain.  Taints go by
whole sets: most nodes of a cluster share a handful of them, so tolerations are compared with sets and not with
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.model.constraints import NodeTerm, Requirement
from podium.core.model.labels import Taint, compares

if TYPE_CHECKING:
    from podium.core.cluster.nodes import NodeFacts

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int32]

ABSENT = -1
_FIRST_ROWS = 64


class TaintSet(msgspec.Struct, frozen=True):
    """What keeps tasks off a node: its taints, and whether it is cordoned."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class Column:
    """One property of all rows: each row holds the number of its value, or `ABSENT`."""

    __slots__ = ("_numbers", "_rows", "values")

    def __init__(self) -> None:
        self.values: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: Numbers = np.full(_FIRST_ROWS, ABSENT, dtype=np.int32)

    def put(self, row: int, value: str | None) -> None:
        while row >= len(self._rows):
            self._rows = np.concatenate([self._rows, np.full(len(self._rows), ABSENT, dtype=np.int32)])
        if value is None:
            self._rows[row] = ABSENT
            return
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        self._rows[row] = number

    def rows(self, count: int) -> Numbers:
        """The numbers of the first `count` rows."""
        while count > len(self._rows):
            self._rows = np.concatenate([self._rows, np.full(len(self._rows), ABSENT, dtype=np.int32)])
        return self._rows[:count]

    def of(self, rows: NDArray[np.int64]) -> Numbers:
        """The numbers of some rows."""
        try:
            found: Numbers = self._rows[rows]
        except IndexError:  # rows that have never had a value, beyond all that have
            found = self.rows(int(rows.max()) + 1)[rows]
        return found

    def equal(self, value: str, count: int) -> Mask:
        number = self._numbers.get(value)
        if number is None:
            return np.zeros(count, dtype=bool)
        result: Mask = self.rows(count) == number
        return result

    def where(self, test: Callable[[str], bool], count: int) -> Mask:
        """Rows whose value passes a test, which is asked once for each value and not for each row."""
        verdicts = np.array([*(test(value) for value in self.values), False], dtype=bool)
        result: Mask = verdicts[self.rows(count)]  # ABSENT is the last place: no value passes no test
        return result


class Properties:
    """The columns of all labels, the sets of taints and the images of the nodes."""

    def __init__(self) -> None:
        self.count = 0
        self.taint_sets: list[TaintSet] = [TaintSet()]
        self.images: dict[str, dict[int, int]] = {}  # by name: the rows that have it, with its size
        self.groups = Column()  # the group of nodes that each is in
        self.owners = Column()  # the queue that each belongs to
        self._labels: dict[str, Column] = {}
        self._taint_set_numbers: dict[TaintSet, int] = {self.taint_sets[0]: 0}
        self._taint_set_rows: list[int] = [0]  # how many rows have each
        self._taint_set_of: Numbers = np.zeros(_FIRST_ROWS, dtype=np.int32)
        self._rows: dict[str, int] = {}

    def put(self, row: int, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Takes in what is new of a row; None when there is no node in it any more."""
        self.count = max(self.count, row + 1)
        if old is not None:
            self._rows.pop(old.name, None)
        if new is not None:
            self._rows[new.name] = row
        before: Mapping[str, str] = old.labels if old is not None else {}
        after: Mapping[str, str] = new.labels if new is not None else {}
        for key in before.keys() - after.keys():
            self._labels[key].put(row, None)
        for key, value in after.items():
            if before.get(key) != value:
                self._labels.setdefault(key, Column()).put(row, value)
        self.groups.put(row, new.group or None if new is not None else None)
        self.owners.put(row, new.queue or None if new is not None else None)
        if old is not None:
            self._taint_set_rows[self._taint_set_of[row]] -= 1
        if new is not None:
            self._put_taint_set(row, TaintSet(new.taints, new.unschedulable))
        images: Mapping[str, int] = new.images if new is not None else {}
        if old is not None and old.images != images:
            for name in old.images:
                self.images.get(name, {}).pop(row, None)
        for name, size in images.items():
            self.images.setdefault(name, {})[row] = size

    def _put_taint_set(self, row: int, taint_set: TaintSet) -> None:
        number = self._taint_set_numbers.get(taint_set)
        if number is None:
            number = self._taint_set_numbers[taint_set] = len(self.taint_sets)
            self.taint_sets.append(taint_set)
            self._taint_set_rows.append(0)
        while row >= len(self._taint_set_of):
            self._taint_set_of = np.concatenate([self._taint_set_of, np.zeros_like(self._taint_set_of)])
        self._taint_set_of[row] = number
        self._taint_set_rows[number] += 1

    # --- questions -------------------------------------------------------------------------------------------

    def label(self, key: str) -> Column:
        """The column of a label; one without any value when no node has it."""
        return self._labels.get(key) or Column()

    def domains(self, key: str) -> Numbers:
        """For each row the number of its topology domain, or `ABSENT`."""
        return self.label(key).rows(self.count)

    def labelled(self, key: str) -> Mask:
        """Rows that have a label."""
        result: Mask = self.domains(key) != ABSENT
        return result

    @property
    def taint_set_of(self) -> Numbers:
        return self._taint_set_of[: self.count]

    def shaded(self, test: Callable[[TaintSet], bool]) -> Mask:
        """Rows whose taints pass a test."""
        result: Mask = np.array([test(taint_set) for taint_set in self.taint_sets], dtype=bool)[self.taint_set_of]
        return result

    def any_taint_set(self, test: Callable[[TaintSet], bool]) -> bool:
        """Whether some node's taints pass a test."""
        return any(
            count and test(taint_set)
            for taint_set, count in zip(self.taint_sets, self._taint_set_rows, strict=True)
        )

    def holding(self, requirement: Requirement) -> Mask:
        """Rows on which a condition on a label holds.  An operator that is not known never holds."""
        column, values = self.label(requirement.key), requirement.values
        match requirement.operator:
            case "In" if len(values) == 1:
                return column.equal(values[0], self.count)
            case "In":
                wanted = frozenset(values)
                return column.where(lambda value: value in wanted, self.count)
            case "NotIn":
                refused = frozenset(values)
                return ~column.where(lambda value: value in refused, self.count)
            case "Exists":
                return self.labelled(requirement.key)
            case "DoesNotExist":
                return ~self.labelled(requirement.key)
            case "Gt" | "Lt":
                return column.where(lambda value: compares(requirement, value), self.count)
        return np.zeros(self.count, dtype=bool)

    def named(self, requirement: Requirement) -> Mask:
        """The same for a condition on the node's own name."""
        found = np.zeros(self.count, dtype=bool)
        if requirement.key != "metadata.name" or requirement.operator not in ("In", "NotIn"):
            return found
        found[[row for name in requirement.values if (row := self._rows.get(name)) is not None]] = True
        return found if requirement.operator == "In" else ~found

    def matching(self, term: NodeTerm) -> Mask:
        """Rows on which all conditions of a term hold; a term without any matches nothing."""
        found = np.full(self.count, bool(term.labels or term.names))
        for requirement in term.labels:
            found &= self.holding(requirement)
        for requirement in term.names:
            found &= self.named(requirement)
        return found

    def matching_any(self, terms: tuple[NodeTerm, ...]) -> Mask:
        found = np.zeros(self.count, dtype=bool)
        for term in terms:
            found |= self.matching(term)
        return found
