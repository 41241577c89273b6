"""The HTTP transport: a bounded pool of kept-alive connections, credentials, and a careful idea of "again".

What is sent twice, and what never:
- a read whose kept-alive connection turned out to be dead is sent again on a fresh one;
- any request answered 401 is sent again once, if the credentials have a newer identity (401 means: not done);
- a write whose bytes have left and that got no answer is never sent again here.  Its outcome is unknown, which
  only the caller can settle: TransportError.

The head of a request is made of two cached pieces around the target; nothing is built per header.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

from podium.errors import TransportError
from podium.kube.connection import Connection, ssl_context
from podium.kube.credentials import Identity
from podium.kube.http_connection import HttpConnection, HttpStream, Unanswered
from podium.kube.transport import Request, Response, Stream

# Connections at once.  On a real server twice as many writes under way mean larger commits of etcd and an eighth
# more of them done; with four times as many, the client's own work eats the gain.
WIDTH = 64
MAX_ANSWER = 256 << 20

# What says that no further connection can be had, though the server may be well.
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_CLOSING_SECONDS = 0.01  # after which the socket of a connection that gave way is closed

# Shorter than the 90 s after which kube-apiserver closes an idle connection, so that we rarely write into a
# connection that is being closed at the other end.
IDLE_SECONDS = 60.0


class HttpTransport:
    """A way to one API server as one user.  Belongs to the event loop that first uses it."""

    def __init__(self, connection: Connection, *, width: int = WIDTH, max_answer: int = MAX_ANSWER) -> None:
        url = urlsplit(connection.server)
        self._server = connection.server
        self._host = url.hostname or ""
        self._port = url.port or (443 if connection.encrypted else 80)
        self._prefix = url.path.rstrip("/")
        self._authority = url.netloc.rpartition("@")[2]
        self._connection = connection
        self._width = width
        self._max_answer = max_answer
        self._identity: Identity | None = None
        self._tls: ssl.SSLContext | None = None
        self._generation = 0
        self._heads: dict[tuple[str, str, str], bytes] = {}
        self._idle: list[HttpConnection] = []
        self._slots_taken = 0
        self._waiters: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._open: set[HttpConnection] = set()
        self._streams: dict[HttpConnection, None] = {}  # those of streams, the oldest first
        self._closed = False

    # --- the Transport interface ---------------------------------------------------------------------------

    async def request(self, request: Request, *, timeout: float = 30.0) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        identity = self._connection.credentials.current() or await self._renewed(None, deadline)
        response = await self._exchange(request, identity, loop, deadline)
        if response.status == 401:
            renewed = await self._renewed(identity, deadline)
            if renewed != identity:
                response = await self._exchange(request, renewed, loop, deadline)
        return response

    def stream(self, request: Request, *, timeout: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        return self._streaming(request, timeout)

    async def close(self) -> None:
        """Drops every connection; what still waits gets a TransportError."""
        self._closed = True
        error = TransportError("the transport has been closed")
        for connection in tuple(self._open):
            connection.fail(error)
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error)
        await asyncio.sleep(0)  # lets the loop close the sockets

    # --- one request ---------------------------------------------------------------------------------------

    async def _exchange(
        self, request: Request, identity: Identity, loop: asyncio.AbstractEventLoop, deadline: float
    ) -> Response:
        data = self._encode(request, identity)
        connection = self._take_idle(loop.time())
        while True:
            reused = connection is not None
            if connection is None:
                connection, reused = await self._take_slot(loop, deadline)
            timer = loop.call_at(deadline, self._give_up, connection)
            try:
                return await connection.send(data)
            except Unanswered as error:
                if not (reused and request.method == "GET"):
                    raise TransportError(f"{request.method} {request.path}: {error}") from None
            except TransportError as error:
                raise TransportError(f"{request.method} {request.path}: {error}") from None
            except asyncio.CancelledError:
                connection.abort()  # the answer, when it comes, is nobody's
                raise
            finally:
                timer.cancel()
                self._release(connection, loop.time())
            connection = None

    @asynccontextmanager
    async def _streaming(self, request: Request, timeout: float) -> AsyncIterator[Stream]:
        """A stream has a connection of its own, outside the pool: fifty watches must not starve the binds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        identity = self._connection.credentials.current() or await self._renewed(None, deadline)
        connection, stream = await self._open_stream(request, identity, loop, deadline)
        if stream.status == 401:
            try:
                renewed = await self._renewed(identity, deadline)
                if renewed != identity:
                    connection.abort()
                    connection, stream = await self._open_stream(request, renewed, loop, deadline)
            except BaseException:
                connection.abort()
                raise
        try:
            yield stream
        finally:
            connection.abort()

    async def _open_stream(
        self, request: Request, identity: Identity, loop: asyncio.AbstractEventLoop, deadline: float
    ) -> tuple[HttpConnection, HttpStream]:
        data = self._encode(request, identity)
        connection = await self._connect(loop, deadline)
        self._streams[connection] = None
        timer = loop.call_at(deadline, self._give_up, connection)
        try:
            return connection, await connection.send_for_stream(data)
        except TransportError as error:
            connection.abort()
            raise TransportError(f"{request.method} {request.path}: {error}") from None
        except asyncio.CancelledError:
            connection.abort()
            raise
        finally:
            timer.cancel()

    def _give_up(self, connection: HttpConnection) -> None:
        connection.fail(TransportError(f"{self._server} did not answer in time"))

    # --- identity and heads --------------------------------------------------------------------------------

    async def _renewed(self, refused: Identity | None, deadline: float) -> Identity:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._connection.credentials.renew(refused)
        except TimeoutError:
            raise TransportError("the credentials plugin did not answer in time") from None

    def _encode(self, request: Request, identity: Identity) -> bytes:
        if identity is not self._identity:
            self._adopt(identity)
        key = (request.accept, request.content_type if request.body else "", request.user_agent)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = self._head(*key)
        length = b"Content-Length: %d\r\n" % len(request.body) if request.body or request.method != "GET" else b""
        target = self._prefix + request.target()
        return b"%b %b%b%b\r\n%b" % (request.method.encode(), target.encode(), head, length, request.body)

    def _adopt(self, identity: Identity) -> None:
        """Another identity than last time: its heads differ, and with another certificate its connections too."""
        previous, self._identity = self._identity, identity
        self._heads.clear()
        if previous is not None and previous.certificate != identity.certificate:
            self._tls = None
            self._generation += 1
            for connection in self._idle:
                connection.abort()
            self._slots_taken -= len(self._idle)
            self._idle.clear()

    def _head(self, accept: str, content_type: str, user_agent: str) -> bytes:
        """Everything from the target's end to the length, the same for all requests of one sort."""
        headers = {"Host": self._authority, "User-Agent": user_agent, "Accept": accept}
        if content_type:
            headers["Content-Type"] = content_type
        if self._identity is not None and self._identity.authorization:
            headers["Authorization"] = self._identity.authorization
        for name, value in headers.items():
            if not value.isprintable():
                raise TransportError(f"the request's {name} cannot stand in a header")
        return (" HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())).encode(
            "latin-1"
        )

    # --- the pool ------------------------------------------------------------------------------------------
    # A slot is the right to have one connection.  While somebody waits there is no idle connection, and a slot
    # that becomes free goes to the first waiter, with its connection or without one: first come, first served.

    def _take_idle(self, now: float) -> HttpConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and now - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
            self._slots_taken -= 1
        return None

    async def _take_slot(self, loop: asyncio.AbstractEventLoop, deadline: float) -> tuple[HttpConnection, bool]:
        """A connection to use, and whether it has been used before."""
        if self._slots_taken < self._width:
            self._slots_taken += 1
        else:
            handed = await self._wait_turn(loop, deadline)
            if handed is not None and handed.reusable:  # it may have died since it was handed over
                return handed, True
        try:
            return await self._connect(loop, deadline), False
        except BaseException:
            self._free_slot()
            raise

    async def _wait_turn(self, loop: asyncio.AbstractEventLoop, deadline: float) -> HttpConnection | None:
        waiter: asyncio.Future[HttpConnection | None] = loop.create_future()
        self._waiters.append(waiter)
        timer = loop.call_at(deadline, _expire, waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._pass_on(waiter.result(), loop.time())
            raise
        finally:
            timer.cancel()

    def _release(self, connection: HttpConnection, now: float) -> None:
        if connection.reusable and connection.generation == self._generation and not self._closed:
            self._pass_on(connection, now)
        else:
            connection.abort()
            self._free_slot()

    def _pass_on(self, connection: HttpConnection | None, now: float) -> None:
        if connection is None or not connection.reusable:
            self._free_slot()
            return
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        connection.idle_since = now
        self._idle.append(connection)

    def _free_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._slots_taken -= 1

    def _lost(self, connection: HttpConnection) -> None:
        """A connection ended.  One in use is released by its user; an idle one is dropped here."""
        self._open.discard(connection)
        self._streams.pop(connection, None)
        if connection in self._idle:
            self._idle.remove(connection)
            self._slots_taken -= 1

    async def _connect(self, loop: asyncio.AbstractEventLoop, deadline: float) -> HttpConnection:
        if self._closed:
            raise TransportError("the transport has been closed")
        server_name = None
        if self._connection.encrypted:
            self._tls = self._tls or self._tls_context()
            server_name = self._connection.trust.server_name or self._host
        generation = self._generation
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    try:
                        _, connection = await loop.create_connection(
                            lambda: HttpConnection(loop, self._max_answer, self._lost),
                            self._host,
                            self._port,
                            ssl=self._tls,
                            server_hostname=server_name,
                        )
                        break
                    except OSError as error:
                        if error.errno not in _NO_FILES or not self._give_way():
                            raise
                    await asyncio.sleep(_CLOSING_SECONDS)
        except ssl.SSLCertVerificationError as error:
            raise TransportError(f"{self._server} is not trusted: {error.verify_message}") from None
        except TimeoutError:
            raise TransportError(f"{self._server} cannot be reached: no connection in time") from None
        except OSError as error:
            raise TransportError(f"{self._server} cannot be reached: {error.strerror or error}") from None
        connection.generation = generation
        self._open.add(connection)
        return connection

    def _give_way(self) -> bool:
        """Where the process may open no more files, one connection makes room for the next: an idle one, or the
        oldest stream.  Whoever read that begins again: all get their turns, and watches do not starve binds."""
        connection = self._idle[0] if self._idle else next(iter(self._streams), None)
        if connection is None:
            return False
        self._streams.pop(connection, None)
        connection.fail(TransportError("too many open files: another request needed the connection"))
        return True

    def _tls_context(self) -> ssl.SSLContext:
        certificate = self._identity.certificate if self._identity is not None else None
        try:
            return ssl_context(self._connection.trust, certificate)
        except (OSError, ValueError) as error:
            raise TransportError(f"the certificates for {self._server} cannot be used: {error}") from None


def _expire(waiter: asyncio.Future[HttpConnection | None]) -> None:
    if not waiter.done():
        waiter.set_exception(TransportError("no connection of the pool became free in time"))
