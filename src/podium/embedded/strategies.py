"""What is particular to a kind when it is created or changed: which parts a client may set, and what is filled in.

Everything here works on documents in place and decides nothing about storage.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

from podium.embedded.registry import Kind
from podium.embedded.store import Store
from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema import defaults

Document = dict[str, Any]

# Kinds whose metadata.generation counts changes of the spec; custom resources do too.
_GENERATION = {
    r.PODS,
    r.DEPLOYMENTS,
    r.REPLICASETS,
    r.STATEFULSETS,
    r.DAEMONSETS,
    r.JOBS,
    r.CRONJOBS,
    r.PODDISRUPTIONBUDGETS,
    r.NETWORKPOLICIES,
    r.REPLICATIONCONTROLLERS,
    r.PRIORITYCLASSES,
    r.ENDPOINTSLICES,
    r.CUSTOMRESOURCEDEFINITIONS,
}

# Kinds whose annotations count for the generation too: a Deployment's steer its rollout.
_GENERATION_WITH_ANNOTATIONS = {r.DEPLOYMENTS}

# Kinds that keep the status their creator gives them: a kubelet registers its node with one.
_STATUS_ON_CREATE = {r.NODES}

# Kinds whose replacement must name the version it replaces.
_CONDITIONAL_ONLY = {r.CUSTOMRESOURCEDEFINITIONS, r.PODDISRUPTIONBUDGETS, r.LEASES, r.CSINODES}

# Kinds that a PUT creates when they are absent.
CREATE_ON_UPDATE = {r.LEASES, r.EVENTS, r.ENDPOINTS, r.EVENTS_V1, r.LIMITRANGES}

# What a write to the status may set beside it: a controller notes a revision, a kubelet labels its node.
_WITH_STATUS = ("labels", "annotations", "finalizers", "ownerReferences")

# Kinds of which it may not set some of these; of custom resources it may set none.
_NOT_WITH_STATUS = {r.PODS: ("ownerReferences",), r.DEPLOYMENTS: ("labels",)}

# Kinds that are kept and do nothing here: whoever makes one is told.
WITHOUT_EFFECT: dict[Resource, tuple[str]] = {
    r.CRONJOBS: ("no controller of CronJobs runs here: it will start no Jobs",),
    r.DAEMONSETS: ("no controller of DaemonSets runs here: it will start no pods",),
    r.REPLICATIONCONTROLLERS: ("no controller of ReplicationControllers runs here: it will start no pods",),
    r.RESOURCEQUOTAS: ("this server does not enforce ResourceQuotas: it will refuse nothing for its sake",),
    r.LIMITRANGES: ("this server does not enforce LimitRanges: it will neither set nor refuse anything",),
    r.NETWORKPOLICIES: ("simulated pods have no network: this NetworkPolicy has no effect",),
}

# Kinds whose deletion is answered with the object instead of a Status.
RETURNED_ON_DELETE = {
    r.PODS,
    r.SERVICES,
    r.SERVICEACCOUNTS,
    r.PERSISTENTVOLUMES,
    r.PERSISTENTVOLUMECLAIMS,
}

SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")


def tracks_generation(kind: Kind) -> bool:
    return kind.custom or kind.storage in _GENERATION


def moves_generation(kind: Kind, new: Document, old: Document) -> bool:
    """Whether a change is one that the generation counts."""
    if not tracks_generation(kind):
        return False
    if kind.resource in _GENERATION_WITH_ANNOTATIONS:
        notes = (new["metadata"].get("annotations"), old["metadata"].get("annotations"))
        if notes[0] != notes[1]:
            return True
    return any(
        new.get(field) != old.get(field)
        for field in new.keys() | old.keys()
        if field not in ("metadata", "status", "kind", "apiVersion")
    )


def needs_version(kind: Kind) -> bool:
    return kind.custom or kind.storage in _CONDITIONAL_ONLY


def clear_status(kind: Kind, document: Document) -> None:
    """Drops the status a creator gave: it is the system's to set.  Defaults may fill the empty one."""
    if kind.status and kind.resource not in _STATUS_ON_CREATE:
        document.pop("status", None)
        if not kind.custom:
            document["status"] = {}


def prepare_create(kind: Kind, document: Document, store: Store) -> None:
    """Sets what the system sets at birth."""
    filler = _FILLERS.get(kind.resource)
    if filler is not None:
        filler(document, store)


