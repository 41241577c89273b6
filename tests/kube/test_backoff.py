from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.kube.backoff import Backoff, Dice


@given(st.integers())
def test_dice_stay_between_and_repeat(seed: int) -> None:
    rolls = [Dice(seed).between(5, 10) for _ in range(2)]
    assert rolls[0] == rolls[1]
    dice = Dice(seed)
    many = [dice.between(5, 10) for _ in range(50)]
    assert all(5 <= roll < 10 for roll in many)
    assert len(set(many)) > 40


@given(st.integers())
def test_delays_double_up_to_the_longest(seed: int) -> None:
    backoff = Backoff(Dice(seed))
    now = 1000.0
    for nominal in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0):
        delay = backoff.after_failure(now)
        assert nominal * 0.5 <= delay <= nominal * 1.5
        now += delay


def test_health_is_counted_from_the_end_of_the_delay() -> None:
    backoff = Backoff(Dice(1), forgiven_after=120)
    for _ in range(6):
        backoff.after_failure(0.0)
    assert backoff.after_failure(100.0) > 10
    assert backoff.after_failure(400.0) < 1.3


def test_a_surprise_is_free_once() -> None:
    backoff = Backoff(Dice(1))
    assert backoff.after_surprise(0.0) == 0.0
    assert backoff.after_surprise(0.0) > 0.0
    assert backoff.after_surprise(500.0) == 0.0


def test_thousands_of_failures_do_not_overflow() -> None:
    backoff = Backoff(Dice(1))
    assert max(backoff.after_failure(0.0) for _ in range(5000)) <= 45.0
