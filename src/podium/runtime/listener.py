"""Listening on this machine for a few clients that speak HTTP: probes, scrapers, an API server with a webhook.

What is answered is up to whoever listens; here connections are taken, kept, and ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable

from podium.errors import UsageError

LOOPBACK = "127.0.0.1"
# How a client looks from here that is slow, gone, or does not speak HTTP.
_NO_CLIENT = (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError)

# One request and its answer; whether another one may follow.
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]


class Listener:
    """One port.  Use it as an async context manager; `port` is known then."""

    def __init__(
        self, port: int, answer: Answer, *, flags: str, longest_head: int, context: ssl.SSLContext | None = None
    ) -> None:
        """`flags` are those that choose another port, for the sentence that says that this one is taken."""
        self.port = port
        self._answer = answer
        self._flags = flags
        self._longest_head = longest_head
        self._context = context
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Listener:
        try:
            sock = socket.create_server((LOOPBACK, self.port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {LOOPBACK}:{self.port}: {error.strerror}; "
                f"choose another port with {self._flags} (:0 takes a free one)"
            ) from None
        self.port = sock.getsockname()[1]
        self._server = await asyncio.start_server(
            self._serve, sock=sock, limit=self._longest_head, ssl=self._context
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._clients:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            while await self._answer(reader, writer):
                pass
        except _NO_CLIENT:
            return
        finally:
            self._clients.discard(task)
            with contextlib.suppress(OSError):
                writer.close()
