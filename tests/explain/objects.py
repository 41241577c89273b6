"""Objects of a cluster as a server would list them, written down in a few words, and a model of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml

from podium.core.profiles.profile import read_profile
from podium.dialects import speaking
from podium.explain.model import Model, merge
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.resources import NODES, PODDISRUPTIONBUDGETS, PODS, PRIORITYCLASSES, RESOURCEQUOTAS, Resource
from podium.runtime.configuration import default_profiles

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00Z"

PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
POOLS = Resource("resource.aibee.cn", "v1alpha1", "pools", "Pool", namespaced=False)
BATCH_JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")

# Places and limits, in the least form that has both; what preempts is a profile of its own.
PROFILE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}, {name: resourcequota}, {name: nodeorder}]
"""
ADMITTING = PROFILE.replace("{name: proportion}", "{name: proportion}, {name: overcommit}")
PREEMPTING = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}, {name: pdb}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]
"""


class Objects:
    """What there is, by kind and name."""

    def __init__(self) -> None:
        self.documents: dict[tuple[Resource, str, str], Document] = {}
        self._versions = 0
        for name in ("root", "default"):
            self.queue(name)

    def put(self, resource: Resource, document: Document) -> None:
        self._versions += 1
        metadata = document["metadata"]
        metadata.setdefault("uid", f"{resource.kind}-{metadata.get('namespace', '')}-{metadata['name']}")
        metadata.setdefault("creationTimestamp", AT)
        metadata["resourceVersion"] = str(self._versions)
        document.setdefault("apiVersion", resource.api_version)
        document.setdefault("kind", resource.kind)
        self.documents[resource, metadata.get("namespace", ""), metadata["name"]] = document

    def node(self, name: str, gpus: int = 8, cpu: str = "64", *, taints: Any = (), **more: Any) -> None:
        room = {"cpu": cpu, "memory": "256Gi", "pods": "110", GPU: str(gpus)}
        labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
        status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        spec = {"taints": list(taints), **more} if taints else dict(more)
        self.put(NODES, {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})

    def pod(
        self,
        name: str,
        gpus: int = 1,
        *,
        node: str = "",
        group: str = "",
        cpu: str = "1",
        priority: int = 0,
        scheduler: str = "volcano",
        metadata: Document | None = None,
        namespace: str = "default",
        **spec: Any,
    ) -> None:
        asks = {"cpu": cpu, **({GPU: str(gpus)} if gpus else {})}
        container = {"name": "main", "image": "app:1", "resources": {"requests": asks, "limits": asks}}
        head = {"name": name, "namespace": namespace, "labels": {"app": name.rpartition("-")[0] or name}}
        head |= metadata or {}
        if group:
            head["annotations"] = {"scheduling.k8s.io/group-name": group}
        body: Document = {"schedulerName": scheduler, "containers": [container], "priority": priority, **spec}
        status: Document = {"phase": "Pending"}
        if node:
            body["nodeName"] = node
            status = {"phase": "Running", "startTime": AT}
        self.put(PODS, {"metadata": head, "spec": body, "status": status})

    def group(
        self, name: str, minimum: int, *, queue: str = "default", phase: str = "Inqueue", **spec: Any
    ) -> None:
        self.put(
            PODGROUPS,
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minMember": minimum, "queue": queue, **spec},
                "status": {"phase": phase},
            },
        )

    def gang(self, name: str, members: int, minimum: int = 0, *, queue: str = "default", **pod: Any) -> None:
        self.group(name, minimum or members, queue=queue)
        for number in range(members):
            self.pod(f"{name}-{number}", group=name, **pod)

    def queue(self, name: str, **spec: Any) -> None:
        state = spec.pop("state", "Open")
        self.put(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, **spec}, "status": {"state": state}})

    def pool(self, name: str, **spec: Any) -> None:
        """Its nodes have the label `pool` of its name."""
        selector = {"matchLabels": {"pool": name}}
        self.put(POOLS, {"metadata": {"name": name}, "spec": {"nodeSelector": selector, **spec}})

    def budget(self, name: str, app: str, *, pods: int, minimum: int) -> None:
        status = {"disruptionsAllowed": pods - minimum, "expectedPods": pods, "currentHealthy": pods}
        self.put(
            PODDISRUPTIONBUDGETS,
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"app": app}}},
                "status": {**status, "desiredHealthy": minimum},
            },
        )

    def quota(self, name: str, hard: dict[str, str], used: dict[str, str]) -> None:
        metadata = {"name": name, "namespace": "default"}
        self.put(
            RESOURCEQUOTAS, {"metadata": metadata, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}
        )

    def priority_class(self, name: str, value: int) -> None:
        self.put(PRIORITYCLASSES, {"metadata": {"name": name}, "value": value})

    # --- after a change ------------------------------------------------------------------------------------------

    def after(self, changes: Any) -> Objects:
        """Others, as they are after some writes."""
        found = copy.deepcopy(self)
        for change in changes:
            found._write(change)
        return found

    def _write(self, change: Change) -> None:
        if isinstance(change, Create):
            self.put(change.resource, copy.deepcopy(change.document))
            return
        place = (change.resource, change.namespace, change.name)
        if isinstance(change, Delete):
            self.documents.pop(place, None)
        elif isinstance(change, Patch) and place in self.documents:
            self.put(change.resource, merge(self.documents[place], change.patch))

    def model(self, profile: str = PROFILE) -> Model:
        listed: dict[Resource, list[bytes]] = {}
        for (resource, _, _), document in self.documents.items():
            listed.setdefault(resource, []).append(json.dumps(document).encode())
        read = read_profile(yaml.safe_load(profile))
        profiles = {**default_profiles(), "volcano": read, "podium": read}
        return Model.listed(listed, speaking(), profiles, NOW)
