"""What pods of a full pool do: they push out whom they may at home, or borrow, or wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.dialects.pool_stage import PoolStage


def two_pools(options: str = "{}", *, home: int = 2, other: int = 4, **flags: Any) -> PoolStage:
    """Pools a and b with a node each; the flags are those of a."""
    stage = PoolStage(options)
    stage.pool("a", **flags)
    stage.pool("b")
    stage.add_node("na", "a", cpu=home)
    stage.add_node("nb", "b", cpu=other)
    return stage


def settled(stage: PoolStage) -> PoolStage:
    """With what was told to go gone."""
    stage.settle()
    stage.bury()
    stage.settle()
    return stage


# --- order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        ({"h1": ("a", 1), "h9": ("a", 9)}, ["h9", "h1"]),
        ({"b1": ("b", 1), "c9": ("c", 9)}, ["c9", "b1"]),
        ({"b50": ("b", 50), "a1": ("a", 1), "c70": ("c", 70), "a5": ("a", 5)}, ["a5", "a1", "c70", "b50"]),
        ({"early": ("a", 3), "late": ("a", 3)}, ["early", "late"]),
        ({"foreign": ("b", 9), "lost": ("gone", 1)}, ["lost", "foreign"]),
    ],
    ids=[
        "home by priority",
        "borrowers by priority",
        "home before borrowers",
        "then by age",
        "unknown is Default's",
    ],
)
def test_who_gets_the_next_free_place(pods: Mapping[str, tuple[str, int]], order: list[str]) -> None:
    """One place after the other comes free in the pool of the first in the order."""
    stage = PoolStage('{preemption: false, order: "preempt-first"}')
    for name in "abc":
        stage.pool(name)
    home = pods[order[0]][0] if order[0] != "c9" else "a"
    stage.add_node("n", home if home != "gone" else "", cpu=1)
    stage.task("first", home, 1, node="n", priority=100)
    for name, (pool, priority) in pods.items():
        stage.server.now += 1
        stage.task(name, pool, 1, priority=priority)
    stage.settle()
    seen, running = [], "first"
    for _ in order:
        stage.server.ok("DELETE", f"/api/v1/namespaces/default/pods/{running}", {"gracePeriodSeconds": 0})
        stage.settle()
        (running,) = stage.placed
        seen.append(running)
    assert seen == order


# --- preemption at home ------------------------------------------------------------------------------------------


def test_a_lower_home_pod_makes_room_and_the_preemptor_stays_though_others_could_lend() -> None:
    stage = two_pools(other=64)
    stage.task("low", "a", node="na", priority=1)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.leaving == ["low"]
    assert stage.nominated("p") == "na"
    assert "p" not in stage.placed
    stage.settle(60)
    assert "p" not in stage.placed, "it waits for its victim and does not borrow"
    stage.bury()
    stage.settle()
    assert stage.placed == {"p": "na"}


@pytest.mark.parametrize("how", ["pool", "profile"])
def test_without_preemption_it_borrows(how: str) -> None:
    options = "{preemption: false}" if how == "profile" else "{}"
    stage = two_pools(options, disablePreemption=how == "pool")
    stage.task("low", "a", node="na", priority=1)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.running == {"low": "na", "p": "nb"}


def test_a_borrower_pushes_out_nobody() -> None:
    stage = two_pools(other=2)
    stage.task("ha", "a", node="na", priority=9)
    stage.task("hb", "b", node="nb")
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.running == {"ha": "na", "hb": "nb"}
    assert "node(s) of queue b had nothing to lend" in stage.message("p")


def test_where_preemption_does_not_help_it_borrows() -> None:
    stage = two_pools(other=8)
    stage.task("low", "a", node="na", priority=1)
    stage.task("p", "a", 4, priority=5)
    stage.settle()
    assert stage.running == {"low": "na", "p": "nb"}


def test_equal_priorities_do_not_push_each_other_out_and_without_borrowing_it_waits() -> None:
    stage = two_pools(other=8, disableBorrowing=True)
    stage.task("same", "a", node="na", priority=5)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.running == {"same": "na"}
    stage.edit_pool("a", disableBorrowing=False)
    stage.settle()
    assert stage.running == {"same": "na", "p": "nb"}


def test_borrowing_first_evicts_nobody_while_somebody_lends() -> None:
    stage = two_pools("{order: borrow-first}", other=64)
    stage.task("low", "a", node="na", priority=1)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.running == {"low": "na", "p": "nb"}


def test_borrowing_first_preempts_when_nobody_can_lend() -> None:
    stage = two_pools("{order: borrow-first}", other=1)
    stage.task("low", "a", node="na", priority=1)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert (stage.leaving, stage.nominated("p")) == (["low"], "na")


def test_a_blocked_pool_does_not_hold_up_another_one() -> None:
    stage = two_pools(home=1, disableBorrowing=True)
    stage.task("huge", "a", 8)
    stage.task("ok", "b", 1)
    stage.settle()
    assert stage.placed == {"ok": "nb"}


def test_a_node_that_changed_hands_makes_borrowers_of_those_on_it() -> None:
    stage = PoolStage()
    stage.pool("a", {"pool": "none"})
    stage.pool("b", {"alt": "1"})
    stage.add_node("n1", "a", cpu=2, labels={"alt": "1"})
    stage.task("p", "a", node="n1", priority=9)
    stage.task("q", "b")
    stage.settle()
    assert stage.placed == {"q": "n1"}


# --- lenders -----------------------------------------------------------------------------------------------------


def lenders(rooms: Mapping[str, int], tasks: Mapping[str, int], **flags: Any) -> PoolStage:
    """Pool a is full; the others have so much free, with so many tasks on their nodes."""
    stage = PoolStage()
    stage.pool("a", **flags)
    stage.add_node("na", "a", cpu=1)
    stage.task("full", "a", 1, node="na")
    for name, room in rooms.items():
        stage.pool(name)
        count = tasks.get(name, 0)
        stage.add_node(f"n{name}", name, cpu=room + count)
        for number in range(count):
            stage.task(f"{name}-{number}", name, 1, node=f"n{name}")
    stage.settle()
    stage.task("p", "a", 1)
    stage.settle()
    return stage


def test_the_lender_with_the_most_idle_room() -> None:
    assert lenders({"b": 4, "c": 6}, {"c": 9}).placed["p"] == "nc"


def test_of_equal_lenders_the_one_with_fewer_tasks_then_the_first_name() -> None:
    assert lenders({"b": 4, "c": 4}, {"b": 7, "c": 2}).placed["p"] == "nc"
    assert lenders({"c": 4, "b": 4}, {}).placed["p"] == "nb"


def test_only_the_lenders_that_the_pool_names() -> None:
    assert lenders({"b": 2, "c": 64}, {}, borrowingPools=["b"]).placed["p"] == "nb"
    assert "p" not in lenders({"b": 2, "c": 64}, {}, borrowingPools=["gone"]).placed


def test_a_pool_that_does_not_share_is_passed_over() -> None:
    stage = two_pools(other=64)
    stage.edit_pool("b", disableSharing=True)
    stage.pool("c")
    stage.add_node("nc", "c", cpu=4)
    stage.task("same", "a", node="na", priority=5)
    stage.task("p", "a", priority=5)
    stage.settle()
    assert stage.placed["p"] == "nc"


def test_sharing_that_ends_kills_nobody() -> None:
    stage = two_pools(home=4)
    stage.task("guest", "b", 1, node="na")
    stage.settle()
    stage.edit_pool("a", disableSharing=True)
    stage.task("more", "b", 8)
    stage.task("full", "b", 4, node="nb")
    stage.task("late", "b", 1)
    stage.settle()
    assert stage.leaving == []
    assert stage.running == {"guest": "na", "full": "nb"}


def test_a_pool_whose_own_pods_wait_for_this_room_lends_nothing() -> None:
    stage = two_pools(other=8)
    stage.task("full", "a", node="na")
    stage.task("hb", "b", 4, node="nb", priority=5)
    stage.task("waits", "b", 8)  # fits when hb has ended
    stage.settle()
    stage.task("p", "a", 1)
    stage.settle(40)
    assert "p" not in stage.placed


@pytest.mark.parametrize("why", ["too large", "other labels", "beside the system"])
def test_a_pod_that_its_pool_can_never_serve_does_not_close_it(why: str) -> None:
    stage = two_pools(other=8)
    stage.edit_pool("b", disableBorrowing=True)
    stage.task("full", "a", node="na")
    stage.task("daemon", None, 1, node="nb", scheduler="default-scheduler")
    if why == "too large":
        stage.task("never", "b", 9)
    elif why == "other labels":
        stage.task("never", "b", 1, nodeSelector={"no": "where"})
    else:
        stage.task("never", "b", 8)
    stage.settle()
    stage.task("p", "a", 1)
    stage.settle()
    assert stage.placed["p"] == "nb"


@pytest.mark.parametrize("how", ["goes", "moves"])
def test_room_that_a_pool_kept_for_its_own_pod_is_lent_when_that_waits_no_longer(how: str) -> None:
    stage = two_pools(other=8)
    stage.pool("c", disableBorrowing=True)
    stage.task("full", "a", node="na")
    stage.task("hb", "b", 4, node="nb", priority=5)
    stage.task("waits", "b", 8)
    stage.settle()
    stage.task("p", "a", 1)
    stage.settle(40)
    assert "p" not in stage.placed
    if how == "goes":
        stage.server.ok("DELETE", "/api/v1/namespaces/default/pods/waits", {"gracePeriodSeconds": 0})
    else:
        stage.rename_pool("waits", "c")
    stage.settle(1)
    assert stage.placed["p"] == "nb"


def test_who_may_not_be_pushed_out_does_not_borrow() -> None:
    """It would never leave.  At home nobody has to give way to others anyhow."""
    stage = two_pools(other=8)
    kept = {"volcano.sh/preemptable": "false"}
    stage.task("first", "a", annotations=kept)
    stage.task("second", "a", annotations=kept)
    stage.task("third", "a")
    stage.settle()
    assert stage.placed == {"first": "na", "third": "nb"}
    assert "1 node(s) belonged to queue b" in stage.message("second")


def test_who_comes_back_is_served_at_home_first() -> None:
    stage = lenders({"b": 0, "c": 64}, {"b": 4})
    stage.server.ok("DELETE", "/api/v1/namespaces/default/pods/p", {"gracePeriodSeconds": 0})
    stage.server.ok("DELETE", "/api/v1/namespaces/default/pods/full", {"gracePeriodSeconds": 0})
    stage.task("again", "a", 1)
    stage.settle()
    assert stage.placed["again"] == "na"


# --- the document's scenarios ------------------------------------------------------------------------------------


def cpu_and_gpu() -> PoolStage:
    stage = PoolStage()
    stage.pool("cpu-pool", {"cpu": "true"})
    stage.pool("gpu-pool", {"gpu": "true"})
    stage.add_node("c1", cpu=2, labels={"cpu": "true"})
    stage.add_node("g1", cpu=4, gpus=2, labels={"gpu": "true"})
    return stage


def test_cpu_work_uses_idle_cpus_of_gpu_servers_and_yields_them() -> None:
    stage = cpu_and_gpu()
    for name in ("w1", "w2", "w3"):
        stage.task(name, "cpu-pool")
    stage.settle()
    assert sorted(stage.placed.values()) == ["c1", "g1", "g1"]
    for name in ("w1", "w2", "w3"):
        stage.run_pod(name)
    stage.task("t", "gpu-pool", 2, 2)
    stage.settle()
    assert stage.leaving == [], "a borrower goes at once"
    assert stage.placed["t"] == "g1"
    assert sorted(stage.placed.values()) == ["c1", "g1", "g1"]


def test_one_card_jobs_fill_an_idle_machine_with_eight_and_yield_it() -> None:
    stage = PoolStage()
    stage.pool("one", {"cards": "one"})
    stage.pool("eight", {"cards": "eight"})
    stage.add_node("s1", cpu=16, gpus=1, labels={"cards": "one"})
    stage.add_node("e1", cpu=64, gpus=8, labels={"cards": "eight"})
    stage.task("o1", "one", 1, 1, node="s1")
    stage.task("o2", "one", 1, 1, node="e1")
    stage.task("big", "eight", 8, 8)
    settled(stage)
    stage.task("o2-again", "one", 1, 1)
    stage.settle(40)
    assert stage.placed == {"o1": "s1", "big": "e1"}
    assert stage.home_of("o2-again") == "one"
