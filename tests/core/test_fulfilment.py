"""The fulfilment policy: its order, one step of a dry run, and whole plans."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.elastic.fulfilment import (
    Record,
    fulfilment,
    needs_gpu,
    sorted_units,
    step,
)
from podium.core.elastic.unit import Request, Unit
from tests.core.jobs import Jobs

# Cores in thousandths and MB, as the autoscaler's own tests have them.
MILLI, MB = 1000, 1024


def unit(name: str, cpu: float, memory: float, gpu: int, least: int, most: int, size: int) -> Unit:
    request = Request(float(gpu), cpu / MILLI, memory / MB)
    return Unit(name, least=least, most=most, expected=size, running=size, request=request)


def record(**amounts: float) -> Record:
    """Totals and what is asked for; a node that takes anything is always there."""

    def of(gpu: str, cpu: str, memory: str) -> Request:
        return Request(amounts.get(gpu, 0), amounts.get(cpu, 0) / MILLI, amounts.get(memory, 0) / MB)

    return Record(of("gpuTotal", "cpuTotal", "memTotal"), of("gpuUsed", "cpuReq", "memReq"))


def steps(job: Unit, known: Record, downs: list[bool], max_load: float = 1.0, *, fits: bool = True) -> list[int]:
    found = []
    for down in downs:
        more = step(job, known, max_load, lambda: fits, down=down)
        found.append(more)
        job.planned += more
        known.add(job.request, more)
    return found


def test_the_least_fulfilled_elastic_job_is_first() -> None:
    jobs = [
        unit(name, 1000, 1, 1, 1, most, size)
        for name, most, size in zip("abcd", (2, 20, 10, 1), (2, 2, 2, 2), strict=True)
    ]
    assert [each.name for each in sorted_units(jobs, lambda job: job.elastic)] == ["b", "c", "a"]
    assert fulfilment(unit("x", 1, 1, 0, 3, 3, 3)) == 1.0


def test_jobs_with_gpus_can_be_picked() -> None:
    jobs = [unit(name, 1000, 1, gpu, 1, 9, 2) for name, gpu in zip("abcd", (1, 0, 0, 0), strict=True)]
    assert [each.name for each in sorted_units(jobs, needs_gpu)] == ["a"]


def test_among_equally_fulfilled_ones_who_asks_for_less_is_first() -> None:
    jobs = [unit("gpu", 1, 1, 1, 1, 3, 1), unit("wide", 9, 1, 0, 1, 3, 1), unit("small", 1, 1, 0, 1, 3, 1)]
    assert [each.name for each in sorted_units(jobs)] == ["small", "wide", "gpu"]


@pytest.mark.parametrize(
    ("known", "job", "downs", "found"),
    [
        # at its most
        ({"cpuTotal": 2000, "memTotal": 1000}, (1000, 105, 0, 1, 2, 2), [False], [0]),
        # above it
        ({"cpuTotal": 2000, "memTotal": 1000}, (1000, 105, 0, 1, 2, 4), [True, False], [-1, -1]),
        # no cores
        (
            {"cpuReq": 1000, "cpuTotal": 1000, "memReq": 100, "memTotal": 1000},
            (1000, 105, 0, 1, 3, 1), [False], [0],
        ),
        # GPUs and cores; a pass down never grows
        (
            {"cpuTotal": 2000, "memReq": 100, "memTotal": 1000, "gpuTotal": 10},
            (1000, 11, 1, 1, 3, 1), [False, True], [1, 0],
        ),
        # too much is asked for: down to the least
        (
            {"cpuReq": 5000, "cpuTotal": 3000, "memReq": 1000, "memTotal": 1000, "gpuUsed": 10, "gpuTotal": 10},
            (1000, 11, 0, 1, 3, 3), [True, True, True], [-1, -1, 0],
        ),
        # no memory
        (
            {"cpuReq": 1000, "cpuTotal": 1000, "memReq": 1000, "memTotal": 1000, "gpuUsed": 10, "gpuTotal": 10},
            (1000, 105, 0, 1, 3, 1), [False], [0],
        ),
    ],
)  # fmt: skip
def test_steps(known: dict[str, float], job: tuple[Any, ...], downs: list[bool], found: list[int]) -> None:
    assert steps(unit("j", *job), record(**known), downs) == found


@pytest.mark.parametrize(
    ("known", "job", "load", "more"),
    [
        ({"cpuTotal": 1000, "memReq": 1000, "memTotal": 1000, "gpuTotal": 10}, (1000, 1, 1, 1, 3, 1), 1.0, 0),
        (
            {"cpuReq": 1000, "cpuTotal": 3000, "memReq": 100, "memTotal": 1000, "gpuTotal": 10},
            (1000, 105, 0, 1, 3, 1), 0.8, 1,
        ),
        (
            {"cpuReq": 990, "cpuTotal": 2000, "memReq": 100, "memTotal": 1000, "gpuUsed": 9, "gpuTotal": 10},
            (1000, 1, 1, 1, 3, 1), 1.0, 1,
        ),
    ],
)  # fmt: skip
def test_growth_ends_where_the_cluster_does(
    known: dict[str, float], job: tuple[Any, ...], load: float, more: int
) -> None:
    assert sum(steps(unit("j", *job), record(**known), [False] * 5, load)) == more


def test_room_in_the_cluster_is_none_where_no_node_has_it() -> None:
    known = record(cpuReq=20_500, cpuTotal=24_000, memReq=100, memTotal=100_000)
    assert steps(unit("j", 2000, 8590, 0, 1, 5, 2), known, [False], fits=False) == [0]
    jobs = Jobs()
    jobs.room("n1", cpu=3.75, used=2)
    jobs.room("n2", cpu=3.75, used=2)
    jobs.job("j", [], cpu=2, most=5)
    jobs.job("k", [5], cpu=0.5, most=5, at="n1")
    assert jobs.plan(policy="fulfilment") == {"j": 0, "k": 2}, "what waits counts as asked for"


# --- plans -------------------------------------------------------------------------------------------------------


@pytest.mark.argument("elastic", "policy")
def test_room_goes_to_the_least_fulfilled_whatever_it_has_got() -> None:
    for policy, expected in (("fulfilment", {"old": 2, "new": 1}), ("cfs", {"old": 1, "new": 2})):
        jobs = Jobs()
        jobs.room("n1", cpu=8)
        jobs.job("old", [9000], most=11)
        jobs.job("new", [1] * 4, most=11)
        assert jobs.plan(policy=policy) == expected


def test_jobs_shrink_for_one_that_waits() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=8)
    jobs.job("run", [9] * 8, least=2, most=10)
    jobs.job("wait", least=3, most=3)
    assert jobs.plan(policy="fulfilment") == {"run": -3, "wait": 0}


def test_jobs_shrink_when_more_is_used_than_is_wanted() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=10)
    jobs.job("run", [9] * 10, least=2, most=10)
    assert jobs.plan(policy="fulfilment", maxLoadDesired=0.8) == {"run": -2}


def test_a_job_whose_members_do_not_all_run_is_left_alone() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=10)
    jobs.job("run", [9] * 2, most=10, wanted=3)
    assert jobs.plan(policy="fulfilment") == {"run": 0}


def test_windows_hold() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=10)
    jobs.job("run", [9] * 2, most=10, window=60, scaled=999_990.0)
    assert jobs.plan(policy="fulfilment") == {"run": 0}


def test_jobs_give_way_for_pods_of_others() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=4)
    jobs.job("j", [1] * 4, most=9)
    for number in range(2):
        jobs.task(f"web-{number}")
    assert jobs.plan(policy="fulfilment") == {"j": -2}


def test_a_pod_of_others_that_no_node_has_room_for_is_helped_too() -> None:
    """In the sum there is room for it; on no node there is."""
    jobs = Jobs()
    for node in ("n1", "n2"):
        jobs.room(node, cpu=4)
        jobs.job(f"on-{node}", [1] * 3, most=3, at=node)
    jobs.task("web", cpu=2000)
    assert sorted(jobs.plan(policy="fulfilment").values()) == [-1, 0]


def test_what_no_node_could_take_keeps_no_room() -> None:
    jobs = Jobs()
    jobs.room("n1", cpu=4)
    jobs.job("j", [1] * 3, most=9)
    jobs.task("vast", cpu=50_000)
    jobs.job("enormous", cpu=50)
    assert jobs.plan(policy="fulfilment") == {"j": 1, "enormous": 0}
