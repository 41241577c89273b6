"""A small HTTPS server: POST in, JSON out, connections kept.

The one client is an API server that asks for each write of a few kinds; a reader of lines is enough.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from podium.runtime.listener import Address, Listener

# A review carries an object and the one before it, which are 1.5 MiB each at the most.
LARGEST_BODY = 8 * 1024 * 1024
_HEADER_LIMIT = 64 * 1024
_IDLE_SECONDS = 300.0
_REASONS = {200: "OK", 400: "Bad Request", 405: "Method Not Allowed", 413: "Content Too Large"}

# From a path and a body to the answer; None when nobody can answer that.
Answer = Callable[[str, bytes], bytes | None]


class HttpsServer:
    """Use it as an async context manager; `port` is known then."""

    def __init__(self, address: Address, context: ssl.SSLContext, answer: Answer) -> None:
        self._answer = answer
        self._listener = Listener(
            address, self._one, flags="--listen-address", longest_head=_HEADER_LIMIT, context=context
        )

    @property
    def port(self) -> int:
        return self._listener.port

    async def __aenter__(self) -> HttpsServer:
        await self._listener.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._listener.__aexit__(*exc)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether another one may follow."""
        async with asyncio.timeout(_IDLE_SECONDS):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = first.split(" ")
            headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
            length = int(headers.get("content-length", "0"))
            if length > LARGEST_BODY:
                return await _send(writer, 413, b"", keep=False)
            body = await reader.readexactly(length)
        keep = headers.get("connection", "").lower() != "close"
        if method != "POST":
            return await _send(writer, 405, b"", keep=keep)
        answer = self._answer(target.partition("?")[0], body)
        return await _send(writer, 400 if answer is None else 200, answer or b"", keep=keep)


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, *, keep: bool) -> bool:
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return keep
