"""An hour of the mixed day on an embedded cluster, ten times as fast; with PODIUM_SOAK=1 all of the day."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

import pytest
import yaml

from podium.cli.cluster import cluster_settings
from podium.dialects import speaking
from podium.dialects.aibee.names import POOLS
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.dialect import views_of
from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.volcano.job.names import JOBS as VOLCANO_JOBS
from podium.dialects.volcano.names import QUEUES
from podium.embedded.cluster import EmbeddedCluster
from podium.embedded.nodes.shapes import Shape
from podium.kube.client import Client
from podium.kube.controller import Ticket
from podium.kube.driver import Driver
from podium.kube.resources import JOBS, NODES, PODS, Resource
from podium.kube.wire import Object
from tests.mixed_day import DAY, DIALECTS, HOUR, SCENARIO, faster, parts
from tests.mixed_day_rules import Rules

SOAK = bool(os.environ.get("PODIUM_SOAK"))
BEGIN, END = (0.0, 2 * DAY) if SOAK else (10 * HOUR, 11 * HOUR)
TIMES = 10.0
PATIENCE = 1200.0 if SOAK else 120.0
KINDS = {(each.api_version, each.kind): each for each in (JOBS, VOLCANO_JOBS, TYJOBS, TRAININGJOBS, QUEUES, POOLS)}


class Listening:
    """A machine that hears everything and does nothing."""

    resources = {PODS, NODES, TYJOBS, TRAININGJOBS}  # noqa: RUF012

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._begun = time.monotonic()

    def serve(self, resource: Resource) -> None: ...

    def withdraw(self, resource: Resource) -> None: ...

    def synced(self, resource: Resource) -> None: ...

    def observe(self, resource: Resource, obj: Object) -> None:
        self._rules.heard(time.monotonic() - self._begun, resource, obj, False)

    def forget(self, resource: Resource, obj: Object) -> None:
        self._rules.heard(time.monotonic() - self._begun, resource, obj, True)

    def run(self, now: float, budget: int) -> list[Ticket]:
        return []

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None: ...

    def next_wake(self, now: float) -> float | None:
        return None


@pytest.mark.timeout(1800 if SOAK else 300)
async def test_an_hour_of_the_day_on_an_embedded_cluster() -> None:
    day = faster(yaml.safe_load(SCENARIO.read_text()), BEGIN, END, TIMES)
    rules = Rules(parts(day), grace=5.0)
    assert {part.dialect for part in rules.parts.values()} == set(DIALECTS)
    settings = cluster_settings(
        nodes=(Shape(name="gpu", count=8, cpu=64, memory="512Gi", gpus=8),), in_memory=True
    )
    views = views_of(speaking())
    async with EmbeddedCluster(settings) as cluster:
        client = Client(cluster.transport)
        driver = asyncio.create_task(Driver(cluster.transport, Listening(rules), views=views).run())
        begun = time.monotonic()
        for event in day["events"]:
            await asyncio.sleep(max(0.0, begun + event["at"] - time.monotonic()))
            for document in event["apply"]:
                resource = KINDS[document["apiVersion"], document["kind"]]
                await client.create(resource, "default" if resource.namespaced else "", document)
        end = time.monotonic() + PATIENCE
        while (rules.waiting or rules.running) and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        driver.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await driver
    rules.over()
    assert not rules.broken, "\n".join(rules.broken[:20])
    for rule in (("gang", "volcano"), ("gang", "koordinator"), "place", "size"):
        assert rules.seen[rule], rule
