"""Every scenario of the tables in `scenarios/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.core.scenario import Scenario, read_scenarios

SCENARIOS = dict(read_scenarios(Path(__file__).parent / "scenarios"))


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenario(table: dict[str, Any]) -> None:
    Scenario(table).check(table["then"])


def test_every_scenario_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    abouts = [table["about"] for table in SCENARIOS.values()]
    assert all(about.endswith(".") for about in abouts)
    assert len(set(abouts)) == len(abouts)
    with capsys.disabled():
        print(f" {len(abouts)} scenarios ", end="")
