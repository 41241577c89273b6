"""A proxy that fails as networks do: bytes pass through it until it is told to reset connections or to be slow."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: a close is a reset


class Proxy:
    """Between one client and one server, both on loopback."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._open: set[asyncio.StreamWriter] = set()
        self._refusing_until = 0.0
        self.delay = 0.0  # seconds that bytes take, each way
        self.resets = 0

    @property
    def port(self) -> int:
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def close(self) -> None:
        self._listener.close()
        self.reset()

    def reset(self, seconds: float = 0.0) -> None:
        """Resets all connections, and everything that connects for so long."""
        self._refusing_until = max(self._refusing_until, _now() + seconds)
        for writer in list(self._open):
            self._abort(writer)

    async def reset_every(self, pause: float, times: int) -> None:
        for _ in range(times):
            self.reset()
            await asyncio.sleep(pause)

    def _abort(self, writer: asyncio.StreamWriter) -> None:
        self.resets += 1
        self._open.discard(writer)
        with contextlib.suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if _now() < self._refusing_until:
            self._abort(writer)
            return
        there = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._open |= {writer, there[1]}
        await asyncio.gather(self._carry(reader, there[1]), self._carry(there[0], writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bytes in one direction: each piece as late as all others, so a slow line is as wide as a fast one."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def send() -> None:
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0.0, due - _now()))
                if not piece:
                    return
                writer.write(piece)
                await writer.drain()

        sending = asyncio.create_task(send())
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                pieces.put_nowait((_now() + self.delay, piece))
        pieces.put_nowait((_now() + self.delay, b""))
        with contextlib.suppress(OSError):
            await sending
        self._open.discard(writer)
        with contextlib.suppress(OSError):
            writer.close()


def _now() -> float:
    return asyncio.get_running_loop().time()


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
