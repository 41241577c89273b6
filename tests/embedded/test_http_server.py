"""The HTTPS server over real sockets, with a small API behind it that answers as the test tells it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from podium.embedded.access import gate_for
from podium.embedded.certificates import Identity, load_identity
from podium.embedded.exchange import Held, Reply
from podium.embedded.http_connection import Limits
from podium.embedded.http_reader import MAX_BODY
from podium.embedded.http_server import HttpServer, listen
from podium.errors import ApiError, StorageError, UsageError
from podium.kube.transport import Request, Response


class FakeLog:
    """Entries become durable when the test says so."""

    def __init__(self) -> None:
        self.last = 0
        self.durable = 0
        self.broken: Exception | None = None
        self._changed = asyncio.Event()

    def commit(self, entry: int) -> None:
        self.durable = entry
        self._changed.set()

    def fail(self, error: Exception) -> None:
        self.broken = error
        self._changed.set()

    def is_durable(self, entry: int) -> bool:
        return entry <= self.durable

    async def wait(self, entry: int) -> None:
        while entry > self.durable:
            if self.broken is not None:
                raise self.broken
            self._changed.clear()
            await self._changed.wait()


class FakeFeed:
    """A feed of what the test puts in; counts how it is used."""

    content_type = "application/json"

    def __init__(self, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.finished = False
        self.closed = False
        self.outside = False
        self.takes = 0
        self.taken_bytes = 0
        self._data = bytearray()
        self._ready: Callable[[], None] | None = None

    def put(self, data: bytes) -> None:
        was_empty = not self._data
        self._data += data
        if was_empty and self._ready is not None:
            self._ready()

    def finish(self) -> None:
        self.finished = True
        if self._ready is not None:
            self._ready()

    def hold_back(self) -> None:
        self.outside = True

    def on_ready(self, callback: Callable[[], None]) -> None:
        self._ready = callback

    def take(self, limit: int = 1 << 18) -> bytes:
        self.takes += 1
        data = bytes(self._data[:limit])
        del self._data[:limit]
        self.taken_bytes += len(data)
        return data

    def bookmark(self) -> bytes:
        return b"bookmark\n"

    def close(self) -> None:
        self.closed = True


class FakeApi:
    """Answers by path; keeps what it was asked."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self.requests: list[Request] = []
        self.feeds: list[FakeFeed] = []
        self.feed_timeout = 60.0
        self.entries = 0

    def handle(self, request: Request) -> Reply:
        self.requests.append(request)
        match request.path:
            case "/feed":
                feed = FakeFeed(self.feed_timeout)
                self.feeds.append(feed)
                return feed
            case "/write":
                self.entries += 1
                self.log.last = self.entries
                return Held(Response(201, b"%d" % self.entries), self.entries)
            case "/large":
                return Response(200, b"x" * (20 << 20))
            case "/bug":
                raise RuntimeError("boom")
            case "/no":
                raise ApiError(404, "NotFound", "not here")
            case "/warn":
                return Response(200, b"{}", headers=(("Warning", '299 - "bad\r\nSet-Cookie: x=1"'),))
        return Response(200, request.body or request.path.encode(), content_type="text/plain")


class Answer(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A raw client: what it sends is exactly what the test wrote."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self.reader = reader
        self.writer = writer
        self.token = token

    def head(self, line: str, *headers: str, token: str | None = None, host: str = "127.0.0.1") -> bytes:
        lines = [line, f"Host: {host}", *headers]
        if token is None:
            token = self.token
        if token:
            lines.append(f"Authorization: Bearer {token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def read_head(self) -> Answer:
        raw = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 5)).decode()
        first, *rest = raw.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        return Answer(int(first.split()[1]), headers, b"")

    async def read_answer(self) -> Answer:
        answer = await self.read_head()
        length = int(answer.headers.get("content-length", 0))
        answer.body = await asyncio.wait_for(self.reader.readexactly(length), 10)
        return answer

    async def read_chunk(self) -> bytes:
        size = int(await asyncio.wait_for(self.reader.readline(), 5), 16)
        data = await self.reader.readexactly(size)
        assert await self.reader.readexactly(2) == b"\r\n"
        return data

    async def get(self, path: str, *headers: str) -> Answer:
        self.send(self.head(f"GET {path} HTTP/1.1", *headers))
        return await self.read_answer()

    async def closed_by_server(self) -> bool:
        try:
            return await asyncio.wait_for(self.reader.read(1), 5) == b""
        except ConnectionError:
            return True


