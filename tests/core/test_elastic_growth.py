"""Growth in batches gives what growth one by one gives; slots of many gangs at once are undone like any others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.elastic import fair
from podium.core.elastic.room import SessionRoom
from podium.core.elastic.unit import Unit
from podium.core.framework.plugin import Placed
from podium.core.model.decisions import Reserve
from podium.core.model.model import State, Task
from tests.core.jobs import GPU, Jobs, plan_profile
from tests.core.world import GIB, NOW

SIZES = st.integers(0, 12)
ALIKE = [(1.0, 1.0, 0)]
SHAPES = [(1.0, 1.0, 0), (2.0, 1.0, 0), (1.0, 4.0, 0), (3.0, 2.0, 1)]


def one_by_one(order: Sequence[Unit], room: SessionRoom, now: float) -> Iterator[None]:
    """As the rule is written: pass after pass, one more for each, from the left, until a pass changes nothing."""
    full: set[Unit] = set()
    changed = True
    while changed:
        changed = False
        for unit in order:
            kept = unit.planned >= unit.least and (unit.planned < unit.expected or unit.frozen(now))
            if unit.waiting or unit in full or unit.planned >= unit.most or kept:
                continue
            if room.extend(unit):
                changed = True
            else:
                full.add(unit)
    yield
    yield from room.settle_growth()


Job = tuple[float, int, int, int, bool, str]
JOB = st.tuples(
    st.floats(1, 1000), st.integers(1, 3), SIZES, st.integers(0, 3), st.booleans(), st.sampled_from(["", "u", "v"])
)


def _town(drawn: Sequence[Job], shapes: Sequence[tuple[float, float, int]], nodes: Sequence[int]) -> Jobs:
    """What runs is at home, where there is no more room; what is free is on the other nodes."""
    jobs = Jobs()
    for number, cores in enumerate(nodes):
        jobs.room(f"n{number}", cpu=cores, memory=2 * cores, gpu=1 if len(shapes) > 1 else 0)
    jobs.room("home", cpu=10_000, memory=10_000, gpu=100)
    for number, (seconds, least, more, shape, frozen, user) in enumerate(drawn):
        cpu, memory, gpu = shapes[shape % len(shapes)]
        jobs.job(
            f"j{number}", [seconds] * least, least=least, most=least + more, cpu=cpu, memory=memory, gpu=gpu,
            window=60, scaled=NOW - (10 if frozen else 100), user=user, at="home", level=(100, 1000)[number % 2],
        )  # fmt: skip
    home = jobs.cluster.nodes.rows["home"]
    left = jobs.cluster.nodes.allocatable[home] - jobs.cluster.nodes.used[home]
    jobs.task("filler", at="home", cpu=int(left[0]), memory=GIB)
    return jobs


def _plan(jobs: Jobs, **options: Any) -> dict[str, int]:
    found = jobs.plan(quotas={"u": {"cpu": 7000}}, **options)
    held = sum(gang.counts[State.RESERVED] for gang in jobs.cluster.gangs.values())
    assert held == sum(isinstance(each, Reserve) for each in jobs.decisions) == sum(found.values())
    return found


@settings(max_examples=60, deadline=None)
@given(
    drawn=st.lists(JOB, min_size=1, max_size=12),
    nodes=st.lists(st.integers(1, 16), min_size=1, max_size=6),
    load=st.sampled_from([1.0, 0.999]),
)
def test_batches_give_what_one_by_one_gives(drawn: list[Job], nodes: list[int], load: float) -> None:
    batched = _plan(_town(drawn, ALIKE, nodes), maxLoadDesired=load)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fair, "grow", one_by_one)
        plain = _plan(_town(drawn, ALIKE, nodes), maxLoadDesired=load)
    assert batched == plain


@pytest.mark.parametrize("seed", range(40))
def test_of_several_shapes_each_is_dealt_one_by_one_until_no_node_takes_it(seed: int) -> None:
    """Which nodes are filled first is open, and so how many fit; the rule holds whatever the nodes."""
    dice = random.Random(seed)
    drawn = [
        (
            dice.uniform(1, 1000),
            dice.randint(1, 3),
            dice.randint(0, 12),
            dice.randint(0, 3),
            dice.random() < 0.3,
            "",
        )
        for _ in range(dice.randint(1, 12))
    ]
    jobs = _town(drawn, SHAPES, [dice.randint(1, 16) for _ in range(dice.randint(1, 6))])
    more = _plan(jobs)
    nodes, free = jobs.cluster.nodes, jobs.cluster.nodes.idle()
    equal: dict[int, list[tuple[float, str, int, bool]]] = {}
    for number, (seconds, least, most, shape, frozen, _) in enumerate(drawn):
        name, level = f"j{number}", (100, 1000)[number % 2]
        if frozen:
            assert more[name] == 0
            continue
        equal.setdefault(shape, []).append((seconds * least / level, name, more[name], more[name] == most))
        if more[name] < most:
            cpu, memory, gpu = SHAPES[shape]
            amounts = {"cpu": cpu * 1000, "memory": memory * GIB, GPU: gpu}
            columns = [(nodes.dimensions.find(key), amount) for key, amount in amounts.items() if amount]
            assert not any(all(row[column] >= amount for column, amount in columns) for row in free), name
    for units in equal.values():
        units.sort()
        for (_, _, left, left_whole), (_, _, right, right_whole) in combinations(units, 2):
            assert left_whole or left >= right
            assert right_whole or left - right <= 1


def _three() -> tuple[Jobs, list[Task]]:
    jobs = Jobs()
    jobs.room("n1", cpu=20)
    for name in ("a", "b", "c"):
        jobs.job(name, [5], most=9)
    return jobs, [next(iter(jobs.cluster.gangs[f"ns/{name}"].tasks.values())) for name in ("a", "b", "c")]


def test_slots_of_many_gangs_are_taken_back_together() -> None:
    jobs, likes = _three()
    before = jobs.cluster.nodes.used.copy()
    session = jobs.session(plan_profile())
    statement = session.statement()
    statement.extend_all([(likes[0], [0, 0]), (likes[1], [0]), (likes[2], [0, 0, 0])])
    jobs.cluster.validate()
    assert [like.gang.counts[State.ALLOCATED] for like in likes] == [2, 1, 3]
    assert jobs.cluster.nodes.used[0, 0] == before[0, 0] + 6000
    statement.rollback()
    jobs.cluster.validate()
    assert (jobs.cluster.nodes.used == before).all()
    assert [len(like.gang.tasks) for like in likes] == [1, 1, 1]
    statement.extend_all([(likes[0], [0, 0]), (likes[1], [0])])
    statement.commit()
    jobs.cluster.validate()
    assert [like.gang.counts[State.RESERVED] for like in likes] == [2, 1, 0]
    held = [each.gang for each in session.take_decisions() if isinstance(each, Reserve)]
    assert held == ["ns/a", "ns/a", "ns/b"]


def test_everybody_hears_of_each_gang_before_a_failure_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, likes = _three()
    session = jobs.session(plan_profile())
    heard: list[tuple[str, int]] = []

    def listen(placed: Placed) -> None:
        heard.append((placed.gang.name, len(placed.tasks)))
        if placed.gang.name == "a":
            raise ValueError("no")

    monkeypatch.setattr(session, "notify_allocated", listen)
    monkeypatch.setattr(
        session, "notify_deallocated", lambda placed: heard.append((placed.gang.name, -len(placed.tasks)))
    )
    statement = session.statement()
    with pytest.raises(ValueError, match="no"):
        statement.extend_all([(likes[0], [0, 0]), (likes[1], [0])])
    statement.rollback()
    jobs.cluster.validate()
    assert heard == [("a", 2), ("b", 1), ("b", -1), ("a", -2)]
