"""Every scenario of the tables in `scenarios/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.core.scenario import Scenario, read_scenarios, without_argument

SCENARIOS = dict(read_scenarios(Path(__file__).parent / "scenarios"))


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenario(table: dict[str, Any]) -> None:
    Scenario(table).outcome.check(table["then"])


ABOUT_ARGUMENTS = {name: table for name, table in SCENARIOS.items() if "argument" in table}


@pytest.mark.parametrize("table", ABOUT_ARGUMENTS.values(), ids=ABOUT_ARGUMENTS.keys())
def test_without_the_argument_something_else_comes_out(table: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        Scenario(without_argument(table)).outcome.check(table["then"])


def test_every_scenario_says_what_it_is_about() -> None:
    abouts = [table["about"] for table in SCENARIOS.values()]
    assert all(about.endswith(".") for about in abouts)
    assert len(set(abouts)) == len(abouts)
