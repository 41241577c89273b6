"""The tree of scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podium.core.elastic.cfs import GpuPriorityCFS
from podium.core.elastic.unit import LITERAL, WEIGHTED, Request, Scoring, Unit, Weights
from podium.errors import UsageError

MODES = pytest.mark.parametrize("mode", [WEIGHTED, LITERAL])


def unit(name: str, times: Sequence[float] = (), level: int = 100, **request: float) -> Unit:
    return Unit(name, level=level, served=sum(times), running=len(times), request=Request(**request))


def names(tree: GpuPriorityCFS) -> list[str]:
    found: list[str] = []
    tree.traverse(lambda each: found.append(each.name))
    return found


def test_a_score_in_both_modes() -> None:
    one = unit("j", [100, 50], 10, gpus=1, cpus=4, memory=8)
    assert Scoring().weight(one.request) == 148
    assert Scoring(LITERAL).score(one) == 222_000
    assert Scoring(WEIGHTED).score(one) == 2220


def test_seconds_may_count_for_each_member() -> None:
    one = unit("j", [100, 50], 10, cpus=1)
    assert Scoring(time=LITERAL).score(one) == 2 * Scoring().score(one)


def test_weights_and_what_weighs_little() -> None:
    assert Scoring(weights=Weights(1, 2, 3)).weight(Request(1, 10, 100)) == 321
    assert Scoring().weight(Request(cpus=0.01)) == 1


@MODES
def test_what_has_not_started_is_leftmost(mode: str) -> None:
    tree = GpuPriorityCFS([unit("old", [5], 1000, cpus=1), unit("new", level=10, cpus=1)], Scoring(mode))
    left, right = tree.left_most(), tree.right_most()
    assert left is not None
    assert right is not None
    assert (left.name, right.name, len(tree)) == ("new", "old", 2)


@MODES
def test_who_has_got_less_is_left(mode: str) -> None:
    jobs = {"a": [30, 30], "b": [10, 10], "c": [20, 20]}
    tree = GpuPriorityCFS([unit(name, times, cpus=2) for name, times in jobs.items()], Scoring(mode))
    assert names(tree) == ["b", "c", "a"]
    assert [each.name for each in reversed(tree)] == ["a", "c", "b"]


@pytest.mark.parametrize(("mode", "order"), [(LITERAL, ["exp", "prod"]), (WEIGHTED, ["prod", "exp"])])
def test_what_a_level_does(mode: str, order: list[str]) -> None:
    units = [unit("prod", [60], 10_000, cpus=2), unit("exp", [60], 10, cpus=2)]
    assert names(GpuPriorityCFS(units, Scoring(mode))) == order


def test_ties() -> None:
    tree = GpuPriorityCFS(
        [
            unit("m", cpus=1, memory=8),
            unit("c", cpus=4, memory=1),
            unit("g", cpus=1, memory=1, gpus=1),
            unit("p", level=10_000, cpus=1, memory=1),
            unit("s", cpus=1, memory=1),
        ]
    )
    assert names(tree) == ["p", "g", "c", "m", "s"]


def test_units_come_and_go() -> None:
    tree = GpuPriorityCFS()
    assert (tree.left_most(), tree.right_most(), len(tree), names(tree)) == (None, None, 0, [])
    one, two = unit("one", [1], cpus=1), unit("two", [2], cpus=1)
    tree.add_unit(two)
    tree.add_unit(one)
    with pytest.raises(UsageError, match="one is in"):
        tree.add_unit(one)
    one.served = 99.0  # it stands where it came in
    assert names(tree) == ["one", "two"]
    tree.del_unit(one)
    with pytest.raises(UsageError, match="one is not"):
        tree.del_unit(one)
    tree.add_unit(one)
    assert names(tree) == ["two", "one"]
    assert tree.score(one) == Scoring().score(one)
