"""What the fair policy plans."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.cycle import run_cycle
from podium.core.model.decisions import Evict, LookAgain, Reserve, Resize
from podium.core.model.model import State
from podium.core.profiles.profile import Profile
from tests.core.jobs import GPU, Jobs, plan_profile
from tests.core.world import GIB, NOW, profile

BOTH = pytest.mark.parametrize("mode", ["weighted", "literal"])


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


def _created(jobs: Jobs) -> set[str]:
    """Jobs all of whose slots have places."""
    return {
        gang.name
        for gang in jobs.cluster.gangs.values()
        if gang.size is not None and gang.size.wanted and gang.ready >= gang.minimum
    }


def test_a_job_that_does_not_fit_is_not_started_and_does_not_block_the_next(jobs: Jobs) -> None:
    jobs.room("n1", cpu=3)
    jobs.job("big", level=1000, least=4, most=8)
    jobs.job("small", level=10, least=2, most=2)
    assert jobs.plan() == {"big": 0, "small": 2}
    assert _created(jobs) == {"small"}
    assert "2 more" in jobs.refusal("big") or "cpu" in jobs.refusal("big")


def test_a_job_that_runs_grows_to_its_most_and_not_above(jobs: Jobs) -> None:
    jobs.room("n1", cpu=16)
    jobs.job("j", [10, 10], most=4)
    assert jobs.plan() == {"j": 2}


def test_free_room_is_dealt_one_by_one_from_the_left(jobs: Jobs) -> None:
    jobs.room("n1", cpu=7)
    jobs.job("rich", [100, 100], most=9)
    jobs.job("poor", [5, 5], most=9)
    assert jobs.plan() == {"poor": 2, "rich": 1}


def test_a_job_that_waits_is_served_before_others_grow(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("run", [50, 50], most=9)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan() == {"wait": 2, "run": 0}
    assert _created(jobs) == {"run", "wait"}


def test_even_scores_shrink_nobody(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("a", [50, 50], most=4)
    jobs.job("b", [51, 51], most=4)
    assert jobs.plan() == {"a": 0, "b": 0}


def test_within_its_window_a_job_does_not_grow_and_the_room_goes_to_the_next(jobs: Jobs) -> None:
    jobs.room("n1", cpu=5)
    jobs.job("cold", [5, 5], most=9, window=60, scaled=NOW - 20)
    jobs.job("warm", [100, 100], most=9)
    assert jobs.plan() == {"cold": 0, "warm": 1}


@pytest.mark.parametrize(("ago", "more"), [(59.9, 0), (60.0, 1)])
def test_a_window_is_over_to_the_moment(jobs: Jobs, ago: float, more: int) -> None:
    jobs.room("n1", cpu=3)
    jobs.job("j", [5, 5], most=9, window=60, scaled=NOW - ago)
    assert jobs.plan() == {"j": more}


def test_nothing_of_others_goes_for_a_job(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4, used=4)
    jobs.job("wait", level=10_000)
    assert jobs.plan() == {"wait": 0}
    assert not [each for each in jobs.decisions if isinstance(each, Evict)]


def test_a_user_s_quota_holds_for_starts_and_growth(jobs: Jobs) -> None:
    jobs.room("n1", cpu=16)
    jobs.job("a1", [10, 10], least=2, most=2, user="alice")
    jobs.job("a2", least=2, most=2, user="alice")
    jobs.job("b1", least=2, most=2, level=10, user="bob")
    jobs.job("a3", [1], most=9, user="alice", level=1000)
    quotas = {"alice": {"cpu": 4000}}
    assert jobs.plan(quotas=quotas) == {"a1": 0, "a2": 0, "b1": 2, "a3": 1}
    assert "alice" in jobs.refusal("a2")


@pytest.mark.parametrize("name", ["cpu", "requests.cpu"])
def test_a_namespace_s_quota_holds_for_starts_and_growth(jobs: Jobs, name: str) -> None:
    jobs.room("n1", cpu=16)
    jobs.quota("ns/q1", {name: 4000}, {name: 2000})
    jobs.job("a", [10, 10], most=9)
    jobs.job("b", least=3, most=3)
    assert jobs.plan() == {"a": 2, "b": 0}
    assert "q1" in jobs.refusal("b")


def test_everything_of_a_job_counts_against_a_quota(jobs: Jobs) -> None:
    jobs.room("n1", cpu=16)
    jobs.job("a", least=2, most=2, user="alice", fixed={"master": 1, "pserver": 1})
    assert jobs.plan(quotas={"alice": {"cpu": 3999}}) == {"a": 0}
    again = Jobs()
    again.room("n1", cpu=16)
    again.job("a", least=2, most=2, user="alice", fixed={"master": 1, "pserver": 1})
    assert again.plan(quotas={"alice": {"cpu": 4000}}) == {"a": 2}


def test_gpus_without_the_cores_they_need_are_not_room(jobs: Jobs) -> None:
    jobs.room("g1", cpu=4, gpu=4, used=3)
    jobs.job("g", most=4, cpu=2, gpu=1)
    assert jobs.plan() == {"g": 0}


@pytest.mark.argument("elastic", "minCpuPerGpu")
@pytest.mark.parametrize(("least", "started"), [(1, 1), (3, 0)])
def test_a_job_must_ask_for_enough_cores_beside_its_gpus(jobs: Jobs, least: int, started: int) -> None:
    jobs.room("g1", cpu=8, gpu=4)
    jobs.job("g", cpu=2, gpu=1)
    assert jobs.plan(minCpuPerGpu=least) == {"g": started}
    assert started or "CPUs" in jobs.refusal("g")


def test_of_two_that_wait_the_one_with_gpus_gets_the_machine(jobs: Jobs) -> None:
    jobs.room("g1", cpu=4, gpu=4)
    jobs.job("c", cpu=4, submitted=NOW - 2)
    jobs.job("g", cpu=4, gpu=4, submitted=NOW - 1)
    assert jobs.plan() == {"g": 1, "c": 0}


@BOTH
@pytest.mark.argument("elastic", "scoreMode")
def test_a_low_job_that_waited_comes_before_growth_of_a_high_one(jobs: Jobs, mode: str) -> None:
    jobs.room("n1", cpu=3)
    jobs.job("prod", [9000, 9000], level=10_000, most=3)
    jobs.job("exp", level=10)
    assert jobs.plan(scoreMode=mode) == {"exp": 1, "prod": 0}


def test_jobs_that_wait_reserve_nothing(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("huge", level=10_000, least=5, most=5)
    jobs.job("j", [10], level=10, most=4)
    assert jobs.plan() == {"huge": 0, "j": 3}


def test_room_in_parts_that_are_too_small_is_none(jobs: Jobs) -> None:
    jobs.room("n1", cpu=3, memory=8, used=2)
    jobs.room("n2", cpu=3, memory=8, used=2)
    jobs.job("j", most=4, cpu=2)
    assert jobs.plan() == {"j": 0}


def test_a_job_starts_with_all_its_roles_or_not_at_all(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", least=3, most=3, fixed={"master": 1, "pserver": 1})
    assert jobs.plan() == {"j": 0}
    assert {task.state for task in jobs.cluster.tasks.values()} == {State.PENDING}
    jobs.room("n2", cpu=1)
    jobs.cluster.planned.clear()
    assert jobs.plan() == {"j": 3}
    assert sum(isinstance(each, Reserve) for each in jobs.decisions) == 5


# --- shrinking -------------------------------------------------------------------------------------------------


def test_the_rightmost_job_gives_way_until_the_leftmost_fits(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [100] * 5, least=2, most=9)
    jobs.job("poor", [5] * 3, least=2, most=9)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan() == {"rich": -2, "poor": 0, "wait": 0}
    assert not [each for each in jobs.decisions if isinstance(each, Evict)], "its controller takes pods away"
    assert {task.state for task in jobs.cluster.tasks.values() if task.has_pod} == {State.RUNNING}


def test_nobody_shrinks_for_a_job_that_cannot_be_helped(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [100] * 8, least=2, most=9)
    jobs.job("wait", least=7, most=7)
    assert jobs.plan() == {"rich": 0, "wait": 0}


def test_room_that_is_being_left_for_a_job_is_not_taken_by_growth(jobs: Jobs) -> None:
    """Two of three that were to leave have left."""
    jobs.room("n1", cpu=8)
    jobs.job("rich", [100] * 6, least=2, most=9, wanted=5, window=60, scaled=NOW - 10)
    jobs.job("other", [100], most=9)
    jobs.job("wait", least=2, most=2)
    assert jobs.plan() == {"rich": 0, "other": 0, "wait": 0}


def test_far_from_even_scores_shrink_the_right_for_the_left(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [1000] * 6, most=9)
    jobs.job("poor", [5] * 2, most=9)
    sizes = jobs.plan()
    assert -5 <= sizes["rich"] <= -2
    assert sizes["poor"] == 0, "it grows when there is room"


@pytest.mark.argument("elastic", "evennessThreshold")
def test_the_threshold_says_what_is_far(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [1000] * 6, most=9)
    jobs.job("poor", [5] * 2, most=9)
    assert jobs.plan(evennessThreshold=2.0) == {"rich": 0, "poor": 0}


def test_nobody_shrinks_when_nobody_wants_more(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("rich", [1000] * 6, most=9)
    jobs.job("poor", [5] * 2, most=2)
    assert jobs.plan() == {"rich": 0, "poor": 0}


def test_a_most_that_was_lowered_does_not_wait_for_the_window(jobs: Jobs) -> None:
    jobs.room("n1", cpu=8)
    jobs.job("j", [5] * 5, most=3, window=60, scaled=NOW - 1)
    assert jobs.plan() == {"j": -2}


def test_a_job_in_its_window_does_not_shrink(jobs: Jobs) -> None:
    jobs.room("n1", cpu=5)
    jobs.job("rich", [100] * 5, most=9, window=60, scaled=NOW - 1)
    jobs.job("wait")
    assert jobs.plan() == {"rich": 0, "wait": 0}


# --- waiting for long ------------------------------------------------------------------------------------------


@pytest.mark.argument("elastic", "patience")
def test_after_the_patience_room_is_held(jobs: Jobs) -> None:
    """Six equal jobs: none is far above the mean, so without patience nobody would give way."""
    jobs.room("n1", cpu=24)
    for name in "abcdef":
        jobs.job(name, [100] * 4, level=1000, least=3, most=9)
    jobs.job("late", level=10, least=3, most=3, submitted=NOW - 600)
    assert set(jobs.plan(patience="1h").values()) == {0}
    jobs.cluster.planned.clear()
    sizes = jobs.plan()
    assert sum(sizes.values()) == -3
    assert sizes["late"] == 0


def test_what_a_patient_job_finds_is_its_own(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("low", [100] * 2, least=2, most=2)
    jobs.job("late", level=10, least=3, most=3, submitted=NOW - 600)
    jobs.job("other", [1], least=1, most=9)
    assert jobs.plan() == {"low": 0, "late": 0, "other": 0}
    late = jobs.cluster.gangs["ns/late"]
    assert late.counts[State.RESERVED] == 1
    jobs.cluster.remove_task("ns/low-trainer-x0")
    jobs.cluster.remove_task("ns/low-trainer-x1")
    jobs.cluster.planned.clear()
    jobs.cluster.remove_gang("ns/low")
    assert jobs.plan() == {"late": 3, "other": 0}


def test_a_job_that_could_never_fit_holds_nothing(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("late", level=10, least=5, most=5, submitted=NOW - 600)
    jobs.job("other", [1], least=1, most=9)
    assert jobs.plan() == {"late": 0, "other": 3}


# --- others ----------------------------------------------------------------------------------------------------


def test_room_is_kept_for_pods_of_others_that_wait(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [1], most=9)
    for number in range(2):
        jobs.task(f"web-{number}")
    assert jobs.plan() == {"j": 1}


def test_jobs_give_way_for_pods_of_others(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [1] * 4, most=9)
    for number in range(2):
        jobs.task(f"web-{number}")
    assert jobs.plan() == {"j": -2}


@pytest.mark.parametrize(("priority", "less"), [(0, 0), (5, -1)])
def test_a_window_holds_unless_the_pod_matters_more(jobs: Jobs, priority: int, less: int) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [1] * 4, most=9, window=60, scaled=NOW - 5)
    jobs.task("web", priority=priority)
    assert jobs.plan() == {"j": less}


def test_pods_that_no_node_could_take_keep_no_room(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [1] * 3, most=9)
    jobs.task("vast", cpu=50_000)
    assert jobs.plan() == {"j": 1}


# --- options ---------------------------------------------------------------------------------------------------


@pytest.mark.argument("elastic", "maxLoadDesired")
def test_growth_stops_at_the_load_that_is_wanted(jobs: Jobs) -> None:
    jobs.room("n1", cpu=10)
    jobs.job("j", [1], most=20)
    assert jobs.plan(maxLoadDesired=0.8) == {"j": 7}


@pytest.mark.argument("elastic", "mayEnd")
@pytest.mark.parametrize("allowed", [False, True])
def test_whether_a_high_job_sends_low_ones_back_to_wait(jobs: Jobs, allowed: bool) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("exp", [1, 1], level=10, least=2, most=4)
    jobs.job("normal", [1, 1], level=1000, least=2, most=4)
    jobs.job("prod", level=10_000, least=2, most=2)
    assert jobs.plan(mayEnd=allowed) == {"exp": -2 if allowed else 0, "normal": 0, "prod": 0}


@pytest.mark.argument("elastic", "highestLevel")
@pytest.mark.argument("elastic", "lowestLevel")
@pytest.mark.parametrize("levels", [{"highestLevel": 20_000}, {"lowestLevel": 5}])
def test_which_levels_may(jobs: Jobs, levels: dict[str, Any]) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("exp", [1] * 4, level=10, least=4, most=4)
    jobs.job("prod", level=10_000, least=2, most=2)
    assert jobs.plan(mayEnd=True, **levels) == {"exp": 0, "prod": 0}


@pytest.mark.argument("elastic", "gpuResource")
def test_what_counts_as_a_gpu(jobs: Jobs) -> None:
    jobs.room("g1", cpu=8, gpu=4)
    jobs.job("g", cpu=1, gpu=2)
    assert jobs.plan(gpuResource="example.com/npu") == {"g": 1}
    jobs.cluster.planned.clear()
    jobs.job("h", cpu=1, gpu=2)
    assert jobs.plan()["h"] == 0


@pytest.mark.argument("elastic", "period")
@pytest.mark.argument("elastic", "quotas")
def test_plans_are_made_once_in_a_period_and_when_a_job_changes(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [1], most=9)
    assert jobs.plan() == {"j": 3}
    jobs.room("n2", cpu=4)
    assert jobs.plan() == {"j": 0}, "the period is not over"
    assert jobs.plan(period="0.000001s") == {"j": 0}
    jobs.job("k", most=9)
    assert jobs.plan() == {"j": 0, "k": 1}, "what comes is started, and grows with the others"
    jobs.cluster.planned[None] = (NOW - 5, jobs.cluster.elastic_changes)
    assert sum(jobs.plan().values()) == 3


# --- what a plan leaves behind ---------------------------------------------------------------------------------


def test_places_of_new_members_are_taken_at_once_and_their_pods_fill_them(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [10, 10], most=4)
    assert jobs.plan() == {"j": 2}
    gang = jobs.cluster.gangs["ns/j"]
    assert gang.counts[State.RESERVED] == 2
    assert gang.ready == 4
    jobs.task("thief", cpu=1000)
    jobs.run(plan_profile())
    assert "thief" not in jobs.placed
    amounts = {"cpu": 1000, "memory": GIB}
    jobs.trainer("j", "", amounts)
    assert gang.counts[State.RESERVED] == 2, "not listed yet: the pod waits beside its slot"
    jobs.cluster.slots.put_all([jobs._slot("j", "trainer", index, amounts) for index in range(4)])
    jobs.cluster.validate()
    assert sum(task.has_pod for task in gang.tasks.values()) == 3
    assert gang.ready == 4
    assert len(gang.tasks) == 4


def test_decisions_name_the_size(jobs: Jobs) -> None:
    jobs.room("n1", cpu=4)
    jobs.job("j", [10, 10], most=4)
    jobs.plan()
    assert [each for each in jobs.decisions if isinstance(each, Resize)][-1] == Resize("ns/j", 4)


def test_gpu_jobs_that_wait_keep_their_order(jobs: Jobs) -> None:
    jobs.room("g1", cpu=8, gpu=2)
    jobs.job("two", gpu=2, cpu=2)
    jobs.job("one", gpu=1)
    assert jobs.plan() == {"two": 1, "one": 0}
    assert GPU in jobs.refusal("one")


# --- what counts in a score ------------------------------------------------------------------------------------


@pytest.mark.argument("elastic", "timeMode")
@pytest.mark.parametrize(("mode", "first"), [("podSeconds", "many"), ("literal", "few")])
def test_seconds_may_count_once_for_each_member(jobs: Jobs, mode: str, first: str) -> None:
    jobs.room("n1", cpu=6)
    jobs.job("many", [10] * 4, most=9)  # 40 seconds, or 160
    jobs.job("few", [50], most=9)  # 50 seconds either way
    sizes = jobs.plan(timeMode=mode)
    assert {name for name, more in sizes.items() if more} == {first}


@pytest.mark.argument("elastic", "weights.gpu")
@pytest.mark.argument("elastic", "weights.cpu")
@pytest.mark.argument("elastic", "weights.memory")
@pytest.mark.parametrize(
    ("weights", "first"),
    [
        ({"weights.gpu": 0, "weights.cpu": 10, "weights.memory": 0}, "gpu"),
        ({"weights.gpu": 100, "weights.cpu": 10, "weights.memory": 0}, "wide"),
        ({"weights.gpu": 0, "weights.cpu": 0, "weights.memory": 1}, "wide"),
    ],
)
def test_what_is_dear(jobs: Jobs, weights: dict[str, Any], first: str) -> None:
    jobs.room("g1", cpu=100, gpu=2, memory=7)
    jobs.job("gpu", [10], cpu=2, gpu=1, memory=3, most=2)
    jobs.job("wide", [10], cpu=3, memory=1, most=2)
    assert {name for name, more in jobs.plan(**weights).items() if more} == {first}, "the other has no memory left"


@pytest.mark.argument("elastic", "halfLife")
def test_what_was_long_ago_may_count_less(jobs: Jobs) -> None:
    jobs.room("n1", cpu=3)
    jobs.job("old", [100], most=9)
    jobs.job("young", [60], most=9)
    for name, counted in (("old", NOW - 100), ("young", NOW)):
        gang = jobs.cluster.gangs[f"ns/{name}"]
        assert gang.size is not None
        gang.resize(msgspec.structs.replace(gang.size, counted=counted))
    assert jobs.plan(halfLife="100s") == {"old": 1, "young": 0}, "half of 100 is less than 60"


# --- nodes with GPUs ---------------------------------------------------------------------------------------------


def _with_gpu_nodes(**arguments: Any) -> Profile:
    entry = {"name": "gpunodes", "arguments": arguments} if arguments else "gpunodes"
    return profile(["gang", "predicates", entry], actions="elastic, allocate")


@pytest.mark.argument("gpunodes", "gpunodes.weight")
@pytest.mark.parametrize(("weight", "node"), [(1.0, "m"), (0.0, "g")])
def test_tasks_without_gpus_prefer_nodes_without(jobs: Jobs, weight: float, node: str) -> None:
    jobs.room("g", cpu=4, gpu=4)
    jobs.room("m", cpu=4)
    jobs.task("plain")
    jobs.task("gpu", more={GPU: 1})
    jobs.run(_with_gpu_nodes(**{"gpunodes.weight": weight}))
    assert jobs.placed == {"plain": node, "gpu": "g"}


@pytest.mark.argument("gpunodes", "gpunodes.resource")
@pytest.mark.parametrize(("resource", "started"), [(GPU, 0), ("example.com/npu", 1)])
def test_the_cores_that_gpus_need_are_left(jobs: Jobs, resource: str, started: int) -> None:
    """A job with GPUs waits for memory.  The cores beside the free GPUs are not taken by one without."""
    jobs.room("g", cpu=4, gpu=4, memory=4)
    jobs.job("g", cpu=4, gpu=4, memory=9, level=10)
    jobs.job("c", cpu=1, memory=1, level=1000)
    jobs.run(_with_gpu_nodes(**{"gpunodes.resource": resource}))
    assert jobs.cluster.gangs["ns/c"].ready == started


@pytest.mark.parametrize("now", [1_700_000_605.005, 1_700_000_123.1, 1_700_000_000.7])
def test_a_plan_is_made_when_its_timer_rings(jobs: Jobs, now: float) -> None:
    """Whatever the time: a plan that is not due to the moment would ask for the same moment again, for ever."""
    jobs.room("n1", cpu=4)
    jobs.job("j", [1], most=9)
    (first,) = (each for each in run_cycle(jobs.cluster, plan_profile(), now) if isinstance(each, LookAgain))
    (second,) = (each for each in run_cycle(jobs.cluster, plan_profile(), first.at) if isinstance(each, LookAgain))
    assert second.at > first.at


def test_what_its_queue_does_not_let_in_keeps_no_room(jobs: Jobs) -> None:
    jobs.queue("small", capability={"cpu": 2000})
    jobs.room("n1", cpu=6)
    jobs.job("j", [1], most=9)
    for number in range(4):
        jobs.task(f"web-{number}", queue="small")
    assert jobs.plan() == {"j": 3}
