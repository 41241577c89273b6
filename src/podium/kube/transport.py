"""The seam between podium and an API server: one request, one answer; or one request, a stream of lines.

Two implementations exist: `kube.http_client` over a socket, and the embedded server's direct call in the same
process.  Everything above this seam (reflectors, controllers, the scheduler's shell) works with either.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import quote

import msgspec

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Request(msgspec.Struct, frozen=True):
    """One HTTP request, without a connection.  `path` is decoded; `query` keeps order and repetition."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    user_agent: str = "podium"
    if_none_match: str = ""

    def target(self) -> str:
        """Path and query as they stand in a request line."""
        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        if not self.query:
            return path
        return path + "?" + "&".join(f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in self.query)

    def param(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def flag(self, name: str) -> bool:
        return self.param(name).lower() in ("1", "true", "t")


class Response(msgspec.Struct, frozen=True):
    """One whole answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> str:
        wanted = name.lower()
        for key, value in self.headers:
            if key.lower() == wanted:
                return value
        return ""


class Transport(Protocol):
    """A way to an API server.  Both calls raise TransportError when no answer came."""

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        """Sends and returns the answer, whatever its status."""
        ...

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        """Opens a watch (or a followed log).  `timeout` bounds the wait for the answer's head only."""
        ...

    async def close(self) -> None: ...


class Stream(Protocol):
    """An answer that keeps coming.  With a status other than 200 the whole body comes as one line."""

    status: int

    def batches(self) -> AsyncIterator[list[bytes]]:
        """Like `lines`, but those that have arrived together come together: a burst costs its reader less."""
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """Each line as it arrives, without its end; stops when the server ends the answer."""
        ...


def cut_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines in a piece of a stream, without their ends, and what follows the last one.

    Lines of a watch are thousands of bytes long: looking for each end is several times as fast as `split`, which
    looks at every byte by itself.
    """
    lines: list[bytes] = []
    begin, end = 0, data.find(b"\n")
    while end >= 0:
        lines.append(data[begin:end])
        begin = end + 1
        end = data.find(b"\n", begin)
    return lines, data[begin:]
