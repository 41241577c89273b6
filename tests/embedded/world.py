"""A cluster in virtual time: the embedded API with a hand-set clock, and a Manager driven without a loop.

Reflectors feed the manager as in production, so what the tests see has gone through the API and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from podium.embedded.exchange import Held
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape, node_document
from podium.engine.scheduler import Scheduler
from podium.engine.world import World as Observed
from podium.errors import ApiError
from podium.kube.admission import Hook
from podium.kube.changes import Change, Create, CreateKeyPair, Delete, KeyPair, request_of, with_keys
from podium.kube.controller import Controller, Ticket
from podium.kube.deltas import Deleted, Delta, Undecodable
from podium.kube.machine import Together
from podium.kube.manager import Manager
from podium.kube.reflector import Ask, Follow, Reflector
from podium.kube.resources import EVENTS, NODES, PODS, Resource
from podium.kube.status import error_from_body
from podium.kube.transport import MERGE_PATCH, Request, Response
from podium.kube.wire import Object, struct_of
from podium.runtime.configuration import default_profiles
from tests.embedded.server import Document, Server

# In virtual time nobody draws numbers.
KEYS = KeyPair("a private key", "ssh-rsa a-public-key")


def scheduler() -> Scheduler:
    """podium's own, for pods that ask for no other; in virtual time it need not wait for a burst to end."""
    return Scheduler(Observed(()), {"default-scheduler": default_profiles()["podium"]}, pace=0)


