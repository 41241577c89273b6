"""Choosing with hooks that are asked node by node: the choice of asking everywhere, for far fewer questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.core.framework.plugin import Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.model import Task
from podium.core.plugins import BUILT_IN
from podium.reasons import PLUGIN, Refusal, refuse
from tests.core.world import World, profile


class Picky(Plugin):
    """Takes nodes by the number in their name, and likes some better; knows how full each is."""

    name = "picky"
    refused: ClassVar[frozenset[int]] = frozenset()
    liked: ClassVar[Sequence[float]] = ()
    most: ClassVar[int] = 100
    asked: ClassVar[list[int]] = []

    def on_session_open(self, session: Session) -> None:
        self._cluster = session.cluster

    def predicate(self, task: Task, row: int) -> Refusal | None:
        self.asked.append(row)
        if row in self.refused or len(self._cluster.on_row.get(row, {})) >= self.most:
            return refuse(PLUGIN, plugin=self.name, message="no")
        return None

    def node_order(self, task: Task, row: int) -> float:
        held = len(self._cluster.on_row.get(row, {}))
        return self.liked[row % len(self.liked)] / (1 + held) if self.liked else 0.0


class Strict(Picky):
    """The same without an order."""

    name = "strict"
    node_order = Plugin.node_order


class Leader(Plugin):
    """Has the last word: the last of the best."""

    name = "leader"

    def best_node(self, task: Task, rows: NDArray[np.int64], scores: Scores) -> int | None:
        return int(rows[np.flatnonzero(scores == scores.max())[-1]])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for plugin in (Picky, Strict, Leader):
        monkeypatch.setitem(BUILT_IN, plugin.name, plugin)


def build(sizes: Sequence[int], count: int) -> tuple[World, list[Task]]:
    world = World()
    for index, size in enumerate(sizes):
        world.node(f"n{index:03}", cpu=size * 1000)
    gang = world.gang("g", minimum=count)
    return world, [world.task(f"g-{index}", gang=gang) for index in range(count)]


def everywhere(session: Session, task: Task, plugin: Any) -> int | None:
    """The plain way: ask every node."""
    candidates, nodes = session.candidates(task), session.cluster.nodes
    rows = [row for row in range(nodes.count) if candidates.fits(task, row)]
    if not rows:
        return None
    scores = {row: candidates.suitability[row] + plugin.node_order(task, row) for row in rows}
    return min(rows, key=lambda row: (-scores[row], nodes.order()[row]))


@settings(max_examples=150, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", [Picky, Strict])
def test_asking_best_first_chooses_what_asking_everywhere_chooses(kind: type[Picky], data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    count = data.draw(st.integers(1, 12))
    scorer = data.draw(st.sampled_from(["nodeorder", "binpack"]))
    kind.refused = data.draw(st.frozensets(st.integers(0, 7)))
    kind.liked = data.draw(st.lists(st.floats(0, 100), min_size=1, max_size=8))
    kind.most = data.draw(st.integers(1, 4))
    by = profile([kind.name, scorer])

    def run(batch: bool) -> list[int]:
        world, tasks = build(sizes, count)
        session = world.session(by)
        plugin = session.tiers("predicate")[0][0]
        statement, waiting, chosen = session.statement(), list(tasks), []
        while waiting:
            if batch:
                rows = session.candidates(waiting[0]).choose(waiting)
            else:
                row = everywhere(session, waiting[0], plugin)
                rows = [] if row is None else [row]
            if not rows:
                break
            statement.place(waiting[: len(rows)], rows)
            waiting = waiting[len(rows) :]
            chosen += rows
        world.cluster.validate()
        return chosen

    assert run(batch=True) == run(batch=False)


def test_few_nodes_are_asked_and_none_of_them_twice() -> None:
    Strict.refused, Strict.liked, Strict.most = frozenset(), (), 100
    Strict.asked.clear()
    world, tasks = build([100] * 500, 50)
    rows = world.session(profile(["strict", "nodeorder"])).candidates(tasks[0]).choose(tasks)
    assert len(rows) == 50  # one batch: an emptier node is always there
    assert sorted(Strict.asked) == sorted(set(Strict.asked))
    assert len(Strict.asked) <= 51


def test_a_node_that_was_refused_is_not_asked_about_again_until_it_changes() -> None:
    Strict.refused, Strict.liked, Strict.most = frozenset(range(0, 500, 2)), (), 100
    Strict.asked.clear()
    world, tasks = build([100] * 500, 300)
    session = world.session(profile(["strict", "nodeorder"]))
    placed: list[int] = []
    while len(placed) < len(tasks):
        left = tasks[len(placed) :]
        rows = session.candidates(left[0]).choose(left)
        session.statement().place(left[: len(rows)], rows)
        placed += rows
    assert all(row % 2 for row in placed)
    refused = [row for row in Strict.asked if row % 2 == 0]
    assert len(refused) == len(set(refused)) == 250
    assert len(Strict.asked) <= 250 + 300 + 50  # every good one again after each task on it, and few in vain


def test_the_last_word_on_a_node() -> None:
    world, _ = build([10, 10, 10], 1)
    assert world.run(profile(["leader"])).placed == {"g-0": "n002"}


@pytest.mark.parametrize("count", [1, 64, 65, 600])
@pytest.mark.parametrize("plugin", [Strict, Picky])
def test_the_last_of_many_nodes_is_found(count: int, plugin: type[Picky], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sorted in portions: who is refused by all of the first ones sees the others."""
    monkeypatch.setattr(plugin, "refused", frozenset(range(count - 1)))
    monkeypatch.setattr(plugin, "most", 100)
    monkeypatch.setattr(plugin, "liked", ())
    world, _ = build([2] * count, 1)
    assert world.run(profile([plugin.name])).placed == {"g-0": f"n{count - 1:03}"}
