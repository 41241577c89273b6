"""A copy of a cluster in virtual time: what would become of it with another profile, more nodes, other weights.

The objects are put into the simulated API as they are, with their identities and their status, and the clock
begins when they were read.  Pods that run stay where they are.  How much longer they will is a guess, the first of
these that there is:

    podium.dev/run-seconds      an annotation of the pod: from its start
    spec.runningEstimate        of its Volcano Job: from its start
    spec.activeDeadlineSeconds  of the pod, or of its Job: from its start
    --assume-seconds            from now on, or from its start if it waits; for pods that are meant to end

A pod that is longer at it than guessed ends at once; one of which nothing is known, at the end of time.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from podium.core.model.durations import duration
from podium.core.profiles.own_profiles import DEFAULT as OWN
from podium.core.profiles.profile import Profile
from podium.dialects import authoring, built_in_profiles, speaking
from podium.dialects.workloads import DEFAULT_QUEUE
from podium.embedded.nodes.node_status import FAIL
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.errors import ApiError, UsageError
from podium.kube.pod_script import RUN_SECONDS
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.times import parse_time
from podium.sim.following import Follower, Play
from podium.sim.manifests import templates
from podium.sim.replay import QueueShape, period_of, queue_document
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]

# Read by nobody who decides where pods go, or secret; and what would go on for ever.
_LEFT_OUT = frozenset(
    {
        "clusterrolebindings",
        "clusterroles",
        "configmaps",
        "cronjobs",
        "customresourcedefinitions",
        "endpoints",
        "endpointslices",
        "leases",
        "networkpolicies",
        "rolebindings",
        "roles",
        "secrets",
        "serviceaccounts",
        "services",
    }
)
_SERVICES = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"})
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_MORE = "what-if"


class Snapshot(msgspec.Struct, frozen=True):
    """The objects of a cluster as they stood at one time."""

    taken_at: float
    objects: Mapping[Resource, Sequence[Document]]

    def of(self, resource: Resource) -> Sequence[Document]:
        return self.objects.get(resource, ())


class WhatIf(msgspec.Struct, frozen=True):
    """What is to be other than it is."""

    profile: Profile
    more_nodes: int = 0  # of the commonest kind
    shapes: tuple[Shape, ...] = ()  # nodes of other kinds
    queues: tuple[QueueShape, ...] = ()
    assume_seconds: float | None = None


def scheduler_names() -> list[str]:
    """Those that pods ask for, whatever the profile that is tried."""
    return list(dict.fromkeys((OWN, *built_in_profiles(), "default-scheduler")))


def wanted() -> list[Resource]:
    """What has to be read of a cluster, without what is nobody's business."""
    dialects = speaking()
    orders = {resource for dialect in dialects for resource in dialect.orders}
    resources = VirtualCluster({}, dialects).resources - orders
    found = [resource for resource in resources if resource.plural not in _LEFT_OUT]
    return sorted(found, key=lambda each: (each.group, each.plural))


def play(snapshot: Snapshot, what_if: WhatIf) -> Play:
    """Lets the copy run until nothing more happens in it."""
    if not snapshot.of(NODES) and not (what_if.more_nodes or what_if.shapes):
        raise UsageError("the cluster has no nodes, so nothing could ever run there: --nodes FILE adds some")
    names = dict.fromkeys([*scheduler_names(), *_scheduler_names(snapshot)])
    profiles = dict.fromkeys(names, what_if.profile)
    period = period_of(what_if.profile)
    # What the scheduler says on groups is what lets controllers make the pods of jobs that wait.
    cluster = VirtualCluster(profiles, speaking(profiles=lambda: profiles), period=period, begin=snapshot.taken_at)
    follower = Follower(cluster)
    estimates = _estimates(snapshot)
    for resource, documents in snapshot.objects.items():
        for document in documents:
            cluster.server.put(resource, _prepared(resource, document, snapshot, what_if, estimates))
    for node in _copies(snapshot, what_if.more_nodes):
        cluster.server.put(NODES, node)
    for node in node_documents(what_if.shapes, snapshot.taken_at):
        _apply(cluster, node)
    queues = authoring().queues
    known = {document["metadata"]["name"] for document in snapshot.of(queues)} | {DEFAULT_QUEUE}
    for queue in what_if.queues:
        if queue.name in known:
            cluster.server.patch(queues, "", queue.name, {"spec": {"weight": queue.weight}})
        else:
            _apply(cluster, queue_document(queue))
    cluster.run()
    return follower.result()


def _apply(cluster: VirtualCluster, document: Document) -> None:
    try:
        cluster.server.apply(document)
    except ApiError as error:
        raise UsageError(
            f"the {document['kind']} {document['metadata']['name']} cannot be added: {error}"
        ) from None


# --- objects -----------------------------------------------------------------------------------------------------


