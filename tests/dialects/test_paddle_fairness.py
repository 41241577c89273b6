"""Ten minutes of a full cluster: who got how much."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from podium.core.elastic.cfs import GpuPriorityCFS
from podium.core.elastic.unit import Unit
from podium.dialects.paddle.names import TRAININGJOBS
from tests.dialects.test_paddle import Stage

SECONDS = 600
SLOTS = 44


def _served(jobs: dict[str, str], slots: int = SLOTS, seconds: int = SECONDS) -> dict[str, float]:
    """The pod-seconds of jobs of 1 to 60 trainers, by name, after so long; each has the priority that is given."""
    stage = Stage(slots + len(jobs))
    for name, priority in jobs.items():
        stage.submit(name, (1, 60), 10**7, priority=priority, master={"resources": {"requests": {"cpu": "1"}}})
    total = dict.fromkeys(jobs, 0.0)
    sizes: dict[str, list[int]] = {name: [] for name in jobs}
    for _ in range(seconds):
        stage.pass_seconds(1)
        for name in jobs:
            total[name] += len(stage.trainers(name))
            sizes[name].append(stage.stands(name).get("wanted", 0))
    assert sum(total.values()) > 0.85 * slots * seconds, "the cluster is full"
    changes = {name: sum(a != b for a, b in pairwise(each)) for name, each in sizes.items()}
    print("changes of size:", changes)
    return total


def test_equal_jobs_get_the_same() -> None:
    total = _served(dict.fromkeys(("a", "b", "c"), "Normal"))
    assert max(total.values()) <= 1.1 * min(total.values()), total


def test_ten_times_the_priority_is_ten_times_the_share() -> None:
    total = _served({"off": "Offline", "norm": "Normal"})
    assert 8.0 <= total["norm"] / total["off"] <= 12.0, total


def test_without_the_tree_it_is_not_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of arrival, and all scores equal, nobody is served before anybody."""

    def by_arrival(self: GpuPriorityCFS, unit: Unit) -> Any:
        return 0.0, (0.0, 0.0, 0.0, 0.0, unit.submitted, unit.name)

    monkeypatch.setattr(GpuPriorityCFS, "key", by_arrival)
    total = _served({"off": "Offline", "norm": "Normal"})
    assert not 8.0 <= total["norm"] / total["off"] <= 12.0, total


def test_the_status_knows_what_jobs_got() -> None:
    stage = Stage(5)
    stage.submit("job", (1, 60), 10**7)
    stage.pass_seconds(130)
    status = stage.status_of(TRAININGJOBS, "job")
    assert status["podSeconds"] == pytest.approx(4 * 120, rel=0.1)
    assert status["score"] == pytest.approx(status["podSeconds"] * 10 / 1000, rel=0.01)
