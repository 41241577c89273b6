"""Health and metrics over HTTP: for this machine alone, unless an address is given where others can ask.

    /healthz, /livez   200 as long as the process does anything at all
    /readyz            200 when it is ready, else 503 with the reason
    /metrics           the text format of Prometheus
    other paths        the pages of dialects, for tools of their users, as JSON

A few requests a minute from probes and scrapers: a reader of lines is enough.  Where others can ask, health is for
everybody, and metrics, which name queues and namespaces, are for whom the API server says (`metrics_access.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from podium.runtime.listener import Address, Listener
from podium.runtime.metrics_access import Access

_HEADER_LIMIT = 16 * 1024
_IDLE_SECONDS = 60.0
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_JSON_TYPE = "application/json"
_TEXT_TYPE = "text/plain; charset=utf-8"
_REASONS = {
    200: "OK",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}


class Answers(msgspec.Struct, frozen=True):
    """Why the process is not ready ("" when it is), and its figures.  None: there is no such path."""

    unready: Callable[[], str] | None = None
    metrics: Callable[[], bytes] | None = None
    stuck: Callable[[], str] | None = None  # why it should be started again; "" when all is well
    access: Access | None = None  # who may see the figures and pages; None: whoever can ask
    page: Callable[[str], bytes | None] | None = None  # a page of a dialect, as JSON; None: there is no such page


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
        self._listener = Listener(address, self._answer, flags=flags, longest_head=_HEADER_LIMIT)
        self.url = ""

    async def __aenter__(self) -> Endpoints:
        await self._listener.__aenter__()
        self.url = f"http://{self._address.shown}:{self._listener.port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._listener.__aexit__(*exc)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether another one may follow."""
        async with asyncio.timeout(_IDLE_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, version = head.split("\r\n", 1)[0].split(" ")
        if method in ("GET", "HEAD"):
            status, content_type, body = await self._content(target.partition("?")[0], head)
        else:
            status, content_type, body = 405, _TEXT_TYPE, b"only GET is answered\n"
        close = method not in ("GET", "HEAD") or version != "HTTP/1.1" or "connection: close" in head.lower()
        writer.write(
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: {'close' if close else 'keep-alive'}\r\n\r\n".encode()
        )
        if method != "HEAD":
            writer.write(body)
        await writer.drain()
        return not close

    async def _content(self, path: str, head: str) -> tuple[int, str, bytes]:
        answers = self._answers
        if path == "/metrics" and answers.metrics is not None:
            if answers.access is not None and (refused := await answers.access(_token(head))) is not None:
                return refused.status, _TEXT_TYPE, f"{refused.why}\n".encode()
            return 200, _METRICS_TYPE, await self._count(answers.metrics) or b""
        if path in ("/healthz", "/livez") and answers.unready is not None:
            reason = answers.stuck() if answers.stuck is not None else ""
            return (503, _TEXT_TYPE, f"{reason}\n".encode()) if reason else (200, _TEXT_TYPE, b"ok")
        if path == "/readyz" and answers.unready is not None:
            reason = answers.unready()
            return (503, _TEXT_TYPE, f"{reason}\n".encode()) if reason else (200, _TEXT_TYPE, b"ok")
        if answers.page is not None:
            if answers.access is not None and (refused := await answers.access(_token(head))) is not None:
                return refused.status, _TEXT_TYPE, f"{refused.why}\n".encode()
            found = await self._count(partial(answers.page, path))
            if found is not None:
                return 200, _JSON_TYPE, found
        return 404, _TEXT_TYPE, b"there are /healthz, /livez, /readyz and /metrics\n"

    async def _count(self, made: Callable[[], bytes | None]) -> bytes | None:
        """What the work has to say, made where it is done."""
        if self._counting is None:
            return made()

        async def count() -> bytes | None:
            return made()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(count(), self._counting))


def _token(head: str) -> str:
    """What a request shows of who asks; "" when nothing."""
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        scheme, _, token = value.strip().partition(" ")
        if name.strip().lower() == "authorization" and scheme.lower() == "bearer":
            return token.strip()
    return ""
