"""One HTTP/1.1 connection to an API server: bytes in, one answer (or one stream of lines) out at a time.

An asyncio.Protocol around httptools' parser, without the reader and writer layers in between: the client's CPU
time per request is what limits how fast a scheduler can bind.  The parser calls the `on_*` methods.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import cast

import httptools

from podium.errors import TransportError
from podium.kube.transport import JSON, Response, cut_lines

# A stream's reader that falls behind makes us stop reading the socket: the server then holds the rest.
BUFFER_HIGH = 1 << 20
BUFFER_LOW = 1 << 18


class Unanswered(TransportError):
    """The connection ended before the first byte of an answer: on a kept-alive one, often a stale connection."""


class HttpConnection(asyncio.Protocol):
    """A connection that is either idle, waiting for one whole answer, or carrying one stream."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int, on_lost: Callable[[HttpConnection], None]):
        self.idle_since = 0.0
        self.generation = 0
        self._loop = loop
        self._limit = limit
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._alive = False
        self._keep_alive = True
        self._answer: asyncio.Future[Response] | None = None
        self._opening: asyncio.Future[HttpStream] | None = None
        self._stream: HttpStream | None = None
        self._heard = False  # something of the answer
        self._head_read = False
        self._headers: list[bytes] = []  # names and values in turn
        self._chunks: list[bytes] = []
        self._size = 0

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: open, idle and not asked to close."""
        return self._alive and self._keep_alive and not self._busy

    @property
    def _busy(self) -> bool:
        return self._answer is not None or self._opening is not None or self._stream is not None

    def send(self, data: bytes) -> asyncio.Future[Response]:
        """Sends a request whose answer is wanted whole."""
        self._answer = answer = self._loop.create_future()
        self._write(data)
        return answer

    def send_for_stream(self, data: bytes) -> asyncio.Future[HttpStream]:
        """Sends a request whose answer is wanted as it comes; done when its head is there."""
        self._opening = opening = self._loop.create_future()
        self._write(data)
        return opening

    def fail(self, error: TransportError) -> None:
        """Ends the connection and whatever waits on it."""
        self.abort()
        self._finish_with(error)

    def abort(self) -> None:
        self._alive = False
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        if self._alive and self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._alive and self._transport is not None:
            self._transport.resume_reading()

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._heard = self._head_read = False
        self._transport.write(data)

    # --- what asyncio calls --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._alive = True

    def data_received(self, data: bytes) -> None:
        if not self._busy:
            self.abort()  # nobody asked: a farewell such as 408 before the server closes
            return
        self._heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            cause = error.__context__
            reported = (
                cause if isinstance(cause, TransportError) else TransportError(f"the answer is not HTTP: {error}")
            )
            self.fail(reported)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._alive = False
        if error is None and self._ends_with_connection():
            self.on_message_complete()
        why = f": {error}" if error is not None else ""
        if self._heard:
            self._finish_with(TransportError(f"the connection broke in the middle of an answer{why}"))
        else:
            self._finish_with(Unanswered(f"the connection ended without an answer{why}"))
        self._on_lost(self)

    def _ends_with_connection(self) -> bool:
        """Whether the answer under way has no length of its own, so that its end is the connection's."""
        if not self._head_read:
            return False
        names = {name.lower() for name in self._headers[::2]}
        return b"content-length" not in names and b"transfer-encoding" not in names

    # --- what the parser calls -----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if not self._busy:
            raise TransportError("the server sent an answer that nobody asked for")
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += (name, value)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._head_read = status >= 200
        if self._opening is not None and status >= 200:
            self._stream = stream = HttpStream(self, status, self._limit, self._loop)
            opening, self._opening = self._opening, None
            if not opening.done():
                opening.set_result(stream)

    def on_body(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(data)
            return
        self._size += len(data)
        if self._size > self._limit:
            raise TransportError(f"the answer is larger than {self._limit} bytes")
        self._chunks.append(data)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return  # an interim answer: the real one follows
        self._keep_alive = self._parser.should_keep_alive()
        if self._stream is not None:
            stream, self._stream = self._stream, None
            stream.end(None)
        elif self._answer is not None:
            answer, self._answer = self._answer, None
            chunks, self._chunks, self._size = self._chunks, [], 0
            body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            if not answer.done():
                answer.set_result(_response(status, body, self._headers))

    def _finish_with(self, error: TransportError) -> None:
        answer, self._answer = self._answer, None
        opening, self._opening = self._opening, None
        stream, self._stream = self._stream, None
        self._chunks, self._size = [], 0
        for waiting in (answer, opening):
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
        if stream is not None:
            stream.end(error)


def _response(status: int, body: bytes, headers: list[bytes]) -> Response:
    # Decoded in one go: a line end cannot stand in a header, and a dozen small decodes are felt at each request.
    texts = b"\n".join(headers).decode("latin-1").split("\n") if headers else []
    names, values = texts[::2], texts[1::2]
    if "Content-Type" in names:  # as servers write it
        content_type = values[names.index("Content-Type")]
    else:
        content_type = next((v for n, v in zip(names, values, strict=True) if n.lower() == "content-type"), JSON)
    return Response(status, body, content_type, tuple(zip(names, values, strict=True)))


class HttpStream:
    """The lines of one answer, with back-pressure.  An error's body (status other than 200) is one line."""

    def __init__(
        self, connection: HttpConnection, status: int, limit: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.status = status
        self._connection = connection
        self._limit = limit
        self._loop = loop
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0  # in whole lines that nobody has taken yet
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._paused = False
        self._ended = False
        self._error: TransportError | None = None
        self._reader: asyncio.Future[None] | None = None

    def lines(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> HttpStream:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        line = self._lines.popleft()
        self._taken(len(line))
        return line

    async def batches(self) -> AsyncIterator[list[bytes]]:
        async for line in self:
            batch = [line, *self._lines]
            self._lines.clear()
            self._taken(self._waiting_bytes)
            yield batch

    def _taken(self, size: int) -> None:
        self._waiting_bytes -= size
        if self._paused and self._waiting_bytes < BUFFER_LOW:
            self._paused = False
            self._connection.resume()

    def feed(self, data: bytes) -> None:
        """More of the body.  Pieces of an unfinished line are joined once, when its end is there."""
        lines, rest = cut_lines(data) if self.status == 200 else ([], data)
        if not lines:
            self._keep(data)
            return
        if self._partial:
            lines[0] = b"".join((*self._partial, lines[0]))
            self._partial, self._partial_bytes = [], 0
        self._lines.extend(lines)
        self._waiting_bytes += sum(map(len, lines))
        if rest:
            self._keep(rest)
        if self._waiting_bytes > BUFFER_HIGH and not self._paused:
            self._paused = True
            self._connection.pause()
        self._wake()

    def end(self, error: TransportError | None) -> None:
        """The answer is over.  Half a line counts only if the server ended it there, not if it was cut off."""
        self._ended = True
        self._error = error
        if error is None and (self._partial or self.status != 200):
            self._lines.append(b"".join(self._partial))
            self._waiting_bytes += self._partial_bytes
        self._partial, self._partial_bytes = [], 0
        self._wake()

    def _keep(self, data: bytes) -> None:
        self._partial.append(data)
        self._partial_bytes += len(data)
        if self._partial_bytes > self._limit:
            raise TransportError(f"a line of the answer is longer than {self._limit} bytes")

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
