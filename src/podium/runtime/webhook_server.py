"""A small HTTPS server on this machine: POST in, JSON out, connections kept.

The one client is an API server that asks for each write of a few kinds; a reader of lines is enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

from podium.errors import UsageError
from podium.runtime.endpoints import LOOPBACK

# A review carries an object and the one before it, which are 1.5 MiB each at the most.
LARGEST_BODY = 8 * 1024 * 1024
_HEADER_LIMIT = 64 * 1024
_IDLE_SECONDS = 300.0
# How a client looks from here that is slow, gone, or does not speak HTTP.
_NO_CLIENT = (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError)
_WORDS = {200: "OK", 400: "Bad Request", 405: "Method Not Allowed", 413: "Content Too Large"}

# From a path and a body to the answer; None when nobody can answer that.
Answer = Callable[[str, bytes], bytes | None]


class HttpsServer:
    """One listener.  Use it as an async context manager; `port` is known then."""

    def __init__(self, port: int, context: ssl.SSLContext, answer: Answer) -> None:
        self.port = port
        self._context = context
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> HttpsServer:
        try:
            sock = socket.create_server((LOOPBACK, self.port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {LOOPBACK}:{self.port}: {error.strerror}; "
                "choose another port with --listen-address (:0 takes a free one)"
            ) from None
        self.port = sock.getsockname()[1]
        self._server = await asyncio.start_server(self._serve, sock=sock, limit=_HEADER_LIMIT, ssl=self._context)
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
            while await self._one(reader, writer):
                pass
        except _NO_CLIENT:
            return
        finally:
            self._clients.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether another one may follow."""
        async with asyncio.timeout(_IDLE_SECONDS):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = first.split(" ")
            headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
            length = int(headers.get("content-length", "0"))
            if length > LARGEST_BODY:
                return await _say(writer, 413, b"", keep=False)
            body = await reader.readexactly(length)
        keep = headers.get("connection", "").lower() != "close"
        if method != "POST":
            return await _say(writer, 405, b"", keep=keep)
        answer = self._answer(target.partition("?")[0], body)
        return await _say(writer, 400 if answer is None else 200, answer or b"", keep=keep)


async def _say(writer: asyncio.StreamWriter, status: int, body: bytes, *, keep: bool) -> bool:
    head = (
        f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return keep
