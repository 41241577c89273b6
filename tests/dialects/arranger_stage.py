"""TYJobs for tests: in a cache with their pods, for one look of the controller; and on a virtual cluster."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec

from podium.dialects import DIALECTS
from podium.dialects.arranger.controller import TYJobController
from podium.dialects.arranger.names import INDEX, JOB, RESTARTS, ROLE, SET, TYJOBS
from podium.dialects.arranger.types import TYJob
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.controller import Outcome
from podium.kube.resources import NODES, PODS
from podium.kube.times import format_time
from podium.kube.wire import Node, Pod
from podium.runtime.configuration import read_profiles, serving_all
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]

NOW = 1_800_000_000.0
UID = "job-uid"
OWNER = {"apiVersion": TYJOBS.api_version, "kind": TYJOBS.kind, "name": "j", "uid": UID, "controller": True}
ADDRESS = "10.0.0.7"

_versions = itertools.count(1)


def template(cpu: float = 1, memory: float = 1, gpu: int = 0, **more: Any) -> Document:
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi"} if cpu else {}
    limits = {"nvidia.com/gpu": str(gpu)} if gpu else {}
    container = {"name": "main", "image": "app:1", "resources": {"requests": requests, "limits": limits}}
    annotations = more.pop("annotations", {})
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [container], **more}}


def job(
    name: str = "j",
    leader: Document | None = None,
    workers: Mapping[str, tuple[int, Document]] | None = None,
    **spec: Any,
) -> Document:
    sets = workers if workers is not None else {"w": (1, template())}
    return {
        "apiVersion": TYJOBS.api_version,
        "kind": TYJOBS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "leader": {"name": "leader", "template": leader or template()},
            "workerSets": [{"name": each, "counts": n, "template": pods} for each, (n, pods) in sets.items()],
            **spec,
        },
    }


def policy(basic: str = "BinPack", queue: str = "Priority") -> Document:
    return {"basicPolicy": basic, "jobQueuePolicy": queue}


def allocations(places: Mapping[str, str], name: str = "j") -> list[Document]:
    """From `leader` and `<set>-<index>` to nodes."""
    found: list[Document] = []
    for place, node in places.items():
        if place == "leader":
            found.append({"role": "leader", "name": f"{name}-leader", "node": node})
        else:
            of, _, index = place.rpartition("-")
            each = {"role": "worker", "set": of, "index": int(index), "name": f"{name}-{place}", "node": node}
            found.append(each)
    return found


# --- one look of the controller ----------------------------------------------------------------------------------


class Stage:
    """Sets a scene, and lets the controller look at it once."""

    def __init__(
        self,
        stage: str = "Running",
        state: str = "ScheduledSucceed",
        places: Mapping[str, str] | None = None,
        status: Document | None = None,
        **spec: Any,
    ) -> None:
        self.cache = Cache()
        self.controller = TYJobController()
        document = job(**spec)
        document["metadata"] |= {
            "uid": UID,
            "generation": 1,
            "resourceVersion": str(next(_versions)),
            "creationTimestamp": format_time(NOW - 600),
        }
        document["status"] = {
            "stage": stage,
            "scheduleState": state,
            "allocations": allocations(places or {}),
            "totalWorkers": sum(each["counts"] for each in document["spec"]["workerSets"]),
            **(status or {}),
        }
        self.cache.apply(TYJOBS, msgspec.json.decode(msgspec.json.encode(document), type=TYJob))

    def pod(
        self,
        place: str,
        phase: str = "Running",
        *,
        ready: bool = True,
        ip: str = "",
        node: str = "n1",
        address: str = "",
        restarts: int = 0,
        before: int = 0,
        waiting: str = "",
        deleting: bool = False,
        owner: Document | None = None,
    ) -> str:
        """A pod in the place `leader` or `<set>-<index>`; its UID."""
        labels = {JOB: "j", ROLE: "leader"}
        if place != "leader":
            of, _, index = place.rpartition("-")
            labels = {JOB: "j", ROLE: "worker", SET: of, INDEX: index}
        number = next(_versions)
        metadata: Document = {
            "name": f"j-{place}",
            "namespace": "default",
            "uid": f"uid-{place}-{number}",
            "resourceVersion": str(number),
            "labels": labels,
            "annotations": {RESTARTS: str(before)} if place == "leader" else {},
            "ownerReferences": [owner or OWNER],
        }
        if deleting:
            metadata["deletionTimestamp"] = format_time(NOW)
        state: Document = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
        up = phase == "Running" and ready
        container = {"name": "main", "ready": up, "restartCount": restarts, "state": state}
        conditions = [{"type": "Ready", "status": str(up)}]
        env = [{"name": "LEADER_ADDRESS", "value": address}] if address else []
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "app:1", "env": env}]}
        status = {"phase": phase, "podIP": ip, "containerStatuses": [container], "conditions": conditions}
        document = {"metadata": metadata, "spec": spec, "status": status}
        self.cache.apply(PODS, msgspec.json.decode(msgspec.json.encode(document), type=Pod))
        return str(metadata["uid"])

    def running(self, *workers: str, node: str = "n1") -> Stage:
        """A leader with an address, and workers that know it."""
        self.pod("leader", ip=ADDRESS, node=node)
        for each in workers:
            self.pod(each, address=ADDRESS, node=node)
        return self

    def node(self, name: str, *, ready: bool = True) -> Stage:
        status = {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}]}
        document = {"metadata": {"name": name, "resourceVersion": str(next(_versions))}, "status": status}
        self.cache.apply(NODES, msgspec.json.decode(msgspec.json.encode(document), type=Node))
        return self

    def look(self, now: float = NOW) -> Seen:
        return Seen(self, self.controller.reconcile(("default", "j"), self.cache, now))


class Seen:
    """An outcome, taken apart."""

    def __init__(self, stage: Stage, outcome: Outcome) -> None:
        self.outcome = outcome
        before = stage.cache.find(TYJOBS, TYJob, ("default", "j"))
        assert before is not None
        self.before = before

    def of(self, kind: type[Change], resource: Any = PODS) -> list[Any]:
        return [each for each in self.outcome.changes if isinstance(each, kind) and each.resource == resource]

    @property
    def status(self) -> Document:
        """What is written to the status."""
        found: Document = {}
        for each in self.of(Patch, TYJOBS):
            found |= each.patch.get("status", {})
        return found

    @property
    def stage(self) -> str:
        return str(self.status.get("stage", self.before.stage))

    @property
    def created(self) -> list[str]:
        return [each.document["metadata"]["name"].removeprefix("j-") for each in self.of(Create)]

    @property
    def documents(self) -> list[Document]:
        return [each.document for each in self.of(Create)]

    @property
    def deleted(self) -> list[str]:
        return sorted(each.name.removeprefix("j-") for each in self.of(Delete))


# --- a cluster ---------------------------------------------------------------------------------------------------


def cluster(config: str = "profiles: {}", **options: Any) -> VirtualCluster:
    """A virtual cluster without nodes, with all profiles as a file has them."""
    return VirtualCluster(serving_all(read_profiles(config, "the test")), DIALECTS, **options)


def add_node(
    virtual: VirtualCluster, name: str, cpu: float = 8, memory: float = 16, gpu: int = 0, **metadata: Any
) -> None:
    room = {
        "cpu": str(cpu),
        "memory": f"{memory}Gi",
        "pods": "110",
        **({"nvidia.com/gpu": str(gpu)} if gpu else {}),
    }
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}, "status": status}
    virtual.server.apply(document)


def add_used(virtual: VirtualCluster, node: str, cpu: float = 0, memory: float = 0, gpu: int = 0) -> None:
    """A pod of somebody else that takes some of a node."""
    pod = template(cpu, memory, gpu, nodeName=node)
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        **pod,
        "metadata": {"name": f"used-{node}", "namespace": "default"},
    }
    virtual.server.apply(document)


def found(virtual: VirtualCluster, name: str = "j") -> TYJob:
    view = virtual.server.find(TYJOBS, "default", name)
    assert isinstance(view, TYJob)
    return view


def places(view: TYJob) -> dict[str, str]:
    return {each.name.removeprefix(f"{view.name}-"): each.node for each in view.status.allocations or ()}


# --- a job's life ------------------------------------------------------------------------------------------------

ROOMY = (("n1", 8, 16), ("n2", 8, 16))


def start(document: Document, *nodes: tuple[str, float, float], config: str = "profiles: {}") -> VirtualCluster:
    virtual = cluster(config)
    for each in nodes or ROOMY:
        add_node(virtual, *each)
    virtual.server.apply(document)
    return virtual


def workers(count: int, cpu: float = 1, **annotations: str) -> dict[str, tuple[int, Document]]:
    return {"w": (count, template(cpu, 1, annotations=annotations))}


def leads(cpu: float = 1, **more: Any) -> Document:
    return template(cpu, 1, **more)


def lose(virtual: VirtualCluster, node: str) -> None:
    virtual.server.patch(NODES, "", node, {"metadata": {"annotations": {"podium.dev/fail": "true"}}})


def change(virtual: VirtualCluster, spec: Document) -> None:
    virtual.server.patch(TYJOBS, "default", "j", {"spec": spec})


def counts(number: int) -> Document:
    return {"workerSets": [{"name": "w", "counts": number, "template": template()}]}


def running(virtual: VirtualCluster, name: str = "j") -> dict[str, str]:
    """The pods of a job that run, and where."""
    pods = [each for each in virtual.server.objects(PODS) if isinstance(each, Pod)]
    up = [each for each in pods if each.name.startswith(f"{name}-") and each.status.phase == "Running"]
    return {each.name.removeprefix(f"{name}-"): each.spec.node_name for each in up if not each.deleting}


def standing(virtual: VirtualCluster, at: float) -> tuple[str, str, str]:
    virtual.run(at)
    view = found(virtual)
    return view.stage, view.status.schedule_state, view.status.ready