class Setup:
    """A running server, its parts and new clients of it."""

    def __init__(self, identity: Identity, limits: Limits) -> None:
        self.log = FakeLog()
        self.api = FakeApi(self.log)
        sock = listen(0)
        self.port: int = sock.getsockname()[1]
        self.counted: list[tuple[str, int]] = []
        self.server = HttpServer(
            lambda request: self.api.handle(request),
            self.log,
            gate_for(identity.token, self.port),
            limits=limits,
            on_answer=lambda request, status: self.counted.append((request.path, status)),
        )
        self._sock = sock
        self._identity = identity
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        await self.server.start(self._sock, self._identity.server_context())

    async def client(self) -> Client:
        context = ssl.create_default_context(cadata=self._identity.authority)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context, limit=1 << 26)
        self._writers.append(writer)
        return Client(reader, writer, self._identity.token)

    async def stop(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await self.server.close(grace=0.5)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return load_identity(tmp_path_factory.mktemp("pki") / "pki")


@contextlib.asynccontextmanager
async def serving(identity: Identity, limits: Limits | None = None) -> AsyncIterator[Setup]:
    setup = Setup(identity, limits or Limits(linger=0.2))
    await setup.start()
    try:
        yield setup
    finally:
        await setup.stop()


@pytest.fixture
async def setup(identity: Identity) -> AsyncIterator[Setup]:
    async with serving(identity) as running:
        yield running


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to pass")


# --- requests ----------------------------------------------------------------------------------------------


async def test_a_request_reaches_the_api_whole(setup: Setup) -> None:
    client = await setup.client()
    client.send(
        client.head(
            "POST /api/v1/a%20b?x=1&x=2&empty=&q=a%3Db HTTP/1.1",
            "Content-Type: application/yaml",
            "Accept: application/json;as=Table",
            "User-Agent: test/1",
            "Content-Length: 3",
        )
        + b"abc"
    )
    answer = await client.read_answer()
    assert (answer.status, answer.body) == (200, b"abc")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["cache-control"] == "no-cache, private"
    assert "date" in answer.headers
    assert setup.api.requests == [
        Request(
            "POST",
            "/api/v1/a b",
            (("x", "1"), ("x", "2"), ("empty", ""), ("q", "a=b")),
            b"abc",
            "application/yaml",
            "application/json;as=Table",
            "test/1",
        )
    ]
    assert setup.counted == [("/api/v1/a b", 200)]


async def test_many_requests_on_one_connection(setup: Setup) -> None:
    client = await setup.client()
    for number in range(20):
        assert (await client.get(f"/{number}")).body == b"/%d" % number
    assert setup.server.connections == 1


async def test_a_request_torn_into_single_bytes(setup: Setup) -> None:
    client = await setup.client()
    for byte in client.head("PUT /torn?a=b HTTP/1.1", "Content-Length: 5") + b"hello":
        client.send(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.read_answer()).body == b"hello"
    assert setup.api.requests[0].query == (("a", "b"),)


async def test_a_chunked_body_with_trailers(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /c HTTP/1.1", "Transfer-Encoding: chunked"))
    client.send(b"3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nHost: evil.example\r\n\r\n")
    assert (await client.read_answer()).body == b"abcdefg"
    assert (await client.get("/next")).status == 200


async def test_expect_continue(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /e HTTP/1.1", "Content-Length: 2", "Expect: 100-continue"))
    assert (await client.read_head()).status == 100
    client.send(b"ok")
    assert (await client.read_answer()).body == b"ok"


async def test_expect_continue_of_a_refused_request_gets_the_refusal_at_once(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /e HTTP/1.1", "Content-Length: 2", "Expect: 100-continue", token="wrong"))
    answer = await client.read_answer()
    assert (answer.status, answer.headers["connection"]) == (401, "close")


async def test_expect_continue_behind_a_held_answer_keeps_the_order(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /write HTTP/1.1", "Content-Length: 0"))
    client.send(client.head("POST /e HTTP/1.1", "Content-Length: 2", "Expect: 100-continue"))
    await until(lambda: setup.server.waiting == 1)
    setup.log.commit(1)
    assert (await client.read_answer()).status == 201
    assert (await client.read_head()).status == 100
    client.send(b"ok")
    assert (await client.read_answer()).body == b"ok"


async def test_head_is_a_get_without_the_body(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("HEAD /path HTTP/1.1"))
    answer = await client.read_head()
    assert answer.headers["content-length"] == "5"
    assert setup.api.requests[0].method == "GET"
    assert (await client.get("/x")).body == b"/x"


async def test_pipelined_requests_are_answered_in_order(setup: Setup) -> None:
    client = await setup.client()
    client.send(b"".join(client.head(f"GET /{number} HTTP/1.1") for number in range(100)))
    for number in range(100):
        assert (await client.read_answer()).body == b"/%d" % number


async def test_connection_close_is_honoured(setup: Setup) -> None:
    client = await setup.client()
    answer = await client.get("/x", "Connection: close")
    assert answer.headers["connection"] == "close"
    assert await client.closed_by_server()


async def test_http_1_0_is_answered_and_closed(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("GET /x HTTP/1.0"))
    assert (await client.read_answer()).body == b"/x"
    assert await client.closed_by_server()


async def test_an_upgrade_is_answered_as_an_ordinary_request(setup: Setup) -> None:
    client = await setup.client()
    answer = await client.get("/exec", "Connection: Upgrade", "Upgrade: websocket")
    assert answer.status == 200
    assert await client.closed_by_server()


async def test_a_large_answer_arrives_whole_while_others_are_served(setup: Setup) -> None:
    slow, quick = await setup.client(), await setup.client()
    slow.send(slow.head("GET /large HTTP/1.1") + slow.head("GET /after HTTP/1.1"))
    await until(lambda: len(setup.api.requests) >= 1)
    assert (await quick.get("/quick")).status == 200
    answer = await slow.read_answer()
    assert answer.body == b"x" * (20 << 20)
    assert (await slow.read_answer()).body == b"/after"


# --- refusals ----------------------------------------------------------------------------------------------


def _status(answer: Answer) -> tuple[int, str]:
    document = msgspec.json.decode(answer.body)
    assert document["kind"] == "Status"
    assert document["apiVersion"] == "v1"
    assert document["status"] == "Failure"
    assert document["code"] == answer.status
    return answer.status, document["reason"]


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_without_the_token_nothing_is_handled(setup: Setup, token: str) -> None:
    client = await setup.client()
    client.send(client.head("POST /x HTTP/1.1", "Content-Length: 2", token=token) + b"{}")
    assert _status(await client.read_answer()) == (401, "Unauthorized")
    assert setup.api.requests == []
    assert (await client.get("/x")).status == 200  # the connection lives


async def test_probes_come_in_without_a_token(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("GET /readyz HTTP/1.1", token=""))
    assert (await client.read_answer()).status == 200


async def test_foreign_hosts_and_origins_are_forbidden(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("GET /x HTTP/1.1", host="evil.example"))
    assert _status(await client.read_answer()) == (403, "Forbidden")
    answer = await client.get("/x", "Origin: https://evil.example")
    assert _status(answer) == (403, "Forbidden")
    answer = await client.get("/x", f"Origin: https://127.0.0.1:{setup.port}")
    assert answer.status == 200
    assert len(setup.api.requests) == 1


async def test_two_host_headers_are_forbidden(setup: Setup) -> None:
    client = await setup.client()
    assert _status(await client.get("/x", "Host: localhost")) == (403, "Forbidden")


async def test_a_body_at_the_cap_is_taken(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /x HTTP/1.1", f"Content-Length: {MAX_BODY}") + b"x" * MAX_BODY)
    assert len((await client.read_answer()).body) == MAX_BODY


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_cap_is_413_and_the_client_gets_to_see_it(setup: Setup, chunked: bool) -> None:
    client = await setup.client()
    size = 4 << 20
    if chunked:
        client.send(client.head("POST /x HTTP/1.1", "Transfer-Encoding: chunked"))
        client.send(b"%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n")
    else:
        client.send(client.head("POST /x HTTP/1.1", f"Content-Length: {size}") + b"x" * size)
    await client.writer.drain()
    answer = await client.read_answer()
    assert _status(answer) == (413, "RequestEntityTooLarge")
    assert b"limit is 3145728" in answer.body
    assert answer.headers["connection"] == "close"
    assert setup.api.requests == []
    assert await client.closed_by_server()


async def test_endless_headers_are_cut(setup: Setup) -> None:
    client = await setup.client()
    client.send(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(10):
        client.send(b"x" * 16384)
        await asyncio.sleep(0.01)
    assert (await client.read_answer()).status == 431
    assert setup.api.requests == []


async def test_many_headers_at_once_are_cut(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("GET / HTTP/1.1", *(f"X-{number}: {'v' * 100}" for number in range(1000))))
    assert (await client.read_answer()).status == 431


@pytest.mark.parametrize(
    "junk", [b"\x16\x03\x01 nonsense\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET\r\n\r\n"]
)
async def test_what_is_no_http_gets_400(setup: Setup, junk: bytes) -> None:
    client = await setup.client()
    client.send(junk)
    assert _status(await client.read_answer()) == (400, "BadRequest")
    assert await client.closed_by_server()


async def test_a_second_length_is_not_smuggled(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /x HTTP/1.1", "Content-Length: 3", "Transfer-Encoding: chunked") + b"0\r\n\r\n")
    assert (await client.read_answer()).status == 400


async def test_an_error_in_the_handler_is_500_and_the_connection_lives(
    setup: Setup, caplog: pytest.LogCaptureFixture
) -> None:
    client = await setup.client()
    assert _status(await client.get("/bug")) == (500, "InternalError")
    assert "boom" in caplog.text
    assert _status(await client.get("/no")) == (404, "NotFound")
    assert (await client.get("/x")).status == 200


async def test_a_warning_cannot_become_another_header(setup: Setup) -> None:
    client = await setup.client()
    answer = await client.get("/warn")
    assert answer.headers["warning"] == '299 - "bad  Set-Cookie: x=1"'
    assert "set-cookie" not in answer.headers


async def test_plain_http_is_not_served(setup: Setup) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", setup.port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        assert b"200" not in await asyncio.wait_for(reader.read(), 5)
    writer.close()
    assert setup.api.requests == []


# --- time limits -------------------------------------------------------------------------------------------


async def test_silent_clients_are_let_go(identity: Identity) -> None:
    async with serving(identity, Limits(idle=0.5)) as setup:
        client = await setup.client()
        assert (await client.get("/x")).status == 200
        assert await client.closed_by_server()


async def test_a_request_that_never_ends_is_cut(identity: Identity) -> None:
    async with serving(identity, Limits(read=0.5)) as setup:
        head, body = await setup.client(), await setup.client()
        head.send(b"GET /x HTTP/1.1\r\nHost:")
        body.send(body.head("POST /x HTTP/1.1", "Content-Length: 10") + b"abc")
        assert await head.closed_by_server()
        assert await body.closed_by_server()
        assert setup.api.requests == []


# --- writes wait for the log -------------------------------------------------------------------------------


async def test_a_write_is_answered_when_it_is_durable_and_others_do_not_wait(setup: Setup) -> None:
    writer, other = await setup.client(), await setup.client()
    writer.send(writer.head("POST /write HTTP/1.1", "Content-Length: 0"))
    await until(lambda: setup.server.waiting == 1)
    assert (await other.get("/x")).status == 200
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(writer.reader.read(1), 0.05)
    setup.log.commit(1)
    assert (await writer.read_answer()).status == 201
    assert setup.server.waiting == 0


async def test_pipelined_writes_share_a_commit_and_keep_their_order(setup: Setup) -> None:
    client = await setup.client()
    write = client.head("POST /write HTTP/1.1", "Content-Length: 0")
    client.send(write + write + client.head("GET /read HTTP/1.1") + write)
    await until(lambda: len(setup.api.requests) == 4)
    setup.log.commit(3)
    assert [(await client.read_answer()).body for _ in range(4)] == [b"1", b"2", b"/read", b"3"]


async def test_a_write_that_is_durable_already_is_answered_at_once(setup: Setup) -> None:
    setup.log.commit(5)
    client = await setup.client()
    client.send(client.head("POST /write HTTP/1.1", "Content-Length: 0"))
    assert (await client.read_answer()).status == 201


async def test_a_write_that_cannot_be_stored_is_500(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("POST /write HTTP/1.1", "Content-Length: 0"))
    await until(lambda: setup.server.waiting == 1)
    setup.log.fail(StorageError("disk full"))
    assert _status(await client.read_answer()) == (500, "InternalError")


async def test_a_client_that_leaves_before_its_write_is_durable(setup: Setup) -> None:
    client, other = await setup.client(), await setup.client()
    client.send(client.head("POST /write HTTP/1.1", "Content-Length: 0"))
    other.send(other.head("POST /write HTTP/1.1", "Content-Length: 0"))
    await until(lambda: setup.server.waiting == 2)
    client.writer.transport.abort()
    await until(lambda: setup.server.connections == 1)
    setup.log.commit(2)
    assert (await other.read_answer()).status == 201


# --- feeds -------------------------------------------------------------------------------------------------


async def open_feed(setup: Setup, path: str = "/feed") -> tuple[Client, FakeFeed]:
    client = await setup.client()
    client.send(client.head(f"GET {path} HTTP/1.1"))
    head = await client.read_head()
    assert head.headers["transfer-encoding"] == "chunked"
    return client, setup.api.feeds[-1]


async def test_a_feed_sends_its_head_at_once_and_then_what_comes(setup: Setup) -> None:
    client, feed = await open_feed(setup)
    for text in (b"one\n", b"two\n"):
        feed.put(text)
        assert await client.read_chunk() == text


async def test_a_busy_feed_is_written_a_hundred_times_a_second(setup: Setup) -> None:
    client, feed = await open_feed(setup)
    received, writes = b"", 0
    began = asyncio.get_running_loop().time()

    async def produce() -> None:
        for number in range(500):
            feed.put(b"%d\n" % number)
            await asyncio.sleep(0.001)

    producer = asyncio.create_task(produce())
    while received.count(b"\n") < 500:
        received += await client.read_chunk()
        writes += 1
    await producer
    took = asyncio.get_running_loop().time() - began
    assert received == b"".join(b"%d\n" % number for number in range(500))
    assert writes <= took * 100 + 2


async def test_many_busy_feeds_are_written_less_often_each(setup: Setup) -> None:
    feeds = [await open_feed(setup) for _ in range(3)]
    assert setup.server.pacer.feeds == 3
    setup.server.pacer.feeds = 1000  # as if there were so many
    client, feed = feeds[0]
    began = asyncio.get_running_loop().time()
    feed.put(b"first\n")
    assert await client.read_chunk() == b"first\n"
    assert asyncio.get_running_loop().time() - began < 0.3
    feed.put(b"second\n")
    feed.put(b"third\n")
    assert await client.read_chunk() == b"second\nthird\n"
    assert 0.4 < asyncio.get_running_loop().time() - began < 2
    setup.server.pacer.feeds = 3
    for client, feed in feeds:
        client.writer.transport.abort()
        await until(lambda feed=feed: feed.closed)  # type: ignore[misc]
    assert setup.server.pacer.feeds == 0


async def test_a_quiet_feed_does_not_wait_for_the_busy_ones(setup: Setup) -> None:
    busy, quiet = await open_feed(setup), await open_feed(setup)
    setup.server.pacer.feeds = 1000  # as if there were so many: busy ones are written to once a second
    busy[1].put(b"first\n")
    assert await busy[0].read_chunk() == b"first\n"
    busy[1].put(b"second\n")
    began = asyncio.get_running_loop().time()
    quiet[1].put(b"lone\n")
    assert await quiet[0].read_chunk() == b"lone\n"
    assert asyncio.get_running_loop().time() - began < 0.3
    assert busy[1].takes == 2  # for the head, and for the first
    assert await busy[0].read_chunk() == b"second\n"


async def test_feeds_that_are_written_to_together_stay_apart(setup: Setup) -> None:
    """One client does not read and one feed fails; the others get all of theirs, framed together or not."""
    clients = [await open_feed(setup) for _ in range(6)]
    stuck, broken, *others = clients
    stuck[0].writer.transport.pause_reading()  # type: ignore[attr-defined]
    shared = b"the same for all\n" * 20_000  # more than one piece
    for _, feed in clients:
        feed.put(shared)
    broken[1].take = None  # type: ignore[method-assign, assignment]
    for number, (client, feed) in enumerate(others):
        feed.put(b"%d\n" % number)
        received = b""
        while len(received) < len(shared) + 2:
            received += await client.read_chunk()
        assert received == shared + b"%d\n" % number
    assert await broken[0].read_chunk() == b""
    stuck[0].writer.transport.resume_reading()  # type: ignore[attr-defined]
    received = b""
    while len(received) < len(shared):
        received += await stuck[0].read_chunk()
    assert received == shared


async def test_a_finished_feed_ends_the_answer_and_the_connection_goes_on(setup: Setup) -> None:
    client, feed = await open_feed(setup)
    client.send(client.head("GET /after HTTP/1.1"))
    await asyncio.sleep(0.02)
    assert len(setup.api.requests) == 1  # not handled behind a feed
    feed.put(b"last\n")
    feed.finish()
    assert await client.read_chunk() == b"last\n"
    assert await client.read_chunk() == b""
    assert feed.closed
    assert (await client.read_answer()).body == b"/after"


async def test_a_feed_ends_at_its_time(setup: Setup) -> None:
    setup.api.feed_timeout = 0.2
    client, feed = await open_feed(setup)
    feed.put(b"x\n")
    assert await client.read_chunk() == b"x\n"
    assert await client.read_chunk() == b"bookmark\n"  # where the client can go on
    assert await client.read_chunk() == b""
    assert feed.closed
    assert (await client.get("/x")).status == 200


async def test_a_feed_that_fails_ends_and_the_connection_lives(
    setup: Setup, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, feed = await open_feed(setup)

    def fail(limit: int = 0) -> bytes:
        raise RuntimeError("boom")

    monkeypatch.setattr(feed, "take", fail)
    feed.put(b"x\n")
    assert await client.read_chunk() == b""
    assert feed.closed
    assert "boom" in caplog.text
    assert (await client.get("/x")).status == 200


async def test_a_client_that_leaves_closes_its_feed(setup: Setup) -> None:
    client, feed = await open_feed(setup)
    client.writer.transport.abort()
    await until(lambda: feed.closed)
    feed.put(b"into the void\n")
    await asyncio.sleep(0.02)


async def test_a_silent_feed_sends_bookmarks(identity: Identity) -> None:
    async with serving(identity, Limits(bookmark=0.1)) as setup:
        client, feed = await open_feed(setup)
        assert await client.read_chunk() == b"bookmark\n"
        assert await client.read_chunk() == b"bookmark\n"
        feed.put(b"x\n")
        assert await client.read_chunk() == b"x\n"


async def test_a_client_that_does_not_read_costs_no_memory(setup: Setup) -> None:
    client, feed = await open_feed(setup)
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    feed.put(b"x" * (64 << 20))
    await asyncio.sleep(0.3)
    taken, takes = feed.taken_bytes, feed.takes
    assert taken < 32 << 20
    feed.put(b"more\n")
    await asyncio.sleep(0.1)
    assert (feed.taken_bytes, feed.takes) == (taken, takes)
    client.writer.transport.resume_reading()  # type: ignore[attr-defined]
    received = 0
    while received < (64 << 20) + 5:
        received += len(await client.read_chunk())
    assert feed.taken_bytes == received


async def test_a_client_that_is_stuck_for_long_is_cut(identity: Identity) -> None:
    async with serving(identity, Limits(stuck=0.3)) as setup:
        client, feed = await open_feed(setup)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        feed.put(b"x" * (64 << 20))
        await until(lambda: feed.closed)
        assert setup.server.connections == 0


async def test_a_feed_to_http_1_0_ends_with_the_connection(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("GET /feed HTTP/1.0"))
    assert "transfer-encoding" not in (await client.read_head()).headers
    feed = setup.api.feeds[0]
    feed.put(b"x\n")
    feed.finish()
    assert await asyncio.wait_for(client.reader.read(), 5) == b"x\n"


async def test_head_of_a_feed_opens_none(setup: Setup) -> None:
    client = await setup.client()
    client.send(client.head("HEAD /feed HTTP/1.1"))
    await client.read_head()
    assert setup.api.feeds[0].closed
    assert (await client.get("/x")).body == b"/x"


# --- going down --------------------------------------------------------------------------------------------


async def test_going_down_ends_feeds_and_finishes_answers(identity: Identity) -> None:
    async with serving(identity) as setup:
        client, feed = await open_feed(setup)
        writer, idle = await setup.client(), await setup.client()
        writer.send(writer.head("POST /write HTTP/1.1", "Content-Length: 0"))
        await until(lambda: setup.server.waiting == 1 and setup.server.connections == 3)
        feed.put(b"last\n")
        closing = asyncio.create_task(setup.server.close(grace=5))
        await asyncio.sleep(0.05)
        setup.log.commit(1)
        assert (await writer.read_answer()).status == 201
        assert await client.read_chunk() == b"last\n"
        assert await client.read_chunk() == b"bookmark\n"
        assert await client.read_chunk() == b""
        for each in (client, writer, idle):
            assert await each.closed_by_server()
        await asyncio.wait_for(closing, 2)
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", setup.port)


async def test_going_down_does_not_wait_for_ever(identity: Identity) -> None:
    async with serving(identity) as setup:
        client = await setup.client()
        client.send(client.head("POST /write HTTP/1.1", "Content-Length: 0"))
        await until(lambda: setup.server.waiting == 1)
        await asyncio.wait_for(setup.server.close(grace=0.1), 2)


def test_a_taken_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is taken: choose another with --port"):
            listen(port)
    with pytest.raises(UsageError, match="no port"):
        listen(70000)
