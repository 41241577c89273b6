"""Tentative changes: what each does to the model, what goes out when kept, and that undoing leaves no trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.core.framework.plugin import Placed, Plugin
from podium.core.framework.session import Session
from podium.core.framework.statement import Statement
from podium.core.model.decisions import Bind, Evict, Nominate, Release, Reserve, Resize
from podium.core.model.model import Size, State, Task
from podium.core.plugins import BUILT_IN
from tests.core.world import NOW, World, profile

PENDING, ALLOCATED, RESERVED, RUNNING = State.PENDING, State.ALLOCATED, State.RESERVED, State.RUNNING


class Sums(Plugin):
    """Keeps a sum of tasks that have taken places, as plugins of shares do."""

    name = "sums"

    def on_session_open(self, session: Session) -> None:
        self.taken = 0

    def on_allocate(self, placed: Placed) -> None:
        self.taken += len(placed.tasks)

    def on_deallocate(self, placed: Placed) -> None:
        self.taken -= len(placed.tasks)


class Trial:
    """A session with a gang of three on two nodes: one member runs, one has a reserved place, one waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(BUILT_IN, "sums", Sums)
        self.world = World()
        for name in "ab":
            self.world.node(name, cpu=4000)
        gang = self.world.gang("g", minimum=1, size=Size(1, 5, 3))
        self.running = self.world.task("running", gang=gang, at="a")
        self.reserved = self.world.task("reserved", gang=gang, at="b", state=RESERVED)
        self.waiting = self.world.task("waiting", gang=gang)
        self.other = self.world.task("other", gang=gang)
        self.gang = self.world.cluster.gangs[gang]
        self.world.budget("pdb", 1)
        self.world.cluster.settle()
        tiers = profile(["sums"]).plugins()
        self.session = Session(self.world.cluster, tiers, NOW)
        assert isinstance(tiers[0][0].plugin, Sums)
        self.sums = tiers[0][0].plugin
        self.statement: Statement = self.session.statement()
        self.before = self.picture()

    def row(self, name: str) -> int:
        return self.world.cluster.nodes.rows[name]

    def used(self, name: str) -> int:
        return int(self.world.cluster.nodes.used[self.row(name), 0])

    def picture(self) -> tuple[Any, ...]:
        """Everything that a statement may change."""
        nodes = self.world.cluster.nodes
        tables = (nodes.used, nodes.releasing, nodes.pipelined)
        return (
            [table.tolist() for table in tables],
            (nodes.promises, nodes.departures),
            {task.id: (task.state, task.row) for task in self.world.cluster.tasks.values()},
            list(self.gang.counts),
            self.gang.size,
            self.sums.taken,
            self.allowed(),
        )

    def allowed(self) -> bool:
        return not self.session.budgets.broken_by([self.running])


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(monkeypatch)


def _place(trial: Trial) -> None:
    trial.statement.place([trial.waiting], [trial.row("a")])
    assert (trial.waiting.state, trial.used("a"), trial.sums.taken) == (ALLOCATED, 2000, 1)


def _place_many(trial: Trial) -> None:
    trial.statement.place([trial.waiting, trial.other], [trial.row("a"), trial.row("b")])
    assert (trial.used("a"), trial.used("b"), trial.sums.taken) == (2000, 2000, 2)


def _pipeline(trial: Trial) -> None:
    trial.statement.pipeline(trial.waiting, trial.row("b"))
    assert trial.world.cluster.nodes.promises == 1
    assert (trial.waiting.state, trial.used("b"), trial.sums.taken) == (State.PIPELINED, 1000, 1)


def _evict(trial: Trial) -> None:
    trial.statement.evict(trial.running, "why", 7)
    assert trial.world.cluster.nodes.departures == 1
    assert (trial.running.state, trial.used("a"), trial.sums.taken) == (State.RELEASING, 1000, -1)


def _claim(trial: Trial) -> None:
    trial.statement.claim(trial.reserved)
    assert (trial.reserved.state, trial.used("b"), trial.sums.taken) == (ALLOCATED, 1000, 0)


