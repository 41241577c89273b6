"""EndpointSlices: those that the pods of a Service ask for, and the mirror of Endpoints that were made by hand.

Either way endpoints are grouped by the ports that they have.  A named port may have another number in each pod.  A
group fills slices of at most 100 endpoints.  An endpoint stays in the slice it is in, so that a change of one pod
rewrites one slice only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from podium.embedded.controllers.endpoint_parts import (
    Groups,
    difference,
    is_ready,
    labels_of,
    port_document,
    whereabouts,
)
from podium.embedded.controllers.names import NamesIn, generated_names
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.resources import ENDPOINTS, ENDPOINTSLICES, SERVICES, Resource
from podium.kube.wire import Endpoints, EndpointSlice, Object, Pod, Service

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
MIRROR_MANAGER = "endpointslicemirroring-controller.k8s.io"

MOST_ENDPOINTS = 100

Ports = tuple[str, frozenset[tuple[object, ...]]]  # family of addresses and ports: what distinguishes groups
Share = tuple[EndpointSlice | None, list[Document]]  # a slice that is there, or a new one, and what it is to hold


class _Group(msgspec.Struct):
    """The endpoints that have the same ports."""

    family: str
    ports: list[Document]
    endpoints: list[Document]


class _Owner(msgspec.Struct):
    """Whose slices they are: a Service, or Endpoints of the same name."""

    resource: Resource
    object: Object
    manager: str
    labels: dict[str, str]


def slice_changes(service: Service, pods: Groups, cache: Cache) -> Iterator[Change]:
    """The writes that bring the slices of a Service up to date; one that leads nowhere has an empty slice."""
    groups: dict[Ports, _Group] = {}
    for numbers, those in (pods or {(): []}).items():
        pairs = zip(service.spec.ports or (), numbers, strict=False)
        ports = [port_document(port, number) for port, number in pairs if number is not None]
        _group(groups, "IPv4", ports).endpoints += [_endpoint(service, pod) for pod in those]
    yield from _changes(_Owner(SERVICES, service, MANAGER, labels_of(service)), groups, cache)


def mirror_changes(endpoints: Endpoints, cache: Cache, *, wanted: bool) -> Iterator[Change]:
    """The writes that make slices say what hand-made Endpoints say; without them, if they are not `wanted`."""
    groups: dict[Ports, _Group] = {}
    for subset in (endpoints.subsets or ()) if wanted else ():
        ports = [{"name": "", **port} for port in subset.get("ports") or ()]
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(field) or ():
                family = "IPv6" if ":" in address["ip"] else "IPv4"
                more = {key: value for key, value in address.items() if key != "ip"}
                endpoint = {"addresses": [address["ip"]], "conditions": {"ready": ready}, **more}
                _group(groups, family, ports).endpoints.append(endpoint)
    yield from _changes(_Owner(ENDPOINTS, endpoints, MIRROR_MANAGER, dict(endpoints.labels)), groups, cache)


# --- the slices that are wanted ----------------------------------------------------------------------------


def _group(groups: dict[Ports, _Group], family: str, ports: list[Document]) -> _Group:
    return groups.setdefault(_key(family, ports), _Group(family, ports, []))


def _key(family: str, ports: Iterable[Document]) -> Ports:
    fields = ("name", "port", "protocol", "appProtocol")
    return family, frozenset(tuple(port.get(field) or None for field in fields) for port in ports)


def _endpoint(service: Service, pod: Pod) -> Document:
    conditions = {"ready": is_ready(service, pod), "serving": pod.ready, "terminating": pod.deleting}
    return {"addresses": [pod.status.pod_ip], "conditions": conditions, **whereabouts(service, pod)}


# --- from those that are there -----------------------------------------------------------------------------


def _changes(owner: _Owner, groups: dict[Ports, _Group], cache: Cache) -> Iterator[Change]:
    namespace, name = owner.object.namespace, owner.object.name
    present: dict[Ports, list[EndpointSlice]] = {}
    for each in _present(owner, cache):
        present.setdefault(_key(each.address_type, each.ports or ()), []).append(each)
    labels = {**owner.labels, SERVICE_NAME: name, MANAGED_BY: owner.manager}
    names = generated_names(f"{name}-", NamesIn(cache, ENDPOINTSLICES, namespace), owner.object.uid)
    kept: set[str] = set()
    for key, group in groups.items():
        for old, share in _shares(present.get(key, []), group.endpoints):
            content: Document = {"endpoints": share, "ports": group.ports}
            if old is None:
                document = _document(owner, next(names), labels, {"addressType": group.family, **content})
                yield Create(ENDPOINTSLICES, namespace, document)
                continue
            kept.add(old.name)
            if patch := difference(old, labels, content):
                yield Patch(ENDPOINTSLICES, namespace, old.name, patch, uid=old.uid)
    for each in _present(owner, cache):
        if each.name not in kept:
            yield Delete(ENDPOINTSLICES, namespace, each.name, uid=each.uid)


def _present(owner: _Owner, cache: Cache) -> Iterator[EndpointSlice]:
    for _, each in cache.owned_by(owner.object.uid, ENDPOINTSLICES):
        if isinstance(each, EndpointSlice) and each.labels.get(MANAGED_BY) == owner.manager and not each.deleting:
            yield each


def _shares(slices: list[EndpointSlice], endpoints: list[Document]) -> list[Share]:
    """Who holds what: each slice what it had and new ones where there is room, then new slices for the rest."""
    left = {_identity(endpoint): endpoint for endpoint in endpoints}
    shares: list[Share] = []
    for each in slices:
        held = (_identity(endpoint) for endpoint in each.endpoints or ())
        shares.append((each, [left.pop(one) for one in held if one in left]))
    fresh = iter(left.values())
    for _, share in shares:
        share += islice(fresh, max(0, MOST_ENDPOINTS - len(share)))
    while chunk := list(islice(fresh, MOST_ENDPOINTS)):
        shares.append((None, chunk))
    used = [(each, share) for each, share in shares if share]
    return used or [(slices[0] if slices else None, [])]


def _identity(endpoint: Document) -> tuple[object, ...]:
    return (endpoint.get("targetRef") or {}).get("uid"), *(endpoint.get("addresses") or ())


def _document(owner: _Owner, name: str, labels: dict[str, str], content: Document) -> Document:
    """`<service>-` and five letters, as users know it."""
    return {
        "apiVersion": ENDPOINTSLICES.api_version,
        "kind": ENDPOINTSLICES.kind,
        "metadata": {
            "name": name,
            "generateName": f"{owner.object.name}-",
            "namespace": owner.object.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(owner.object, owner.resource)],
        },
        **content,
    }
