"""Where one kind of tasks can go: which rows fit, and how good each is, kept up to date row by row.

What depends on the kind and on the nodes' properties alone is computed when the kind is first seen in a session.
What depends on a row's own numbers is computed again only for rows that changed since the last look.

Three ways to choose, by the slowest hook that applies to the kind:

    vectors only             all equal tasks in one pass (`placement.place`)
    a hook for single nodes  asked best first; a batch ends where a row would be used a second time, because what
                             such a hook says of a changed row is only known once the change is made
    a hook over all nodes    one task at a time, on vectors
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.core.model.model import State, Task
from podium.core.model.paths import BATCH, NODE_BY_NODE, ONE_BY_ONE
from podium.core.placement import placement
from podium.core.placement.rows import Pick, Rows, pick_closest

if TYPE_CHECKING:
    from podium.core.framework.session import Session

Index = NDArray[np.int64]
Scores = NDArray[np.float64]

NOWHERE = -np.inf
_UNKNOWN = -1


class Candidates:
    """The places of one kind of tasks in one session."""

    def __init__(self, session: Session, task: Task) -> None:
        self._session = session
        self._nodes = session.cluster.nodes
        self._cls = task.cls
        self._task = task  # it stands for all of its kind
        self._seen = session.tick
        self._mask_rows = session.node_hooks("mask_rows", task)
        self._score_rows = session.node_hooks("score_rows", task)
        self._predicates = session.node_hooks("predicate", task)
        self._node_orders = session.node_hooks("node_order", task)
        self._pick: Pick = next(
            (plugin.pick_device for plugin in session.node_hooks("pick_device", task)), pick_closest
        )
        self._asked = {"predicate": self._predicates, "node_order": self._node_orders}
        self._together = {
            hook: session.node_hooks(hook, task) for hook in ("batch_predicate", "batch_node_order", "best_node")
        }
        self.refusal = next(
            filter(None, (p.pre_predicate(task) for p in session.node_hooks("pre_predicate", task))), None
        )
        count = self._nodes.count
        self.static = self._nodes.live[:count].copy()
        if self._cls.constraints.devices is not None:
            self.static &= self._nodes.devices.admitted(self._cls.constraints.devices, count)
        for plugin in session.node_hooks("mask", task):
            self.static &= plugin.mask(task, session)
        if self.refusal is not None:
            self.static[:] = False
        self._base: Scores = np.zeros(count)
        for plugin in session.node_hooks("score", task):
            self._base += plugin.score(task, session)
        self._everything = np.arange(count, dtype=np.int64)
        self._now: Scores = self._evaluate(self._everything, 0)
        self._later: Scores | None = None  # most kinds find room at once and never ask
        self._verdicts = np.full(count if self._predicates else 0, _UNKNOWN, dtype=np.int8)
        self._orders: Scores = np.full(count if self._node_orders else 0, np.nan)

    @property
    def path(self) -> tuple[str, list[str]]:
        """The way that the kind goes, and the hooks that force it to: for the journal."""
        hooks = self._together if self.one_by_one else self._asked
        way = ONE_BY_ONE if self.one_by_one else NODE_BY_NODE if any(hooks.values()) else BATCH
        return way, [f"{plugin.name}.{hook}" for hook, plugins in hooks.items() for plugin in plugins]

    @property
    def one_by_one(self) -> bool:
        """Whether a hook looks at all nodes together, so that only one task is placed at a time."""
        return any(self._together.values())

    @property
    def room_only(self) -> bool:
        """Whether nothing but room and the nodes' properties decides where the kind can go."""
        return not (
            self._mask_rows
            or self._predicates
            or self._together["batch_predicate"]
            or self._cls.constraints.devices is not None
        )

    @property
    def suitability(self) -> Scores:
        """How good each row is whether it has room or not, for choosing where to make some."""
        view = Rows(self._nodes, self._cls, self._everything, pick=self._pick, task=self._task)
        scores = self._base
        for plugin in self._score_rows:
            scores = scores + plugin.score_rows(self._cls, view)
        return scores

    @property
    def later(self) -> Scores:
        """The score of one more task on each row once those that are leaving have left."""
        if self._later is None:
            self._later = self._evaluate(self._everything, 0, later=True)
        return self._later

    def refresh(self) -> None:
        """Takes in the rows that changed since the last look."""
        session = self._session
        if self._seen == session.tick:
            return
        rows = session.touched_since(self._seen)
        self._seen = session.tick
        self._now[rows] = self._evaluate(rows, 0)
        if self._later is not None:
            self._later[rows] = self._evaluate(rows, 0, later=True)
        if self._predicates:
            self._verdicts[rows] = _UNKNOWN
        if self._node_orders:
            self._orders[rows] = np.nan

    def _evaluate(self, rows: Index, added: Index | int, *, later: bool = False) -> Scores:
        """The score of one more task on each row, minus infinity where it does not fit."""
        view = Rows(self._nodes, self._cls, rows, added, later=later, pick=self._pick, task=self._task)
        fits = view.fits()
        fits &= self.static[rows]
        for plugin in self._mask_rows:
            fits &= plugin.mask_rows(self._cls, view)
        if isinstance(added, int) and len(rows) > 1 and 2 * np.count_nonzero(fits) < len(rows):
            return self._score_some(np.flatnonzero(fits), view)
        scores = self._base[rows]
        for plugin in self._score_rows:
            scores += plugin.score_rows(self._cls, view)
        scores[~fits] = NOWHERE
        return scores

    def _score_some(self, places: Index, view: Rows) -> Scores:
        """The same where few of the rows fit: nobody needs to know how good the others would be."""
        scores: Scores = np.full(len(view.index), NOWHERE)
        if len(places):
            # One row is not asked about alone: it could be added up in another order than beside others.
            asked = places if len(places) > 1 else places.repeat(2)
            index = view.index[asked]
            some = view.only(index)
            found = self._base[index]
            for plugin in self._score_rows:
                found += plugin.score_rows(self._cls, some)
            scores[asked] = found
        return scores

    # --- choosing ----------------------------------------------------------------------------------------------

    def choose(self, tasks: Sequence[Task]) -> list[int]:
        """Rows with room now for equal tasks, in order; fewer when the room ends or must be asked for."""
        self._session.paths.took(tasks[0].gang.id, *self.path)
        if self.one_by_one:
            row = self._choose_together(tasks[0], later=False)
            return [] if row is None else [row]
        if self._predicates or self._node_orders:
            return self._choose_asking(tasks, self._now)
        return placement.place(self._now, self._nodes.order(), len(tasks), self._evaluate)

    def choose_later(self, task: Task) -> int | None:
        """The row with room for a task once others have left it."""
        if self.one_by_one:
            return self._choose_together(task, later=True)
        if self._predicates or self._node_orders:
            rows = self._choose_asking([task], self.later)
            return rows[0] if rows else None
        return placement.best_row(self.later, self._nodes.order())

    def fits(self, task: Task, row: int, *, future: bool = False) -> bool:
        """Whether a task may go to one row: the one question that deciding, verifying and explaining share."""
        if not self.static[row] or not self._nodes.fits_row(self._cls.request, row, future=future):
            return False
        if self._mask_rows or self._cls.constraints.devices is not None:
            index = np.array([row], dtype=np.int64)
            view = Rows(self._nodes, self._cls, index, later=future, task=self._task)
            if self._cls.constraints.devices is not None and not view.fits()[0]:
                return False
            if not all(bool(plugin.mask_rows(self._cls, view)[0]) for plugin in self._mask_rows):
                return False
        return all(
            bool(plugin.batch_predicate(task, future)[row]) for plugin in self._together["batch_predicate"]
        ) and all(plugin.predicate(task, row) is None for plugin in self._predicates)

    def devices(self, row: int, state: State) -> tuple[int, ...]:
        """The devices that a task which comes to a row in some state gets there."""
        later = state is State.PIPELINED
        index = np.array([row], dtype=np.int64)
        return Rows(self._nodes, self._cls, index, later=later, pick=self._pick).picked()

    def _choose_together(self, task: Task, *, later: bool) -> int | None:
        """The best row for one task, with the hooks that look at all nodes."""
        vector = self.later if later else self._now
        possible = vector > NOWHERE
        for plugin in self._together["batch_predicate"]:
            possible &= plugin.batch_predicate(task, later)
        rows = np.flatnonzero(possible)
        if self._predicates:
            rows = rows[np.array([self._passes(task, row) for row in rows.tolist()], dtype=bool)]
        if not len(rows):
            return None
        scores = vector[rows]
        for plugin in self._together["batch_node_order"]:
            scores += plugin.batch_node_order(task, rows)
        if self._node_orders:
            scores += np.array([self._order(task, row) for row in rows.tolist()])
        chosen = self._session.best_node(task, rows, scores)
        if chosen is not None:
            return chosen
        best = placement.best_row(scores, self._nodes.order()[rows])
        return None if best is None else int(rows[best])

    def _choose_asking(self, tasks: Sequence[Task], vector: Scores) -> list[int]:
        """Best-first over the rows that passed the vectors, as far as an answer can still change the choice."""
        most = sum(plugin.node_order_maximum for plugin in self._node_orders)
        ranks = self._nodes.order()
        stream = _Stream(vector, ranks, len(tasks))
        asked: list[tuple[float, int, int]] = []
        chosen: list[int] = []
        again = NOWHERE  # the most that a row which has been used already can still be worth
        while len(chosen) < len(tasks):
            task = tasks[len(chosen)]
            while (row := stream.row) is not None:
                known = float(vector[row])
                if asked and (known + most < -asked[0][0] or not self._node_orders):
                    break
                if self._passes(task, row):
                    heapq.heappush(asked, (-known - self._order(task, row), int(ranks[row]), row))
                elif self._session.keep_answers:
                    vector[row] = NOWHERE  # until it changes: the next ones need not even pass it by
                stream.advance()
            if not asked or again >= -asked[0][0]:
                break
            row = heapq.heappop(asked)[2]
            chosen.append(row)
            if len(chosen) < len(tasks):
                again = max(again, stream.once_more(row, self._evaluate) + most)
        return chosen

    def _passes(self, task: Task, row: int) -> bool:
        if not self._predicates:
            return True
        if self._verdicts[row] == _UNKNOWN or not self._session.keep_answers:
            self._verdicts[row] = all(plugin.predicate(task, row) is None for plugin in self._predicates)
        return bool(self._verdicts[row])

    def _order(self, task: Task, row: int) -> float:
        if not self._node_orders:
            return 0.0
        if np.isnan(self._orders[row]) or not self._session.keep_answers:
            self._orders[row] = sum(plugin.node_order(task, row) for plugin in self._node_orders)
        return float(self._orders[row])


class _Stream:
    """Rows best first, sorted only as far as somebody looks."""

    def __init__(self, scores: Scores, ranks: Index, count: int) -> None:
        self._scores = scores.copy()  # who asks strikes rows out: those that follow must not move up for that
        self._ranks = ranks
        self._size = max(64, count)
        self._place = 0
        self._again: dict[int, float] = {}
        self._load()

    def _load(self) -> None:
        self._rows: list[int] = placement.best_rows(self._scores, self._ranks, self._size).tolist()

    @property
    def row(self) -> int | None:
        """The next row; None when all have been given."""
        if self._place == len(self._rows) == self._size:
            self._size *= 8
            self._load()
        return self._rows[self._place] if self._place < len(self._rows) else None

    def advance(self) -> None:
        self._place += 1

    def once_more(self, row: int, evaluate: placement.Evaluate) -> float:
        """The score of a second task on a row; computed for all rows in sight when the first is needed."""
        if row not in self._again:
            rows = np.array([*self._rows, row], dtype=np.int64)
            scores = evaluate(rows, np.ones(len(rows), dtype=np.int64))
            self._again = dict(zip(rows.tolist(), scores.tolist(), strict=True))
        return self._again[row]
