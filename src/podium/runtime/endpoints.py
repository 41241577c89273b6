"""Health and metrics over HTTP, on this machine only.

    /healthz, /livez   200 as long as the process does anything at all
    /readyz            200 when it is ready, else 503 with the reason
    /metrics           the text format of Prometheus

A few requests a minute from probes and scrapers: a reader of lines is enough, and nobody gets in from elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from podium.errors import UsageError
from podium.runtime.listener import LOOPBACK, Listener

log = logging.getLogger(__name__)

_HEADER_LIMIT = 16 * 1024
_IDLE_SECONDS = 60.0
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT_TYPE = "text/plain; charset=utf-8"
_WORDS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Address(msgspec.Struct, frozen=True):
    """Where to listen, as `--listen-address` says it."""

    port: int
    elsewhere: str = ""  # another host than this one that was asked for

    @classmethod
    def read(cls, text: str, flag: str) -> Address:
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise UsageError(f"{flag} wants [host]:port, such as :8080 or :0 for a free port, not {text!r}")
        return cls(int(port), host if host not in ("", LOOPBACK, "localhost", "[::1]") else "")


class Answers(msgspec.Struct, frozen=True):
    """Why the process is not ready ("" when it is), and its figures.  None: there is no such path."""

    unready: Callable[[], str] | None = None
    metrics: Callable[[], bytes] | None = None
    stuck: Callable[[], str] | None = None  # why it should be started again; "" when all is well


class Endpoints:
    """Use it as an async context manager; `url` is known then."""

    def __init__(
        self, address: Address, answers: Answers, counting: asyncio.AbstractEventLoop | None = None
    ) -> None:
        """`counting` is the loop that the figures belong to, if it is not the one that listens."""
        self._address = address
        self._answers = answers
        self._counting = counting
        flags = "--listen-address or --healthz-address"
        self._listener = Listener(address.port, self._answer, flags=flags, longest_head=_HEADER_LIMIT)
        self.url = ""

    async def __aenter__(self) -> Endpoints:
        if self._address.elsewhere:
            log.warning("health and metrics are served on %s, not on %s", LOOPBACK, self._address.elsewhere)
        await self._listener.__aenter__()
        self.url = f"http://{LOOPBACK}:{self._listener.port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._listener.__aexit__(*exc)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether another one may follow."""
        async with asyncio.timeout(_IDLE_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, version = head.split("\r\n", 1)[0].split(" ")
        if method in ("GET", "HEAD"):
            status, content_type, body = await self._say(target.partition("?")[0])
        else:
            status, content_type, body = 405, _TEXT_TYPE, b"only GET is answered\n"
        close = method not in ("GET", "HEAD") or version != "HTTP/1.1" or "connection: close" in head.lower()
        writer.write(
            f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: {'close' if close else 'keep-alive'}\r\n\r\n".encode()
        )
        if method != "HEAD":
            writer.write(body)
        await writer.drain()
        return not close

    async def _say(self, path: str) -> tuple[int, str, bytes]:
        answers = self._answers
        if path == "/metrics" and answers.metrics is not None:
            return 200, _METRICS_TYPE, await self._count(answers.metrics)
        if path in ("/healthz", "/livez") and answers.unready is not None:
            reason = answers.stuck() if answers.stuck is not None else ""
            return (503, _TEXT_TYPE, f"{reason}\n".encode()) if reason else (200, _TEXT_TYPE, b"ok")
        if path == "/readyz" and answers.unready is not None:
            reason = answers.unready()
            return (503, _TEXT_TYPE, f"{reason}\n".encode()) if reason else (200, _TEXT_TYPE, b"ok")
        return 404, _TEXT_TYPE, b"there are /healthz, /livez, /readyz and /metrics\n"

    async def _count(self, metrics: Callable[[], bytes]) -> bytes:
        if self._counting is None:
            return metrics()

        async def count() -> bytes:
            return metrics()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(count(), self._counting))
