"""A cluster in virtual time for the lives of Koordinator's gangs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from podium.core.model.model import Gang, State
from podium.dialects import speaking
from podium.dialects.koordinator.names import (
    GROUPS,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    PODGROUPS,
    SCHEDULER,
    TIMEOUT,
    gang_id,
)
from podium.embedded.nodes.shapes import Shape, node_document
from podium.kube.changes import Create, Delete, Patch
from podium.kube.pod_script import RUN_SECONDS
from podium.kube.resources import EVENTS, NAMESPACES, NODES, PODS, Resource
from podium.kube.wire import Pod, condition
from podium.runtime.configuration import read_profiles, serving_all
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]

CONFIGURATION = "profiles: {koord-scheduler: {}}"


class Stage:
    """Nodes, pods and PodGroups; time passes when it is told to."""

    def __init__(self, *nodes: str, cpu: int = 1, configuration: str = CONFIGURATION) -> None:
        profiles = serving_all(read_profiles(configuration, "file"))
        self.cluster = VirtualCluster(profiles, speaking(profiles=lambda: profiles))
        self._namespaces = {"default"}
        self._numbers = 0
        for name in nodes:
            self.node(name, cpu)
        self.cluster.settle()

    # --- what users do -----------------------------------------------------------------------------------------

    def create(self, resource: Resource, document: Document, namespace: str = "default") -> None:
        if namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            self.cluster.server.carry_out(Create(NAMESPACES, "", made))
        self.cluster.server.carry_out(Create(resource, namespace, document))

    def node(self, name: str, cpu: int = 1, **labels: str) -> None:
        self._numbers += 1
        document = node_document(Shape(cpu=cpu, memory="64Gi"), name, self._numbers, self.cluster.now)
        document["metadata"].setdefault("labels", {}).update(labels)
        self.create(NODES, document, "")

    def label(self, node: str, **labels: str) -> None:
        self.cluster.server.carry_out(Patch(NODES, "", node, {"metadata": {"labels": labels}}))

    def pod(
        self,
        name: str,
        annotations: Mapping[str, str] | None = None,
        *,
        namespace: str = "default",
        labels: Mapping[str, str] | None = None,
        seconds: float | None = None,
        cpu: int = 1,
        scheduler: str = SCHEDULER,
        **spec: Any,
    ) -> None:
        script = {RUN_SECONDS: f"{seconds:g}"} if seconds is not None else {}
        amounts = {"cpu": str(cpu)}
        container = {"name": "main", "image": "app", "resources": {"requests": amounts, "limits": amounts}}
        self.create(
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "annotations": {**script, **(annotations or {})},
                    "labels": dict(labels or {}),
                },
                "spec": {
                    "schedulerName": scheduler,
                    "restartPolicy": "Never",
                    "containers": [container],
                    **spec,
                },
            },
            namespace,
        )

    def gang(
        self,
        name: str,
        members: int,
        minimum: int | None = None,
        said: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """A gang of annotations; `said` are further ones."""
        least = str(members if minimum is None else minimum)
        for number in range(members):
            self.pod(f"{name}-{number}", {NAME: name, MIN_AVAILABLE: least, **(said or {})}, **more)

    def labelled(self, name: str, members: int, **more: Any) -> None:
        """Pods of a PodGroup."""
        for number in range(members):
            self.pod(f"{name}-{number}", labels={POD_GROUP: name}, **more)

    def group(
        self,
        name: str,
        minimum: int,
        said: Mapping[str, str] | None = None,
        namespace: str = "default",
        **spec: Any,
    ) -> None:
        document = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": {"name": name, "annotations": dict(said or {})},
            "spec": {"minMember": minimum, **spec},
        }
        self.create(PODGROUPS, document, namespace)

    def delete(self, name: str, resource: Resource = PODS, namespace: str = "default") -> None:
        self.cluster.server.carry_out(Delete(resource, namespace, name, grace=0))

    def annotate(self, name: str, key: str, value: str | None, namespace: str = "default") -> None:
        patch = {"metadata": {"annotations": {key: value}}}
        self.cluster.server.carry_out(Patch(PODS, namespace, name, patch))

    def pass_seconds(self, seconds: float) -> None:
        self.cluster.run(self.cluster.elapsed + seconds)

    def every(self, seconds: float, steps: int, look: Callable[[], None]) -> None:
        for _ in range(steps):
            self.pass_seconds(seconds)
            look()

    # --- how things are ----------------------------------------------------------------------------------------

    def pods(self, gang: str = "") -> list[Pod]:
        found = [each for each in self.cluster.server.objects(PODS) if isinstance(each, Pod)]
        return sorted((each for each in found if each.name.startswith(gang)), key=lambda each: each.name)

    def bound(self, gang: str = "") -> int:
        return sum(bool(each.spec.node_name) for each in self.pods(gang))

    def phases(self, gang: str = "") -> set[str]:
        return {each.status.phase for each in self.pods(gang)}

    def held(self, gang: str) -> dict[str, str]:
        """Pods that say that they hold a place, and where."""
        found = {}
        for pod in self.pods(gang):
            said = condition(pod.status.conditions, "PodScheduled")
            if said is not None and said.status == "False" and said.reason == "WaitingForGang":
                found[pod.name] = said.message.split()[2]
        return found

    def reserved(self, gang: str) -> int:
        """What the scheduler holds for a gang."""
        found = self.model(gang)
        return found.counts[State.RESERVED] if found is not None else 0

    def model(self, gang: str, namespace: str = "default") -> Gang | None:
        return self.cluster.world.cluster.gangs.get(gang_id(namespace, gang))

    def said(self, pod: str) -> str:
        """Why a pod waits."""
        (found,) = (each for each in self.pods(pod) if each.name == pod)
        reported = condition(found.status.conditions, "PodScheduled")
        return reported.message if reported is not None else ""

    def marked(self, gang: str = "") -> int:
        return sum(each.annotations.get(TIMEOUT) == "true" for each in self.pods(gang))

    def events(self, reason: str = "") -> list[str]:
        bucket = self.cluster.server.bucket(EVENTS)
        found = [json.loads(each.data) for each in bucket.objects.values()] if bucket is not None else []
        return [each.get("note") or each.get("message", "") for each in found if reason in each.get("reason", "")]

    def phase(self, group: str) -> str:
        found = self.cluster.server.find(PODGROUPS, "default", group)
        return found.status.phase if found is not None else "gone"  # type: ignore[attr-defined]


def groups(*gangs: str) -> dict[str, str]:
    """The annotation of gangs that start together, as namespace/name."""
    names = ", ".join(f'"{each}"' for each in gangs)
    return {GROUPS: f"[{names}]"}


NON_STRICT = {MODE: "NonStrict"}
