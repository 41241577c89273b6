"""Listening for a few clients that speak HTTP: probes, scrapers, an API server with a webhook.

What is answered is up to whoever listens; here connections are taken, kept, and ended.  Without a host it is this
machine alone that can ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable

import msgspec

from podium.errors import UsageError

LOOPBACK = "127.0.0.1"
_HERE = ("", "localhost", LOOPBACK)
# How a client looks from here that is slow, gone, or does not speak HTTP.
_NO_CLIENT = (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError)

# One request and its answer; whether another one may follow.
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]


class Address(msgspec.Struct, frozen=True):
    """Where to listen, as `--listen-address` says it."""

    port: int
    host: str = LOOPBACK

    @classmethod
    def read(cls, text: str, flag: str) -> Address:
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not port.isdigit() or int(port) > 65535 or not (host in _HERE or _is_address(host)):
            raise UsageError(
                f"{flag} wants [address]:port, such as :8080 (this machine alone), :0 (a free port there), "
                f"0.0.0.0:8080 or 10.0.0.5:8080, not {text!r}"
            )
        return cls(int(port), LOOPBACK if host in _HERE else host)

    @property
    def is_local(self) -> bool:
        """Whether nobody from another machine gets there."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def shown(self) -> str:
        """As it stands in a URL, without the port."""
        return f"[{self.host}]" if ":" in self.host else self.host


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class Listener:
    """One port.  Use it as an async context manager; `port` is known then."""

    def __init__(
        self,
        address: Address,
        answer: Answer,
        *,
        flags: str,
        longest_head: int,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`flags` are those that choose another port, for the sentence that says that this one is taken."""
        self.port = address.port
        self._address = address
        self._answer = answer
        self._flags = flags
        self._longest_head = longest_head
        self._context = context
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Listener:
        try:
            family = socket.AF_INET6 if ":" in self._address.host else socket.AF_INET
            sock = socket.create_server((self._address.host, self.port), family=family)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {self._address.shown}:{self.port}: {error.strerror}; "
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
