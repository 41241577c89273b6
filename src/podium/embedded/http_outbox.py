"""The outgoing half of a connection: answers leave in the order of their requests.

Every request has a slot.  An answer leaves when its slot is the first and its write is durable; a feed stays in
the first slot until it ends.  Small answers are one write each.  Large ones leave in pieces, as fast as the client
reads, and other connections get their turn in between: a list of 50,000 pods must not stop the server.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from podium.embedded.http_encoding import encode_head
from podium.embedded.http_feed import FeedSender
from podium.kube.transport import Response

_PIECE = 1 << 18  # bytes in one write at the most
_TURN = 4  # pieces of a large answer written before others get their turn


@dataclass(slots=True)
class Slot:
    """The place of one answer."""

    outbox: Outbox
    head: bytes = b""
    body: bytes = b""
    waiting: bool = False  # for the log to make durable what the answer is about
    feed: FeedSender | None = None
    close: bool = False  # the connection ends with this answer
    linger: bool = False

    def release(self, instead: Response | None, date: bytes) -> None:
        """What the answer is about is durable; or it will never be, and `instead` says so."""
        self.waiting = False
        if instead is not None:
            if self.feed is not None:
                self.feed.drop()
                self.feed = None
            self.head, self.body = encode_head(instead, date=date, close=self.close), instead.body
        self.outbox.pump()


class Outbox:
    """The queue of one connection's answers.  `on_room` is called when some of them have left."""

    def __init__(self, loop: asyncio.AbstractEventLoop, linger: float, on_room: Callable[[], None]) -> None:
        self.slots: deque[Slot] = deque()
        self.paused_at = math.inf  # since when the client leaves bytes unread
        self._loop = loop
        self._linger = linger
        self._on_room = on_room
        self._transport: asyncio.Transport | None = None
        self._rest: memoryview | None = None  # of a large answer
        self._turn: asyncio.Handle | None = None
        self._last: Slot | None = None  # after it the connection ends

    @property
    def empty(self) -> bool:
        return not self.slots and self._rest is None

    @property
    def feeding(self) -> bool:
        """Nothing is handled behind a feed, so a feed can only be in the last slot."""
        return bool(self.slots) and self.slots[-1].feed is not None

    def open(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def drop(self) -> None:
        """The client is gone."""
        self._transport = None
        if self._turn is not None:
            self._turn.cancel()
        for slot in self.slots:
            if slot.feed is not None:
                slot.feed.drop()
        self.slots.clear()
        self._rest = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        self.paused_at = self._loop.time()
        if self.slots and self.slots[0].feed is not None:
            self.slots[0].feed.pause()

    def resume(self) -> None:
        self.paused_at = math.inf
        if self.slots and self.slots[0].feed is not None:
            self.slots[0].feed.resume()
        self.pump()

    def end(self) -> None:
        """Lets the answers on their way leave, ends a feed, then closes the connection."""
        if self._transport is None:
            return
        if not self.slots:
            self._last = self._last or Slot(self, close=True)
            self.pump()
            return
        last = self.slots[-1]
        last.close = True
        if last.feed is not None:
            if not last.feed.started:
                last.feed.start(self._transport)
            last.feed.end()

    def pump(self) -> None:
        """Writes what may be written now."""
        transport = self._transport
        while transport is not None and self.paused_at == math.inf:
            if self._rest is not None and not self._write_rest(transport, self._rest):
                return
            if self._last is not None:
                self._close(transport, self._last)
                return
            if not self.slots or self.slots[0].waiting:
                break
            feed = self.slots[0].feed
            if feed is not None:
                if not feed.started:
                    feed.start(transport)
                return
            slot = self.slots.popleft()
            if len(slot.body) <= _PIECE:
                transport.write(slot.head + slot.body)
            else:
                transport.write(slot.head)
                self._rest = memoryview(slot.body)
            if slot.close:
                self._last = slot
        self._on_room()

    def feed_ended(self) -> None:
        slot = self.slots.popleft()
        if slot.close:
            self._last = slot
        self.pump()

    def _write_rest(self, transport: asyncio.Transport, rest: memoryview) -> bool:
        """Writes on; True if that was all of it."""
        for _ in range(_TURN):
            transport.write(rest[:_PIECE])
            rest = rest[_PIECE:]
            self._rest = rest if rest else None
            if self._rest is None:
                return True
            if self.paused_at != math.inf:
                return False
        if self._turn is None:
            self._turn = self._loop.call_soon(self._next_turn)
        return False

    def _next_turn(self) -> None:
        self._turn = None
        self.pump()

    def _close(self, transport: asyncio.Transport, last: Slot) -> None:
        """A client in the middle of sending a body would lose the answer to a reset: it is let finish first."""
        self.paused_at = self._loop.time()  # a client that never takes the last bytes is stuck, too
        if last.linger:
            self._loop.call_later(self._linger, transport.close)
        else:
            transport.close()
