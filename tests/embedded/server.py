"""An embedded API without a socket, on a clock that the test moves: what the API tests talk to."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded.api import Api
from podium.embedded.bootstrap import bootstrap
from podium.embedded.exchange import Held
from podium.embedded.identities import CountedIdentities
from podium.embedded.kinds import builtin_kinds
from podium.embedded.log import MemoryLog
from podium.embedded.registry import Registry
from podium.embedded.store import Log, Store
from podium.kube.admission import Hook
from podium.kube.resources import Resource
from podium.kube.transport import JSON, Request, Response

Document = dict[str, Any]


class Server:
    """Sends requests and reads answers."""

    def __init__(self, hooks: tuple[Hook, ...] = (), log: Log | None = None) -> None:
        self.now = 1_800_000_000.0
        self.store = Store(log or MemoryLog())
        self.api = Api(self.store, Registry(builtin_kinds()), lambda: self.now, CountedIdentities(), hooks)
        bootstrap(self.api.objects, 6443)

    def call(
        self, method: str, path: str, body: Any = None, *, media: str = JSON, accept: str = JSON, **query: str
    ) -> Response:
        encoded = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        reply = self.api.handle(Request(method, path, tuple(query.items()), encoded, media, accept))
        if isinstance(reply, Held):
            reply = reply.response
        assert isinstance(reply, Response)
        return reply

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Document:
        response = self.call(method, path, body, **more)
        assert response.status < 300, response.body.decode()
        decoded: Document = msgspec.json.decode(response.body)
        return decoded

    def no(self, method: str, path: str, body: Any = None, **more: Any) -> Document:
        response = self.call(method, path, body, **more)
        assert response.status >= 300, response.body.decode()
        decoded: Document = msgspec.json.decode(response.body)
        assert decoded["kind"] == "Status"
        assert decoded["code"] == response.status
        return decoded

    def create(self, resource: Resource, document: Document, namespace: str = "default", **more: Any) -> Document:
        return self.ok("POST", resource.path(namespace), document, **more)

    def watch(self, path: str, **query: str) -> Watcher:
        reply = self.api.handle(Request("GET", path, (("watch", "true"), *query.items())))
        assert not isinstance(reply, Response | Held), reply
        return Watcher(reply)


class Watcher:
    """Reads a feed as decoded events."""

    def __init__(self, feed: Any) -> None:
        self.feed = feed
        self.calls = 0
        feed.on_ready(self._ready)

    def _ready(self) -> None:
        self.calls += 1

    def events(self, limit: int = 1 << 18) -> list[Document]:
        return [msgspec.json.decode(line) for line in self.feed.take(limit).splitlines()]

    def told(self) -> list[tuple[str, str]]:
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.events()]


def pod(name: str = "p", **more: Any) -> Document:
    spec: Document = {"containers": [{"name": "main", "image": "busybox:1.36"}], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def config_map(name: str, **metadata: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"k": "v"}}
