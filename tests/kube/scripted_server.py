"""An HTTP server on loopback that says exactly what a test tells it to say, byte for byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from podium.kube.connection import Connection, Trust
from podium.kube.credentials import Credentials, Static


class Seen(NamedTuple):
    """One request as it came in.  `connection` counts the server's connections from 1."""

    connection: int
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def answer(body: bytes = b"{}", status: int = 200, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, *headers, "", "")).encode() + body


def chunked(*chunks: bytes, end: bool = True) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks) + (b"0\r\n\r\n" if end else b"")


Behaviour = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


async def politely(seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(answer())


class ScriptedServer:
    """`async with ScriptedServer(behave) as server`: calls `behave` for each request."""

    def __init__(self, behave: Behaviour = politely, tls: ssl.SSLContext | None = None) -> None:
        self.behave = behave
        self.seen: list[Seen] = []
        self.first_request = asyncio.Event()
        self.connections = 0
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    def connection(
        self, credentials: Credentials | None = None, trust: Trust | None = None, path: str = ""
    ) -> Connection:
        scheme = "https" if self._tls else "http"
        server = f"{scheme}://127.0.0.1:{self.port}{path}"
        return Connection(server, credentials or Static(), trust or Trust())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.seen.append(Seen(number, method, target, headers, body))
                self.first_request.set()
                await self.behave(self.seen[-1], writer)
        self._writers.discard(writer)
        writer.close()
