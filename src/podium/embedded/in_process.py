"""The in-process transport: the API called directly.

Writes are answered when they are durable, as over a socket.  Reads and watches are answered at once, from memory:
whatever is decided here from a write that is not on the disk yet is itself written after it, in the same log, so
a crash that takes the one back takes the other back as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from podium.embedded.exchange import Feed, Held, Reply
from podium.errors import StorageError, TransportError
from podium.kube.transport import Request, Response, Stream, cut_lines

BOOKMARK_SECONDS = 60.0

# Between two looks at a feed in which something happens all the time: every look has a machine take in what is
# new and decide again, so it should find more than one change.  The first change after a silence is seen at once.
PACE = 0.004
PIECE = 1 << 18


class Durable(Protocol):
    """The part of the log that an answer waits for."""

    def is_durable(self, entry: int) -> bool: ...

    async def wait(self, entry: int) -> None: ...


class LocalTransport:
    """A Transport whose server is an `Api` in this process."""

    def __init__(self, handle: Callable[[Request], Reply], log: Durable) -> None:
        self._handle = handle
        self._log = log

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        reply = self._handle(request)
        if isinstance(reply, Held):
            if not self._log.is_durable(reply.entry):
                try:
                    await self._log.wait(reply.entry)
                except StorageError as error:
                    raise TransportError(str(error)) from error
            return reply.response
        if isinstance(reply, Response):
            return reply
        reply.close()
        raise TransportError(f"{request.method} {request.path} answers with a stream: open it with stream()")

    @asynccontextmanager
    async def stream(self, request: Request, *, timeout: float = 30.0) -> AsyncIterator[Stream]:
        reply = self._handle(request)
        if isinstance(reply, Held):
            raise TransportError(f"{request.method} {request.path} does not answer with a stream")
        if isinstance(reply, Response):
            yield _Whole(reply)
            return
        try:
            yield _Lines(reply)
        finally:
            reply.close()

    async def close(self) -> None:
        return


class _Whole:
    """An answer that is no stream after all: usually a refusal."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self._body = response.body

    async def lines(self) -> AsyncIterator[bytes]:
        yield self._body

    async def batches(self) -> AsyncIterator[list[bytes]]:
        yield [self._body]


class _Lines:
    """A feed as lines."""

    status = 200

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def lines(self) -> AsyncIterator[bytes]:
        async for batch in self.batches():
            for line in batch:
                yield line

    async def batches(self) -> AsyncIterator[list[bytes]]:
        ready = asyncio.Event()
        feed = self._feed
        feed.on_ready(ready.set)
        rest = b""
        loop = asyncio.get_running_loop()
        ends = loop.time() + feed.timeout
        while True:
            ready.clear()
            piece = feed.take(PIECE)
            if piece:
                lines, rest = cut_lines(rest + piece)
                yield lines
                await asyncio.sleep(PACE if len(piece) < PIECE else 0)  # a long history must not hold the loop
                continue
            if feed.finished:
                if rest:
                    yield [rest]
                return
            try:
                async with asyncio.timeout(min(ends - loop.time(), BOOKMARK_SECONDS)):
                    await ready.wait()
            except TimeoutError:
                yield cut_lines(feed.bookmark())[0]
                if loop.time() >= ends:
                    return
