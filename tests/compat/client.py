"""How a story talks to a server, whichever it is: by kubectl 1.36.3, or by bare HTTP where details matter."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode, urlsplit

from tests.controlplane.build import KUBECTL

Document = dict[str, Any]
T = TypeVar("T")

PATIENCE = 30.0  # seconds; generous, since a shared machine may be slow: no story waits for it when all is well


@dataclass(frozen=True)
class Result:
    """What a kubectl command gave."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """A printed table without its head, cut at runs of two or more spaces as kubectl pads it."""
        return [[cell for cell in line.split("  ") if cell] for line in self.lines[1:]]

    @property
    def json(self) -> Document:
        document: Document = json.loads(self.out)
        return document


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Document:
        document: Document = json.loads(self.body)
        return document

    @property
    def reason(self) -> str:
        """The reason of a Status; empty when the body is something else."""
        try:
            document = json.loads(self.body)
        except ValueError:
            return ""
        return str(document.get("reason", "")) if isinstance(document, dict) else ""

    @property
    def causes(self) -> set[tuple[str, str]]:
        """(field, reason) of every cause of a refusal."""
        causes = self.json.get("details", {}).get("causes", [])
        return {(cause.get("field", ""), cause.get("reason", "")) for cause in causes}

    def expect(self, *codes: int) -> Document:
        assert self.status in codes, f"{self.status} instead of {codes}: {self.body[:800]!r}"
        return self.json


@dataclass
class Watch:
    """A watch held open: `next` gives events as they come."""

    answer: HTTPResponse
    connection: HTTPSConnection

    def next(self, within: float = PATIENCE) -> Document | None:
        """The next event; None when the server ended the watch."""
        if self.connection.sock is not None:
            self.connection.sock.settimeout(within)
        line = self.answer.readline()
        return json.loads(line) if line.strip() else None

    def until(self, wanted: Callable[[Document], bool], within: float = PATIENCE) -> list[Document]:
        """Events up to and including the first one that is wanted."""
        deadline = time.monotonic() + within
        events: list[Document] = []
        while (left := deadline - time.monotonic()) > 0:
            event = self.next(left)
            assert event is not None, f"the watch ended early, after {summary(events)}"
            events.append(event)
            if wanted(event):
                return events
        raise AssertionError(f"not seen within {within} s; seen: {summary(events)}")


def summary(events: list[Document]) -> list[tuple[str, str]]:
    """(type, name) of events, the short form that stories compare."""
    return [(event["type"], event["object"].get("metadata", {}).get("name", "")) for event in events]


@dataclass
class Server:
    """One running API server under test."""

    kind: Literal["embedded", "real"]
    kubeconfig: Path
    url: str
    token: str
    ca: Path
    home: Path  # kubectl keeps its discovery cache here
    _context: ssl.SSLContext = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._context = ssl.create_default_context(cafile=str(self.ca))

    # --- kubectl -------------------------------------------------------------------------------------------

    def kubectl(
        self,
        *args: str,
        input: str | Document | list[Document] | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Result:
        """Runs a command to its end.  `check`: anything but exit code 0 fails the story, with what was said."""
        done = subprocess.run(
            self.command(*args),
            input=manifest(input) if input is not None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self.environment(env),
        )
        result = Result(done.returncode, done.stdout, done.stderr)
        assert not check or result.code == 0, (
            f"kubectl {' '.join(args)} -> {result.code}: {result.err}{result.out}"
        )
        return result

    def established(self, *definitions: str) -> None:
        """Waits for definitions (`crd/NAME`, or `crd --all`): kubectl fails at one that has no status yet."""
        command = ("wait", "--for=condition=Established", "--timeout=20s", *definitions)
        eventually(lambda: self.kubectl(*command, check=False).code == 0, f"{' '.join(definitions)} served")

    @contextlib.contextmanager
    def kubectl_running(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A command that does not end by itself (-w, -f); ended on the way out."""
        process = subprocess.Popen(
            self.command(*args),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(None),
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def command(self, *args: str) -> list[str]:
        return [str(KUBECTL.path), "--kubeconfig", str(self.kubeconfig), *args]

    def environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "KUBECACHEDIR": str(self.home / "cache"), **(extra or {})}

    # --- bare HTTP -----------------------------------------------------------------------------------------

    def http(
        self,
        method: str,
        path: str,
        body: Document | list[Any] | bytes | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Answer:
        """One request on a connection of its own.  `token` "" sends none."""
        connection, answer = self._send(method, path, body, query, content_type, headers, token)
        with contextlib.closing(connection):
            return Answer(answer.status, dict(answer.getheaders()), answer.read())

    @contextlib.contextmanager
    def watch(self, path: str, **query: str | int) -> Iterator[Watch]:
        """A watch on a collection; fails when the server refuses it."""
        connection, answer = self._send("GET", path, None, {"watch": "1", **query}, "application/json", None, None)
        with contextlib.closing(connection):
            assert answer.status == 200, f"watch of {path}: {answer.status} {answer.read()[:500]!r}"
            yield Watch(answer, connection)

    def get(self, path: str, **query: str | int) -> Document:
        return self.http("GET", path, query=query).expect(200)

    def create(self, path: str, body: Document) -> Document:
        return self.http("POST", path, body).expect(201)

    def merge(self, path: str, patch: Document) -> Document:
        return self.http("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)

    def _send(
        self,
        method: str,
        path: str,
        body: Document | list[Any] | bytes | None,
        query: Mapping[str, str | int] | None,
        content_type: str,
        headers: Mapping[str, str] | None,
        token: str | None,
    ) -> tuple[HTTPSConnection, HTTPResponse]:
        address = urlsplit(self.url)
        connection = HTTPSConnection(address.hostname or "", address.port, context=self._context, timeout=PATIENCE)
        payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Accept": "application/json"}
        if payload is not None:
            sent["Content-Type"] = content_type
        used = self.token if token is None else token
        if used:
            sent["Authorization"] = f"Bearer {used}"
        target = path + ("?" + urlencode(query) if query else "")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # A server may refuse a body before it has read it all; its answer is there to be read all the same.
            connection.request(method, target, body=payload, headers={**sent, **(headers or {})})
        return connection, connection.getresponse()


def manifest(content: str | Document | list[Document]) -> str:
    """What goes to `kubectl -f -`: text as it is, documents as JSON, several of them as a YAML stream."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n---\n".join(json.dumps(document) for document in content)
    return json.dumps(content)


def eventually(probe: Callable[[], T | None], what: str, within: float = PATIENCE) -> T:
    """The first answer of `probe` that is truthy; fails when none came in time."""
    deadline = time.monotonic() + within
    while True:
        found = probe()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.05)
