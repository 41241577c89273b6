"""The HTTPS server in front of the API: listens, holds answers until they are durable, goes down in order.

`handle` is synchronous; everything that waits is here.  Answers wait in one queue until what they contain is on
the disk: a group commit makes many writes durable at once, and one task sends all that waited for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from typing import Protocol

from podium.embedded.access import Gate
from podium.embedded.exchange import Reply, refusal
from podium.embedded.http_connection import Connection, Limits
from podium.embedded.http_feed import Pacer
from podium.embedded.http_outbox import Slot
from podium.errors import ApiError, UsageError
from podium.kube.transport import Request, Response

log = logging.getLogger(__name__)

_SWEEP = 1.0
_BACKLOG = 1024
_LOOPBACK = "127.0.0.1"
_LARGE = 16 << 20


class Durability(Protocol):
    """What the server needs of the log."""

    @property
    def last(self) -> int:
        """The newest entry."""
        ...

    def is_durable(self, entry: int) -> bool: ...

    async def wait(self, entry: int) -> None:
        """Returns once `entry` is on disk; raises if it never will be."""
        ...


def listen(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free one.  UsageError if the port is taken."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind((_LOOPBACK, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} is taken: choose another with --port (0 takes a free one)") from None
        raise UsageError(f"cannot listen on {_LOOPBACK}:{port}: {error.strerror}") from None
    except OverflowError:
        sock.close()
        raise UsageError(f"{port} is no port: choose one from 0 to 65535") from None
    return sock


def _keep_freed_memory() -> None:
    """Teaches the C library to keep what is freed, up to about twice the size of the block freed here.

    TLS reads and writes go through blocks of 256 KiB.  glibc hands such blocks back to the system and has every
    page of the next one faulted in again, until it has once seen a larger block come and go.
    """
    bytes(_LARGE)


class HttpServer:
    """Serves `handle` over HTTPS to those whom `gate` lets in."""

    def __init__(
        self,
        handle: Callable[[Request], Reply],
        durability: Durability,
        gate: Gate,
        *,
        limits: Limits | None = None,
        on_answer: Callable[[Request, int], None] | None = None,
    ) -> None:
        self.handle = handle
        self.gate = gate
        self.limits = limits or Limits()
        self.date = b""
        self.closing = False
        self.loop = asyncio.get_running_loop()
        self.pacer = Pacer(self.loop)
        self._durability = durability
        self._on_answer = on_answer
        self._connections: set[Connection] = set()
        self._held: deque[tuple[int, Slot]] = deque()
        self._all_closed = asyncio.Event()
        self._something_held = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def waiting(self) -> int:
        """Answers that are decided and wait for the disk."""
        return len(self._held)

    async def start(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        """Begins to accept on a socket from `listen`."""
        self._sweep()
        _keep_freed_memory()
        self._server = await self.loop.create_server(
            lambda: Connection(self), sock=sock, ssl=context, ssl_handshake_timeout=10, ssl_shutdown_timeout=2
        )
        self._tasks = [
            asyncio.create_task(self._sweep_forever(), name="http-sweep"),
            asyncio.create_task(self._send_held(), name="http-held"),
        ]

    async def close(self, grace: float = 5.0) -> None:
        """Stops accepting, ends feeds, finishes answers on their way; after `grace` seconds it cuts."""
        self.closing = True
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.shut()
        if self._connections:
            self._all_closed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), grace)
        for connection in list(self._connections):
            connection.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- for the connections -------------------------------------------------------------------------------

    def hold(self, slot: Slot) -> bool:
        entry = self._durability.last
        if self._durability.is_durable(entry):
            return False
        self._held.append((entry, slot))
        self._something_held.set()
        return True

    def answered(self, request: Request, status: int) -> None:
        if self._on_answer is not None:
            self._on_answer(request, status)

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()

    # --- inside --------------------------------------------------------------------------------------------

    async def _send_held(self) -> None:
        """Releases answers in the order of their writes.  One wait serves a whole commit."""
        while True:
            await self._something_held.wait()
            self._something_held.clear()
            while self._held:
                entry, slot = self._held[0]
                instead = None
                try:
                    await self._durability.wait(entry)
                except Exception as error:
                    log.error("an answer is held back, because a write could not be stored: %s", error)
                    failure = ApiError(500, "InternalError", f"what was written could not be stored: {error}")
                    instead = refusal(failure)
                self._held.popleft()
                self._release(slot, instead)
                while self._held and self._durability.is_durable(self._held[0][0]):
                    self._release(self._held.popleft()[1], None)

    def _release(self, slot: Slot, instead: Response | None) -> None:
        """A connection that fails here is cut; the answers of all others still have to leave."""
        try:
            slot.release(instead, self.date)
        except Exception:
            log.exception("an answer could not be sent")
            slot.outbox.abort()

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            self._sweep()

    def _sweep(self) -> None:
        self.date = formatdate(usegmt=True).encode()
        now = self.loop.time()
        for connection in list(self._connections):
            connection.sweep(now)
