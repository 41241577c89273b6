"""What a fresh cluster has before anybody asks for anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podium.embedded.admission import SYSTEM_NAMESPACES
from podium.embedded.objects import Objects
from podium.embedded.registry import Kind
from podium.kube import resources as r
from podium.kube.lease import HELD_INSIDE
from podium.kube.resources import Resource
from podium.kube.times import format_micro_time

Document = dict[str, Any]

CONTROL_PLANE = "kube-system"  # the namespace of the leases
_FOR_EVER = 2**31 - 1


def _storage_class() -> Document:
    """The storage class of the simulated provisioner, so that a claim without a class is served."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "podium.dev/simulated",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _namespace(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _priority_class(name: str, value: int, description: str) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


def _objects(port: int) -> list[tuple[Resource, Document]]:
    service: Document = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }
    critical = "Used for system critical pods that must"
    return [
        *((r.NAMESPACES, _namespace(name)) for name in SYSTEM_NAMESPACES),
        (
            r.PRIORITYCLASSES,
            _priority_class(
                "system-node-critical", 2000001000, f"{critical} not be moved from their current node."
            ),
        ),
        (
            r.PRIORITYCLASSES,
            _priority_class(
                "system-cluster-critical",
                2000000000,
                f"{critical} run in the cluster, but can be moved to another node if necessary.",
            ),
        ),
        (r.STORAGECLASSES, _storage_class()),
        (r.SERVICES, service),
    ]


def bootstrap(objects: Objects, port: int) -> None:
    """Creates what is missing: only on a store that has never had it, so that a deleted class stays deleted."""
    if objects.store.get(r.NAMESPACES, "", "default") is not None:
        return
    for resource, document in _objects(port):
        kind = objects.registry.find(resource.group, resource.version, resource.plural)
        assert isinstance(kind, Kind), f"{resource.plural} is not served"
        objects.create(kind, document["metadata"].get("namespace", ""), document)


def install(objects: Objects, documents: Iterable[Document]) -> None:
    """Creates what is missing of the objects that API families bring along, definitions before what they define.

    A definition that is there is brought up to date; whatever became of the other objects since, they stay.
    """
    for document in documents:
        kind = objects.registry.of_kind(document["apiVersion"], document["kind"])
        assert kind is not None, f"{document['kind']} is not served"
        metadata = document["metadata"]
        key = metadata.get("namespace", ""), metadata["name"]
        record = objects.store.get(kind.storage, *key)
        if record is None:
            objects.create(kind, key[0], _copy(document))
        elif kind.resource == r.CUSTOMRESOURCEDEFINITIONS:
            objects.update(kind, key, {**record.document(), "spec": _copy(document["spec"])})


def _copy(document: Document) -> Document:
    """As text and back, which is many times faster than `copy.deepcopy`."""
    copied: Document = msgspec.json.decode(msgspec.json.encode(document))
    return copied


class HeldLease(msgspec.Struct, frozen=True):
    """A Lease of a part of podium that runs in the server's own process, or does not: then `holder` is ""."""

    name: str
    holder: str
    hint: str  # for who stands by


def hold_leases(objects: Objects, leases: Iterable[HeldLease]) -> None:
    """Has this process hold leases for as long as it serves: nobody else can lead here, and nobody has to renew.

    Of a part that does not run, what an earlier start held is given back.
    """
    kind = objects.registry.of_kind(r.LEASES.api_version, r.LEASES.kind)
    assert kind is not None
    now = format_micro_time(objects.clock())
    for lease in leases:
        record = objects.store.get(kind.storage, CONTROL_PLANE, lease.name)
        document: Document = record.document() if record is not None else {"metadata": {"name": lease.name}}
        notes = dict(document["metadata"].get("annotations") or {})
        was_inside = notes.pop(HELD_INSIDE, None) is not None
        if not lease.holder and not was_inside:
            continue  # somebody else's, or nobody's
        duration = _FOR_EVER if lease.holder else 1
        times = {"leaseDurationSeconds": duration, "acquireTime": now, "renewTime": now}
        document["spec"] = {"holderIdentity": lease.holder, **times}
        document["metadata"]["annotations"] = notes | ({HELD_INSIDE: lease.hint} if lease.holder else {})
        document |= {"apiVersion": r.LEASES.api_version, "kind": r.LEASES.kind}
        if record is None:
            objects.create(kind, CONTROL_PLANE, document)
        else:
            objects.update(kind, (CONTROL_PLANE, lease.name), document)
