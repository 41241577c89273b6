"""The answer in words: what changed, who never starts, and which run is best."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sim.figures import figures
from podium.sim.ledger import Amount, Ledger, LedgerJob, LedgerNode
from podium.sim.report.answer import answer
from podium.sim.report.rows import LINES, Line, best, lines_of, starving

Document = dict[str, Any]


def run(name: str, waits: dict[str, float | None], use: float = 60.0, **more: Any) -> Document:
    queues = [{"name": queue, "weight": 1, "wait_seconds": {"mean": wait}} for queue, wait in waits.items()]
    known = [wait for wait in waits.values() if wait is not None]
    mean = sum(known) / len(known) if known else None
    return {
        "run": name,
        "gpus": 8,
        "jobs": 10,
        "never_started": 0,
        "evictions": 0,
        "queues": queues,
        "wait_seconds": {"mean": mean, "p50": mean, "p95": mean},
        "utilisation_percent": {"gpu": use},
        **more,
    }


def test_what_changed_for_whom() -> None:
    base = run("1:1", {"production": 100.0, "research": 100.0})
    other = run("3:1", {"production": 58.0, "research": 158.0})
    assert answer([base, other]) == [
        "3:1 instead of 1:1: production waits 42 % less, research waits 58 % longer; use of GPUs unchanged (60 %)."
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (100.0, 100.5, "jobs wait as long as before"),
        (0.0, 0.5, "jobs: hardly any wait, as before"),
        (0.0, 120.0, "jobs wait 2 min instead of not at all"),
        (100.0, 450.0, "jobs wait 4.5 times as long"),
        (100.0, 150.0, "jobs wait 50 % longer"),
        (100.0, 25.0, "jobs wait 75 % less"),
    ],
)
def test_how_a_wait_changes(before: float, after: float, said: str) -> None:
    assert said in answer([run("a", {"q": before}), run("b", {"q": after})])[0]


def test_use_evictions_and_who_never_starts_are_said_where_they_differ() -> None:
    never = [{"name": "giant", "queue": "q", "pods": 1, "gpus": 9, "why": "the cluster has 8 in all"}]
    base = run("a", {"q": 10.0})
    other = run("b", {"q": 5.0}, use=70.0, evictions=3, never_started=1, never=never)
    first, second = answer([base, other])
    assert (
        "use of GPUs 70 % instead of 60 %; 3 evictions instead of 0; 1 jobs that never start instead of 0" in first
    )
    assert second == "b: 1 job never starts. giant: the cluster has 8 in all."


def test_one_run_is_summed_up() -> None:
    (said,) = answer([run("a", {"q": 90.0})])
    assert said.startswith("All 10 jobs started; half of all jobs waited at most ")
    assert "60 % of the GPUs were in use on average" in said
    assert answer([{"run": "a", "jobs": 0}]) == ["There were no jobs."]


def test_equal_reasons_are_said_once() -> None:
    never = [{"name": f"j{n}", "queue": "", "pods": 1, "gpus": 9, "why": "too large"} for n in range(5)]
    *_, said = answer([run("a", {"q": None}, never_started=5, never=never)])
    assert said == "5 of 10 jobs never start. j0, j1, j2 and others: too large."


def test_a_run_that_starves_a_job_is_best_in_nothing() -> None:
    runs = [run("a", {"q": 10.0}), run("b", {"q": 1.0}, never_started=2), run("c", {"q": 20.0})]
    assert starving(runs) == {1}
    line = Line("wait_seconds.mean", "wait", "s", -1)
    assert best([10.0, 1.0, 20.0], line, starving(runs)) == {0}
    # Where all starve as many, they are compared.
    assert starving([run("a", {}, never_started=1), run("b", {}, never_started=1)]) == set()


def test_what_is_the_same_in_all_runs_comes_last() -> None:
    runs = [run("a", {"q": 10.0}, nodes=4), run("b", {"q": 5.0}, nodes=8)]
    paths = [line.path for line in lines_of(runs)]
    assert paths[0] == "nodes"  # that is what was asked about
    assert paths[1] == "never_started"
    assert paths[-2:] == ["gpus", "jobs"]


def test_every_figure_says_what_it_means() -> None:
    assert [line.path for line in LINES if not line.means] == []


def starved() -> Ledger:
    """Two queues of one job each that ran for 10 s, and a job that never starts."""
    ledger = Ledger()
    ledger.add_nodes([LedgerNode("a", Amount(4, 8, 100))])
    for name, queue, arrival, started, ended in (("x", "red", 0, 0, 10), ("y", "blue", 0, 10, 20)):
        ledger.jobs.append(LedgerJob(name, queue, 1, Amount(4, 1, 1), arrival, started, ended, duration=10.0))
    ledger.jobs.append(LedgerJob("z", "blue", 1, Amount(8, 1, 1), 0.0, duration=10.0, why="needs 8, and 4 is all"))
    return ledger


def test_who_never_starts_waits_to_the_end() -> None:
    found = figures(starved())
    assert (found.jobs, found.finished, found.never_started) == (3, 2, 1)
    assert found.wait_seconds.max == 20.0
    assert found.wait_seconds.mean == 10.0
    assert [(each.name, each.gpus, each.why) for each in found.never] == [("z", 8, "needs 8, and 4 is all")]
    blue, red = found.queues
    assert (blue.never_started, red.never_started) == (1, 0)
    assert (blue.wait_seconds.mean, red.wait_seconds.mean) == (15.0, 0.0)
    assert blue.slowdown == 2.5  # (20 + 30) / 10 / 2: it ends after the run at the earliest


def test_fairness_is_weighed() -> None:
    """Twice as slow is fair for half the weight."""
    ledger = starved()
    ledger.jobs.pop()
    assert figures(ledger, {"red": 2, "blue": 1}).fairness == 1.0
    equal = figures(ledger).fairness
    assert equal is not None
    assert equal < 1.0


def test_where_nothing_ran_there_is_no_figure() -> None:
    found = figures(Ledger())
    assert (found.wait_seconds.mean, found.completion_seconds.p95, found.fairness) == (None, None, None)
