"""The decision log: a line for each thing that happened, bounded, and the last refusal of who waits."""

from __future__ import annotations

from podium.core.cluster.cluster import Cluster
from podium.core.model.decisions import (
    Bind,
    Decision,
    Evict,
    Failure,
    GangPhase,
    LookAgain,
    Nominate,
    QueueFault,
    Refuse,
    Release,
    Reserve,
    Resize,
)
from podium.core.model.facts import GangFacts
from podium.core.model.model import Phase
from podium.engine.decision_log import DecisionLog
from podium.reasons import NO_NODES, TOO_FEW_OF_ROLE, Refusal, refuse
from tests.engine.stage import Stage


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster()
    for name in names:
        cluster.put_gang(GangFacts(id=f"g/{name}", namespace="ns", name=name, queue=""))
    return cluster


def hear(log: DecisionLog, cluster: Cluster, turn: int, *decisions: Decision, now: float | None = None) -> None:
    log.decided(decisions, cluster, profile="p", turn=turn, now=float(turn) if now is None else now)


def short(ready: int) -> Refusal:
    return refuse(TOO_FEW_OF_ROLE, need=4, have=ready, role="worker")


def test_the_binds_of_a_gang_are_one_entry() -> None:
    log, cluster = DecisionLog(), cluster_of("a", "b")
    hear(log, cluster, 1, *(Bind(f"t{n}", f"n{n}", "g/a", 8) for n in range(8)), Bind("u", "n0", "g/b", 1))
    first, second = log
    assert (first.kind, first.count, first.members, first.nodes) == ("bind", 8, 8, ("n0", "n1", "n2"))
    assert (second.gang, second.name, second.namespace, second.count) == ("g/b", "b", "ns", 1)


def test_a_refusal_that_is_repeated_is_one_entry_with_the_newest_numbers() -> None:
    log, cluster = DecisionLog(), cluster_of("a")
    for turn, ready in ((1, 0), (2, 1), (3, 3)):
        hear(log, cluster, turn, Refuse("g/a", short(ready)))
    (entry,) = log
    assert (entry.times, entry.turn, entry.last_turn, entry.at, entry.last) == (3, 1, 3, 1.0, 3.0)
    assert entry.refusal == short(3)
    assert log.refusal_of("g/a") is entry


def test_another_reason_is_another_entry() -> None:
    log, cluster = DecisionLog(), cluster_of("a")
    hear(log, cluster, 1, Refuse("g/a", short(0)))
    hear(log, cluster, 2, Refuse("g/a", refuse(NO_NODES)))
    assert [entry.refusal and entry.refusal.code for entry in log] == [TOO_FEW_OF_ROLE.code, NO_NODES.code]
    last = log.refusal_of("g/a")
    assert last is not None
    assert last.times == 1


def test_in_one_turn_the_last_action_has_the_last_word() -> None:
    log, cluster = DecisionLog(), cluster_of("a")
    hear(log, cluster, 1, Refuse("g/a", short(0), "t0"), Refuse("g/a", refuse(NO_NODES), "t1"))
    hear(log, cluster, 1, Refuse("g/a", short(2)))
    (entry,) = log
    assert entry.times == 1
    assert entry.refusal == short(2)


def test_who_is_placed_is_refused_no_more() -> None:
    log, cluster = DecisionLog(), cluster_of("a")
    hear(log, cluster, 1, Refuse("g/a", short(0)))
    hear(log, cluster, 2, Bind("t", "n", "g/a", 1))
    assert log.refusal_of("g/a") is None
    assert [entry.kind for entry in log.of_gang("g/a")] == ["refuse", "bind"]


def test_every_decision_that_concerns_somebody_is_kept() -> None:
    log, cluster = DecisionLog(), cluster_of("a")
    hear(
        log,
        cluster,
        1,
        Reserve("t", "n", "g/a"),
        Release("t", "g/a", "not whole"),
        Resize("g/a", 3),
        Nominate("gone", "n"),
        Nominate("gone", ""),
        Evict("gone", "for b"),
        GangPhase("g/a", Phase.INQUEUE),
        GangPhase("g/a", Phase.RUNNING),
        LookAgain("g/a", 5.0),
        QueueFault("q", refuse(NO_NODES)),
        Failure("plugin x", "boom", "trace"),
    )
    kinds = ["reserve", "release", "resize", "nominate", "evict", "phase", "queue", "failure"]
    assert [entry.kind for entry in log] == kinds


def test_the_log_is_bounded_and_so_is_what_is_known_of_who_waits() -> None:
    log, cluster = DecisionLog(entries=10, refusals=5), cluster_of(*map(str, range(100)))
    for turn in range(100):
        hear(log, cluster, turn, Refuse(f"g/{turn}", short(0)))
    assert len(log) == 10
    assert [log.refusal_of(f"g/{n}") is not None for n in (0, 94, 95, 99)] == [False, False, True, True]


def test_a_refusal_that_has_left_the_log_comes_back_with_its_count() -> None:
    log, cluster = DecisionLog(entries=2), cluster_of("a", "b", "c")
    hear(log, cluster, 1, Refuse("g/a", short(0)))
    for turn in (2, 3):
        hear(log, cluster, turn, Bind("t", "n", "g/b", 1))
    hear(log, cluster, 4, Refuse("g/a", short(1)))
    last = log.refusal_of("g/a")
    assert last is not None
    assert (last.times, last.at, last.last) == (2, 1.0, 4.0)
    assert last in list(log)


def test_what_changed_since() -> None:
    log, cluster = DecisionLog(), cluster_of("a", "b")
    hear(log, cluster, 1, Refuse("g/a", short(0)))
    hear(log, cluster, 1, Refuse("g/b", short(0)))
    version = log.version
    assert log.since(version) == []
    hear(log, cluster, 2, Refuse("g/a", short(1)))
    assert [entry.gang for entry in log.since(version)] == ["g/a"]
    assert [entry.gang for entry in log.since(0)] == ["g/a", "g/b"]
    assert [entry.gang for entry in log.since(0, most=1)] == ["g/a"]


def test_a_scheduler_keeps_it() -> None:
    stage = Stage()
    stage.node("n1", cpu="4")
    stage.pod("fits", cpu="2")
    stage.pod("large", cpu="16")
    stage.settle()
    log = stage.scheduler.decision_log
    assert [entry.name for entry in log if entry.kind == "bind"] == ["fits"]
    (large,) = (entry for entry in log if entry.kind == "refuse")
    assert large.name == "large"
    assert "16" in str(large.refusal)
    stage.server.ok("DELETE", "/api/v1/namespaces/default/pods/large")
    stage.settle()
    assert log.refusal_of(large.gang) is None
