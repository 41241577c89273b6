"""What `podium doctor` finds out about who is at work, on an embedded API without any machine on it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from podium.client.checkup import Finding, Level, check_up
from podium.engine.clashes import ANOTHER_SCHEDULER
from podium.kube.lease import HELD_INSIDE
from podium.kube.resources import EVENTS, LEASES, NAMESPACES
from podium.kube.times import format_micro_time, format_time
from tests.runtime.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def lease(cluster: Cluster, name: str, place: str = "kube-system", age: float = 1.0, **notes: str) -> None:
    spec = {"holderIdentity": "somebody", "renewTime": format_micro_time(time.time() - age)}
    metadata: dict[str, Any] = {"name": name, "annotations": notes}
    await cluster.client.create(LEASES, place, {"metadata": metadata, "spec": spec})


async def found(cluster: Cluster, what: str) -> Finding | None:
    return next((each for each in await check_up(cluster.client) if each.what == what), None)


async def level(cluster: Cluster, what: str) -> Level | None:
    finding = await found(cluster, what)
    return finding.level if finding is not None else None


async def test_nobody_is_at_work(cluster: Cluster) -> None:
    await lease(cluster, "podium-scheduler", age=120.0)
    for part in ("podium-scheduler", "podium-controllers"):
        assert await level(cluster, part) is Level.WARNING
    assert await level(cluster, "other schedulers") is Level.GOOD


async def test_parts_that_are_at_work_beside_the_server_or_in_it(cluster: Cluster) -> None:
    await lease(cluster, "podium-scheduler")
    await lease(cluster, "podium-controllers", age=86400.0, **{HELD_INSIDE: "it runs inside podium up"})
    finding = await found(cluster, "podium-scheduler")
    assert finding is not None
    assert (finding.level, finding.sentence) == (
        Level.GOOD,
        "at work: lease kube-system/podium-scheduler is renewed",
    )
    finding = await found(cluster, "podium-controllers")
    assert finding is not None
    assert (finding.level, finding.sentence) == (
        Level.GOOD,
        "at work: inside podium up, which has its own",
    )


async def test_two_podiums_that_do_not_know_of_each_other(cluster: Cluster) -> None:
    await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "podium-system"}})
    await lease(cluster, "podium-scheduler")
    await lease(cluster, "podium-scheduler", "podium-system")
    finding = await found(cluster, "podium-scheduler")
    assert finding is not None
    assert finding.level is Level.BROKEN
    assert "kube-system/podium-scheduler, podium-system/podium-scheduler" in finding.sentence


@pytest.mark.parametrize(("name", "expected"), [("volcano", Level.BROKEN), ("kube-scheduler", Level.WARNING)])
async def test_somebody_elses_lease(cluster: Cluster, name: str, expected: Level) -> None:
    await lease(cluster, name)
    assert await level(cluster, "other schedulers") is expected


@pytest.mark.parametrize(("age", "expected"), [(5.0, Level.BROKEN), (3600.0, None)])
async def test_what_podium_has_said_of_somebody_else(cluster: Cluster, age: float, expected: Level | None) -> None:
    event = {
        "metadata": {"name": "p.1"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": ANOTHER_SCHEDULER,
        "message": "another scheduler serves the scheduler name volcano",
        "type": "Warning",
        "lastTimestamp": format_time(time.time() - age),
    }
    await cluster.client.create(EVENTS, "default", event)
    assert await level(cluster, "clashes") is expected
