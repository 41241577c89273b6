"""Profiles with a period: when they may take a turn, and that nothing is lost meanwhile."""

from __future__ import annotations

from podium.core.profiles.profile import Profile
from podium.engine.periods import Periods


def periods(**seconds: float) -> Periods:
    found = Periods()
    found.serve({name: Profile(tiers=(), actions=(), arguments={}, period=each) for name, each in seconds.items()})
    return found


def test_a_profile_without_a_period_takes_a_turn_at_any_time() -> None:
    found = periods(plain=0.0)
    assert all(found.may_begin("plain", ["g"], now) for now in (0.0, 0.0, 1.0, 1.0))
    assert found.next_wake is None
    assert list(found.due(100.0)) == []


def test_the_next_turn_comes_when_the_period_has_passed_and_not_before() -> None:
    found = periods(slow=10.0)
    assert found.may_begin("slow", ["g"], 5.0)
    assert not found.may_begin("slow", ["h"], 14.9)
    assert found.may_begin("slow", ["i"], 15.0)
    assert not found.may_begin("slow", ["j"], 24.9)


def test_what_comes_up_meanwhile_is_kept_once_and_in_order() -> None:
    found = periods(slow=10.0)
    found.may_begin("slow", ["first"], 0.0)
    assert not found.may_begin("slow", ["b", "a"], 1.0)
    assert not found.may_begin("slow", ["a", "c"], 2.0)
    assert found.next_wake == 10.0
    assert list(found.due(9.9)) == []
    assert list(found.due(10.0)) == ["b", "a", "c"]
    assert list(found.due(10.0)) == []
    assert found.next_wake is None


def test_nobody_is_woken_up_for_nothing() -> None:
    found = periods(slow=10.0)
    found.may_begin("slow", ["g"], 0.0)
    assert found.next_wake is None


def test_each_profile_has_its_own_time() -> None:
    found = periods(slow=10.0, slower=20.0, plain=0.0)
    for name in ("slow", "slower"):
        assert found.may_begin(name, [], 0.0)
        assert not found.may_begin(name, [name], 1.0)
    assert found.may_begin("plain", [], 1.0)
    assert found.next_wake == 10.0
    assert list(found.due(10.0)) == ["slow"]
    assert found.next_wake == 20.0
    assert list(found.due(20.0)) == ["slower"]


def test_gangs_of_a_profile_that_is_gone_are_not_kept_back() -> None:
    found = periods(slow=10.0)
    found.may_begin("slow", [], 0.0)
    found.may_begin("slow", ["g"], 1.0)
    found.serve({})
    assert list(found.due(1.0)) == ["g"]
