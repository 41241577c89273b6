"""What leaves the process is on the disk: a reader never sees a write that kill -9 could still take back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.embedded.cluster import EmbeddedCluster, Settings
from podium.embedded.log import SqliteLog
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS
from podium.kube.transport import Request

BEFORE_LONG = 0.3
PATH = CONFIGMAPS.path("default")


class Disk:
    """The disk of a cluster, which can be held up: then commits begin and do not end."""

    def __init__(self, log: SqliteLog) -> None:
        self._free = threading.Event()
        self._free.set()
        commit = log._commit

        def held_up(batch: Any) -> None:
            self._free.wait(60)
            commit(batch)

        log._commit = held_up  # type: ignore[method-assign]

    def hold_up(self) -> None:
        self._free.clear()

    def go_on(self) -> None:
        self._free.set()


@asynccontextmanager
async def cluster_on(directory: Path) -> AsyncIterator[tuple[EmbeddedCluster, HttpTransport, Disk]]:
    async with EmbeddedCluster(Settings(data_dir=directory)) as cluster:
        log = cluster.api.store._log
        assert isinstance(log, SqliteLog)
        disk = Disk(log)
        http = HttpTransport(resolve(cluster.kubeconfig), width=8)
        try:
            yield cluster, http, disk
        finally:
            disk.go_on()
            await http.close()


def creation(name: str) -> Request:
    return Request("POST", PATH, body=msgspec.json.encode({"metadata": {"name": name}}))


async def unanswered(task: asyncio.Task[Any]) -> None:
    done, _ = await asyncio.wait([task], timeout=BEFORE_LONG)
    assert not done, f"answered before it was on the disk: {task.result()}"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (Request("GET", f"{PATH}/a"), 200),
        (Request("GET", PATH), 200),
        (creation("a"), 409),
        (Request("GET", f"{PATH}/gone"), 404),
    ],
    ids=["get", "list", "a refusal because of it", "its deletion"],
)
async def test_no_answer_tells_of_what_is_not_durable(tmp_path: Path, request_: Request, status: int) -> None:
    async with cluster_on(tmp_path) as (cluster, http, disk):
        assert (await http.request(creation("gone"))).status == 201
        disk.hold_up()
        cluster.api.handle(creation("a"))
        cluster.api.handle(Request("DELETE", f"{PATH}/gone"))
        reading = asyncio.create_task(http.request(request_))
        await unanswered(reading)
        disk.go_on()
        assert (await asyncio.wait_for(reading, 20)).status == status


async def test_a_watch_shows_a_write_when_it_is_durable(tmp_path: Path) -> None:
    async with cluster_on(tmp_path) as (cluster, http, disk):
        lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def watch() -> None:
            query = (("watch", "true"), ("resourceVersion", str(cluster.api.store.version)))
            async with http.stream(Request("GET", PATH, query=query)) as stream:
                async for line in stream.lines():
                    event = msgspec.json.decode(line)
                    if event["object"]["metadata"]["name"] != "kube-root-ca.crt":  # a controller's own
                        lines.put_nowait(event)

        watching = asyncio.create_task(watch())
        await http.request(creation("first"))
        async with asyncio.timeout(20):
            assert (await lines.get())["object"]["metadata"]["name"] == "first"
            for round_ in range(3):
                disk.hold_up()
                writing = [asyncio.create_task(http.request(creation(f"c{round_}-{n}"))) for n in range(3)]
                await asyncio.sleep(BEFORE_LONG)
                assert lines.empty(), "a watch showed what is not on the disk"
                assert cluster.api.store.get(CONFIGMAPS, "default", f"c{round_}-0"), "it has been made"
                disk.go_on()
                seen = {(await lines.get())["object"]["metadata"]["name"] for _ in range(3)}
                assert seen == {f"c{round_}-{n}" for n in range(3)}
                assert {(await each).status for each in writing} == {201}
        watching.cancel()


async def test_a_watch_begins_with_what_is_durable(tmp_path: Path) -> None:
    async with cluster_on(tmp_path) as (cluster, http, disk):
        disk.hold_up()
        cluster.api.handle(creation("a"))

        async def first() -> str:
            query = (("watch", "true"), ("fieldSelector", "metadata.name=a"))
            async with http.stream(Request("GET", PATH, query=query)) as stream:
                async for line in stream.lines():
                    return str(msgspec.json.decode(line)["type"])
            return "nothing"

        watching = asyncio.create_task(first())
        await unanswered(watching)
        disk.go_on()
        assert await asyncio.wait_for(watching, 20) == "ADDED"


async def test_within_the_process_nobody_waits_to_read(tmp_path: Path) -> None:
    async with cluster_on(tmp_path) as (cluster, _, disk):
        disk.hold_up()
        cluster.api.handle(creation("a"))
        async with asyncio.timeout(5):
            assert (await cluster.transport.request(Request("GET", f"{PATH}/a"))).status == 200


async def test_probes_do_not_wait_for_the_disk(tmp_path: Path) -> None:
    async with cluster_on(tmp_path) as (cluster, http, disk):
        disk.hold_up()
        cluster.api.handle(creation("a"))
        async with asyncio.timeout(5):
            for path in ("/healthz", "/livez", "/readyz", "/version", "/metrics"):
                assert (await http.request(Request("GET", path))).status == 200
        discovery = asyncio.create_task(http.request(Request("GET", CUSTOMRESOURCEDEFINITIONS.path())))
        await unanswered(discovery)
        disk.go_on()
        assert (await discovery).status == 200
