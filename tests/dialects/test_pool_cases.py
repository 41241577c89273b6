"""The table of pools: who gets a place where, who has to go for it, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dialects.pool_cases import outcome

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("pool_cases.yaml").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[each["title"] for each in CASES])
def test_pools(case: dict[str, Any]) -> None:
    found, said = outcome(case)
    assert found == said
