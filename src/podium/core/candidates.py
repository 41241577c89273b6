"""Where one class of tasks can go: which rows fit, and how good each is, kept up to date row by row.

What depends on the class and on the nodes' properties alone is computed when the class is first seen in a session.
What depends on a row's own numbers is computed again only for rows that changed since the last look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.core import placement
from podium.core.model import Task, TaskClass
from podium.core.plugin import Plugin
from podium.core.rows import Rows

if TYPE_CHECKING:
    from podium.core.session import Session

Index = NDArray[np.int64]
Scores = NDArray[np.float64]

NOWHERE = -np.inf


class Candidates:
    """The places of one class in one session."""

    def __init__(self, session: Session, cls: TaskClass) -> None:
        self._session = session
        self._nodes = session.cluster.nodes
        self._cls = cls
        self._seen = len(session.touched)
        self._mask_rows = session.node_hooks("mask_rows", cls)
        self._score_rows = session.node_hooks("score_rows", cls)
        self._predicates = session.node_hooks("predicate", cls)
        self._node_orders = session.node_hooks("node_order", cls)
        self._batch_orders = session.node_hooks("batch_node_order", cls)
        self.refusal = next(
            filter(None, (p.pre_predicate(cls) for p in session.node_hooks("pre_predicate", cls))), None
        )
        count = self._nodes.count
        self.static = self._nodes.live[:count].copy()
        for plugin in session.node_hooks("mask", cls):
            self.static &= plugin.mask(cls, session)
        if self.refusal is not None:
            self.static[:] = False
        self._base: Scores = np.zeros(count)
        for plugin in session.node_hooks("score", cls):
            self._base += plugin.score(cls, session)
        everything = np.arange(count, dtype=np.int64)
        self.now: Scores = self._evaluate(everything, np.zeros(count, dtype=np.int64))
        self.later: Scores = self._evaluate(everything, np.zeros(count, dtype=np.int64), future=True)

    @property
    def suitability(self) -> Scores:
        """How good each row is whether it has room or not, for choosing where to make some."""
        view = Rows(self._nodes, self._cls, np.arange(self._nodes.count, dtype=np.int64))
        scores = self._base
        for plugin in self._score_rows:
            scores = scores + plugin.score_rows(self._cls, view)
        return scores

    @property
    def slow_hooks(self) -> list[Plugin]:
        """Plugins that have to be asked task by task, for the journal."""
        return [*self._predicates, *self._node_orders, *self._batch_orders]

    def refresh(self) -> None:
        """Takes in the rows that changed since the last look."""
        touched = self._session.touched
        if self._seen == len(touched):
            return
        rows = np.unique(np.array(touched[self._seen :], dtype=np.int64))
        self._seen = len(touched)
        none = np.zeros(len(rows), dtype=np.int64)
        self.now[rows] = self._evaluate(rows, none)
        self.later[rows] = self._evaluate(rows, none, future=True)

    def _evaluate(self, rows: Index, added: Index, *, future: bool = False) -> Scores:
        """The score of one more task on each row, minus infinity where it does not fit."""
        view = Rows(self._nodes, self._cls, rows, added)
        fits = view.fits(future=future) & self.static[rows]
        for plugin in self._mask_rows:
            fits &= plugin.mask_rows(self._cls, view)
        scores = self._base[rows]
        for plugin in self._score_rows:
            scores = scores + plugin.score_rows(self._cls, view)
        return np.where(fits, scores, NOWHERE)

    # --- choosing ----------------------------------------------------------------------------------------------

    def choose(self, tasks: Sequence[Task]) -> list[int]:
        """Rows with room now for equal tasks, in order; fewer than tasks when the room ends.

        With hooks that look at one task and one node, or at all nodes together, one task is placed at a time.
        """
        ranks = self._nodes.order()
        if not self.slow_hooks:
            return placement.place(self.now, ranks, len(tasks), self._evaluate)
        row = self._ask(tasks[0], self.now)
        return [] if row is None else [row]

    def choose_later(self, task: Task) -> int | None:
        """The row with room for a task once others have left it."""
        if not self.slow_hooks:
            rows = placement.best_rows(self.later, self._nodes.order(), 1)
            return int(rows[0]) if len(rows) else None
        return self._ask(task, self.later)

    def fits(self, task: Task, row: int, *, future: bool = False) -> bool:
        """Whether a task may go to one row: the one question that deciding, verifying and explaining share."""
        if not self.static[row] or not self._nodes.fits_row(self._cls.request, row, future=future):
            return False
        if self._mask_rows:
            view = Rows(self._nodes, self._cls, np.array([row], dtype=np.int64))
            if not all(bool(plugin.mask_rows(self._cls, view)[0]) for plugin in self._mask_rows):
                return False
        return all(plugin.predicate(task, row) is None for plugin in self._predicates)

    def ranked(self, *, future: bool = True) -> list[int]:
        """All possible rows, best first."""
        scores = self.later if future else self.now
        return [int(row) for row in placement.best_rows(scores, self._nodes.order(), len(scores))]

    def _ask(self, task: Task, vector: Scores) -> int | None:
        """Best-first over the rows that passed the vectors, as far as an answer can still change the choice."""
        ranks = self._nodes.order()
        order = placement.best_rows(vector, ranks, len(vector))
        if self._batch_orders:
            order = np.array([row for row in order.tolist() if self._passes(task, row)], dtype=np.int64)
            if not len(order):
                return None
            scores = vector[order].copy()
            for plugin in self._batch_orders:
                scores += plugin.batch_node_order(task, order)
            for index, row in enumerate(order.tolist()):
                scores[index] += sum(plugin.node_order(task, row) for plugin in self._node_orders)
            chosen = self._session.best_node(task, order, scores)
            if chosen is not None:
                return chosen
            return int(order[np.lexsort((ranks[order], -scores))[0]])
        most = sum(plugin.node_order_maximum for plugin in self._node_orders)
        best: tuple[float, int, int] | None = None
        for row in order.tolist():
            known = float(vector[row])
            if best is not None and known + most < -best[0]:
                break
            if not self._passes(task, row):
                continue
            score = known + sum(plugin.node_order(task, row) for plugin in self._node_orders)
            entry = (-score, int(ranks[row]), row)
            if best is None or entry < best:
                best = entry
            if not self._node_orders:
                break
        return None if best is None else best[2]

    def _passes(self, task: Task, row: int) -> bool:
        return all(plugin.predicate(task, row) is None for plugin in self._predicates)
