"""Pools on the embedded API in virtual time, with the profile that ai-scheduler has without a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core.profiles.profile import Profile
from podium.dialects.aibee.names import DEFAULT_POOL, POOL, POOLS, SCHEDULER, pool_id
from podium.kube.resources import EVENTS, NODES, PODS
from podium.kube.transport import MERGE_PATCH
from podium.runtime.configuration import read_profiles
from tests.embedded.server import Document
from tests.engine.stage import Stage

GPU = "nvidia.com/gpu"


def profiles(options: str = "{}") -> dict[str, Profile]:
    """Those of a file that says this of ai-scheduler."""
    return read_profiles(f"profiles: {{{SCHEDULER}: {options}}}", "file.yaml")


class PoolStage(Stage):
    """A cluster whose pods ask for ai-scheduler."""

    def __init__(self, options: str = "{}") -> None:
        super().__init__(profiles=profiles(options))
        self._classes: set[int] = set()  # priorities for which there is one

    # --- what there is -------------------------------------------------------------------------------------------

    def pool(self, name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> None:
        """Its nodes are those with the label `pool` of its name, unless other labels are given."""
        chosen = {"pool": name} if labels is None else labels
        self.apply(
            {
                "apiVersion": POOLS.api_version,
                "kind": POOLS.kind,
                "metadata": {"name": name},
                "spec": {"nodeSelector": {"matchLabels": dict(chosen)}, **spec},
            }
        )

    def edit_pool(self, name: str, **spec: Any) -> None:
        self.server.ok("PATCH", POOLS.path("", name), {"spec": spec}, media=MERGE_PATCH)

    def delete_pool(self, name: str) -> None:
        self.server.ok("DELETE", POOLS.path("", name))

    def add_node(
        self,
        name: str,
        pool: str = "",
        cpu: int = 4,
        gpus: int = 0,
        *,
        labels: Mapping[str, str] | None = None,
        room: Mapping[str, str] | None = None,
    ) -> None:
        amounts = {"cpu": str(cpu), "memory": "1000Gi", "pods": "110", **(room or {})}
        amounts |= {GPU: str(gpus)} if gpus else {}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {**({"pool": pool} if pool else {}), **(labels or {})}},
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )

    def relabel(self, name: str, labels: Mapping[str, str | None]) -> None:
        self.server.ok("PATCH", NODES.path("", name), {"metadata": {"labels": labels}}, media=MERGE_PATCH)

    def task(
        self,
        name: str,
        pool: str | None = None,
        cpu: int = 2,
        gpus: int = 0,
        *,
        node: str = "",
        priority: int = 0,
        scheduler: str = SCHEDULER,
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """A pod; with a node it runs there."""
        if priority:
            self._ensure_class(priority)
            spec["priorityClassName"] = f"class-{priority}"
        amounts = {"cpu": str(cpu), **({GPU: str(gpus)} if gpus else {})}
        resources = {"requests": amounts, "limits": amounts}
        marks = {**({POOL: pool} if pool is not None else {}), **(annotations or {})}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "annotations": marks,
                    "labels": dict(labels or {}),
                },
                "spec": {
                    "schedulerName": scheduler,
                    "containers": [{"name": "main", "image": "app:1", "resources": resources}],
                    **({"nodeName": node} if node else {}),
                    **spec,
                },
            }
        )
        if node:
            self.run_pod(name)

    def rename_pool(self, pod: str, pool: str) -> None:
        """Another pool is written on a pod."""
        patch = {"metadata": {"annotations": {POOL: pool}}}
        self.server.ok("PATCH", PODS.path("default", pod), patch, media=MERGE_PATCH)

    def _ensure_class(self, value: int) -> None:
        if value not in self._classes:
            self._classes.add(value)
            self.priority_class(f"class-{value}", value)

    # --- how it stands -------------------------------------------------------------------------------------------

    def members(self) -> dict[str, list[str]]:
        """Nodes by pool."""
        reports, queues = self.world.reports.all(), self.world.cluster.queues
        return {queue.name: list(reports[id].nodes) for id, queue in queues.items() if queue.dialect == "aibee"}

    def home_of(self, pod: str) -> str:
        """The pool in whose queue a pod is."""
        task = next(each for each in self.world.cluster.tasks.values() if each.name == pod)
        return self.world.cluster.queues[task.gang.queue].name

    @property
    def pool_names(self) -> list[str]:
        return sorted(each.name for each in self.world.cluster.queues.values() if each.dialect == "aibee")

    @property
    def leaving(self) -> list[str]:
        """Pods that were told to go, and those that are gone."""
        items = self.server.ok("GET", PODS.path("default"))["items"]
        return sorted(each["metadata"]["name"] for each in items if "deletionTimestamp" in each["metadata"])

    def nominated(self, pod: str) -> str:
        return str(self.get(PODS, pod)["status"].get("nominatedNodeName", ""))

    @property
    def running(self) -> dict[str, str]:
        """Pods with their nodes, without those that go."""
        gone = self.leaving
        return {name: node for name, node in self.placed.items() if name not in gone}

    def warnings(self, about: str) -> list[str]:
        items: list[Document] = self.server.ok("GET", EVENTS.path("default"))["items"]
        return [
            each["message"]
            for each in items
            if each["involvedObject"]["name"] == about and each["type"] == "Warning"
        ]

    def status(self, pool: str) -> Document:
        found: Document = self.server.ok("GET", POOLS.path("", pool)).get("status", {})
        return found


__all__ = ["DEFAULT_POOL", "PoolStage", "pool_id", "profiles"]
