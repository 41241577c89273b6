"""The dashboard's server: pages, documents, and a stream of what changes, on this machine only.

It shares the event loop with the scheduler and must not be felt there.  What it reads of the model it reads in
small steps, and after each step it pauses for a multiple of the time that the step took: so it has a bounded
part of the loop, however much changes, and a page falls behind before a bind does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import msgspec

from podium.core.framework.plugin import Plugin
from podium.engine.scheduler import Scheduler
from podium.errors import PodiumError, UsageError
from podium.kube.transport import Transport
from podium.runtime.listener import LOOPBACK, Address, Listener
from podium.web import details, files
from podium.web.access import Access, cookie
from podium.web.asking import Asking, Question
from podium.web.feed import Feed, frame
from podium.web.history import History
from podium.web.http import LONGEST_HEAD, Answer, Request, read, sentence, to
from podium.web.view import Document, View

log = logging.getLogger(__name__)

PERIOD = 0.25  # seconds between two looks at the model
ALONE_PERIOD = 1.0  # the same while nobody looks
SHARE = 0.02  # the part of the loop that following the model may take while the scheduler has work
IDLE_SHARE = 0.3  # the same while it has none
FIRST_SHARE = 0.6  # the same for the first look at everything, about a second on a large cluster
SNAPSHOT_SHARE = 0.2  # the same for a page that has just been opened
_LONGEST_PAUSE = 0.5
_HEARTBEAT = 15.0
QUESTIONS = {"/api/why": "why", "/api/queue": "queue", "/api/nodes": "nodes"}
_LISTENERS = 32
_WRONG_TOKEN_SECONDS = 0.5


class Source(msgspec.Struct, frozen=True):
    """Where the model is: the scheduler that runs now, if one does, and the plugins of its last turns."""

    scheduler: Callable[[], Scheduler | None]
    plugins: Callable[[], Iterable[Plugin]]
    transport: Transport | None = None  # to the cluster: for questions that name an object


class Dashboard:
    """Use it as an async context manager; `url` is known then."""

    def __init__(self, source: Source, port: int = 0, token: str = "", *, flag: str = "--dashboard-port") -> None:
        self.access = Access(token)
        self.feed = Feed()
        self.url = ""
        self._source = source
        self._asking = Asking(source.transport) if source.transport is not None else None
        self._files = files.load()
        self._history = History()
        self._view: View | None = None
        self._listener = Listener(Address(port), self._answer, flags=flag, longest_head=LONGEST_HEAD)
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()  # a page has been opened: it is shown what is there at once

    async def __aenter__(self) -> Dashboard:
        await self._listener.__aenter__()
        self.url = f"http://{LOOPBACK}:{self._listener.port}"
        self._task = asyncio.create_task(self._follow(), name="dashboard")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._listener.__aexit__(*exc)

    @property
    def login_url(self) -> str:
        """Where the token is known already."""
        return f"{self.url}/login?token={self.access.token}"

    # --- following the model -------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                await self._refresh()
            except Exception:  # a bug here must not be felt elsewhere
                log.exception("the dashboard failed to read the cluster; it begins anew")
                self._view = None
                self.feed.restart()
                await asyncio.sleep(ALONE_PERIOD)
            if not self.feed.listeners:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._looked.wait(), ALONE_PERIOD)
                self._looked.clear()
            else:
                await asyncio.sleep(PERIOD)

    async def _refresh(self) -> None:
        scheduler = self._source.scheduler()
        share = 0.0
        if scheduler is None:
            if self._view is not None:
                self._view = None
                self.feed.restart()
            return
        if self._view is None or self._view.scheduler is not scheduler:
            self._view = View(scheduler, self._source.plugins, self._history)
            self.feed.restart()
            share = FIRST_SHARE  # everything is new
        steps = self._view.refresh(time.time(), watched=self.feed.listeners > 0)
        async for documents in _slowly(steps, lambda: share or (IDLE_SHARE if scheduler.settled else SHARE)):
            self.feed.say(documents)

    # --- requests ------------------------------------------------------------------------------------------------

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await read(reader)
        if request is None:
            answer = sentence(413, "that is too much for a question")
            writer.write(answer.head(close=True) + answer.body)
            await writer.drain()
            return False
        if request.path == "/api/stream" and self._may(request) is None:
            await self._stream(request, writer)
            return False
        answer = await self._answered(request)
        close = request.headers.get("connection", "").lower() == "close"
        writer.write(answer.head(close=close) + (answer.body if request.method != "HEAD" else b""))
        await writer.drain()
        return not close

    def _may(self, request: Request) -> Answer | None:
        """What a request is answered that may not see anything; None if it may."""
        refused = self.access.refuses(request.headers)
        if refused is not None:
            return sentence(refused.status, refused.why)
        if self.access.knows(cookie(request.headers, self._cookie)) or self.access.shown(request.headers):
            return None
        if request.path.startswith("/api/"):
            return sentence(401, "log in first: open / with a browser")
        return to("/login")

    @property
    def _cookie(self) -> str:
        """Its name: cookies of one machine are shared by all of its ports."""
        return f"podium-{self._listener.port}"

    async def _answered(self, request: Request) -> Answer:
        refused = self.access.refuses(request.headers)
        if refused is not None:
            return sentence(refused.status, refused.why)
        if request.path == "/login":
            return await self._log_in(request)
        name = request.path.removeprefix("/static/")
        if name in files.PUBLIC and request.path.startswith("/static/"):
            return self._file(name, request)
        may_not = self._may(request)
        if may_not is not None:
            return may_not
        if request.path == "/logout" and request.method == "POST":
            self.access.close(cookie(request.headers, self._cookie))
            return to("/login", f"Set-Cookie: {self._cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
        if request.method not in ("GET", "HEAD"):
            return sentence(405, "only GET is answered")
        if request.path == "/":
            return self._file("index.html", request)
        if request.path.startswith("/static/"):
            return self._file(name, request)
        if request.path in QUESTIONS:
            return await self._asked(request)
        return self._document(request)

    async def _asked(self, request: Request) -> Answer:
        """What commands want to know: see `asking.py`."""
        scheduler = self._source.scheduler()
        if scheduler is None or self._asking is None:
            return sentence(503, "no scheduler works in this process now")
        search = request.value("search") != "no"
        question = Question(QUESTIONS[request.path], request.value("what"), request.value("namespace"), search)
        try:
            body = await self._asking.answer(scheduler, question)
        except UsageError as error:
            return sentence(400, str(error))
        except PodiumError as error:
            return sentence(503, str(error))
        return Answer(200, "application/json", body, headers=("Cache-Control: no-store",))

    async def _log_in(self, request: Request) -> Answer:
        token = request.value("token") if request.method == "GET" else request.form.get("token", [""])[0]
        if not token:
            return self._file("login.html", request)
        session = self.access.open(token.strip())
        if not session:
            await asyncio.sleep(_WRONG_TOKEN_SECONDS)
            return to("/login?wrong=1")
        return to("/", f"Set-Cookie: {self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict")

    def _file(self, name: str, request: Request) -> Answer:
        found = self._files.get(name)
        if found is None:
            return sentence(404, "there is no such page")
        caching = (f"ETag: {found.tag}", "Cache-Control: no-cache")
        if request.headers.get("if-none-match") == found.tag:
            return Answer(304, found.type, headers=caching)
        return Answer(200, found.type, found.body, caching)

    def _document(self, request: Request) -> Answer:
        what, _, number = request.path.removeprefix("/api/").partition("/")
        kinds: dict[str, Callable[[View, int], Document | None]] = {"jobs": details.job, "nodes": details.node}
        if what not in kinds or not number.isdecimal() or len(number) > 12:
            return sentence(404, "there are /api/stream, /api/jobs/NUMBER and /api/nodes/NUMBER")
        if self._view is None:
            return sentence(503, "no scheduler works in this process now")
        found = kinds[what](self._view, int(number))
        if found is None:
            return sentence(404, "it is not there any more")
        return Answer(200, "application/json", msgspec.json.encode(found), headers=("Cache-Control: no-store",))

    # --- the stream ----------------------------------------------------------------------------------------------

    async def _stream(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Everything first, then what changes, until the page is closed."""
        if self.feed.listeners >= _LISTENERS:
            answer = sentence(503, f"{_LISTENERS} pages are open already", "Retry-After: 5")
            writer.write(answer.head(close=True) + answer.body)
            return
        head = Answer(200, "text/event-stream", headers=("Cache-Control: no-store",)).head(close=True)
        writer.write(head.replace(b"Content-Length: 0\r\n", b""))
        session = cookie(request.headers, self._cookie)
        self.feed.listeners += 1
        self._looked.set()
        try:
            position = -1
            while self.access.knows(session):
                frames = self.feed.since(position)
                if frames is None:
                    position = await self._send_everything(writer)
                    continue
                if frames:
                    position += len(frames)
                    _write(writer, b"".join(frames))
                await writer.drain()
                if position == self.feed.end:
                    await self.feed.changed(_HEARTBEAT)
                    if position == self.feed.end:
                        _write(writer, b": still here\n\n")
        finally:
            self.feed.listeners -= 1

    async def _send_everything(self, writer: asyncio.StreamWriter) -> int:
        """A page that has just been opened, or has fallen too far behind; the position after it.

        What changes meanwhile is said after it: rows replace rows, so the order does not matter.
        """
        position = self.feed.end
        view = self._view
        if view is None:
            _write(writer, frame({"is": "nobody", "now": time.time()}))
            await writer.drain()
            await asyncio.sleep(PERIOD)
            return position if self._view is None else -1
        _write(writer, frame(view.hello(time.time())))
        async for documents in _slowly(view.refresh_nodes(), lambda: FIRST_SHARE):
            self.feed.say(documents)  # to the others; the first one to look has all of them in the snapshot
        async for documents in _slowly(view.snapshot(time.time()), lambda: SNAPSHOT_SHARE):
            _write(writer, b"".join(map(frame, documents)))
            await writer.drain()
        return position


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """To a page that may have been closed meanwhile: not every loop says so in the same words."""
    if writer.is_closing():
        raise ConnectionResetError
    writer.write(data)


async def _slowly(steps: Iterator[list[Document]], share: Callable[[], float]) -> AsyncIterator[list[Document]]:
    """Takes steps, and pauses after each for so long that they have that part of the loop's time.

    Their own time counts: on a busy machine a step is not long because others had their turn.  What the longest
    pause does not make up for is owed, and goes into the next ones.
    """
    spent = 0.0
    while True:
        begin = time.thread_time()
        documents = next(steps, None)
        if documents is None:
            return
        yield documents
        spent += time.thread_time() - begin
        if spent > 0.002:
            longer = 1 / share() - 1
            pause = min(_LONGEST_PAUSE, spent * longer)
            await asyncio.sleep(pause)
            spent -= pause / longer
