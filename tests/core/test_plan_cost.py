"""What a plan for elastic jobs does grows as the jobs and the free places do, and no faster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from bench.plans import plan


def calls_of(work: Callable[[], Any]) -> int:
    """How many functions are called in it: the same on every machine, however busy that is."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    ("small", "large"),
    [
        pytest.param((300, 300), (1200, 1200), id="jobs, with a place for each"),
        pytest.param((300, 1000), (300, 4000), id="free places"),
        pytest.param((300, 0), (1200, 0), id="jobs, without a free place"),
    ],
)
def test_four_times_as_much_costs_four_times_as_much(small: tuple[int, int], large: tuple[int, int]) -> None:
    few, many = (calls_of(partial(plan, *size)) for size in (small, large))
    assert many < 4.4 * few
