"""The incoming half of a connection, sans-IO: bytes in, checked requests out.

Access is judged as soon as the headers are complete.  A request that is refused then, or whose body is larger
than the cap, has its body thrown away as it comes in: strangers cannot make the server hold their bytes.
"""

from __future__ import annotations

from typing import Protocol
from urllib.parse import parse_qsl, unquote

import httptools
import msgspec

from podium.embedded.access import Gate, is_public, refusal
from podium.errors import ApiError
from podium.kube.transport import JSON, Request

MAX_BODY = 3 * 1024 * 1024
MAX_HEAD = 64 * 1024
_AROUND_HEADER = 4  # colon, space and the end of the line
_LONGEST_LENGTH = 100  # digits: Python counts no further than 4,300

_KEPT = frozenset(
    {
        b"host",
        b"origin",
        b"authorization",
        b"content-type",
        b"content-length",
        b"accept",
        b"user-agent",
        b"expect",
        b"if-none-match",
    }
)


class Incoming(msgspec.Struct, frozen=True):
    """One request as it came in, or why it is not even looked at."""

    request: Request
    refused: ApiError | None
    close: bool  # no further request will come on this connection
    http_1_0: bool
    linger: bool = False  # the client is still sending: read on for a while, or it never sees the answer


class Sink(Protocol):
    """Where a reader delivers."""

    def received(self, incoming: Incoming) -> None: ...

    def send_continue(self) -> None:
        """The client waits for a go-ahead before it sends the body."""
        ...


class Reader:
    """One connection's parser.  After `broken` nothing more is read from the client."""

    def __init__(self, gate: Gate, sink: Sink) -> None:
        self.broken = False
        self.begun = False  # a request has begun and is not yet complete
        self._gate = gate
        self._sink = sink
        self._admitted: tuple[bytes, ...] | None = None  # what the last request showed that was let in
        self._held = 0  # bytes that the parser has taken without giving anything out
        self._parser = httptools.HttpRequestParser(self)
        self._reset()

    def _reset(self) -> None:
        self._url = b""
        self._path = ""
        self._headers: dict[bytes, bytes] = {}
        self._head_size = 0
        self._head_done = False
        self._body: list[bytes] = []
        self._body_size = 0
        self._refused: ApiError | None = None

    def feed(self, data: bytes) -> None:
        """Takes bytes in; complete requests go to the sink before this returns."""
        if self.broken:
            return
        headers, head_size, body_size = self._headers, self._head_size, self._body_size
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.broken = True  # nothing here speaks another protocol; the request itself was delivered
        except httptools.HttpParserError as error:
            if not self.broken:
                self._give_up(ApiError(400, "BadRequest", f"this is no valid HTTP request: {error}"))
        # A header without an end is collected inside the parser: pieces that gave nothing count by their length.
        # A piece that gave something may be the end of one head and a thousand requests behind it.
        if self._headers is headers and self._head_size == head_size and self._body_size == body_size:
            self._held += len(data)
        else:
            self._held = 0
        if self._head_size + self._held > MAX_HEAD and not self.broken:
            self._give_up(_head_too_large())

    # --- called by the parser ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._reset()
        self.begun = True

    def on_url(self, part: bytes) -> None:
        self._url += part
        self._head_size += len(part)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value) + _AROUND_HEADER
        if self._head_done:
            return  # trailers of a chunked body: nothing reads them
        name = name.lower()
        if name in _KEPT:
            known = self._headers.get(name)
            self._headers[name] = value if known is None else known + b"," + value

    def on_headers_complete(self) -> None:
        if self._head_size > MAX_HEAD:
            self._give_up(_head_too_large())
            raise ValueError("head too large")  # stops the parser; the answer is on its way
        self._head_size = 0  # from here on it counts trailers
        self._head_done = True
        headers = self._headers
        self._path = _path(self._url)
        self._refused = self._judge()
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > _LONGEST_LENGTH or int(length) > MAX_BODY):
            self._give_up(self._refused or _too_large())
            raise ValueError("body too large")
        if headers.get(b"expect", b"").lower() == b"100-continue":
            if self._refused is not None:
                self._give_up(self._refused)
                raise ValueError("refused before the body")
            self._sink.send_continue()

    def on_body(self, part: bytes) -> None:
        self._body_size += len(part)
        if self._body_size > MAX_BODY:
            self._give_up(self._refused or _too_large())
            raise ValueError("body too large")
        if self._refused is None:
            self._body.append(part)

    def on_message_complete(self) -> None:
        self.begun = False
        keep = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        self._sink.received(self._incoming(self._refused, close=not keep, linger=False))

    # --- helpers -------------------------------------------------------------------------------------------

    def _judge(self) -> ApiError | None:
        """Why the request may not come in.  One that shows what its predecessor showed is not looked at again."""
        headers = self._headers
        shown = tuple([headers.get(name, b"") for name in (b"host", b"origin", b"authorization")])
        if shown == self._admitted:
            return None
        host, origin, authorization = map(_text, shown)
        refused = refusal(self._gate, path=self._path, host=host, origin=origin, authorization=authorization)
        if refused is None and not is_public(self._path):
            self._admitted = shown
        return refused

    def _give_up(self, error: ApiError) -> None:
        self.broken = True
        self.begun = False
        self._body = []
        self._sink.received(self._incoming(error, close=True, linger=True))

    def _incoming(self, refused: ApiError | None, *, close: bool, linger: bool) -> Incoming:
        headers = self._headers
        query = self._url.partition(b"?")[2]
        request = Request(
            method=self._parser.get_method().decode(),
            path=self._path or _path(self._url),
            query=tuple(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)) if query else (),
            body=self._body[0] if len(self._body) == 1 else b"".join(self._body),
            content_type=_text(headers.get(b"content-type", b"")) or JSON,
            accept=_text(headers.get(b"accept", b"")) or JSON,
            user_agent=_text(headers.get(b"user-agent", b"")),
            if_none_match=_text(headers.get(b"if-none-match", b"")),
        )
        return Incoming(request, refused, close, self._parser.get_http_version() == "1.0", linger)


def _head_too_large() -> ApiError:
    return ApiError(431, "RequestHeaderFieldsTooLarge", f"the headers exceed {MAX_HEAD} bytes")


def _too_large() -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _path(url: bytes) -> str:
    """The decoded path of a request target; the absolute form that proxies use is cut down to it."""
    path = url.partition(b"?")[0]
    if not path.startswith(b"/"):
        _, scheme, rest = path.partition(b"://")
        path = b"/" + rest.partition(b"/")[2] if scheme else path
    return unquote(_text(path)) if b"%" in path else _text(path)
