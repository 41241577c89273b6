"""Who gives way for whom: only those who can help, only as far as it helps, and within what limits allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podium.core.cycle import run_cycle
from podium.core.model.decisions import Resize
from podium.core.model.model import State
from tests.core.jobs import GPU, Jobs
from tests.core.world import NOW, profile

POLICIES = pytest.mark.parametrize("policy", ["cfs", "fulfilment"])
LATE = NOW - 2000


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


def _held(jobs: Jobs, name: str) -> int:
    return jobs.cluster.gangs[f"ns/{name}"].counts[State.RESERVED]


def _with_queues(jobs: Jobs, **arguments: Any) -> Mapping[str, int]:
    """A plan with limits of queues, as the profile of a dialect has them."""
    by = profile(["gang", "predicates", "capacity"], actions="elastic", arguments={"elastic": arguments})
    jobs.cluster.planned.setdefault(None, (NOW - 60, -1))
    before = {gang.name: gang.size.wanted for gang in jobs.cluster.gangs.values() if gang.size is not None}
    told = {
        each.gang.removeprefix("ns/"): each.size
        for each in run_cycle(jobs.cluster, by, NOW)
        if isinstance(each, Resize)
    }
    jobs.cluster.validate()
    return {name: told.get(name, size) - size for name, size in before.items()}


# --- limits ----------------------------------------------------------------------------------------------------


@POLICIES
def test_nobody_shrinks_for_a_job_that_its_user_s_quota_keeps_out(jobs: Jobs, policy: str) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("a1", [100] * 2, least=2, most=2, user="alice")
    jobs.job("b", [1000] * 6, most=9)
    jobs.job("a2", least=2, most=2, user="alice")
    assert jobs.plan(quotas={"alice": {"cpu": 3000}}, policy=policy) == {"a1": 0, "b": 0, "a2": 0}


@POLICIES
def test_a_full_user_s_quota_is_shared_among_the_user_s_jobs(jobs: Jobs, policy: str) -> None:
    """There is room on the nodes; only what the same user gives back helps."""
    jobs.room("n1", cpu=30)
    jobs.job("other", [9000] * 8, most=9)
    jobs.job("a1", [1000] * 8, most=20, user="alice")
    jobs.job("a2", least=2, most=2, user="alice", submitted=LATE)
    sizes = jobs.plan(quotas={"alice": {"cpu": 8000}}, policy=policy)
    assert (sizes["a1"], sizes["a2"]) == (-2, 0)
    assert sizes["other"] >= 0


@POLICIES
def test_a_full_namespace_s_quota_is_shared(jobs: Jobs, policy: str) -> None:
    jobs.room("n1", cpu=30)
    jobs.quota("ns/q", {"cpu": 8000}, {"cpu": 8000})
    jobs.job("rich", [1000] * 8, most=20)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan(policy=policy) == {"rich": -2, "wait": 0}


@POLICIES
def test_what_is_leaving_frees_a_quota_once(jobs: Jobs, policy: str) -> None:
    """Two of eight are to leave; that is what the other one waits for, and it is still there."""
    jobs.room("n1", cpu=30)
    jobs.quota("ns/q", {"cpu": 8000}, {"cpu": 8000})
    jobs.job("rich", [1000] * 8, most=20, wanted=6, window=60, scaled=NOW - 1)
    jobs.job("poor", [1], most=9)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan(policy=policy) == {"rich": 0, "poor": 0, "wait": 0}


@POLICIES
def test_a_queue_s_capability_is_shared(jobs: Jobs, policy: str) -> None:
    jobs.queue("q", capability={"cpu": 4000})
    jobs.room("n1", cpu=20)
    jobs.job("rich", [1000] * 4, most=9)
    jobs.job("wait", least=2, most=2)
    assert _with_queues(jobs, policy=policy) == {"rich": -2, "wait": 0}


@POLICIES
def test_the_load_that_is_wanted_is_shared(jobs: Jobs, policy: str) -> None:
    jobs.room("n1", cpu=10)
    jobs.job("rich", [1000] * 8, most=20)
    jobs.job("wait", least=2, most=2, submitted=LATE)
    assert jobs.plan(maxLoadDesired=0.8, policy=policy) == {"rich": -2, "wait": 0}


@pytest.mark.parametrize("pending", [0, 1])
def test_jobs_shrink_when_others_make_more_load_than_is_wanted(jobs: Jobs, pending: int) -> None:
    jobs.room("n1", cpu=20, used=10)
    jobs.job("rich", [1000] * 5, most=9)
    jobs.job("poor", [1] * 3, most=9, window=60, scaled=NOW - 1)
    for number in range(pending):
        jobs.task(f"web-{number}")
    assert jobs.plan(maxLoadDesired=0.8) == {"rich": -2 - pending, "poor": 0}


def test_pods_of_others_that_wait_are_part_of_the_load(jobs: Jobs) -> None:
    jobs.room("n1", cpu=10, used=1)
    jobs.job("j", [1000] * 4, most=9)
    for number in range(2):
        jobs.task(f"web-{number}")
    assert jobs.plan(maxLoadDesired=0.8) == {"j": 1}


def test_nobody_shrinks_for_a_job_that_may_not_grow(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [1000] * 6, most=20)
    jobs.job("poor", [1] * 2, most=20, user="alice")
    assert jobs.plan(quotas={"alice": {"cpu": 2000}}) == {"rich": 0, "poor": 0}


# --- waiting for long --------------------------------------------------------------------------------------------


def test_a_job_holds_no_more_than_its_quota_lets_it(jobs: Jobs) -> None:
    jobs.room("n1", cpu=10)
    jobs.job("a1", [100] * 2, least=2, most=2, user="alice")
    jobs.job("a2", least=2, most=2, user="alice", submitted=LATE)
    jobs.job("b", [10] * 2, most=20)
    quotas = {"alice": {"cpu": 3000}}
    assert jobs.plan(quotas=quotas) == {"a1": 0, "a2": 0, "b": 5}
    assert _held(jobs, "a2") == 1
    jobs.room("n2", cpu=4)
    jobs.cluster.planned.clear()
    assert jobs.plan(quotas=quotas)["a2"] == 0, "what it holds counts as well"


@pytest.mark.parametrize(
    "never",
    [
        {"least": 50, "most": 50},
        {"least": 7, "most": 7, "user": "alice"},
    ],
)
def test_jobs_that_can_never_start_keep_the_turn_from_nobody(jobs: Jobs, never: dict[str, Any]) -> None:
    """A dozen of them have waited longer than the one that can."""
    jobs.room("n1", cpu=8)
    for name in ("one", "two"):
        jobs.job(name, [100] * 4, most=9, level=1000)
    for number in range(12):
        jobs.job(f"never-{number}", **{**never, "least": never["least"] + number, "most": 90}, submitted=LATE)
    jobs.job("late", least=3, most=3, level=10, submitted=NOW - 1000)
    sizes = jobs.plan(quotas={"alice": {"cpu": 6000}})
    assert sizes["one"] + sizes["two"] == -3


def test_a_job_larger_than_its_queue_may_be_keeps_the_turn_from_nobody(jobs: Jobs) -> None:
    jobs.queue("q", capability={"cpu": 4000})
    jobs.room("n1", cpu=20)
    jobs.job("never", least=5, most=5, submitted=LATE)
    jobs.job("rich", [100] * 4, most=9, level=1000)
    jobs.job("late", least=2, most=2, level=10, submitted=NOW - 1000)
    assert _with_queues(jobs) == {"never": 0, "rich": -2, "late": 0}
    assert not _held(jobs, "never")


def test_who_waits_for_its_own_user_keeps_the_turn_from_nobody(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    for number in range(3):
        jobs.job(f"a{number}", [1], user="alice")
    jobs.job("big", least=3, most=3, user="alice", submitted=LATE)
    jobs.job("bob", least=2, most=2, submitted=NOW - 1000)
    jobs.job("rich", [100] * 5, most=9, level=1000)
    sizes = jobs.plan(quotas={"alice": {"cpu": 4000}})
    assert sizes["rich"] == -2
    alone = Jobs()
    alone.room("n1", cpu=8)
    for number in range(3):
        alone.job(f"a{number}", [1], user="alice")
    alone.job("big", least=3, most=3, user="alice", submitted=LATE)
    alone.plan(quotas={"alice": {"cpu": 4000}})
    assert _held(alone, "big") == 1, "when nobody else has waited for so long it is its turn"


# --- only who can help -------------------------------------------------------------------------------------------


def test_trainers_elsewhere_do_not_go_for_a_pod_that_needs_a_gpu(jobs: Jobs) -> None:
    jobs.room("c", cpu=8)
    jobs.room("g", cpu=8, gpu=8)
    jobs.job("cpus", [1000] * 8, most=8, at="c")
    jobs.job("gpus", [10] * 8, most=9, gpu=1, at="g")
    jobs.task("web", more={GPU: 1})
    assert jobs.plan() == {"cpus": 0, "gpus": -1}


def test_trainers_that_went_for_nothing_stay(jobs: Jobs) -> None:
    """Both are on the node; what lacks are GPUs."""
    jobs.room("g", cpu=16, gpu=8)
    jobs.job("cpus", [1000] * 8, most=8)
    jobs.job("gpus", [50] * 8, most=9, gpu=1)
    jobs.job("wait", least=2, most=2, gpu=1, submitted=LATE)
    assert jobs.plan() == {"cpus": 0, "gpus": -2, "wait": 0}


def test_a_production_job_ends_only_those_who_are_where_it_could_be(jobs: Jobs) -> None:
    jobs.room("c", cpu=4)
    jobs.room("g", cpu=4, gpu=4)
    jobs.job("elsewhere", [1000] * 4, least=4, most=4, level=10, at="c")
    jobs.job("there", [10] * 4, least=4, most=4, level=10, gpu=1, at="g")
    jobs.job("prod", level=10_000, least=2, most=2, gpu=1)
    assert jobs.plan(mayEnd=True) == {"elsewhere": 0, "there": -4, "prod": 0}


def test_nobody_else_is_ended_while_one_is_going(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("going", [100] * 4, least=4, most=4, level=10, wanted=0)
    jobs.job("low", [10] * 4, least=4, most=4, level=10)
    jobs.job("prod", level=10_000, least=2, most=2)
    assert jobs.plan(mayEnd=True) == {"going": 0, "low": 0, "prod": 0}


def test_scores_even_out_beside_a_job_that_has_nothing_to_give_for_that(jobs: Jobs) -> None:
    """It has got most of all, and none of its trainers is where a GPU is."""
    jobs.room("c", cpu=8)
    jobs.room("g", cpu=20, gpu=8)
    jobs.job("cpus", [90_000] * 8, most=8, at="c")
    jobs.job("rich", [9000] * 6, most=8, gpu=1, at="g")
    jobs.job("poor", [1] * 2, most=8, gpu=1, at="g")
    sizes = jobs.plan()
    assert (sizes["cpus"], sizes["poor"]) == (0, 0)
    assert sizes["rich"] < 0


# --- who comes first ---------------------------------------------------------------------------------------------


def test_a_pod_that_nobody_can_help_keeps_no_help_from_jobs(jobs: Jobs) -> None:
    """It would fit on an empty node; what is there is not a unit's."""
    jobs.room("n1", cpu=8, used=4)
    jobs.job("rich", [1000] * 4, most=9)
    jobs.task("web", cpu=8000)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan() == {"rich": -2, "wait": 0}


def test_jobs_give_way_for_a_pod_also_when_another_job_starts(jobs: Jobs) -> None:
    jobs.room("n", cpu=4)
    jobs.room("g", cpu=1, gpu=1)
    jobs.job("rich", [1000] * 4, most=9, at="n")
    jobs.task("web", cpu=2000)
    jobs.job("new", gpu=1)
    assert jobs.plan() == {"rich": -2, "new": 1}


@POLICIES
def test_a_least_that_was_raised_waits_for_nothing_but_room(jobs: Jobs, policy: str) -> None:
    """Not for the window, and no further than that within it."""
    jobs.room("n1", cpu=8)
    jobs.job("j", [10] * 2, least=4, most=8, window=60, scaled=NOW - 1)
    assert jobs.plan(policy=policy) == {"j": 2}


@POLICIES
def test_others_give_way_for_a_least_that_was_raised(jobs: Jobs, policy: str) -> None:
    jobs.room("n1", cpu=6)
    jobs.job("raised", [1000] * 2, least=4, most=6)
    jobs.job("poor", [1] * 4, most=4)
    assert jobs.plan(policy=policy) == {"raised": 0, "poor": -2}
