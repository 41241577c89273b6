"""How often something may happen for each key."""

from __future__ import annotations

import pytest

from podium.kube import buckets
from podium.kube.buckets import Buckets

NOW = 1000.0


def test_a_burst_and_then_one_in_a_while() -> None:
    found = Buckets[str](3, 10.0)
    assert [found.take("a", NOW) for _ in range(4)] == [True, True, True, False]
    assert found.take("b", NOW)
    assert not found.has("a", NOW + 9.9)
    assert found.has("a", NOW + 10)
    assert [found.take("a", NOW + 10) for _ in range(2)] == [True, False]


def test_looking_takes_nothing() -> None:
    found = Buckets[str](1, 10.0)
    assert all(found.has("a", NOW) for _ in range(3))
    assert found.take("a", NOW)
    assert not found.has("a", NOW)


def test_a_long_rest_gives_no_more_than_a_burst() -> None:
    found = Buckets[str](2, 10.0)
    found.take("a", NOW)
    assert [found.take("a", NOW + 1000) for _ in range(3)] == [True, True, False]


def test_those_used_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MEMORY_ENTRIES", 2)
    found = Buckets[str](1, 10.0)
    for key in ("a", "b", "a", "c"):  # `a` was asked for after `b`
        found.take(key, NOW)
    assert found.has("b", NOW)
    assert not found.has("a", NOW)
