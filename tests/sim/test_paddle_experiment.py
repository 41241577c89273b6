"""Paddle's published experiment in virtual time: what it promised holds, and the page has the figures of today."""

from __future__ import annotations

import pytest
from bench.paddle import POLICIES, Result, all_runs, less_pending, more_cpu, pictures, rows

from tests.generated import DOCS

# Paddle's own gains.
LESS_PENDING, MORE_CPU = 84.0, 34.0


@pytest.fixture(scope="module")
def found() -> dict[int, dict[str, Result]]:
    return {case: all_runs(case) for case in (1, 2)}


def test_without_elasticity_it_is_like_paddles_own(found: dict[int, dict[str, Result]]) -> None:
    first, second = found[1]["fixed"], found[2]["fixed"]
    assert first.pending == pytest.approx(308.5, rel=0.1)
    assert first.cpu == pytest.approx(76.2, rel=0.1)
    assert first.running == 6
    assert second.cpu == pytest.approx(61.9, rel=0.1)


@pytest.mark.parametrize("policy", POLICIES)
def test_jobs_wait_for_less_and_more_is_used(found: dict[int, dict[str, Result]], policy: str) -> None:
    assert less_pending(found[1], policy) >= LESS_PENDING
    assert more_cpu(found[2], policy) >= MORE_CPU


def test_the_page_has_the_figures_of_today(found: dict[int, dict[str, Result]]) -> None:
    lines = (DOCS / "paddle-experiment.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| case")]
    columns = {"fixed": 2, "cfs": 4, "fulfilment": 5}
    written = {row[0]: {name: row[column] for name, column in columns.items() if row[column]} for row in table}
    assert written == rows(found[1], found[2])


def test_the_pictures_are_what_the_simulator_draws_now(found: dict[int, dict[str, Result]]) -> None:
    for case, results in found.items():
        for name, text in pictures(case, results).items():
            assert (DOCS / "pictures" / name).read_text() == text, f"{name} is stale: python -m bench.paddle"
