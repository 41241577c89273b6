"""Carries one feed (a watch, a followed log) to one client.

A feed is pulled.  Its `on_ready` says that there is something; what is there is taken when it can be sent.  Two
rules bound the cost of many watchers on a busy cluster.  After a write the next one waits, the longer the more
feeds there are, so that thousands of changes to dozens of watchers become a bounded number of writes; the first
change after a silence leaves at once.  And nothing is taken while the client is not reading, so a stuck client
holds a position in history and no memory.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from podium.embedded.exchange import Feed
from podium.embedded.http_encoding import LAST_CHUNK, encode_chunk

log = logging.getLogger(__name__)

PACE = 0.01  # seconds between two writes to the same client, at least
WRITES = 1000  # writes a second to all clients together, about
PIECE = 1 << 18


class Pacer:
    """How long a client waits for its next bytes: shared by all feeds of a server."""

    def __init__(self) -> None:
        self.feeds = 0

    @property
    def pause(self) -> float:
        return max(PACE, self.feeds / WRITES)


class FeedSender:
    """Pumps a feed into a transport until it ends; `on_end` is called when its last byte has been written."""

    def __init__(
        self,
        feed: Feed,
        *,
        head: bytes,
        chunked: bool,
        loop: asyncio.AbstractEventLoop,
        pacer: Pacer,
        on_end: Callable[[], None],
        bookmark_period: float,
    ) -> None:
        self._feed = feed
        self._head = head
        self._chunked = chunked
        self._loop = loop
        self._pacer = pacer
        self._on_end = on_end
        self._bookmark_period = bookmark_period
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._ended = False
        self._failed = False
        self._dropped = False
        self._flush_at: asyncio.Handle | None = None
        self._written_at = -math.inf
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def started(self) -> bool:
        return self._transport is not None

    def start(self, transport: asyncio.Transport) -> None:
        """Sends the head, with what is there already, and keeps sending from then on."""
        self._transport = transport
        self._pacer.feeds += 1
        if math.isfinite(self._feed.timeout):
            self._timers.append(self._loop.call_later(self._feed.timeout, self.end))
        self._timers.append(self._loop.call_later(self._bookmark_period, self._tell))
        self._feed.on_ready(self._wake)
        self._flush()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._wake()

    def end(self) -> None:
        """Ends the answer properly: what is there goes out, then the mark of the end."""
        if self._ended or self._transport is None:
            return
        self._finish(b"" if self._paused else self._take() + self._feed.bookmark())

    def drop(self) -> None:
        """The client is gone: no further byte is written."""
        self._ended = True
        if self.started and not self._dropped:
            self._pacer.feeds -= 1
        self._dropped = True
        if self._flush_at is not None:
            self._flush_at.cancel()
        for timer in self._timers:
            timer.cancel()
        self._feed.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """There is something to take.  Called from the middle of another request's write: only schedules."""
        if self._flush_at is not None or self._paused or self._ended:
            return
        wait = self._written_at + self._pacer.pause - self._loop.time()
        if wait > 0:
            self._flush_at = self._loop.call_later(wait, self._flush)
        else:
            self._flush_at = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._flush_at is not None:
            self._flush_at.cancel()
            self._flush_at = None
        if self._paused or self._ended:
            return
        data = self._take()
        if not data and (self._feed.finished or self._failed):
            self._finish(b"")
            return
        if data or self._head:
            self._write(data)
        if data:
            # Only an empty take proves that everything was taken, and only then the feed calls again.
            if len(data) >= PIECE // 2:
                self._written_at = -math.inf  # a long backlog: go on at once, after the others had their turn
            self._wake()

    def _tell(self) -> None:
        """A bookmark: how far the client is when nothing else told it so."""
        self._timers[-1] = self._loop.call_later(self._bookmark_period, self._tell)
        if self._paused:
            return
        data = self._take()
        if len(data) < PIECE // 2 and not self._feed.finished and not self._failed:
            data += self._feed.bookmark()
        if data:
            self._write(data)
            self._wake()

    def _take(self) -> bytes:
        """A feed that fails ends, as a request that fails is answered: the client asks anew."""
        try:
            return self._feed.take(PIECE)
        except Exception:
            log.exception("a watch or a followed log failed")
            self._failed = True
            return b""

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        head, self._head = self._head, b""
        if not data:
            self._transport.write(head)
            return
        self._written_at = self._loop.time()
        if self._chunked:
            self._transport.write(head + encode_chunk(data))
        else:
            self._transport.write(head + data)

    def _finish(self, data: bytes) -> None:
        self._ended = True
        if data or self._head:
            self._write(data)
        if self._chunked:
            assert self._transport is not None
            self._transport.write(LAST_CHUNK)
        self.drop()
        self._on_end()
