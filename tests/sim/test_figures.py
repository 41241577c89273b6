"""The figures of a run against a count by hand, and against a plain walk through random histories."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from podium.sim.figures import GANTT_ROWS, MAP_ROWS, figures
from podium.sim.ledger import Amount, Ledger, LedgerJob, LedgerNode


def two_nodes() -> Ledger:
    """Two nodes of four GPUs for 100 seconds: a job of four from 0 to 50, one of two from 10 (asked at 0)."""
    ledger = Ledger()
    ledger.add_nodes([LedgerNode("a", Amount(4, 8, 100)), LedgerNode("b", Amount(4, 8, 100))])
    for name, queue, gpus, node, began, ended in (("x", "red", 4, "a", 0, 50), ("y", "blue", 2, "b", 10, 100)):
        amount = Amount(gpus, 1, 10)
        job = LedgerJob(name, queue, 1, amount, 0.0, float(began), float(ended), duration=float(ended - began))
        ledger.jobs.append(job)
        ledger.fulfilled(ledger.wished(amount, 0.0), ended)
        ledger.ended(ledger.began(node, amount, began), ended)
    return ledger


def test_figures_by_hand() -> None:
    found = figures(two_nodes(), {"red": 3})
    assert (found.jobs, found.finished, found.unfinished, found.makespan_seconds) == (2, 2, 0, 100)
    assert found.utilisation_percent.gpu == pytest.approx(100 * (4 * 50 + 2 * 90) / 800)
    assert found.utilisation_percent.cpu == pytest.approx(100 * (50 + 90) / 1600)
    # Six GPUs are asked for until 50 and two until 100, and there are eight.
    assert found.allocation_percent.gpu == pytest.approx(100 * 380 / (6 * 50 + 2 * 50))
    # Half of the pods want four GPUs, half want two.  Node b has two free from 10 on, of use to the second half.
    assert found.fragmentation_percent == pytest.approx(100 * (0.5 * 2 * 90) / (800 - 380), abs=0.01)
    assert (found.wait_seconds.p50, found.wait_seconds.max) == (0, 10)
    assert found.waits.jobs == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert sum(found.series.jobs_waiting) / len(found.series.jobs_waiting) == pytest.approx(10 / 100, abs=0.01)
    assert [(queue.name, queue.weight, queue.jobs) for queue in found.queues] == [("blue", 1, 1), ("red", 3, 1)]
    assert found.queues[0].slowdown == pytest.approx(100 / 90, abs=0.001)
    assert [row.nodes for row in found.map.rows] == ["a", "b"]
    assert sum(found.map.rows[0].percent) / len(found.map.rows[0].percent) == pytest.approx(50, abs=0.1)
    assert sum(found.map.rows[1].percent) / len(found.map.rows[1].percent) == pytest.approx(45, abs=0.1)
    assert [job.name for job in found.gantt.jobs] == ["x", "y"]


def test_nothing_at_all() -> None:
    found = figures(Ledger())
    assert (found.jobs, found.makespan_seconds, found.fragmentation_percent) == (0, 0, None)
    assert found.utilisation_percent.gpu is None
    assert found.map.rows == []


def test_large_runs_are_shown_small() -> None:
    ledger = Ledger()
    ledger.add_nodes(LedgerNode(f"n{number:04d}", Amount(8, 8, 8)) for number in range(1000))
    for number in range(5000):
        job = LedgerJob(f"j{number}", "", 1, Amount(1, 0, 0), number, number + 1.0, number + 11.0, duration=10)
        ledger.jobs.append(job)
        ledger.ended(ledger.began(f"n{number % 1000:04d}", job.asks, job.started), job.ended)
    found = figures(ledger)
    assert len(found.map.rows) <= MAP_ROWS
    assert found.map.nodes_a_row == 21
    assert found.map.rows[0].nodes == "n0000 to n0020"
    assert (len(found.gantt.jobs), found.gantt.of) == (GANTT_ROWS, 5000)


@pytest.mark.parametrize("seed", range(5))
def test_random_histories_add_up(seed: int) -> None:
    dice = random.Random(seed)
    ledger = Ledger()
    ledger.add_nodes(LedgerNode(f"n{number}", Amount(8, 4, 1)) for number in range(4))
    stays = []
    for number in range(60):
        arrival = dice.uniform(0, 900)
        started = arrival + dice.choice([0.0, dice.uniform(0, 300)])
        ended, gpus, node = started + dice.uniform(1, 200), dice.choice([1, 2, 4]), dice.randrange(4)
        amount = Amount(gpus, 1, 0)
        ledger.jobs.append(
            LedgerJob(f"j{number}", "q", 1, amount, arrival, started, ended, duration=ended - started)
        )
        ledger.fulfilled(ledger.wished(amount, arrival), ended)
        ledger.ended(ledger.began(f"n{node}", amount, started), ended)
        stays.append((node, started, ended, gpus))
    found = figures(ledger)
    used = sum((ended - started) * gpus for _, started, ended, gpus in stays)
    assert found.utilisation_percent.gpu == pytest.approx(100 * used / (32 * found.makespan_seconds), abs=0.01)
    # The mean of every series is the figure for the whole run, and the map adds up to the same.
    series = found.series.gpu_percent
    assert series is not None
    assert sum(series) / len(series) == pytest.approx(found.utilisation_percent.gpu, abs=0.01)
    # The lost GPUs of each node by a walk through its moments.
    shares = {size: sum(gpus == size for *_, gpus in stays) / len(stays) for size in (1, 2, 4)}
    lost = 0.0
    for node in range(4):
        mine = [each for each in stays if each[0] == node]
        times = sorted({0.0, found.makespan_seconds, *(t for each in mine for t in each[1:3])})
        for low, high in pairwise(times):
            free = 8 - sum(gpus for _, began, ended, gpus in mine if began <= low < ended)
            lost += max(0, free) * sum(share for size, share in shares.items() if size > free) * (high - low)
    assert found.fragmentation_percent == pytest.approx(
        100 * lost / (32 * found.makespan_seconds - used), abs=0.05
    )
