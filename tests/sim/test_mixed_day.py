"""The mixed day in virtual time: what each dialect promises holds beside all the others."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest
import yaml

from tests.generated import DOCS
from tests.mixed_day import DIALECTS, MOST_GPUS, QUEUE, SCENARIO, parts, pictures, scenario
from tests.mixed_day_rules import play

played = lru_cache(maxsize=1)(play)


def test_the_file_is_what_was_drawn() -> None:
    assert yaml.safe_load(SCENARIO.read_text()) == scenario(), "python -m tests.mixed_day write"


def test_there_are_workloads_of_all_dialects_and_each_has_some_in_the_queue() -> None:
    found = parts(scenario()).values()
    assert len(found) == 200
    assert set(Counter(part.dialect for part in found)) == set(DIALECTS)
    assert min(Counter(part.dialect for part in found if part.queue == QUEUE).values()) >= 10
    assert {part.dialect for part in found if part.queue} == set(DIALECTS)


@pytest.mark.timeout(400)
def test_all_promises_hold_and_nobody_waits_for_ever() -> None:
    rules = played()
    assert not rules.broken, "\n".join(rules.broken[:20])
    assert rules.most_held == MOST_GPUS, "the capability was reached, and never passed"
    assert rules.borrowed > 0
    gangs = ("gang", "volcano"), ("gang", "koordinator"), ("gang", "arranger")
    checked: list[object] = [*(("queue", each) for each in DIALECTS), *gangs, "place", "size", "home"]
    assert [rule for rule in checked if not rules.seen[rule]] == []


def test_the_pictures_are_what_the_simulator_draws_now() -> None:
    for name, text in pictures(played().used).items():
        assert (DOCS / "pictures" / name).read_text() == text, f"{name} is stale: python -m tests.generated"
