"""The in-process transport: streams of lines, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from podium.embedded.in_process import PACE, LocalTransport
from podium.embedded.log import MemoryLog
from podium.errors import TransportError
from podium.kube.resources import CONFIGMAPS, PODS
from podium.kube.transport import Request, Stream
from tests.embedded.server import Server, config_map, pod

pytestmark = pytest.mark.looptime

MAPS = CONFIGMAPS.path("default")


@asynccontextmanager
async def opened(server: Server, path: str, *query: tuple[str, str]) -> AsyncIterator[Stream]:
    transport = LocalTransport(server.api.handle, MemoryLog())
    async with transport.stream(Request("GET", path, query)) as stream:
        yield stream


def watched(server: Server, *query: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return ("watch", "true"), ("resourceVersion", str(server.store.version)), *query


def names(batch: list[bytes]) -> list[str]:
    return [msgspec.json.decode(line)["object"]["metadata"].get("name", "") for line in batch]


async def test_the_first_change_is_told_at_once_and_a_burst_together() -> None:
    server = Server()
    loop = asyncio.get_running_loop()

    async def write() -> None:
        await asyncio.sleep(10)
        for number in range(8):
            server.create(CONFIGMAPS, config_map(f"c{number}"))
            await asyncio.sleep(PACE / 4)

    async with opened(server, MAPS, *watched(server)) as stream:
        writer = asyncio.create_task(write())
        batches = aiter(stream.batches())
        began = loop.time()
        assert names(await anext(batches)) == ["c0"]
        assert loop.time() - began == pytest.approx(10, abs=PACE / 2)
        rest: list[list[str]] = []
        while sum(map(len, rest)) < 7:
            rest.append(names(await anext(batches)))
        await writer
    assert [name for batch in rest for name in batch] == [f"c{number}" for number in range(1, 8)]
    assert len(rest) <= 3


async def test_silence_brings_bookmarks_and_time_an_end() -> None:
    server = Server()
    query = watched(server, ("allowWatchBookmarks", "true"), ("timeoutSeconds", "150"))
    async with opened(server, MAPS, *query) as stream:
        began = asyncio.get_running_loop().time()
        kinds = [msgspec.json.decode(line)["type"] async for line in stream.lines()]
        assert asyncio.get_running_loop().time() - began == pytest.approx(150, abs=1)
    assert kinds == ["BOOKMARK"] * 3


async def test_a_refusal_is_one_line() -> None:
    async with opened(Server(), MAPS, ("watch", "true"), ("resourceVersion", "x")) as stream:
        assert stream.status == 400
        (batch,) = [batch async for batch in stream.batches()]
        assert msgspec.json.decode(batch[0])["code"] == 400
    async with opened(Server(), MAPS, ("watch", "true"), ("resourceVersion", "x")) as stream:
        assert len([line async for line in stream.lines()]) == 1


async def test_a_followed_log_ends_with_its_last_line() -> None:
    server = Server()
    server.create(PODS, pod())
    server.ok(
        "PATCH",
        PODS.path("default", "p", "status"),
        {"status": {"phase": "Failed"}},
        media="application/merge-patch+json",
    )
    async with opened(server, PODS.path("default", "p", "log"), ("follow", "true")) as stream:
        assert stream.status == 200
        lines = [line async for line in stream.lines()]
    whole = server.call("GET", PODS.path("default", "p", "log")).body
    assert lines == whole.splitlines()


async def test_a_watch_is_no_request() -> None:
    transport = LocalTransport(Server().api.handle, MemoryLog())
    with pytest.raises(TransportError, match="stream"):
        await transport.request(Request("GET", MAPS, (("watch", "true"),)))
