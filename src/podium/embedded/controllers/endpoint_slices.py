"""The EndpointSlices of a Service: one or more for each set of port numbers that its pods have.

A named port may have another number in each pod, so pods are grouped by their numbers.  A group fills slices of at
most 100 endpoints.  An endpoint stays in the slice it is in, so that a change of one pod rewrites one slice only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from podium.embedded.controllers.endpoint_parts import difference, is_ready, labels_of, ports_of, whereabouts
from podium.embedded.controllers.names import NamesIn, generated_names
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.resources import ENDPOINTSLICES, SERVICES
from podium.kube.wire import EndpointSlice, Pod, Service

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"

MOST_ENDPOINTS = 100

Ports = frozenset[tuple[object, ...]]  # what tells one set of ports from another
Share = tuple[EndpointSlice | None, list[Document]]  # a slice that is there, or a new one, and what it is to hold


class _Group(msgspec.Struct):
    """The endpoints that have the same ports."""

    ports: list[Document]
    endpoints: list[Document]


def slice_changes(service: Service, pods: Iterable[Pod], cache: Cache) -> Iterator[Change]:
    """The writes that bring the slices of a Service up to date."""
    present: dict[Ports, list[EndpointSlice]] = {}
    for each in _present(service, cache):
        present.setdefault(_key(each.ports or ()), []).append(each)
    labels = {**labels_of(service), SERVICE_NAME: service.name, MANAGED_BY: MANAGER}
    taken = NamesIn(cache, ENDPOINTSLICES, service.namespace)
    names = generated_names(f"{service.name}-", taken, service.uid)
    kept: set[str] = set()
    for key, group in _groups(service, pods).items():
        for old, share in _shares(present.get(key, []), group.endpoints):
            content: Document = {"endpoints": share, "ports": group.ports}
            if old is None:
                yield Create(ENDPOINTSLICES, service.namespace, _document(service, next(names), labels, content))
                continue
            kept.add(old.name)
            if patch := difference(old, labels, content):
                yield Patch(ENDPOINTSLICES, old.namespace, old.name, patch, uid=old.uid)
    for each in _present(service, cache):
        if each.name not in kept:
            yield Delete(ENDPOINTSLICES, each.namespace, each.name, uid=each.uid)


def _present(service: Service, cache: Cache) -> Iterator[EndpointSlice]:
    for _, each in cache.owned_by(service.uid, ENDPOINTSLICES):
        if isinstance(each, EndpointSlice) and each.labels.get(MANAGED_BY) == MANAGER and not each.deleting:
            yield each


def _groups(service: Service, pods: Iterable[Pod]) -> dict[Ports, _Group]:
    """Pods by the numbers of their ports; without pods one group of nothing, which becomes an empty slice."""
    groups: dict[Ports, _Group] = {}
    for pod in pods:
        ports = ports_of(service, pod)
        groups.setdefault(_key(ports), _Group(ports, [])).endpoints.append(_endpoint(service, pod))
    return groups or {_key(()): _Group([], [])}


def _key(ports: Iterable[Document]) -> Ports:
    fields = ("name", "port", "protocol", "appProtocol")
    return frozenset(tuple(port.get(field) or None for field in fields) for port in ports)


def _endpoint(service: Service, pod: Pod) -> Document:
    conditions = {"ready": is_ready(service, pod), "serving": pod.ready, "terminating": pod.deleting}
    return {"addresses": [pod.status.pod_ip], "conditions": conditions, **whereabouts(service, pod)}


def _shares(slices: list[EndpointSlice], endpoints: list[Document]) -> list[Share]:
    """Who holds what: each slice what it had and new ones where there is room, then new slices for the rest."""
    left = {_target(endpoint): endpoint for endpoint in endpoints}
    shares: list[Share] = []
    for each in slices:
        held = (_target(endpoint) for endpoint in each.endpoints or ())
        shares.append((each, [left.pop(target) for target in held if target in left]))
    fresh = iter(left.values())
    for _, share in shares:
        share += islice(fresh, max(0, MOST_ENDPOINTS - len(share)))
    while chunk := list(islice(fresh, MOST_ENDPOINTS)):
        shares.append((None, chunk))
    used = [(each, share) for each, share in shares if share]
    return used or [(slices[0] if slices else None, [])]


def _target(endpoint: Document) -> object:
    return (endpoint.get("targetRef") or {}).get("uid")


def _document(service: Service, name: str, labels: dict[str, str], content: Document) -> Document:
    """`<service>-` and five letters, as users know it."""
    return {
        "apiVersion": ENDPOINTSLICES.api_version,
        "kind": ENDPOINTSLICES.kind,
        "metadata": {
            "name": name,
            "generateName": f"{service.name}-",
            "namespace": service.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(service, SERVICES)],
        },
        "addressType": "IPv4",
        **content,
    }
