"""The clock of machines: it shows the time of day, and never goes back."""

from __future__ import annotations

import pytest

from podium.kube.clock import SteadyClock


class Clocks:
    """A time of day that can be put anywhere, and one that only goes forward."""

    def __init__(self) -> None:
        self.wall = 1000.0
        self.steady = 5.0

    def pass_seconds(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def steady(clocks: Clocks) -> SteadyClock:
    return SteadyClock(lambda: clocks.wall, lambda: clocks.steady)


def test_it_shows_the_time_of_day(clocks: Clocks) -> None:
    clock = steady(clocks)
    assert clock() == 1000
    clocks.pass_seconds(7)
    assert clock() == 1007


def test_a_time_of_day_that_is_put_forward_is_believed(clocks: Clocks) -> None:
    clock = steady(clocks)
    clocks.wall += 3600
    assert clock() == 4600


def test_one_that_is_put_back_is_waited_for_at_half_speed(clocks: Clocks) -> None:
    clock = steady(clocks)
    clocks.wall -= 60
    assert clock() == 1000
    clocks.pass_seconds(10)
    assert clock() == 1005
    clocks.pass_seconds(110)
    assert clock() == 1060 == clocks.wall
    clocks.pass_seconds(1)
    assert clock() == clocks.wall


def test_it_never_goes_back(clocks: Clocks) -> None:
    clock = steady(clocks)
    seen = [clock()]
    for jump in (-3600, 30, -5, 7200, -7200, 0):
        clocks.wall += jump
        clocks.pass_seconds(1)
        seen.append(clock())
    assert seen == sorted(seen)
    assert len(set(seen)) == len(seen)
