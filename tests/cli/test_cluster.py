"""The cluster of `podium up` with a scheduler or a plugin that goes wrong: the API server goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from podium.cli.cluster import cluster_settings
from podium.core.framework.plugin import Plugin
from podium.core.plugins import BUILT_IN
from podium.embedded.cluster import EmbeddedCluster
from podium.embedded.nodes.shapes import Shape
from podium.engine.scheduler import Scheduler
from podium.kube.client import Client
from podium.kube.resources import PODS
from podium.numbers import Nothing
from podium.queue_reasons import QUEUE_LIMIT
from podium.reasons import Refusal
from podium.runtime.reloading import Configuration

PROFILE = """
profiles:
  podium:
    actions: "enqueue, allocate"
    tiers:
    - plugins: [{name: gang}, {name: odd}, {name: predicates}]
"""


async def until(test: Callable[[], Awaitable[Any]], seconds: float = 15.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := await test()):
        assert time.monotonic() < deadline, "it does not happen"
        await asyncio.sleep(0.05)
    return found


async def create(client: Client, name: str) -> None:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "schedulerName": "podium"}
    await client.create(PODS, "default", {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


async def node_of(client: Client, name: str) -> str:
    found = await client.get(PODS, "default", name)
    return str(found["spec"].get("nodeName", ""))


async def test_a_scheduler_that_fails_is_started_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Scheduler._begin_turn
    bugs = [ValueError("a bug")]

    def broken(scheduler: Scheduler, now: float) -> None:
        if bugs and scheduler.world.cluster.tasks:
            raise bugs.pop()
        turns(scheduler, now)

    monkeypatch.setattr(Scheduler, "_begin_turn", broken)
    async with EmbeddedCluster(cluster_settings(in_memory=True, nodes=(Shape(count=1),))) as cluster:
        client = Client(cluster.transport)
        await create(client, "a")
        await until(lambda: node_of(client, "a"))
        assert not bugs
        assert not cluster.failed.is_set()
    assert sum("the scheduler failed; it is started anew" in each.message for each in caplog.records) == 1


@pytest.mark.parametrize(
    ("hook", "answer"),
    [("job_valid", "no"), ("job_valid", Refusal(QUEUE_LIMIT, Nothing())), ("score", [1.0]), ("score_rows", None)],
    ids=str,
)
async def test_a_plugin_that_answers_nonsense_is_named_on_the_pod(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hook: str, answer: Any
) -> None:
    odd = type("Odd", (Plugin,), {"name": "odd", hook: lambda self, *about: answer})
    monkeypatch.setitem(BUILT_IN, "odd", odd)
    file = tmp_path / "file.yaml"
    file.write_text(PROFILE)
    configuration = Configuration(file, alone=True)
    async with EmbeddedCluster(
        cluster_settings(configuration, in_memory=True, nodes=(Shape(count=1),))
    ) as cluster:
        client = Client(cluster.transport)
        await create(client, "a")

        async def reported() -> str:
            found = await client.get(PODS, "default", "a")
            conditions = found["status"].get("conditions", [])
            return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")

        assert f"plugin odd, asked for {hook}, failed: wrong answer" in await until(reported)
        assert not cluster.failed.is_set()
