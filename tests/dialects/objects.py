"""Short forms of the objects that tests write."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.core.model.facts import TaskFacts
from podium.dialects import DIALECTS
from podium.dialects.kubernetes.translate import PodFacts, PodReader
from podium.dialects.volcano.types import PodGroup, Queue
from podium.kube.cache import Cache
from podium.kube.wire import Pod

Document = dict[str, Any]

QUEUES = {"volcano": "volcano/default"}


def pod(name: str = "a", *, uid: str = "", annotations: Document | None = None, **spec: Any) -> Document:
    """A pod as a document; `status`, `labels` and `deleted` are taken out of the spec's fields."""
    status, labels, deleted = spec.pop("status", {}), spec.pop("labels", {}), spec.pop("deleted", False)
    metadata: Document = {
        "name": name,
        "namespace": spec.pop("namespace", "default"),
        "uid": uid or f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
        "annotations": annotations or {},
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    spec.setdefault("schedulerName", "volcano")
    spec.setdefault("containers", [container()])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def container(name: str = "c", **requests: str) -> Document:
    return {"name": name, "image": "busybox", "resources": {"requests": requests}} if requests else {"name": name}


def reader(cache: Cache | None = None) -> PodReader:
    return PodReader([each.marks for each in DIALECTS if each.marks], QUEUES, cache or Cache())


def decode(document: Document) -> Pod:
    """Over the wire and back, as a watch would bring it."""
    return msgspec.json.decode(msgspec.json.encode(document), type=Pod)


def read(document: Document, cache: Cache | None = None) -> PodFacts:
    return reader(cache).read(decode(document))


def task(document: Document) -> TaskFacts:
    """The facts of a pod that must be understood."""
    facts = read(document)
    assert facts.refusal is None, str(facts.refusal)
    return facts.task


def group(
    name: str = "g", *, annotations: Document | None = None, status: Document | None = None, **spec: Any
) -> PodGroup:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "annotations": annotations or {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, PodGroup)


def queue_document(
    name: str, *, annotations: Document | None = None, status: Document | None = None, **spec: Any
) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"uid-{name}", "annotations": annotations or {}},
        "spec": spec,
        "status": status or {},
    }


def queue(name: str, **more: Any) -> Queue:
    return msgspec.convert(queue_document(name, **more), Queue)