class World:
    """The API, its clock, and one manager that can be thrown away and started anew."""

    def __init__(
        self,
        controllers: Callable[[], Iterable[Controller]] = simulated_kubelets,
        *,
        scheduled: Callable[[], Scheduler] | None = None,
        hooks: tuple[Hook, ...] = (),
        views: Mapping[Resource, type[Object]] | None = None,
    ) -> None:
        """`scheduled` makes a scheduler that is there, too; `hooks` and `views` are for custom resources."""
        self._server = Server(hooks)
        self.api = self._server.api
        self._controllers = controllers
        self._scheduled = scheduled
        self._views = dict(views or {})
        self.writes: list[Change] = []
        self.restart()

    def restart(self) -> None:
        """The process of the controllers ends and another one starts: only what the API knows is left."""
        manager = Manager(self._controllers())
        self.manager = Together(manager, self._scheduled()) if self._scheduled else manager
        self._reflectors = {
            resource: self.reflector(resource)
            for resource in sorted(self.manager.resources, key=lambda each: each.plural)
        }
        self._feeds: dict[Resource, Any] = {}

    def reflector(self, resource: Resource) -> Reflector[Object]:
        return Reflector(resource, self.view(resource))

    def view(self, resource: Resource) -> type[Object]:
        return self._views.get(resource) or struct_of(resource)

    @property
    def now(self) -> float:
        return self._server.now

    @now.setter
    def now(self, now: float) -> None:
        self._server.now = now

    # --- requests --------------------------------------------------------------------------------------------

    def request(self, request: Request) -> Document:
        reply = self.api.handle(request)
        response = reply.response if isinstance(reply, Held) else reply
        assert isinstance(response, Response)
        if response.status >= 300:
            raise error_from_body(response.status, response.body)
        return msgspec.json.decode(response.body, type=Document)

    def create(self, path: str, document: Document) -> Document:
        return self.request(Request("POST", path, body=msgspec.json.encode(document)))

    def node(self, name: str = "node-0", shape: Shape | None = None, index: int = 0) -> None:
        document = node_document(shape or Shape(), name, index, self.now)
        self.request(request_of(Create(NODES, "", document)))

    def pod(self, name: str = "pod", node: str = "node-0", **given: Any) -> Document:
        """Creates a pod, bound to `node`.  `given`: annotations, requests, and any field of the spec."""
        annotations = given.pop("annotations", {})
        requests = given.pop("requests", {})
        finalizers = given.pop("finalizers", [])
        limits = {name: amount for name, amount in requests.items() if "/" in name}  # GPUs cannot be overcommitted
        container = {"name": "main", "image": "app:1", "resources": {"requests": requests, "limits": limits}}
        spec: Document = {"containers": [container], **given}
        if node:
            spec["nodeName"] = node
        metadata = {"name": name, "annotations": annotations, "finalizers": finalizers}
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return self.request(request_of(Create(PODS, "default", document)))

    def patch(
        self, resource: Resource, name: str, patch: Document, subresource: str = "", kind: str = MERGE_PATCH
    ) -> Document:
        path = resource.path("default" if resource.namespaced else "", name, subresource)
        return self.request(Request("PATCH", path, body=msgspec.json.encode(patch), content_type=kind))

    def annotate(self, resource: Resource, name: str, **annotations: str | None) -> None:
        keys = {f"podium.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.patch(resource, name, {"metadata": {"annotations": keys}})

    def delete(self, name: str, grace: int | None = None) -> None:
        self.request(request_of(Delete(PODS, "default", name, grace=grace)))

    def get(self, resource: Resource, name: str) -> Document:
        return self.request(Request("GET", resource.path("default" if resource.namespaced else "", name)))

    def exists(self, name: str) -> bool:
        return self._server.call("GET", PODS.path("default", name)).status == 200

    def status(self, name: str = "pod") -> Document:
        found: Document = self.get(PODS, name)["status"]
        return found

    def events(self) -> list[Document]:
        found: list[Document] = self.request(Request("GET", EVENTS.path("default")))["items"]
        return found

    # --- time ------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Until nothing is left to do at this moment."""
        for _ in range(1000):
            if not self.turn():
                return
        raise AssertionError("the controllers do not come to rest")

    def turn(self) -> bool:
        """One portion of events and of changes; whether there was any."""
        busy = self.take_in()
        for ticket in self.manager.run(self.now):
            busy = True
            self.carry_out(ticket)
        wake = self.manager.next_wake(self.now)
        return busy or (wake is not None and wake <= self.now)

    def pass_seconds(self, seconds: float) -> None:
        """Lets time pass, and everything happen at its moment."""
        end = self.now + seconds
        self.settle()
        while (wake := self.manager.next_wake(self.now)) is not None and wake <= end:
            self.now = max(wake, self.now)
            self.settle()
        self.now = end
        self.settle()

    def carry_out(self, ticket: Ticket) -> None:
        change = ticket.change
        self.writes.append(change)
        result: Object | None = None
        failure: Exception | None = None
        if isinstance(change, CreateKeyPair):
            change = with_keys(change, KEYS)
        try:
            answered = self.request(request_of(change))
            if answered.get("kind") == change.resource.kind and not isinstance(change, Delete):
                # Not msgspec.convert: the structs keep pod templates as the bytes that came.
                result = msgspec.json.decode(msgspec.json.encode(answered), type=self.view(change.resource))
        except ApiError as error:
            failure = error
        self.manager.done(ticket, result, failure, self.now)

    def take_in(self) -> bool:
        """Lets the manager observe what has happened; whether there was anything."""
        busy = False
        for resource, reflector in self._reflectors.items():
            deltas: list[Delta[Object]] = []
            step = reflector.next(self.now)
            if isinstance(step, Ask):
                reply = self.api.handle(step.request)
                assert isinstance(reply, Response)
                deltas += reflector.page(reply.status, reply.body, self.now)
                if reflector.synced:
                    self._observe(resource, deltas)
                    self.manager.synced(resource)
                    deltas = []
                busy = True
            elif isinstance(step, Follow):
                if resource not in self._feeds:
                    self._feeds[resource] = self.api.handle(step.request)
                    self._feeds[resource].on_ready(lambda: None)
                for line in self._feeds[resource].take().splitlines():
                    deltas += reflector.line(line, self.now)
            busy = busy or bool(deltas)
            self._observe(resource, deltas)
        return busy

    def _observe(self, resource: Resource, deltas: list[Delta[Object]]) -> None:
        for delta in deltas:
            assert not isinstance(delta, Undecodable), delta
            if not isinstance(delta, Deleted):
                self.manager.observe(resource, delta.obj)
            elif delta.obj is not None:
                self.manager.forget(resource, delta.obj)


def condition(status: Document, kind: str) -> Document:
    found: list[Document] = [each for each in status.get("conditions", []) if each["type"] == kind]
    assert len(found) == 1, f"{kind}: {found}"
    return found[0]
