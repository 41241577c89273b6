"""The driver of reflectors, in virtual time, over a transport that misbehaves on demand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pytest

from podium.errors import TransportError
from podium.kube.deltas import Delta
from podium.kube.reflector import Reflector
from podium.kube.resources import PODS
from podium.kube.status import status_document
from podium.kube.status import unknown_path as unknown_path_error
from podium.kube.transport import Request, Response, Stream
from podium.kube.watching import watch
from podium.kube.wire import Pod
from tests.kube.fake_store import FakeStore, Replay, encoded, versions

pytestmark = pytest.mark.looptime


class StoreStream:
    def __init__(self, status: int, lines: AsyncIterator[bytes]) -> None:
        self.status = status
        self._lines = lines

    def lines(self) -> AsyncIterator[bytes]:
        return self._lines

    async def batches(self) -> AsyncIterator[list[bytes]]:
        async for line in self._lines:
            yield [line]


class StoreTransport:
    """Serves one store under every path.  `refuse` may answer a request with an error status instead."""

    def __init__(self, store: FakeStore) -> None:
        self.store = store
        self.refuse: Callable[[Request], int] = lambda request: 0
        self.reachable = True
        self.silent = False
        self.requests: list[tuple[float, str]] = []
        self._moved = asyncio.Event()

    def changed(self) -> None:
        self._moved.set()

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        self._note("list")
        refusal = self._refusal(request)
        return Response(*(refusal or self.store.page(request)))

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    async def close(self) -> None: ...

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        self._note("watch")
        refusal = self._refusal(request)
        yield StoreStream(*refusal[:1], _once(refusal[1])) if refusal else StoreStream(200, self._lines(request))

    async def _lines(self, request: Request) -> AsyncIterator[bytes]:
        sent = 0
        end = asyncio.get_running_loop().time() + float(request.param("timeoutSeconds"))
        while True:
            self._moved.clear()
            if not self.reachable:
                raise TransportError("the connection broke")
            lines = self.store.watch(request)
            if not self.silent:
                for line in lines[sent:]:
                    yield line
                sent = len(lines)
            try:
                async with asyncio.timeout_at(end):
                    await self._moved.wait()
            except TimeoutError:
                return

    def _refusal(self, request: Request) -> tuple[int, bytes] | None:
        if not self.reachable:
            raise TransportError("connection refused")
        code = self.refuse(request)
        return (code, encoded({**status_document(unknown_path_error()), "code": code})) if code else None

    def _note(self, what: str) -> None:
        self.requests.append((asyncio.get_running_loop().time(), what))


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


class Scene:
    """A store, a transport, a driven reflector and its consumer."""

    def __init__(self, **options: Any) -> None:
        self.store = FakeStore()
        self.store.put("a")
        self.transport = StoreTransport(self.store)
        self.reflector = Reflector(PODS, Pod, **options)
        self.replay = Replay()
        self.calls = 0

    def sink(self, deltas: list[Delta[Pod]]) -> None:
        self.calls += 1
        self.replay(deltas)

    async def __aenter__(self) -> Scene:
        self.task = asyncio.create_task(watch(self.transport, self.reflector, self.sink))
        await asyncio.sleep(1)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    def agrees(self) -> bool:
        return self.replay.state == versions(self.store.objects)


async def test_it_lists_and_follows() -> None:
    async with Scene() as scene:
        assert scene.agrees()
        scene.store.put("b")
        scene.store.delete("a")
        scene.transport.changed()
        await asyncio.sleep(0.1)
        assert scene.agrees()
        assert scene.replay.told == ["+ a", "+ b", "- a"]
        assert [what for _, what in scene.transport.requests] == ["list", "watch"]


class Reading(Reflector[Pod]):
    """A reflector that notes when it reads a page, beside the requests."""

    log: list[tuple[float, str]]

    def page(self, status: int, body: bytes, now: float) -> list[Delta[Pod]]:
        self.log.append((now, "read"))
        return super().page(status, body, now)


async def test_a_page_is_asked_for_before_the_one_before_it_is_read() -> None:
    scene = Scene()
    for name in ("b", "c"):
        scene.store.put(name)
    scene.reflector = reading = Reading(PODS, Pod, page_size=1)
    reading.log = scene.transport.requests
    async with scene:
        assert scene.agrees()
        reported = [what for _, what in scene.transport.requests]
        assert reported == ["list", "list", "read", "list", "read", "read", "watch"]


async def test_a_page_that_fails_ahead_of_its_time_is_a_failure_when_its_time_has_come() -> None:
    scene = Scene(page_size=1)
    scene.store.put("b")
    failures = 2

    def refuse(request: Request) -> int:
        nonlocal failures
        failures -= bool(request.param("continue"))
        return 503 if request.param("continue") and failures >= 0 else 0

    scene.transport.refuse = refuse
    async with scene:
        await asyncio.sleep(30)
        assert scene.agrees()
        assert scene.reflector.counters.errors == 2


async def test_the_watch_is_renewed_when_the_server_ends_it() -> None:
    async with Scene(stall=10_000.0) as scene:
        await asyncio.sleep(3600)
        kinds = [what for _, what in scene.transport.requests]
        assert kinds.count("list") == 1
        assert 6 <= kinds.count("watch") - 1 <= 12
        assert scene.reflector.counters.errors == 0


async def test_an_outage_is_survived_and_what_happened_meanwhile_is_told() -> None:
    async with Scene() as scene:
        scene.transport.reachable = False
        scene.transport.changed()
        await asyncio.sleep(60)
        assert scene.reflector.trouble == "connection refused"
        assert 4 <= len(scene.transport.requests) <= 12
        scene.store.put("b")
        scene.store.delete("a")
        scene.store.compact()
        scene.transport.reachable = True
        await asyncio.sleep(50)
        assert scene.agrees()
        assert scene.replay.told == ["+ a", "- a", "+ b"]
        assert scene.reflector.trouble == ""


async def test_a_watch_that_has_gone_silent_is_reopened() -> None:
    async with Scene(stall=90.0) as scene:
        scene.transport.silent = True
        await asyncio.sleep(50)
        scene.store.put("b")
        scene.transport.changed()
        await asyncio.sleep(30)
        assert not scene.agrees()
        scene.transport.silent = False
        await asyncio.sleep(10)
        assert scene.agrees()
        assert scene.reflector.counters.stalls == 1


async def test_lines_keep_the_watch_alive() -> None:
    async with Scene(stall=90.0) as scene:
        for _ in range(10):
            await asyncio.sleep(25)
            scene.store.put("b")
            scene.transport.changed()
        await asyncio.sleep(0.1)
        assert scene.reflector.counters.stalls == 0
        assert scene.reflector.counters.watches == 1


async def test_the_sink_hears_of_an_empty_initial_state_once() -> None:
    scene = Scene()
    scene.store.delete("a")
    async with scene:
        assert scene.calls == 1
        assert scene.replay.told == []


async def test_trouble_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene()
    scene.transport.refuse = lambda request: 404
    async with scene:
        await asyncio.sleep(100)
        scene.transport.refuse = lambda request: 0
        await asyncio.sleep(30)
    reported = [record.getMessage() for record in caplog.records if record.name == "podium.kube.watching"]
    assert reported == ["pods: the server does not have this kind", "pods: watched again"]


async def test_a_bug_in_the_sink_is_not_swallowed() -> None:
    scene = Scene()

    def broken(deltas: list[Delta[Pod]]) -> None:
        raise TimeoutError("a bug")

    with pytest.raises(TimeoutError, match="a bug"):
        await watch(scene.transport, scene.reflector, broken)


# --- kinds that are not there --------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [403, 404])
async def test_a_missing_kind_counts_as_empty_and_a_poke_finds_it(code: int) -> None:
    scene = Scene()
    scene.transport.refuse = lambda request: code
    wake = asyncio.Event()
    task = asyncio.create_task(watch(scene.transport, scene.reflector, scene.sink, wake=wake))
    await asyncio.sleep(1)
    assert scene.reflector.synced
    assert scene.replay.state == {}
    scene.transport.refuse = lambda request: 0
    await asyncio.sleep(1)
    assert scene.replay.state == {}
    scene.reflector.poke()
    wake.set()
    await asyncio.sleep(1)
    assert scene.agrees()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