def _release(trial: Trial) -> None:
    trial.statement.release(trial.reserved, "why")
    assert (trial.reserved.state, trial.reserved.row) == (PENDING, -1)
    assert (trial.used("b"), trial.sums.taken) == (0, -1)


def _resize(trial: Trial) -> None:
    trial.statement.resize(trial.gang, 5)
    assert trial.gang.size == Size(1, 5, 5)


def _spare(trial: Trial) -> None:
    trial.statement.evict(trial.running, "why")
    trial.statement.spare(trial.running, RUNNING)
    assert (trial.running.state, trial.used("a"), trial.sums.taken) == (RUNNING, 1000, 0)


CHANGES = [_place, _place_many, _pipeline, _evict, _claim, _release, _resize, _spare]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_taken_back_leaves_no_trace(trial: Trial, change: Any) -> None:
    change(trial)
    assert not trial.statement.empty
    trial.world.cluster.validate()
    trial.statement.rollback()
    assert trial.statement.empty
    assert trial.picture() == trial.before
    assert trial.session.take_decisions() == []
    trial.world.cluster.validate()


def test_what_was_before_a_checkpoint_stays(trial: Trial) -> None:
    _place(trial)
    middle, mark = trial.picture(), trial.statement.checkpoint()
    assert mark == 1
    trial.statement.evict(trial.running, "")
    trial.statement.resize(trial.gang, 1)
    trial.statement.release(trial.reserved, "")
    trial.statement.rollback(mark)
    assert trial.picture() == middle
    trial.statement.rollback()
    assert trial.picture() == trial.before


def test_rows_are_looked_at_again_after_each_change_and_after_its_undoing(trial: Trial) -> None:
    def touched() -> list[int]:
        return sorted({*trial.session.touched_since(tick).tolist()})

    tick = trial.session.tick
    trial.statement.release(trial.reserved, "")
    assert touched() == [trial.row("b")]
    tick = trial.session.tick
    trial.statement.rollback()
    assert touched() == [trial.row("b")]
    tick = trial.session.tick
    trial.statement.place([trial.waiting], [trial.row("a")])
    assert touched() == [trial.row("a")]
    tick = trial.session.tick
    trial.statement.rollback()
    assert touched() == [trial.row("a")]


def test_a_budget_counts_who_leaves_and_counts_back(trial: Trial) -> None:
    trial.world.budget("pdb", 1)
    session = trial.world.session(profile(["gang"]))
    statement = session.statement()
    assert not session.budgets.broken_by([trial.running])
    statement.evict(trial.running, "")
    assert session.budgets.broken_by([trial.running])
    mark = statement.checkpoint()
    statement.spare(trial.running, RUNNING)
    assert not session.budgets.broken_by([trial.running])
    statement.rollback(mark)
    assert session.budgets.broken_by([trial.running])
    statement.rollback()
    assert not session.budgets.broken_by([trial.running])


# --- what is kept ------------------------------------------------------------------------------------------------


def test_binds_say_how_many_go_together_and_everything_else_what_it_is(trial: Trial) -> None:
    trial.statement.place([trial.waiting], [trial.row("a")])
    trial.statement.claim(trial.reserved)
    trial.statement.pipeline(trial.other, trial.row("b"))
    trial.statement.evict(trial.running, "make room", 7)
    trial.statement.resize(trial.gang, 4)
    trial.statement.commit(gangs=2)
    assert trial.session.take_decisions() == [
        Bind("ns/waiting", "a", "ns/g", 2, 2),
        Bind("ns/reserved", "b", "ns/g", 2, 2),
        Nominate("ns/other", "b"),
        Evict("ns/running", "make room", 7),
        Resize("ns/g", 4),
    ]
    assert trial.session.promised == [trial.other]
    assert trial.statement.empty


def test_one_gang_alone_is_one(trial: Trial) -> None:
    _place(trial)
    trial.statement.commit()
    assert trial.session.take_decisions() == [Bind("ns/waiting", "a", "ns/g", 1, 1)]
    trial.statement.rollback()  # it is kept
    assert trial.waiting.state is ALLOCATED


def test_a_release_goes_out_with_its_reason(trial: Trial) -> None:
    trial.statement.release(trial.reserved, "not needed")
    trial.statement.commit()
    assert trial.session.take_decisions() == [Release("ns/reserved", "ns/g", "not needed")]


