"""One client's connection: requests in, answers out.

Requests are handled as soon as they are complete, also while earlier answers still wait for the disk, so that the
writes which a client pipelines share one commit.  Behind a feed nothing is handled before the feed ends.

Every answer that says something of objects waits, a read or a refusal too: until what it was decided from is on
the disk.  Otherwise a client could act on a write that a crash then takes back.  One commit is all it waits for.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from typing import Protocol, cast

import msgspec

from podium.embedded.access import Gate
from podium.embedded.exchange import Held, Reply, refusal
from podium.embedded.http_encoding import CONTINUE, encode_feed_head, encode_head
from podium.embedded.http_feed import FeedSender, Pacer
from podium.embedded.http_outbox import Outbox, Slot
from podium.embedded.http_reader import Incoming, Reader
from podium.errors import ApiError
from podium.kube.transport import Request, Response

log = logging.getLogger(__name__)

# What lies below these is made from stored objects; health, version and metrics are not, and never wait.
_OF_OBJECTS = ("/api", "/openapi")

_PIPELINE = 16  # requests of one connection that may wait to be handled, and answers that may wait to leave
_BATCH = 4  # requests of one connection handled before others get their turn


class Limits(msgspec.Struct, frozen=True):
    """How long a client may take, in seconds."""

    idle: float = 90.0  # between two requests
    read: float = 30.0  # from a request's first byte to its last
    stuck: float = 60.0  # leaving written bytes unread
    linger: float = 2.0  # sending on after a refusal in the middle of a body
    bookmark: float = 60.0  # a watch gets one that often, however quiet it is


class Host(Protocol):
    """What a connection needs of its server."""

    loop: asyncio.AbstractEventLoop
    gate: Gate
    limits: Limits
    pacer: Pacer
    date: bytes
    closing: bool

    def handle(self, request: Request) -> Reply: ...

    def hold(self, slot: Slot) -> bool:
        """False if all writes so far are durable already; else the server releases the slot when they are."""
        ...

    def answered(self, request: Request, status: int) -> None: ...

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    """The protocol object of one accepted socket."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = host.loop
        self._transport: asyncio.Transport | None = None
        self._reader = Reader(host.gate, self)
        self._backlog: deque[Incoming] = deque()
        self._outbox = Outbox(host.loop, host.limits.linger, self._schedule)
        self._turn: asyncio.Handle | None = None
        self._reading = True
        self._closing = False  # the last answer is decided on: nothing more is handled
        self._begun_at = math.inf  # when the request that is coming in began
        self._active_at = host.loop.time()

    # --- called by the loop --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._outbox.open(self._transport)
        self._host.opened(self)
        if self._host.closing:
            self.shut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._closing = True
        if self._turn is not None:
            self._turn.cancel()
        self._backlog.clear()
        self._outbox.drop()
        self._host.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._active_at = self._loop.time()
        self._reader.feed(data)
        if not self._reader.begun:
            self._begun_at = math.inf
        elif self._begun_at == math.inf:
            self._begun_at = self._active_at
        if self._turn is None:
            self._work()

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()

    # --- called by the reader ------------------------------------------------------------------------------

    def received(self, incoming: Incoming) -> None:
        self._begun_at = math.inf
        self._backlog.append(incoming)

    def send_continue(self) -> None:
        """The go-ahead takes its place behind earlier answers, those not yet decided included."""
        while self._backlog and not self._closing and not self._outbox.feeding:
            self._handle(self._backlog.popleft())
        if not self._closing and not self._outbox.feeding:
            self._outbox.slots.append(Slot(self._outbox, head=CONTINUE))
            self._outbox.pump()

    # --- called by the server ------------------------------------------------------------------------------

    def sweep(self, now: float) -> None:
        """Ends the connection if its client is silent or stuck.  Called about once a second."""
        limits = self._host.limits
        if self._transport is None:
            return
        idle = self._outbox.empty and not self._backlog
        if now - self._outbox.paused_at > limits.stuck:
            self._transport.abort()
        elif now - self._begun_at > limits.read or (idle and now - self._active_at > limits.idle):
            self._transport.close()

    def shut(self) -> None:
        """The server goes down: a feed ends, answers on their way are finished, then the connection closes."""
        self._closing = True
        self._backlog.clear()
        self._outbox.end()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- handling ------------------------------------------------------------------------------------------

    def _ready(self) -> bool:
        """May the next request be handled?"""
        outbox = self._outbox
        return (
            bool(self._backlog)
            and not self._closing
            and not outbox.feeding
            and len(outbox.slots) < _PIPELINE
            and outbox.paused_at == math.inf
        )

    def _schedule(self) -> None:
        self._active_at = self._loop.time()
        if self._turn is None and self._ready():
            self._turn = self._loop.call_soon(self._work)

    def _work(self) -> None:
        """Handles what has come in, within bounds that keep one client from taking all."""
        self._turn = None
        for _ in range(_BATCH):
            if not self._ready():
                break
            self._handle(self._backlog.popleft())
        self._outbox.pump()
        self._schedule()
        if self._transport is not None and self._reading != (len(self._backlog) < _PIPELINE):
            self._reading = not self._reading
            if self._reading:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _handle(self, incoming: Incoming) -> None:
        """Decides on one answer and gives it its slot."""
        request = incoming.request
        head_only = request.method == "HEAD"
        reply = self._reply(incoming, head_only)
        slot = Slot(self._outbox, close=incoming.close, linger=incoming.linger)
        self._closing = self._closing or incoming.close
        if isinstance(reply, Held):
            slot.waiting = self._host.hold(slot)
            reply = reply.response
        elif incoming.refused is None and request.path.startswith(_OF_OBJECTS):
            slot.waiting = self._host.hold(slot)
        if isinstance(reply, Response):
            self._host.answered(request, reply.status)
            slot.head = encode_head(reply, date=self._host.date, close=slot.close)
            slot.body = b"" if head_only else reply.body
        else:
            self._host.answered(request, 200)
            chunked = not incoming.http_1_0
            head = encode_feed_head(reply.content_type, date=self._host.date, chunked=chunked)
            if head_only:
                reply.close()
                slot.head = head
            else:
                reply.hold_back()
                slot.close = slot.close or not chunked
                slot.feed = FeedSender(
                    reply,
                    head=head,
                    chunked=chunked,
                    loop=self._loop,
                    pacer=self._host.pacer,
                    on_end=self._outbox.feed_ended,
                    bookmark_period=self._host.limits.bookmark,
                )
        self._outbox.slots.append(slot)

    def _reply(self, incoming: Incoming, head_only: bool) -> Reply:
        if incoming.refused is not None:
            return refusal(incoming.refused)
        request = incoming.request
        if head_only:
            request = msgspec.structs.replace(request, method="GET")
        try:
            return self._host.handle(request)
        except ApiError as error:
            return refusal(error)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(ApiError(500, "InternalError", "an error of the server's own; see its log"))
