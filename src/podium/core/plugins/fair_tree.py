"""Hierarchical dominant resource fairness: shares of the branches of a tree of queues.

Queues say where they are in the tree by a path and the weights along it; gangs are the leaves.

    a gang is saturated    when it holds all it asks for of something, or something it asks for is used up
    a branch is saturated  when all below it are
    a branch holds         what its saturated children hold, and of the others as much as brings them down to the
                           smallest dominant share among them
    its share              is the dominant share of that

The second rule of holding is what makes it fair: a child that cannot grow does not make its siblings look rich,
and one that is ahead of its siblings does not count against them.

Each branch keeps its children as rows of a few tables, so that a placement costs some vector operations on the
branches above it, however many gangs there are.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.session import Session
from podium.core.framework.shares import Amounts, Ledger, dominant
from podium.core.model.model import FINISHED, Gang, PathStep, Queue

_SAME = 1e-9


class _Branch:
    """An inner node, with its children as rows: gangs and other branches."""

    def __init__(self, weight: float, parent: _Branch | None) -> None:
        self.weight = weight
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.row = 0  # among the children of the parent
        self.branches: dict[str, _Branch] = {}
        self.gangs: list[tuple[Amounts, Amounts]] = []  # held and asked, until the tables are made
        self.share = 0.0
        self.saturated = True

    def make_tables(self, width: int) -> None:
        """Gangs first, then branches."""
        count = len(self.gangs) + len(self.branches)
        self.allocated: Amounts = np.zeros((count, width))
        self.asked: Amounts = np.zeros((len(self.gangs), width))
        self.shares: Amounts = np.zeros(count)
        self.full: NDArray[np.bool_] = np.zeros(count, dtype=bool)
        for row, (allocated, asked) in enumerate(self.gangs):
            self.allocated[row], self.asked[row] = allocated, asked
        for row, branch in enumerate(self.branches.values(), start=len(self.gangs)):
            branch.row = row
            branch.make_tables(width)

    def settle(self, total: Amounts, used_up: NDArray[np.bool_]) -> None:
        """Takes in what the children hold now, and updates the parent."""
        allocated, asked = self.allocated[: len(self.asked)], self.asked
        parts = np.where(total > 0, allocated / np.where(total > 0, total, 1), allocated > 0)
        self.shares[: len(asked)] = parts.max(axis=1, initial=0.0)
        enough = (allocated > 0) & (asked > 0) & (allocated >= asked)
        self.full[: len(asked)] = (enough | (used_up & (asked > 0))).any(axis=1)
        growing = (self.shares > 0) & ~self.full
        smallest = self.shares[growing].min(initial=1.0)
        factors = np.where(growing, smallest / np.where(growing, self.shares, 1), self.full)
        together: Amounts = factors @ self.allocated
        self.share = dominant(together, total)
        self.saturated = bool(self.full.all())
        if self.parent is not None:
            self.parent.allocated[self.row] = together
            self.parent.shares[self.row] = self.share
            self.parent.full[self.row] = self.saturated


class FairTree:
    """The shares of all queues, kept up to date through a session."""

    def __init__(self, session: Session, ledger: Ledger) -> None:
        self._total = ledger.total
        self._used = sum((ledger.allocated(gang.id) for gang in session.gangs), np.zeros(ledger.width))
        self._root = _Branch(1.0, None)
        self._paths = {id: self._path(queue) for id, queue in sorted(session.queues.items())}
        self._places: dict[str, tuple[_Branch, int]] = {}
        for gang in session.gangs:
            self._hang(gang, ledger)
        self._root.make_tables(ledger.width)
        self._used_up: NDArray[np.bool_] | None = None
        self._changed: set[_Branch] = set()

    def _path(self, queue: Queue) -> list[_Branch]:
        """The branches from the root to a queue, made where they are missing."""
        # A queue that says nothing is a child of the root with its plain weight.
        steps = queue.path or (PathStep("root"), PathStep(queue.id, max(1.0, float(queue.weight))))
        path = [self._root]
        for name, weight in ((step.name, step.weight) for step in steps[1:]):
            branch = path[-1].branches.get(name)
            if branch is None:
                branch = path[-1].branches[name] = _Branch(weight, path[-1])
            path.append(branch)
        return path

    def _hang(self, gang: Gang, ledger: Ledger) -> None:
        asked = ledger.requested(task for task in gang.tasks.values() if task.state not in FINISHED)
        if np.any(asked > 0):
            branch = self._paths[gang.queue][-1]
            self._places[gang.id] = (branch, len(branch.gangs))
            branch.gangs.append((ledger.allocated(gang.id), asked))

    def move(self, gang: Gang, amount: Amounts) -> None:
        """A gang holds so much more, or less."""
        self._used = self._used + amount
        if gang.id in self._places:
            branch, row = self._places[gang.id]
            branch.allocated[row] += amount
            self._changed.add(branch)

    def compare(self, left: str, right: str) -> float:
        """Negative when the first queue is to be served first: where their paths part, and below it."""
        self._settle()
        for one, other in zip(self._paths[left], self._paths[right], strict=False):
            if one is other:
                continue
            if one.saturated != other.saturated:
                return 1 if one.saturated else -1
            difference = one.share / one.weight - other.share / other.weight
            if abs(difference) > _SAME:
                return difference
        return 0

    def _settle(self) -> None:
        used_up = self._used >= self._total
        if self._used_up is None or not np.array_equal(used_up, self._used_up):
            self._used_up = used_up
            chosen = set(_below(self._root))  # what is used up makes gangs everywhere saturated
        else:
            chosen = set()
            for branch in self._changed:
                above: _Branch | None = branch
                while above is not None and above not in chosen:
                    chosen.add(above)
                    above = above.parent
        for branch in sorted(chosen, key=lambda each: -each.depth):
            branch.settle(self._total, used_up)
        self._changed.clear()


def _below(branch: _Branch) -> Iterable[_Branch]:
    yield branch
    for child in branch.branches.values():
        yield from _below(child)
