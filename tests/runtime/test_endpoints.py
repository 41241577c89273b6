"""Health and metrics over HTTP: what is answered, where, and to whom."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket

import pytest

from podium.errors import UsageError
from podium.runtime.endpoints import Answers, Endpoints
from podium.runtime.listener import Address
from podium.runtime.metrics_access import Refused


class State:
    reason = ""

    def unready(self) -> str:
        return self.reason

    def metrics(self) -> bytes:
        return b"podium_turns_total 1\n"


async def ask(port: int, *paths: str, method: str = "GET") -> list[tuple[int, str]]:
    """One connection, several requests."""

    def talk() -> list[tuple[int, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        found = []
        for path in paths:
            connection.request(method, path)
            answer = connection.getresponse()
            found.append((answer.status, answer.read().decode()))
        connection.close()
        return found

    return await asyncio.to_thread(talk)


def port_of(endpoints: Endpoints) -> int:
    return int(endpoints.url.rsplit(":", 1)[1])


async def test_the_paths() -> None:
    state = State()
    async with Endpoints(Address(0), Answers(state.unready, state.metrics)) as opened:
        port = port_of(opened)
        answers = await ask(port, "/healthz", "/livez", "/readyz", "/metrics?x=1", "/")
        assert [status for status, _ in answers] == [200, 200, 200, 200, 404]
        assert answers[0][1] == "ok"
        assert answers[3][1] == "podium_turns_total 1\n"
        state.reason = "the cluster is being listed"
        assert await ask(port, "/healthz", "/readyz") == [(200, "ok"), (503, "the cluster is being listed\n")]
        assert await ask(port, "/healthz", method="HEAD") == [(200, "")]
        assert (await ask(port, "/healthz", method="POST"))[0][0] == 405


async def test_what_is_off_is_not_there() -> None:
    async with Endpoints(Address(0), Answers(State().unready)) as opened:
        assert [status for status, _ in await ask(port_of(opened), "/metrics", "/healthz")] == [404, 200]
    async with Endpoints(Address(0), Answers(None, State().metrics)) as opened:
        assert [status for status, _ in await ask(port_of(opened), "/metrics", "/readyz")] == [200, 404]


async def test_nonsense_ends_the_connection_and_nothing_else() -> None:
    async with Endpoints(Address(0), Answers(State().unready)) as opened:
        for junk in (b"\x16\x03\x01 hello\r\n\r\n", b"x" * 100_000):
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(opened))
            writer.write(junk)
            async with asyncio.timeout(5):
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
            writer.close()
        assert await ask(port_of(opened), "/livez") == [(200, "ok")]


async def test_a_taken_port_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}.*--listen-address"):
            async with Endpoints(Address(port), Answers()):
                pass


async def test_without_an_address_nobody_from_elsewhere_can_ask() -> None:
    async with Endpoints(Address.read(":0", "--listen-address"), Answers(State().unready)) as opened:
        assert opened.url.startswith("http://127.0.0.1:")


async def test_the_address_that_was_asked_for() -> None:
    async with Endpoints(Address.read("127.0.0.2:0", "--listen-address"), Answers(State().unready)) as opened:
        assert opened.url.startswith("http://127.0.0.2:")


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("10.0.0.1", False)]
)
def test_who_can_ask_there(host: str, local: bool) -> None:
    assert Address(1, host).is_local is local


async def test_metrics_are_for_whom_the_server_allows() -> None:
    shown: list[str] = []

    async def access(token: str) -> Refused | None:
        shown.append(token)
        return None if token == "good" else Refused(403, "system:anonymous may not")

    def talk(port: int, token: str, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status

    state = State()
    async with Endpoints(Address(0), Answers(state.unready, state.metrics, access=access)) as opened:
        port = port_of(opened)
        assert await asyncio.to_thread(talk, port, "good", "/metrics") == 200
        assert await asyncio.to_thread(talk, port, "", "/metrics") == 403
        assert await asyncio.to_thread(talk, port, "", "/readyz") == 200
    assert shown == ["good", ""]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", Address(8080)),
        ("127.0.0.1:0", Address(0)),
        ("localhost:9", Address(9)),
        ("10.0.0.1:9", Address(9, "10.0.0.1")),
        ("0.0.0.0:9", Address(9, "0.0.0.0")),
        ("[fd00::1]:9", Address(9, "fd00::1")),
        ("fd00::1:9", Address(9, "fd00::1")),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.read(text, "--listen-address") == address


@pytest.mark.parametrize("text", ["", "8080", ":", ":x", ":70000", "host:", "host:80", "[::1:80:x"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="--healthz-address wants"):
        Address.read(text, "--healthz-address")