def _prepared(
    resource: Resource, document: Document, snapshot: Snapshot, what_if: WhatIf, estimates: Mapping[str, float]
) -> Document:
    """A copy of an object that may be put into the simulated API."""
    found = copy.deepcopy(document)
    found.setdefault("apiVersion", resource.api_version)
    found.setdefault("kind", resource.kind)
    found["metadata"].pop("managedFields", None)
    if resource == PODS:
        _time_pod(found, snapshot.taken_at, what_if.assume_seconds, estimates)
    elif resource == NODES:
        if not _ready(found):
            _annotate(found, FAIL, "true")
    elif resource.kind not in _SERVICES:
        seconds = estimates.get(found["metadata"].get("uid", ""), what_if.assume_seconds)
        if seconds is not None:
            for template in templates(found.get("spec")):
                if RUN_SECONDS not in (template.setdefault("metadata", {}).get("annotations") or {}):
                    _annotate(template, RUN_SECONDS, f"{seconds:.3f}")
    return found


def _time_pod(pod: Document, now: float, assumed: float | None, estimates: Mapping[str, float]) -> None:
    """Writes on a pod how long it will run, if nothing is written there."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    deadline = spec.pop("activeDeadlineSeconds", None)
    if RUN_SECONDS in (metadata.get("annotations") or {}) or status.get("phase") in ("Succeeded", "Failed"):
        return
    owner: Document = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), {})
    seconds = estimates.get(owner.get("uid", ""), deadline)
    if seconds is None and assumed is not None and spec.get("restartPolicy", "Always") != "Always":
        started = [parse_time(at) for at in _starts(status)]
        seconds = assumed + max(0.0, now - min(started)) if started else assumed
    if seconds is not None:
        _annotate(pod, RUN_SECONDS, f"{max(0.0, float(seconds)):.3f}")


def _starts(status: Document) -> Iterator[str]:
    for each in status.get("containerStatuses") or ():
        at = ((each.get("state") or {}).get("running") or {}).get("startedAt")
        if at:
            yield at


def _estimates(snapshot: Snapshot) -> dict[str, float]:
    """By the identity of a job how long its pods are expected to run."""
    found: dict[str, float] = {}
    for documents in snapshot.objects.values():
        for document in documents:
            spec = document.get("spec")
            if not isinstance(spec, dict) or document.get("kind") in (PODS.kind, *_SERVICES):
                continue
            reported = spec.get("runningEstimate")
            seconds = duration(reported) if isinstance(reported, str) else spec.get("activeDeadlineSeconds")
            if isinstance(seconds, int | float) and seconds >= 0:
                found[document["metadata"].get("uid", "")] = float(seconds)
    return found


def _scheduler_names(snapshot: Snapshot) -> Iterator[str]:
    for documents in snapshot.objects.values():
        for document in documents:
            specs = [document.get("spec"), *(template["spec"] for template in templates(document.get("spec")))]
            for spec in specs:
                name = spec.get("schedulerName") if isinstance(spec, dict) else None
                if isinstance(name, str) and name:
                    yield name


def _annotate(document: Document, name: str, value: str) -> None:
    metadata = document.setdefault("metadata", {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), name: value}


# --- nodes -------------------------------------------------------------------------------------------------------


def _ready(node: Document) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _copies(snapshot: Snapshot, count: int) -> Iterator[Document]:
    """More nodes of the kind of which there are most; of kinds as common as each other, of the first by name."""
    if not count:
        return
    workers = [node for node in snapshot.of(NODES) if not _is_control_plane(node)]
    if not workers:
        raise UsageError(
            "--nodes N adds nodes of the cluster's commonest kind, and it has none: give --nodes FILE"
        )
    kinds = Counter(map(_kind, workers))
    commonest = max(kinds, key=lambda kind: kinds[kind])
    model = next(node for node in workers if _kind(node) == commonest)
    taken = {node["metadata"]["name"] for node in snapshot.of(NODES)}
    names = (name for number in range(count + len(taken)) if (name := f"{_MORE}-{number:03d}") not in taken)
    for number, name in zip(range(count), names, strict=False):
        yield _copy(model, name, number)


def _copy(model: Document, name: str, number: int) -> Document:
    labels = {**(model["metadata"].get("labels") or {}), "kubernetes.io/hostname": name}
    status = copy.deepcopy(model.get("status") or {})
    kept = {key: status[key] for key in ("capacity", "allocatable", "conditions", "nodeInfo") if key in status}
    taints = (model.get("spec") or {}).get("taints")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-ffff{number:08d}",
            "labels": labels,
            "creationTimestamp": model["metadata"].get("creationTimestamp"),
        },
        "spec": {"taints": copy.deepcopy(taints)} if taints else {},
        "status": kept,
    }


def _kind(node: Document) -> str:
    """What makes nodes alike: what they have to give."""
    return json.dumps((node.get("status") or {}).get("allocatable") or {}, sort_keys=True)


def _is_control_plane(node: Document) -> bool:
    labels: Iterable[str] = node["metadata"].get("labels") or ()
    return any(label in labels for label in _CONTROL_PLANE)
