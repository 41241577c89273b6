"""The HTTP transport against a scripted server, on asyncio's own loop and on uvloop."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from podium.errors import TransportError
from podium.kube.connection import Connection, Trust
from podium.kube.credentials import Certificate, Identity, Issued, OnDemand, Static, bearer
from podium.kube.http_client import HttpTransport
from podium.kube.http_connection import BUFFER_HIGH
from podium.kube.transport import MERGE_PATCH, Request
from tests.kube.authority import Authority
from tests.kube.scripted_server import ScriptedServer, Seen, answer, chunked

GET = Request("GET", "/api/v1/pods")
POST = Request("POST", "/api/v1/namespaces/default/pods", body=b"{}")

Story = Callable[[], Coroutine[Any, Any, None]]
Test = Callable[[Any], None]

both_loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


def on_both_loops(story: Story) -> Test:
    def test(run: Any) -> None:
        run(asyncio.wait_for(story(), 10))

    marked: Test = both_loops(test)
    return marked


# --- plain requests ----------------------------------------------------------------------------------------


@on_both_loops
async def test_a_request_as_it_stands_on_the_wire() -> None:
    async with ScriptedServer() as server:
        transport = HttpTransport(server.connection(Static(Identity(bearer("t"))), path="/clusters/one/"))
        response = await transport.request(
            Request("PATCH", "/api/v1/x y", (("a", "1&2"), ("a", "ü")), b"{}", MERGE_PATCH, user_agent="me")
        )
        await transport.request(GET)
        await transport.close()
    patched, got = server.seen
    assert (response.status, response.body, response.content_type) == (200, b"{}", "application/json")
    assert patched.target == "/clusters/one/api/v1/x%20y?a=1%262&a=%C3%BC"
    assert patched.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "me",
        "accept": "application/json",
        "content-type": "application/merge-patch+json",
        "authorization": "Bearer t",
        "content-length": "2",
    }
    assert patched.body == b"{}"
    assert "content-length" not in got.headers
    assert "content-type" not in got.headers
    assert got.connection == patched.connection


@on_both_loops
async def test_bodies_of_every_kind() -> None:
    bodies = {
        "/length": answer(b"x" * 300_000),
        "/chunked": chunked(b"x" * 100_000, b"x" * 200_000),
        "/empty": answer(b""),
        "/none": b"HTTP/1.1 204 No Content\r\n\r\n",
        "/interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(b"x"),
        "/until-the-end": b"HTTP/1.1 200 OK\r\n\r\nxyz",
    }

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(bodies[seen.target])
        if seen.target == "/until-the-end":
            writer.close()

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        sizes = [len((await transport.request(Request("GET", path))).body) for path in bodies]
        await transport.close()
    assert sizes == [300_000, 300_000, 0, 0, 1, 3]
    assert server.connections == 1


@on_both_loops
async def test_headers_come_back() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}", 429, "Retry-After: 7"))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        response = await transport.request(GET)
        await transport.close()
    assert response.status == 429
    assert response.header("retry-after") == "7"


@on_both_loops
async def test_an_answer_that_is_too_large_is_refused() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"x" * 2000))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), max_answer=1000)
        with pytest.raises(TransportError, match="larger than 1000 bytes"):
            await transport.request(GET)
        await transport.close()


@on_both_loops
async def test_an_answer_that_is_not_http() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-hello\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        with pytest.raises(TransportError, match="not HTTP"):
            await transport.request(GET)
        await transport.close()


@on_both_loops
async def test_nobody_there() -> None:
    async with ScriptedServer() as server:
        pass
    transport = HttpTransport(server.connection())
    with pytest.raises(TransportError, match=rf"127\.0\.0\.1:{server.port} cannot be reached"):
        await transport.request(GET)
    with pytest.raises(TransportError, match="cannot be reached"):
        async with transport.stream(GET):
            pass


@on_both_loops
async def test_a_header_cannot_be_smuggled_in() -> None:
    async with ScriptedServer() as server:
        transport = HttpTransport(server.connection())
        with pytest.raises(TransportError, match="Accept cannot stand in a header"):
            await transport.request(Request("GET", "/", accept="a\r\nX-Evil: 1"))
        await transport.request(Request("GET", "/a\r\nX-Evil: 1"))
        await transport.close()
    assert server.seen[0].target == "/a%0D%0AX-Evil:%201"


# --- what is sent again, and what is not -------------------------------------------------------------------


async def drop_the_second_request(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """A kept-alive connection that turns out to be dead when it is used again."""
    if seen.connection == 1 and seen.target == "/second":
        writer.transport.abort()
        return
    writer.write(answer())


@on_both_loops
async def test_a_read_on_a_stale_connection_is_sent_again() -> None:
    async with ScriptedServer(drop_the_second_request) as server:
        transport = HttpTransport(server.connection())
        await transport.request(GET)
        assert (await transport.request(Request("GET", "/second"))).status == 200
        await transport.close()
    assert [seen.connection for seen in server.seen] == [1, 1, 2]


@on_both_loops
async def test_a_write_whose_bytes_were_sent_is_never_sent_again() -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        async with ScriptedServer(drop_the_second_request) as server:
            transport = HttpTransport(server.connection())
            await transport.request(GET)
            with pytest.raises(TransportError, match=f"{method} /second: the connection ended without an answer"):
                await transport.request(Request(method, "/second", body=b"{}"))
            await transport.close()
        assert [seen.target for seen in server.seen] == ["/api/v1/pods", "/second"]


@on_both_loops
async def test_a_read_that_fails_on_a_fresh_connection_is_not_repeated() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        with pytest.raises(TransportError, match="without an answer"):
            await transport.request(GET)
        await transport.close()
    assert len(server.seen) == 1


@on_both_loops
async def test_half_an_answer_is_no_answer() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"x" * 100)[:-50])
        writer.close()

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        for request in (GET, POST):
            with pytest.raises(TransportError, match="in the middle of an answer"):
                await transport.request(request)
        await transport.close()
    assert len(server.seen) == 2


@on_both_loops
async def test_a_connection_that_the_server_closed_while_idle_is_not_used_for_a_write() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer())
        await writer.drain()
        writer.close()

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        await transport.request(GET)
        await asyncio.sleep(0.05)
        assert (await transport.request(POST)).status == 200
        await transport.close()
    assert server.connections == 2


@on_both_loops
async def test_connection_close_is_honoured() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}", 200, "Connection: close"))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        await transport.request(POST)
        await transport.request(POST)
        await transport.close()
    assert server.connections == 2


@on_both_loops
async def test_an_unasked_farewell_is_not_taken_for_an_answer() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(seen.target.encode()) + (answer(b"bye", 408) if seen.target == "/1" else b""))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        assert (await transport.request(Request("GET", "/1"))).body == b"/1"
        assert (await transport.request(Request("GET", "/2"))).body == b"/2"
        await transport.close()


# --- time --------------------------------------------------------------------------------------------------


@on_both_loops
async def test_a_timeout_frees_the_slot_and_drops_the_connection() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.target != "/slow":
            writer.write(answer())

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=1)
        with pytest.raises(TransportError, match=r"GET /slow: .* did not answer in time"):
            await transport.request(Request("GET", "/slow"), timeout=0.05)
        assert (await transport.request(GET)).status == 200
        await transport.close()
    assert server.connections == 2


@on_both_loops
async def test_a_cancelled_request_does_not_leave_its_answer_to_the_next() -> None:
    release = asyncio.Event()

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.target == "/first":
            await release.wait()
        writer.write(answer(seen.target.encode()))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=1)
        task = asyncio.create_task(transport.request(Request("GET", "/first")))
        await server.first_request.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        release.set()
        assert (await transport.request(Request("GET", "/second"))).body == b"/second"
        await transport.close()


# --- the pool ----------------------------------------------------------------------------------------------


@on_both_loops
async def test_the_pool_is_bounded_and_first_come_is_first_served() -> None:
    busy = most = 0

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.001)
        busy -= 1
        writer.write(answer())

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=4)
        await asyncio.gather(*(transport.request(Request("POST", f"/{i}", body=b"{}")) for i in range(60)))
        assert server.connections == 4
        assert most <= 4
        narrow = HttpTransport(server.connection(), width=1)
        server.seen.clear()
        await asyncio.gather(*(narrow.request(Request("GET", f"/{i}")) for i in range(20)))
        assert [seen.target for seen in server.seen] == [f"/{i}" for i in range(20)]
        await transport.close()
        await narrow.close()


@on_both_loops
async def test_waiting_for_a_turn_can_time_out_or_be_cancelled() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(answer())

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=1)
        holder = asyncio.create_task(transport.request(GET))
        await asyncio.sleep(0.01)
        cancelled = asyncio.create_task(transport.request(POST))
        with pytest.raises(TransportError, match="no connection of the pool became free in time"):
            await transport.request(POST, timeout=0.03)
        cancelled.cancel()
        assert (await holder).status == 200
        assert (await transport.request(GET)).status == 200
        await transport.close()
    assert [seen.method for seen in server.seen] == ["GET", "GET"]


@on_both_loops
async def test_failures_give_their_slots_back() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.target == "/bad":
            writer.transport.abort()
        else:
            writer.write(answer())

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=2)
        requests = [transport.request(Request("POST", "/bad" if i % 2 else "/good")) for i in range(40)]
        results = await asyncio.gather(*requests, return_exceptions=True)
        assert sum(isinstance(result, TransportError) for result in results) == 20
        assert (await transport.request(GET)).status == 200
        await transport.close()


@on_both_loops
async def test_closing_ends_whatever_waits() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        pass

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=1)
        waiting = [asyncio.create_task(transport.request(GET)) for _ in range(3)]
        await server.first_request.wait()
        await transport.close()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(result, TransportError) for result in results)
        with pytest.raises(TransportError, match="has been closed"):
            await transport.request(GET)


# --- who we are --------------------------------------------------------------------------------------------


def numbered() -> OnDemand:
    """Tokens 1, 2, 3 ..., one for each time somebody asks."""
    count = 0

    def issue() -> Issued:
        nonlocal count
        count += 1
        return Issued(Identity(bearer(str(count))))

    return OnDemand(issue)


async def only_the_second_token(seen: Seen, writer: asyncio.StreamWriter) -> None:
    good = seen.headers["authorization"] == "Bearer 2"
    writer.write(answer(b"line\n") if good else answer(b"{}", 401))


@on_both_loops
async def test_a_401_renews_the_credentials_once_and_tries_again() -> None:
    async with ScriptedServer(only_the_second_token) as server:
        transport = HttpTransport(server.connection(numbered()))
        assert (await transport.request(POST)).status == 200
        assert (await transport.request(POST)).status == 200
        streaming = HttpTransport(server.connection(numbered()))
        async with streaming.stream(GET) as stream:
            assert stream.status == 200
            assert [line async for line in stream.lines()] == [b"line"]
        await transport.close()
        await streaming.close()
    assert [seen.headers["authorization"][-1] for seen in server.seen] == ["1", "2", "2", "1", "2"]


@on_both_loops
async def test_a_401_that_cannot_be_helped_is_the_answer() -> None:
    async with ScriptedServer(only_the_second_token) as server:
        transport = HttpTransport(server.connection(Static(Identity(bearer("x")))))
        assert (await transport.request(POST)).status == 401
        async with transport.stream(GET) as stream:
            assert stream.status == 401
        await transport.close()
    assert len(server.seen) == 2


# --- streams -----------------------------------------------------------------------------------------------


@on_both_loops
async def test_lines_come_as_they_arrive_however_they_are_cut() -> None:
    go_on = asyncio.Event()

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"one\ntw", b"o\n\nth", b"re", b"e\n", end=False))
        await go_on.wait()
        writer.write(b"4\r\nfour\r\n0\r\n\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            lines = aiter(stream.lines())
            assert [await anext(lines) for _ in range(4)] == [b"one", b"two", b"", b"three"]
            go_on.set()
            assert [line async for line in lines] == [b"four"]
        await transport.close()


@on_both_loops
async def test_lines_that_came_together_come_together() -> None:
    go_on = asyncio.Event()

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"one\ntwo\nth", end=False))
        await go_on.wait()
        writer.write(b"9\r\nree\n\nfour\r\n0\r\n\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            batches = aiter(stream.batches())
            assert await anext(batches) == [b"one", b"two"]
            go_on.set()
            assert [line async for batch in batches for line in batch] == [b"three", b"", b"four"]
        await transport.close()


@on_both_loops
async def test_a_stream_that_breaks_off_gives_no_half_line() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"whole\nha", end=False))
        await writer.drain()
        writer.close()

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            lines = aiter(stream.lines())
            assert await anext(lines) == b"whole"
            with pytest.raises(TransportError, match="in the middle"):
                await anext(lines)
        await transport.close()


@on_both_loops
async def test_the_body_of_a_refused_stream_is_one_line() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b'{\n"kind": "Status"\n}', 403))

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            assert stream.status == 403
            assert [line async for line in stream.lines()] == [b'{\n"kind": "Status"\n}']
        await transport.close()


@on_both_loops
async def test_a_slow_reader_slows_the_server_down_and_loses_nothing() -> None:
    line = b"x" * 999 + b"\n"
    total = 20_000
    written = 0

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(total // 100):
            writer.write(b"%x\r\n%b\r\n" % (len(line) * 100, line * 100))
            await writer.drain()
            written += 100
        writer.write(b"0\r\n\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            lines = aiter(stream.lines())
            await anext(lines)
            await asyncio.sleep(0.2)
            # The rest is held back by the kernel's socket buffers and the server, not by our memory.
            buffered = getattr(stream, "_waiting_bytes")  # noqa: B009
            assert buffered < 3 * BUFFER_HIGH
            assert written < total
            count = 1
            async for each in lines:
                assert len(each) == 999
                count += 1
        assert count == total
        await transport.close()


@on_both_loops
async def test_streams_do_not_use_up_the_pool() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"hello\n", end=False) if seen.target == "/watch" else answer())

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection(), width=1)
        watch = Request("GET", "/watch")
        async with transport.stream(watch) as one, transport.stream(watch) as two:
            assert await anext(aiter(one.lines())) == await anext(aiter(two.lines())) == b"hello"
            assert (await transport.request(POST)).status == 200
        await transport.close()


async def test_where_no_more_files_may_be_opened_the_oldest_stream_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two connections and no more, and three who want one: all of them get on, in turn."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"hello\n", end=False) if seen.target.startswith("/watch") else answer())

    loop = asyncio.get_running_loop()
    connect = loop.create_connection

    async def limited(*args: Any, **kwargs: Any) -> Any:
        if len(getattr(transport, "_open")) >= 2:  # noqa: B009
            raise OSError(errno.EMFILE, "Too many open files")
        return await connect(*args, **kwargs)

    monkeypatch.setattr(loop, "create_connection", limited)
    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        for _ in range(3):
            async with AsyncExitStack() as stack:
                streams = [
                    await stack.enter_async_context(transport.stream(Request("GET", f"/watch-{number}")))
                    for number in range(3)
                ]
                first, second, third = (aiter(each.lines()) for each in streams)
                with pytest.raises(TransportError, match="too many open files: another request needed"):
                    _ = [line async for line in first]
                assert await anext(second) == await anext(third) == b"hello"
                assert (await transport.request(POST)).status == 200
                with pytest.raises(TransportError, match="too many open files: another request needed"):
                    _ = [line async for line in second]
                assert (await transport.request(POST)).status == 200, "the connection has been kept"
                async with transport.stream(Request("GET", "/watch-4")) as fourth:
                    assert await anext(aiter(fourth.lines())) == b"hello"
        await transport.close()


async def test_without_a_stream_that_could_end_it_says_that_there_are_too_many_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    async with ScriptedServer(lambda *_: asyncio.sleep(0)) as server:
        transport = HttpTransport(server.connection())
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        with pytest.raises(TransportError, match="cannot be reached: Too many open files"):
            await transport.request(POST)
        await transport.close()


@on_both_loops
async def test_a_stream_without_a_head_times_out_and_one_without_lines_does_not() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.target == "/quiet":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await asyncio.sleep(0.15)
            writer.write(b"2\r\n1\n\r\n0\r\n\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        with pytest.raises(TransportError, match="did not answer in time"):
            async with transport.stream(GET, timeout=0.05):
                pass
        async with transport.stream(Request("GET", "/quiet"), timeout=0.1) as stream:
            assert [line async for line in stream.lines()] == [b"1"]
        await transport.close()


@on_both_loops
async def test_waiting_for_a_line_can_be_cancelled_and_resumed() -> None:
    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"one\n", end=False))
        await asyncio.sleep(0.1)
        writer.write(b"4\r\ntwo\n\r\n0\r\n\r\n")

    async with ScriptedServer(behave) as server:
        transport = HttpTransport(server.connection())
        async with transport.stream(GET) as stream:
            lines = aiter(stream.lines())
            assert await anext(lines) == b"one"
            with suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    await anext(lines)
            assert [line async for line in lines] == [b"two"]
        await transport.close()


# --- TLS ---------------------------------------------------------------------------------------------------

AUTHORITY = Authority()


def server_tls(directory: Path, hosts: tuple[str, ...], ask_for_certificate: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = directory / "pair.pem"
    pair.write_text("\n".join(AUTHORITY.issue("server", hosts)))
    context.load_cert_chain(pair)
    if ask_for_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=AUTHORITY.pem)
    return context


@both_loops
def test_a_server_is_trusted_by_its_authority_and_its_name(run: Any, tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedServer(tls=server_tls(tmp_path, ("127.0.0.1",))) as server:
            transport = HttpTransport(server.connection(trust=Trust(AUTHORITY.pem)))
            assert (await transport.request(POST)).status == 200
            await transport.close()
            for trust in (Trust(Authority().pem), Trust(AUTHORITY.pem, server_name="other")):
                refused = HttpTransport(server.connection(trust=trust))
                with pytest.raises(TransportError, match="is not trusted"):
                    await refused.request(GET)
            careless = HttpTransport(server.connection(trust=Trust(insecure=True)))
            assert (await careless.request(GET)).status == 200
            await careless.close()
        async with ScriptedServer(tls=server_tls(tmp_path, ("other",))) as server:
            renamed = HttpTransport(server.connection(trust=Trust(AUTHORITY.pem, server_name="other")))
            assert (await renamed.request(GET)).status == 200
            await renamed.close()

    run(story())


@both_loops
def test_a_client_certificate_is_shown_and_follows_the_credentials(run: Any, tmp_path: Path) -> None:
    async def story() -> None:
        issued = 0

        def issue() -> Issued:
            nonlocal issued
            issued += 1
            return Issued(Identity("", Certificate(*AUTHORITY.issue(f"client-{issued}"))))

        async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
            subject = writer.get_extra_info("peercert")["subject"][0][0][1]
            writer.write(answer(subject.encode(), 401 if subject == "client-1" else 200))

        async with ScriptedServer(
            behave, server_tls(tmp_path, ("127.0.0.1",), ask_for_certificate=True)
        ) as server:
            transport = HttpTransport(server.connection(OnDemand(issue), Trust(AUTHORITY.pem)))
            assert (await transport.request(POST)).body == b"client-2"
            await transport.close()

    run(story())


async def test_a_certificate_that_cannot_be_used_is_told() -> None:
    identity = Identity("", Certificate("nonsense", "nonsense"))
    transport = HttpTransport(Connection("https://127.0.0.1:1", Static(identity), Trust(AUTHORITY.pem)))
    with pytest.raises(TransportError, match=r"certificates for .* cannot be used"):
        await transport.request(GET)