def prepare_update(kind: Kind, new: Document, old: Document) -> None:
    """A write to the object itself cannot touch its status."""
    if kind.status:
        _restore(new, old, "status")
    if kind.resource == r.NAMESPACES:
        new.setdefault("spec", {})["finalizers"] = old.get("spec", {}).get("finalizers", [])
    elif kind.resource == r.SERVICES:
        _keep_addresses(new, old)


def prepare_status_update(kind: Kind, new: Document, old: Document) -> Document:
    """A write to the status keeps everything but the status and what of the metadata is anybody's to set."""
    result = dict(old)
    if "status" in new:
        result["status"] = new["status"]
    else:
        result.pop("status", None)
    metadata = result["metadata"] = dict(old["metadata"])
    state = result.get("status")
    if state and ("podIP" in state or "podIPs" in state) and kind.resource == r.PODS:
        result["status"] = _with_all_addresses(state)
    kept = _WITH_STATUS if kind.custom else _NOT_WITH_STATUS.get(kind.resource, ())
    for field in _WITH_STATUS:
        if field not in kept:
            _restore(metadata, new["metadata"], field)
    return result


def _with_all_addresses(status: Document) -> Document:
    """A pod's address stands in its status twice; whoever writes one of the two writes both."""
    single, listed = status.get("podIP") or "", status.get("podIPs") or []
    first = (listed[0] or {}).get("ip", "") if listed else ""
    if single and single != first:
        return {**status, "podIPs": [{"ip": single}]}
    return {**status, "podIP": first} if first and not single else status


def _restore(document: Document, source: Document, field: str) -> None:
    if field in source:
        document[field] = source[field]
    else:
        document.pop(field, None)


# --- what is filled in at creation, by kind ------------------------------------------------------------------


def _fill_pod(document: Document, _: Store) -> None:
    status: Document = {"phase": "Pending", "qosClass": defaults.qos_class(document)}
    if document["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    document["status"] = status


def _fill_namespace(document: Document, _: Store) -> None:
    document["status"] = {"phase": "Active"}


def _fill_pending(document: Document, _: Store) -> None:
    document["status"] = {"phase": "Pending"}


def _fill_job(document: Document, _: Store) -> None:
    defaults.job_selector(document, document["metadata"]["uid"])


def _fill_definition(document: Document, _: Store) -> None:
    stored = [version["name"] for version in document["spec"].get("versions") or () if version.get("storage")]
    document["status"] = {"storedVersions": stored}


def _fill_service(document: Document, store: Store) -> None:
    document["status"] = {"loadBalancer": {}}
    spec = document.setdefault("spec", {})
    if spec.get("type", "ClusterIP") == "ExternalName":
        return
    used_ips, used_ports = _addresses(store)
    if not spec.get("clusterIP"):
        spec["clusterIP"] = next(ip for ip in _service_ips() if ip not in used_ips)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["clusterIP"] != "None":
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        free = (port for port in range(30000, 32768) if port not in used_ports)
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = next(free)


def _service_ips() -> Iterator[str]:
    first = int(SERVICE_NETWORK.network_address)
    for number in range(first + 10, first + SERVICE_NETWORK.num_addresses - 1):
        yield str(ipaddress.IPv4Address(number))


def _addresses(store: Store) -> tuple[set[str], set[int]]:
    """Cluster IPs and node ports in use.  A scan: clusters of batch jobs have few services."""
    ips: set[str] = set()
    ports: set[int] = set()
    for record in store.scan(r.SERVICES):
        spec = record.document().get("spec", {})
        ips.add(spec.get("clusterIP", ""))
        ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
    return ips, ports


def _keep_addresses(new: Document, old: Document) -> None:
    """A client that leaves an allocated address out of its PUT means "as it is"."""
    spec, before = new.setdefault("spec", {}), old.get("spec", {})
    if spec.get("type", "ClusterIP") != "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and field in before:
                spec[field] = before[field]


_FILLERS: dict[Resource, Callable[[Document, Store], None]] = {
    r.PODS: _fill_pod,
    r.NAMESPACES: _fill_namespace,
    r.PERSISTENTVOLUMES: _fill_pending,
    r.PERSISTENTVOLUMECLAIMS: _fill_pending,
    r.JOBS: _fill_job,
    r.SERVICES: _fill_service,
    r.CUSTOMRESOURCEDEFINITIONS: _fill_definition,
}
