"""The dashboard over HTTP: what is answered to whom, and the stream."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest

from podium.engine.scheduler import Scheduler
from podium.kube.resources import PODS
from podium.kube.transport import Request, Response, Transport
from podium.web import server
from podium.web.feed import Feed
from podium.web.server import Dashboard, Source
from tests.engine.stage import Stage


class Served:
    """A dashboard of a stage."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.stage.node("n1")
        self.stage.pod("p1")
        self.stage.settle()
        self.scheduler: Scheduler | None = self.stage.scheduler
        self.dashboard = Dashboard(Source(lambda: self.scheduler, list))

    @property
    def port(self) -> int:
        return int(self.dashboard.url.rpartition(":")[2])

    async def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        def talk() -> tuple[int, dict[str, str], str]:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request(
                method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
            )
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, dict(answer.getheaders()), text

        return await asyncio.to_thread(talk)

    async def log_in(self) -> str:
        _, headers, _ = await self.ask(f"/login?token={self.dashboard.access.token}")
        return headers["Set-Cookie"].partition(";")[0]

    async def events(self, cookie: str, until: str, seconds: float = 10.0) -> list[tuple[str, Any]]:
        """What the stream says, to the first event of a kind."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
        found: list[tuple[str, Any]] = []
        async with asyncio.timeout(seconds):
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"text/event-stream" in head
            while not found or found[-1][0] != until:
                event = await reader.readuntil(b"\n\n")
                if event.startswith(b"event: "):
                    kind, data = event[7:].split(b"\ndata: ", 1)
                    found.append((kind.decode(), json.loads(data)))
        writer.close()
        return found


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    async with made.dashboard:
        yield made


PRIVATE = (
    "/",
    "/static/app.js",
    "/static/index.html",
    "/api/stream",
    "/api/jobs/1",
    "/api/nodes/0",
    "/api/why?what=pod/p1",
    "/api/queue",
    "/no/such/page",
)


@pytest.mark.parametrize("path", PRIVATE)
async def test_nothing_without_login(served: Served, path: str) -> None:
    status, headers, text = await served.ask(path)
    assert status in (303, 401)
    assert headers.get("Location", "/login") == "/login"
    assert "p1" not in text
    status, _, _ = await served.ask(path, Cookie=f"podium-{served.port}=guess")
    assert status in (303, 401)


async def test_the_page_of_the_login_is_for_everybody(served: Served) -> None:
    status, headers, text = await served.ask("/login")
    assert status == 200
    assert "Token" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for name in ("style.css", "inks.css", "login.js", "icon.svg"):
        assert (await served.ask(f"/static/{name}"))[0] == 200


async def test_login_by_link_and_by_form(served: Served) -> None:
    status, headers, _ = await served.ask(f"/login?token={served.dashboard.access.token}")
    assert (status, headers["Location"]) == (303, "/")  # the token leaves the address
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    status, headers, text = await served.ask("/", Cookie=cookie)
    assert status == 200
    assert headers["X-Frame-Options"] == "DENY"
    assert "app.js" in text
    form = f"token={served.dashboard.access.token}"
    status, headers, _ = await served.ask("/login", "POST", form)
    assert (status, headers["Location"]) == (303, "/")
    status, headers, _ = await served.ask("/login", "POST", "token=wrong")
    assert headers["Location"] == "/login?wrong=1"
    assert "Set-Cookie" not in headers


async def test_a_session_ends_with_the_logout(served: Served) -> None:
    cookie = await served.log_in()
    assert (await served.ask("/logout", "POST", Cookie=cookie))[0] == 303
    assert (await served.ask("/", Cookie=cookie))[0] == 303


@pytest.mark.parametrize("path", ["/", "/login", "/static/style.css", "/api/stream", "/api/jobs/1"])
async def test_other_names_and_pages_of_others_are_refused(served: Served, path: str) -> None:
    cookie = await served.log_in()
    assert (await served.ask(path, Host="evil.example", Cookie=cookie))[0] == 421
    assert (await served.ask(path, Origin="http://evil.example", Cookie=cookie))[0] == 403
    fetched = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert (await served.ask(path, Cookie=cookie, **fetched))[0] == 403


async def test_files_are_not_sent_twice(served: Served) -> None:
    cookie = await served.log_in()
    _, headers, _ = await served.ask("/static/app.js", Cookie=cookie)
    status, _, text = await served.ask("/static/app.js", Cookie=cookie, If_None_Match=headers["ETag"])
    assert (status, text) == (304, "")


@pytest.mark.parametrize(
    "path", ["/static/../files.py", "/static/%2e%2e/files.py", "/static/", "/static/x", "/api/jobs/x",
             "/api/jobs/-1", "/api/jobs/99999999999999999999", "/api/pods/1", "/nothing"]
)  # fmt: skip
async def test_what_there_is_not(served: Served, path: str) -> None:
    cookie = await served.log_in()
    assert (await served.ask(path, Cookie=cookie))[0] == 404


async def test_only_questions_are_answered(served: Served) -> None:
    cookie = await served.log_in()
    for method in ("POST", "PUT", "DELETE"):
        assert (await served.ask("/api/jobs/1", method, Cookie=cookie))[0] == 405
    assert (await served.ask("/login", "POST", "x" * 20_000))[0] == 413


@pytest.mark.parametrize(
    "bytes_sent",
    [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
     b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n", b"\x00" * 20_000]
)  # fmt: skip
async def test_who_does_not_speak_http_is_hung_up_on(served: Served, bytes_sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(bytes_sent)
    writer.write_eof()
    async with asyncio.timeout(5):
        answer = await reader.read()
    assert not answer or b" 413 " in answer.split(b"\r\n")[0]
    writer.close()
    assert (await served.ask("/login"))[0] == 200


async def test_the_stream_says_everything_and_then_what_changes(served: Served) -> None:
    cookie = await served.log_in()
    said = await served.events(cookie, "ready")
    kinds = [kind for kind, _ in said]
    assert kinds[0] == "hello"
    for kind in ("nodes", "queues", "jobs"):
        assert kind in kinds
    (jobs,) = (data for kind, data in said if kind == "jobs")
    assert jobs["rows"][0][1] == "p1"

    async def later() -> None:
        await asyncio.sleep(1.0)
        served.stage.pod("p2")
        served.stage.settle()

    changing = asyncio.create_task(later())
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        await reader.readuntil(b"event: ready")
        await changing
        began = time.monotonic()
        await reader.readuntil(b'"p2"')
        assert time.monotonic() - began < 1.0
    writer.close()


async def test_documents_of_one_job_and_one_node(served: Served) -> None:
    cookie = await served.log_in()
    said = dict(await served.events(cookie, "ready"))
    status, _, text = await served.ask(f"/api/jobs/{said['jobs']['rows'][0][0]}", Cookie=cookie)
    assert status == 200
    assert json.loads(text)["members"][0][1] == "p1"
    status, _, text = await served.ask("/api/nodes/0", Cookie=cookie)
    assert json.loads(text)["name"] == "n1"


async def test_without_a_scheduler_it_says_so_and_goes_on_when_there_is_one(served: Served) -> None:
    cookie = await served.log_in()
    served.scheduler = None
    await asyncio.sleep(1.2)
    said = await served.events(cookie, "nobody")
    assert said[-1][0] == "nobody"
    assert (await served.ask("/api/jobs/1", Cookie=cookie))[0] == 503
    served.scheduler = served.stage.scheduler
    assert (await served.events(cookie, "ready"))[-1][0] == "ready"


async def test_another_scheduler_is_shown_from_the_beginning(served: Served) -> None:
    cookie = await served.log_in()
    await served.events(cookie, "ready")
    other = Stage()
    other.pod("q1")
    other.settle()
    served.scheduler = other.scheduler
    await asyncio.sleep(1.2)
    said = dict(await served.events(cookie, "ready"))
    assert [row[1] for row in said["jobs"]["rows"]] == ["q1"]


async def test_a_bug_in_the_view_ends_nobody(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cookie = await served.log_in()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    with caplog.at_level(logging.ERROR), monkeypatch.context() as patched:
        patched.setattr("podium.web.view.View.refresh", broken)
        await asyncio.sleep(1.5)
    assert "boom" in caplog.text
    assert (await served.events(cookie, "ready"))[-1][0] == "ready"


async def test_who_falls_behind_is_given_everything_anew() -> None:
    feed = Feed(kept=2000)
    feed.say([{"is": "x"}])
    assert feed.end == 0  # nobody listens
    feed.listeners = 1
    position = feed.end
    feed.say([{"is": "x", "rows": ["a" * 100]}] * 3)
    frames = feed.since(position)
    assert frames is not None
    assert len(frames) == 3
    feed.say([{"is": "x", "rows": ["a" * 100]}] * 50)
    assert feed.since(position) is None
    assert feed.since(feed.end) == []
    position = feed.end
    feed.restart()
    assert feed.since(position) is None


async def test_what_a_pause_cannot_make_up_for_is_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    def steps() -> Iterator[list[dict[str, Any]]]:
        nonlocal clock
        for seconds in (0.1, *[0.0] * 20):
            clock += seconds
            yield []

    monkeypatch.setattr(time, "thread_time", lambda: clock)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    taken = [documents async for documents in server._slowly(steps(), lambda: 0.02)]
    assert len(taken) == 21
    assert max(pauses) == 0.5
    assert sum(pauses) == pytest.approx(0.1 * 49, rel=0.05)  # all of it but what is too little to pause for


async def test_a_page_that_is_closed_while_it_is_written_to_is_no_error(
    served: Served,
) -> None:
    class Closed:
        def is_closing(self) -> bool:
            return True

        def write(self, data: bytes) -> None:
            raise RuntimeError("the handler is closed")  # as uvloop says it

    with pytest.raises(ConnectionResetError):  # which a listener takes for what it is
        await served.dashboard._send_everything(cast("asyncio.StreamWriter", Closed()))


# --- questions of commands ---------------------------------------------------------------------------------------


class Pods:
    """A server that has the pods of a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def request(self, request: Request) -> Response:
        name = request.path.rpartition("/")[2]
        pod = self._stage.scheduler.world.cache.get(PODS, "default", name)
        if pod is None:
            return Response(404, b'{"kind": "Status", "code": 404, "message": "there is none"}')
        return Response(
            200, json.dumps({"metadata": {"name": name, "uid": pod.uid, "namespace": "default"}}).encode()
        )

    async def close(self) -> None:
        return


