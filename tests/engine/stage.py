"""The scheduler on the embedded API in virtual time: writes go through the API and come back by its watches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import yaml

from podium.core.profiles.profile import Profile, read_profile
from podium.dialects import DIALECTS
from podium.embedded.exchange import Held
from podium.embedded.store import Write
from podium.engine.dispatcher import CallType
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.changes import Read, request_of
from podium.kube.controller import Controller, Ticket
from podium.kube.machine import Together
from podium.kube.manager import Manager
from podium.kube.resources import EVENTS, NODES, PODS, Resource
from podium.kube.status import error_from_body
from podium.kube.transport import MERGE_PATCH, Response
from podium.kube.wire import Object, struct_of
from tests.embedded.server import Document, Server

PROFILE = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

# A controller of pods that is none of podium's, and would create them again.
OWNER = {"apiVersion": "example.com/v1", "kind": "Trainer", "name": "t", "uid": "t", "controller": True}

# What happens to a write on its way: None lets it through, an exception is the answer instead.
Trouble = Callable[[Ticket], Exception | None]


class Stage:
    """An API with the families' kinds, and one scheduler that can be thrown away and started anew."""

    def __init__(
        self,
        profile: str = PROFILE,
        controllers: Callable[[], Iterable[Controller]] = tuple,
        profiles: Mapping[str, Profile] | None = None,
    ) -> None:
        """`controllers` act beside the scheduler, and end with it; `profiles` take the place of the usual ones."""
        hooks = tuple(hook for dialect in DIALECTS for hook in dialect.hooks)
        self.server = Server(hooks)
        for dialect in DIALECTS:
            for document in (*dialect.documents(), *dialect.objects):
                self.apply(document)
        usual = read_profile(yaml.safe_load(profile))
        self._profiles = profiles or {"volcano": usual, "default-scheduler": usual}
        self._controllers = controllers
        self.tickets: list[Ticket] = []
        self.trouble: Trouble | None = None  # before the write: it does not happen
        self.lost: Trouble | None = None  # after it: it happened, the answer is lost
        self.restart()

    def restart(self) -> None:
        """The scheduler's process ends and another one starts: it knows what the API knows."""
        self.world = World(DIALECTS)
        self.scheduler = Scheduler(self.world, self._profiles)
        self.machine = Together(Manager(self._controllers()), self.scheduler)
        self._positions: dict[Resource, int] = {}
        for resource in sorted(self.machine.resources, key=lambda each: each.plural):
            kind = self.server.api.registry.find(resource.group, resource.version, resource.plural)
            if kind is not None:
                bucket = self.server.store.bucket(kind.storage)
                self._positions[resource] = bucket.end
                for record in list(bucket.objects.values()):
                    self.machine.observe(resource, self._decode(resource, record.data))
            self.machine.synced(resource)

    # --- the world -------------------------------------------------------------------------------------------

    def node(self, name: str, **room: str) -> None:
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", **room}
        condition = {"type": "Ready", "status": "True"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [condition]}
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})

    def group(self, name: str, minimum: int, **spec: Any) -> None:
        self.apply(
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minMember": minimum, **{key: value for key, value in spec.items() if value is not None}},
            }
        )

    def pod(
        self, name: str, group: str = "", cpu: str = "1", owners: Iterable[Document] = (), **spec: Any
    ) -> None:
        annotations = {"scheduling.k8s.io/group-name": group} if group else {}
        container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "annotations": annotations,
                    "ownerReferences": list(owners),
                },
                "spec": {"schedulerName": "volcano", "containers": [container], **spec},
            }
        )

    def apply(self, document: Document) -> None:
        kind = self.server.api.registry.of_kind(document["apiVersion"], document["kind"])
        assert kind is not None, document["kind"]
        self.server.create(kind.resource, document, document["metadata"].get("namespace", ""))

    def priority_class(self, name: str, value: int) -> None:
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        self.apply({**kind, "metadata": {"name": name}, "value": value})

    def cordon(self, name: str, closed: bool) -> None:
        self.server.ok("PATCH", NODES.path("", name), {"spec": {"unschedulable": closed}}, media=MERGE_PATCH)

    def get(self, resource: Resource, name: str) -> Document:
        return self.server.ok("GET", resource.path("default" if resource.namespaced else "", name))

    def run_pod(self, name: str) -> None:
        patch = {"status": {"phase": "Running", "startTime": "2027-01-15T08:00:00Z"}}
        self.server.ok("PATCH", PODS.path("default", name, "status"), patch, media=MERGE_PATCH)

    @property
    def placed(self) -> dict[str, str]:
        """Pods with their nodes."""
        items = self.server.ok("GET", PODS.path("default"))["items"]
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in items if "nodeName" in pod["spec"]}

    def message(self, name: str) -> str:
        """What the pod is told about why it waits."""
        for condition in self.get(PODS, name)["status"].get("conditions", []):
            if condition["type"] == "PodScheduled":
                return str(condition.get("message", ""))
        return ""

    # --- time ------------------------------------------------------------------------------------------------

    def bury(self) -> None:
        """What a kubelet does: pods that were told to end are gone."""
        for pod in self.server.ok("GET", PODS.path("default"))["items"]:
            if "deletionTimestamp" in pod["metadata"]:
                path = PODS.path("default", pod["metadata"]["name"])
                self.server.ok("DELETE", path, {"gracePeriodSeconds": 0})

    def settle(self, seconds: float = 5.0) -> None:
        """Lets the scheduler work until nothing is due within `seconds`."""
        end = self.server.now + seconds
        for _ in range(10_000):
            self.tell()
            tickets = self.machine.run(self.server.now)
            for ticket in tickets:
                self.carry_out(ticket)
            if tickets or self._behind:
                continue
            wake = self.machine.next_wake(self.server.now)
            if wake is None or wake > end:
                self.world.cluster.validate()
                return
            self.server.now = max(self.server.now, wake)
        raise AssertionError("the scheduler does not come to rest")

    @property
    def _behind(self) -> bool:
        return any(
            position < self.server.store.bucket(self._storage(resource)).end
            for resource, position in self._positions.items()
        )

    def tell(self) -> None:
        """What the watches have to say."""
        for resource, position in self._positions.items():
            bucket = self.server.store.bucket(self._storage(resource))
            writes: list[Write] = bucket.history[position - bucket.trimmed :]
            self._positions[resource] = bucket.end
            for write in writes:
                obj = self._decode(resource, write.new.data)
                if write.deleted:
                    self.machine.forget(resource, obj)
                else:
                    self.machine.observe(resource, obj)

    def carry_out(self, ticket: Ticket) -> None:
        self.tickets.append(ticket)
        error = self.trouble(ticket) if self.trouble is not None else None
        result: Object | None = None
        if error is None:
            reply = self.server.api.handle(request_of(ticket.change))
            response = reply.response if isinstance(reply, Held) else reply
            assert isinstance(response, Response)
            if response.status >= 300:
                error = error_from_body(response.status, response.body)
            elif isinstance(ticket.change, Read):
                result = self._decode(ticket.change.resource, response.body)
            if self.lost is not None:
                error = self.lost(ticket) or error
        self.machine.done(ticket, result, error, self.server.now)

    def sent(self, purpose: CallType) -> int:
        return sum(1 for ticket in self.tickets if ticket.purpose == purpose)

    def words_on(self, pod: str) -> int:
        """How often anything was written on a pod beside its binding."""
        reported = (each for each in self.tickets if each.purpose != CallType.BIND)
        return sum(1 for each in reported if getattr(each.change, "name", "") == pod)

    def events(self, about: str) -> list[Document]:
        items = self.server.ok("GET", EVENTS.path("default"))["items"]
        return [event for event in items if event["involvedObject"]["name"] == about]

    def _storage(self, resource: Resource) -> Resource:
        kind = self.server.api.registry.find(resource.group, resource.version, resource.plural)
        assert kind is not None, resource
        return kind.storage

    def _decode(self, resource: Resource, data: bytes) -> Object:
        view = self.world.views.get(resource) or struct_of(resource)
        return msgspec.json.decode(data, type=view)


__all__ = ["NODES", "PODS", "Stage"]
