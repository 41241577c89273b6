"""Answers as HTTP/1.1 bytes.

No compression: the server is reached over loopback, where gzip would cost both sides more than the bytes do.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from podium.kube.transport import Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def encode_head(response: Response, *, date: bytes, close: bool) -> bytes:
    """Everything before the body of a whole answer."""
    # A 304 has no body, and a length in it would be taken for that of the body which the client kept.
    length = b"" if response.status == HTTPStatus.NOT_MODIFIED else b"Content-Length: %d\r\n" % len(response.body)
    return b"%s%sDate: %s\r\n%s%s" % (
        _start(response.status, response.content_type),
        _extra(response.headers) if response.headers else b"",
        date,
        length,
        b"Connection: close\r\n\r\n" if close else b"\r\n",
    )


def encode_feed_head(content_type: str, *, date: bytes, chunked: bool) -> bytes:
    """Everything before the first bytes of an answer without a known end."""
    framing = b"Transfer-Encoding: chunked" if chunked else b"Connection: close"
    return b"%sDate: %s\r\n%s\r\n\r\n" % (_start(200, content_type), date, framing)


def encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@lru_cache(maxsize=256)
def _start(status: int, content_type: str) -> bytes:
    """The lines that are the same for thousands of answers: they are put together once."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = f"HTTP/1.1 {status} {phrase}\r\nCache-Control: no-cache, private\r\n"
    if content_type:
        lines += f"Content-Type: {_clean(content_type)}\r\n"
    return lines.encode()


def _extra(headers: tuple[tuple[str, str], ...]) -> bytes:
    return "".join(f"{name}: {_clean(value)}\r\n" for name, value in headers).encode()


def _clean(value: str) -> str:
    """A warning may quote a field name of the user's; a line end in it must not become a header."""
    return value if value.isprintable() else "".join(c if c.isprintable() else " " for c in value)
