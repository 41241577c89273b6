"""Built-in controllers, simulated kubelets and the scheduler over the embedded API, on a set clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from podium.embedded.controllers import all_controllers
from podium.embedded.kinds import builtin_kinds
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape
from podium.embedded.registry import Registry
from podium.kube.changes import Change, Create, Patch, request_of
from podium.kube.controller import Controller
from podium.kube.resources import JOBS, PODS, Resource
from podium.kube.times import format_time
from podium.kube.transport import Request
from tests.embedded.world import World, scheduler

Document = dict[str, Any]

CA = "-----BEGIN CERTIFICATE-----\nnobody's\n-----END CERTIFICATE-----\n"
BUILTIN = sorted(Registry(builtin_kinds()).watchable, key=lambda each: (each.group, each.plural))
BIG = Shape(cpu="1000", memory="4Ti")


def everything() -> list[Controller]:
    return [*all_controllers(CA, BUILTIN), *simulated_kubelets(events=False)]


def without_kubelets() -> list[Controller]:
    """For tests that play the kubelet themselves, pod by pod."""
    return all_controllers(CA, BUILTIN)


class Cluster(World):
    """A World with shorthands for workloads."""

    def __init__(
        self, controllers: Callable[[], list[Controller]] = everything, nodes: int = 1, **more: Any
    ) -> None:
        if controllers is everything:
            more.setdefault("scheduled", scheduler)
        super().__init__(controllers, **more)
        for index in range(nodes):
            self.node(f"node-{index}", BIG, index)
        self.settle()

    # --- making --------------------------------------------------------------------------------------------

    def make(self, resource: Resource, name: str, namespace: str = "default", **content: Any) -> Document:
        metadata = {"name": name, **content.pop("metadata", {})}
        document = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}
        return self.request(request_of(Create(resource, namespace if resource.namespaced else "", document)))

    def job(self, name: str = "job", run: float | None = 5, code: int = 0, **spec: Any) -> Document:
        """A Job whose pods run so many seconds and end with `code`; `policy` is their restart policy."""
        policy = spec.pop("policy", "Never")
        template = template_of({}, run, code, restartPolicy=policy)
        return self.make(JOBS, name, spec={"template": template, **spec})

    # --- looking -------------------------------------------------------------------------------------------

    def objects(self, resource: Resource, namespace: str = "default") -> list[Document]:
        path = resource.path(namespace if resource.namespaced else "")
        found: list[Document] = self.request(Request("GET", path))["items"]
        return found

    def names(self, resource: Resource, namespace: str = "default") -> list[str]:
        return [each["metadata"]["name"] for each in self.objects(resource, namespace)]

    def pods(self, **labels: str) -> list[Document]:
        wanted = labels.items()
        return [pod for pod in self.objects(PODS) if wanted <= (pod["metadata"].get("labels") or {}).items()]

    def running(self) -> list[Document]:
        """Pods that neither ended nor were asked to."""
        return [
            pod
            for pod in self.objects(PODS)
            if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
        ]

    def has(self, resource: Resource, name: str) -> bool:
        return name in self.names(resource)

    def status_of(self, resource: Resource, name: str) -> Document:
        found: Document = self.get(resource, name).get("status") or {}
        return found

    def conditions(self, resource: Resource, name: str) -> dict[str, Document]:
        return {each["type"]: each for each in self.status_of(resource, name).get("conditions") or ()}

    def reasons(self) -> set[str]:
        return {event["reason"] for event in self.events()}

    def serve(self, resource: Resource) -> None:
        """A custom resource is served from now on: the manager is told, and watches it."""
        self.manager.serve(resource)
        self._reflectors[resource] = self.reflector(resource)
        self.settle()

    # --- changing ------------------------------------------------------------------------------------------

    def spec(self, resource: Resource, name: str, **spec: Any) -> None:
        self.patch(resource, name, {"spec": spec})

    def remove(self, resource: Resource, name: str, propagation: str = "Background", **options: Any) -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation, **options}
        path = resource.path("default" if resource.namespaced else "", name)
        self.request(Request("DELETE", path, body=msgspec.json.encode(body)))

    def pod_status(self, name: str, **status: Any) -> None:
        """What a kubelet would write."""
        self.patch(PODS, name, {"status": status}, "status")

    def end_pod(self, name: str, code: int = 0) -> None:
        phase = "Succeeded" if code == 0 else "Failed"
        ended = {"exitCode": code, "finishedAt": format_time(self.now), "startedAt": format_time(self.now)}
        container = {
            "name": "main",
            "image": "app:1",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        self.pod_status(name, phase=phase, containerStatuses=[container])

    def written(self, since: int = 0) -> list[Change]:
        """What the controllers wrote, without events."""
        return [change for change in self.writes[since:] if change.resource.plural != "events"]

    def status_writes(self, resource: Resource) -> int:
        return sum(
            isinstance(change, Patch) and change.resource == resource and change.subresource == "status"
            for change in self.writes
        )


def template_of(
    labels: dict[str, str], run: float | None = None, code: int = 0, image: str = "app:1", **spec: Any
) -> Document:
    annotations = {}
    if run is not None:
        annotations = {"podium.dev/run-seconds": str(run), "podium.dev/exit-code": str(code)}
    metadata: Document = {"labels": labels, "annotations": annotations}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": image}], **spec}}
