"""Carries feeds (watches, followed logs) to their clients.

A feed is pulled.  Its `on_ready` says that there is something; what is there is taken when it can be sent.  Three
rules bound the cost of many watchers on a busy cluster.  After a write the next one waits, the longer the more
feeds there are, so that thousands of changes to dozens of watchers become a bounded number of writes; the first
change after a silence leaves at once.  Feeds that are due at about the same time are written to in one round:
watchers of the same things then stand at the same position, take the same bytes, and these are framed once.  And
nothing is taken while the client is not reading, so a stuck client holds a position in history and no memory.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable
from functools import partial

from podium.embedded.exchange import Feed
from podium.embedded.http_encoding import LAST_CHUNK, encode_chunk

log = logging.getLogger(__name__)

PACE = 0.01  # seconds between two writes to the same client, at least
WRITES = 1000  # writes a second to all clients together, about
PIECE = 1 << 18
TURN = 1 << 20  # bytes of a round that are written before others get their turn


class Pacer:
    """Writes to the feeds of a server, each as often as it may be, in common rounds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.feeds = 0
        self._loop = loop
        self._due: dict[FeedSender, float] = {}
        self._next_at = math.inf
        self._next: asyncio.Handle | None = None
        self._round: deque[FeedSender] = deque()
        self._plain = self._framed = b""

    @property
    def pause(self) -> float:
        return max(PACE, self.feeds / WRITES)

    def add(self, sender: FeedSender) -> None:
        """A feed has something.  Called from the middle of another request's write: only schedules."""
        if sender in self._due:
            return
        self._due[sender] = due = sender.written_at + self.pause
        if due < self._next_at:
            self._schedule(due)

    def drop(self, sender: FeedSender) -> None:
        self._due.pop(sender, None)

    def chunk(self, data: bytes) -> bytes:
        """The data framed; a piece that goes to many clients is framed once."""
        if data is not self._plain:
            self._plain, self._framed = data, encode_chunk(data)
        return self._framed

    def _schedule(self, at: float) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next_at = at
        wait = at - self._loop.time()
        call = self._loop.call_soon if wait <= 0 else partial(self._loop.call_later, wait)
        self._next = call(self._begin)

    def _begin(self) -> None:
        """Collects a round.  Who is due a little later comes along, and from then on they stay together."""
        horizon = self._loop.time() + self.pause / 2
        chosen = [sender for sender, due in self._due.items() if due <= horizon]
        for sender in chosen:
            del self._due[sender]
        self._next, self._next_at = None, math.inf
        if self._due:
            self._schedule(min(self._due.values()))
        idle = not self._round
        self._round.extend(chosen)
        if idle:
            self._write_some()

    def _write_some(self) -> None:
        now, written = self._loop.time(), 0
        try:
            while self._round and written < TURN:
                written += self._round.popleft().flush(now)
        finally:  # whatever one of them meets, the others are written to
            self._plain = self._framed = b""
            if self._round:
                self._loop.call_soon(self._write_some)


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
        self.written_at = -math.inf
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
        self.flush(self._loop.time())

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
        self._pacer.drop(self)
        for timer in self._timers:
            timer.cancel()
        self._feed.close()

    def flush(self, now: float) -> int:
        """Writes what is there; returns how many bytes that were."""
        if self._paused or self._ended:
            return 0
        data = self._take()
        if not data and (self._feed.finished or self._failed):
            self._finish(b"")
            return 0
        if data or self._head:
            self._write(data, now)
        if len(data) >= PIECE:
            self.written_at = -math.inf  # a long backlog: go on at once, after the others had their turn
        if len(data) >= PIECE or self._feed.finished:
            self._wake()
        return len(data)

    # --- inside --------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if not self._paused and not self._ended:
            self._pacer.add(self)

    def _tell(self) -> None:
        """A bookmark: how far the client is when no event shows it."""
        self._timers[-1] = self._loop.call_later(self._bookmark_period, self._tell)
        if self._paused:
            return
        data = self._take()
        if len(data) < PIECE and not self._feed.finished and not self._failed:
            data += self._feed.bookmark()
        if data:
            self._write(data, self._loop.time())
        self._wake()

    def _take(self) -> bytes:
        """A feed that fails ends, as a request that fails is answered: the client asks anew."""
        try:
            return self._feed.take(PIECE)
        except Exception:
            log.exception("a watch or a followed log failed")
            self._failed = True
            return b""

    def _write(self, data: bytes, now: float) -> None:
        assert self._transport is not None
        head, self._head = self._head, b""
        if not data:
            self._transport.write(head)
            return
        self.written_at = now
        if self._chunked:
            self._transport.write(head + self._pacer.chunk(data))
        else:
            self._transport.write(head + data)

    def _finish(self, data: bytes) -> None:
        self._ended = True
        if data or self._head:
            self._write(data, self._loop.time())
        if self._chunked:
            assert self._transport is not None
            self._transport.write(LAST_CHUNK)
        self.drop()
        self._on_end()
