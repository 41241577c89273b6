"""A request as the dashboard reads it, and an answer as it writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote

import msgspec

LONGEST_HEAD = 16 * 1024
LONGEST_BODY = 8 * 1024
IDLE_SECONDS = 60.0

_WORDS = {
    200: "OK", 303: "See Other", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large",
    421: "Misdirected Request", 503: "Service Unavailable",
}  # fmt: skip

# Nothing from elsewhere, nothing inside of a page of somebody else, no script but our own files.
SECURITY = (
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"
)


class Request(msgspec.Struct, frozen=True):
    """One request; names of headers in small letters."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes = b""

    def value(self, name: str) -> str:
        return self.query.get(name, [""])[0]

    @property
    def form(self) -> dict[str, list[str]]:
        return parse_qs(self.body.decode("utf-8", "replace"))


class Answer(msgspec.Struct, frozen=True):
    """One answer."""

    status: int = 200
    type: str = "text/plain; charset=utf-8"
    body: bytes = b""
    headers: tuple[str, ...] = ()  # further lines

    def head(self, *, close: bool) -> bytes:
        more = "".join(f"{line}\r\n" for line in self.headers)
        return (
            f"HTTP/1.1 {self.status} {_WORDS[self.status]}\r\nContent-Type: {self.type}\r\n"
            f"Content-Length: {len(self.body)}\r\n{SECURITY}{more}"
            f"Connection: {'close' if close else 'keep-alive'}\r\n\r\n"
        ).encode()


def sentence(status: int, text: str, *headers: str) -> Answer:
    return Answer(status, body=f"{text}\n".encode(), headers=("Cache-Control: no-store", *headers))


def to(path: str, *headers: str) -> Answer:
    """Go there instead."""
    return Answer(303, headers=(f"Location: {path}", "Cache-Control: no-store", *headers))


async def read(reader: asyncio.StreamReader) -> Request | None:
    """The next request; None for one that is too large.  ValueError if it is none."""
    async with asyncio.timeout(IDLE_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers: dict[str, str] = {}
        for line in filter(None, lines):
            name, colon, value = line.partition(":")
            if not colon or name.strip() != name:
                raise ValueError(f"no header: {line!r}")
            key = name.lower()
            if key in headers and key in ("host", "origin", "content-length", "transfer-encoding"):
                raise ValueError(f"{name} stands twice")
            headers[key] = value.strip()
        if "transfer-encoding" in headers:
            return None
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return None
        body = await reader.readexactly(int(length))
    path, _, query = target.partition("?")
    return Request(method, unquote(path), parse_qs(query), headers, body)