def test_a_task_without_a_pod_is_reserved_where_others_are_bound(trial: Trial) -> None:
    slot = trial.world.task("slot", gang="ns/g", slot="slot/g/w/0", has_pod=False)
    trial.statement.place([slot], [trial.row("a")])
    trial.statement.commit()
    assert (slot.state, slot.row) == (RESERVED, trial.row("a"))
    assert trial.session.take_decisions() == [Reserve("ns/slot", "a", "ns/g")]
    trial.world.cluster.validate()


def test_places_are_kept_reserved_and_promises_are_not(trial: Trial) -> None:
    trial.statement.claim(trial.reserved)
    trial.statement.place([trial.waiting], [trial.row("a")])
    trial.statement.pipeline(trial.other, trial.row("b"))
    assert trial.statement.reserve()
    # What was reserved before is no news.
    assert trial.session.take_decisions() == [Reserve("ns/waiting", "a", "ns/g")]
    assert [each.state for each in (trial.reserved, trial.waiting, trial.other)] == [RESERVED, RESERVED, PENDING]
    assert trial.sums.taken == 1
    trial.world.cluster.validate()


def test_there_may_be_nothing_to_reserve(trial: Trial) -> None:
    trial.statement.pipeline(trial.waiting, trial.row("b"))
    assert not trial.statement.reserve()
    assert trial.picture() == trial.before
    assert not trial.session.statement().reserve()


def test_a_nomination_gives_everything_back_and_says_where(trial: Trial) -> None:
    trial.statement.place([trial.waiting], [trial.row("a")])
    trial.statement.pipeline(trial.other, trial.row("b"))
    trial.statement.evict(trial.running, "")
    trial.statement.nominate()
    assert trial.session.take_decisions() == [Nominate("ns/waiting", "a"), Nominate("ns/other", "b")]
    assert (trial.waiting.nominated, trial.other.nominated) == (trial.row("a"), trial.row("b"))
    assert trial.running.nominated == -1
    assert (trial.waiting.state, trial.running.state, trial.sums.taken) == (PENDING, RUNNING, 0)


def test_whether_anybody_has_to_go(trial: Trial) -> None:
    _place(trial)
    assert not trial.statement.evicts
    trial.statement.evict(trial.running, "")
    assert trial.statement.evicts


@pytest.mark.parametrize("wanted", [-1, 6])
def test_a_gang_is_not_asked_to_be_larger_or_smaller_than_it_can_be(trial: Trial, wanted: int) -> None:
    with pytest.raises(AssertionError, match=str(wanted)):
        trial.statement.resize(trial.gang, wanted)
    assert trial.statement.empty
    for bound in (1, 5, 0):  # none at all: it is to wait
        trial.statement.resize(trial.gang, bound)
    rigid = trial.world.cluster.gangs[trial.world.gang("rigid")]
    with pytest.raises(AssertionError, match="elastic"):
        trial.statement.resize(rigid, 1)


def test_any_order_of_changes_is_undone(trial: Trial) -> None:
    """All changes in random order, on top of each other, and back to every point in between."""
    rng = np.random.default_rng(5)
    pictures, marks = [trial.before], [0]
    task: Task
    for _ in range(200):
        task = [trial.running, trial.reserved, trial.waiting, trial.other][rng.integers(4)]
        row = int(rng.integers(2))
        if task.state is PENDING:
            if rng.integers(2):
                trial.statement.place([task], [row])
            else:
                trial.statement.pipeline(task, row)
        elif task.state is RESERVED and rng.integers(2):
            trial.statement.release(task, "")
        elif task.state in (RUNNING, RESERVED, ALLOCATED):
            trial.statement.evict(task, "")
        else:
            back = int(rng.integers(len(marks)))
            trial.statement.rollback(marks[back])
            assert trial.picture() == pictures[back]
            del pictures[back + 1 :], marks[back + 1 :]
            continue
        trial.world.cluster.validate()
        pictures.append(trial.picture())
        marks.append(trial.statement.checkpoint())
    trial.statement.rollback()
    assert trial.picture() == trial.before