@pytest.fixture
async def answering() -> AsyncIterator[Served]:
    made = Served()
    made.stage.pod("large", cpu="1000")
    made.stage.settle()
    source = Source(lambda: made.scheduler, list, cast("Transport", Pods(made.stage)))
    made.dashboard = Dashboard(source)
    async with made.dashboard:
        yield made


async def test_a_command_is_answered_from_what_the_scheduler_knows(answering: Served) -> None:
    cluster = answering.stage.scheduler.world.cluster
    before = {id: (task.state, task.row) for id, task in cluster.tasks.items()}
    bearer = {"Authorization": f"Bearer {answering.dashboard.access.token}"}
    status, _, text = await answering.ask("/api/why?what=pod/large&namespace=default", **bearer)
    assert status == 200, text
    (answer,) = json.loads(text)
    assert "cpu" in answer["sentence"]
    assert answer["remedies"]
    status, _, text = await answering.ask("/api/queue?namespace=default", **bearer)
    assert {row["name"]: row["state"] for row in json.loads(text)["workloads"]} == {"p1": "R", "large": "PD"}
    status, _, text = await answering.ask("/api/nodes", **bearer)
    assert [row["name"] for row in json.loads(text)] == ["n1"]
    assert {id: (task.state, task.row) for id, task in cluster.tasks.items()} == before
    cluster.validate()


async def test_questions_that_cannot_be_answered(answering: Served) -> None:
    bearer = {"Authorization": f"Bearer {answering.dashboard.access.token}"}
    status, _, text = await answering.ask("/api/why?what=pod/absent&namespace=default", **bearer)
    assert (status, text.strip()) == (400, "there is no pod named absent in namespace default")
    assert (await answering.ask("/api/why?what=pod/large", Authorization="Bearer wrong"))[0] == 401
    answering.scheduler = None
    assert (await answering.ask("/api/queue", **bearer))[0] == 503


async def test_an_answer_that_fails_leaves_the_scheduler_alone(
    answering: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.web.asking.list_nodes", lambda model: 1 / 0)
    bearer = {"Authorization": f"Bearer {answering.dashboard.access.token}"}
    status, _, text = await answering.ask("/api/nodes", **bearer)
    assert (status, text.strip()) == (503, "the question was not answered")
    assert (await answering.ask("/api/queue", **bearer))[0] == 200
