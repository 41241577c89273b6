"""What is counted, decision by decision and answer by answer."""

from __future__ import annotations

from podium.core.model.decisions import Bind, Decision, Evict, Journal, Nominate, Refuse, Reserve, Resize, TimeOut
from podium.core.model.model import Gang, Task
from podium.engine.counters import BOUNDS, Counters, Histogram
from podium.engine.outcomes import Outcome
from podium.errors import ApiError, TransportError
from podium.reasons import NO_NODES, refuse
from tests.core.world import World

NO = refuse(NO_NODES)


def gangs() -> dict[str, Gang]:
    world = World()
    world.gang("g", created=100.0)
    return world.cluster.gangs


def task(created: float) -> Task:
    world = World()
    return world.task("t", created=created)


def test_a_tally_begins_with_nothing() -> None:
    counters = Counters()
    numbers = [
        counters.turns,
        counters.bound,
        counters.victims,
        counters.reserved,
        counters.resized,
        counters.drift,
    ]
    assert [*numbers, counters.preemptions] == [0] * 7
    counted = (
        counters.failed,
        counters.failures,
        counters.refusals,
        counters.retries,
        counters.paths,
        counters.progress,
    )
    assert not any(counted)
    assert counters.forbidden == ""


def test_decisions_are_counted_by_kind() -> None:
    counters = Counters()
    first: list[Decision] = [Evict("a", ""), Evict("b", ""), Reserve("c", "n", "ns/g"), Resize("ns/g", 3)]
    second: list[Decision] = [Refuse("ns/g", NO), Refuse("ns/h", NO), Refuse("ns/g", NO), Nominate("a", "n")]
    third: list[Decision] = [Journal({"ns/g": "batch", "ns/h": "batch"}), Evict("d", ""), TimeOut("ns/g")]
    for step in (first, second, third):
        counters.decided(step, gangs(), 100.0)
    assert (counters.victims, counters.preemptions, counters.reserved, counters.resized) == (3, 2, 1, 1)
    assert counters.timed_out == 1
    assert counters.refusals == {NO.code: 3}
    assert counters.retries == {"ns/g": 2, "ns/h": 1}
    assert counters.paths == {"batch": 2}


def test_a_gang_s_latency_is_until_its_first_place() -> None:
    counters = Counters()
    counters.decided([Bind("t", "n", "ns/g", 1)], gangs(), 103.0)
    counters.decided([Bind("u", "n", "ns/g", 1)], gangs(), 108.0)
    assert (counters.progress["ns/g"].first, counters.progress["ns/g"].last) == (103.0, 108.0)
    assert counters.gang_latency.sum == 3000.0
    counters.decided([Bind("v", "n", "ns/gone", 1)], gangs(), 108.0)
    assert counters.gang_latency.sum == 3000.0
    assert sum(counters.gang_latency.counts) == 2
    early = Counters()
    early.decided([Bind("t", "n", "ns/g", 1)], gangs(), 99.0)  # by another clock
    assert early.gang_latency.sum == 0.0


def test_answers_to_binds() -> None:
    counters = Counters()
    counters.bind_answered(task(100.0), Outcome.DONE, None, 102.0)
    counters.bind_answered(None, Outcome.DONE, None, 102.0)
    assert (counters.bound, counters.task_latency.sum) == (2, 2000.0)
    counters.bind_answered(task(0.0), Outcome.UNKNOWN, TransportError("reset"), 1.0)
    counters.bind_answered(task(0.0), Outcome.REFUSED, ApiError(409, "Conflict", "again"), 1.0)
    assert counters.failed == {Outcome.UNKNOWN: 1, Outcome.REFUSED: 1}
    assert counters.failures == {"NoAnswer": 1, "Conflict": 1}
    assert counters.forbidden == ""
    counters.bind_answered(None, Outcome.REFUSED, ApiError(401, "Unauthorized", "who are you"), 1.0)
    assert "who are you" in counters.forbidden
    counters.bind_answered(None, Outcome.DONE, None, 2.0)
    assert counters.forbidden == ""
    assert (counters.bound, counters.task_latency.sum) == (3, 2000.0)


def test_what_belongs_to_gangs_that_are_gone_is_forgotten() -> None:
    counters = Counters()
    counters.decided([Refuse("ns/g", NO), Refuse("ns/h", NO), Bind("t", "n", "ns/h", 1)], gangs(), 1.0)
    counters.forget_all_but({"ns/g"})
    assert counters.retries == {"ns/g": 1}
    assert counters.progress == {}


def test_a_histogram_counts_up_to_each_bound() -> None:
    found = Histogram()
    for value in (0.0, 0.1, 0.15, 1e9):
        found.observe(value)
    assert found.counts[:2] == [2, 1]
    assert found.counts[-1] == 1
    assert len(found.counts) == len(BOUNDS) + 1
    assert sum(found.counts) == 4
