"""The scheduler fed with objects as they are, past any server's checks: what must never be stored, and yet was."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from podium.core.profiles.profile import read_profile
from podium.dialects import DIALECTS
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.changes import Create, Patch, request_of
from podium.kube.controller import Ticket
from podium.kube.resources import EVENTS, PODS, Resource
from podium.kube.wire import Object, struct_of
from podium.schema.patches import merge_patch
from tests.engine.stage import PROFILE

Document = dict[str, Any]


class Bare:
    """Objects in, and what becomes of them: pods get nodes and conditions, others conditions and events."""

    def __init__(self, profile: str = PROFILE, turns: int | None = None) -> None:
        self.now = 1_800_000_000.0
        self.world = World(DIALECTS)
        self.scheduler = Scheduler(self.world, {"volcano": read_profile(yaml.safe_load(profile))}, turns)
        self.placed: dict[str, str] = {}
        self.told: dict[str, str] = {}  # by pod: the sentence of its condition
        self.groups: dict[str, list[Document]] = {}  # by group: its conditions
        self.events: dict[tuple[str, str], str] = {}  # by kind and name: the last message
        self.stored: dict[tuple[Resource, str], Document] = {}
        self._versions = 0
        for resource in self.world.resources:
            self.scheduler.synced(resource)

    def put(self, resource: Resource, document: Document) -> None:
        """Shows an object to the scheduler, with what a server would have filled in."""
        self._versions += 1
        decoded = self._decode(resource, document)
        self.stored[resource, decoded.name] = document
        self.scheduler.observe(resource, decoded)

    def gone(self, resource: Resource, name: str) -> None:
        self.scheduler.forget(resource, self._decode(resource, self.stored.pop((resource, name))))

    def _decode(self, resource: Resource, document: Document) -> Object:
        metadata: Document = {"namespace": "default" if resource.namespaced else "", **document["metadata"]}
        metadata.setdefault("creationTimestamp", "2027-01-15T08:00:00Z")
        name = metadata.get("name", "")
        metadata |= {"uid": f"{resource.plural}/{name}", "resourceVersion": str(self._versions)}
        view = self.world.views.get(resource) or struct_of(resource)
        return msgspec.json.decode(msgspec.json.encode({**document, "metadata": metadata}), type=view)

    def settle(self, seconds: float = 30.0) -> None:
        """Until nothing is due for a while."""
        end = self.now + seconds
        for _ in range(100_000):
            tickets = self.scheduler.run(self.now)
            for ticket in tickets:
                self._carry_out(ticket)
            wake = self.scheduler.next_wake(self.now)
            if not tickets and (wake is None or wake > end):
                self.world.cluster.validate()
                return
            self.now = max(self.now, wake if wake is not None else self.now)
        raise AssertionError("the scheduler does not come to rest")

    def _carry_out(self, ticket: Ticket) -> None:
        change = ticket.change
        request_of(change)  # what cannot be encoded cannot be sent
        if isinstance(change, Create) and change.resource == EVENTS:
            about = change.document["involvedObject"]
            self.events[about["kind"], about["name"]] = change.document["message"]
        elif isinstance(change, Create):
            self.placed[change.name] = change.document["target"]["name"]
            pod = self.stored[PODS, change.name]
            self.put(PODS, {**pod, "spec": {**pod["spec"], "nodeName": self.placed[change.name]}})
        else:
            assert isinstance(change, Patch), f"nobody has to go: {change}"
            conditions = (change.patch.get("status") or {}).get("conditions") or []
            if conditions and change.resource == PODS:
                self.told[change.name] = conditions[-1]["message"]
            elif conditions:
                self.groups[change.name] = conditions
            self.put(change.resource, merge_patch(self.stored[change.resource, change.name], change.patch))
        self.scheduler.done(ticket, None, None, self.now)
