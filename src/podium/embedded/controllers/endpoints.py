"""Where a Service leads to: EndpointSlices and an Endpoints object for every Service with a selector.

The Endpoints of a Service without one are made by hand; slices that say the same are made from them.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.embedded.controllers.endpoint_parts import (
    Groups,
    Numbers,
    by_numbers,
    difference,
    has_address,
    is_headless,
    is_ready,
    labels_of,
    port_document,
    whereabouts,
)
from podium.embedded.controllers.endpoint_slices import (
    MANAGED_BY,
    MANAGER,
    MIRROR_MANAGER,
    SERVICE_NAME,
    mirror_changes,
    slice_changes,
)
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself, selected_by
from podium.kube.resources import ENDPOINTS, ENDPOINTSLICES, PODS, SERVICES, Resource
from podium.kube.selectors import NOTHING as MATCHES_NOTHING
from podium.kube.selectors import LabelMatch, from_labels
from podium.kube.wire import Endpoints, Object, Pod, Service

ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"  # an old kind of lease, on an Endpoints object


def selector_of(obj: Object) -> LabelMatch:
    """A Service without a selector selects nothing: its endpoints are somebody else's."""
    assert isinstance(obj, Service)
    return from_labels(obj.spec.selector) if obj.spec.selector else MATCHES_NOTHING


class EndpointsController:
    name = "endpointslice"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {
            SERVICES: itself,
            PODS: selected_by(SERVICES, selector_of),
            ENDPOINTS: itself,
            ENDPOINTSLICES: _service_of_slice,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        service = cache.find(SERVICES, Service, key)
        present = cache.find(ENDPOINTS, Endpoints, key)
        mirror = tuple(_mirror(service, present, cache))
        if service is None:
            # The slice goes with its owner; the Endpoints object is of the same name and has none.
            if present is None or present.deleting or ENDPOINTS_MANAGED_BY not in present.labels:
                return Outcome(mirror)
            return Outcome((Delete(ENDPOINTS, *key, uid=present.uid),))
        if service.deleting:
            return NOTHING
        if not service.spec.selector:
            return Outcome(mirror)
        selected = cache.select(PODS, service.namespace, selector_of(service))
        pods = [pod for pod in selected if isinstance(pod, Pod) and has_address(pod)]
        groups = by_numbers(service, pods)
        return Outcome((*mirror, *slice_changes(service, groups, cache), *_endpoints(service, groups, present)))


def _service_of_slice(obj: Object, cache: Cache) -> Iterable[Key]:
    name = obj.labels.get(SERVICE_NAME)
    return ((obj.namespace, name),) if name and obj.labels.get(MANAGED_BY) in (MANAGER, MIRROR_MANAGER) else ()


def _mirror(service: Service | None, endpoints: Endpoints | None, cache: Cache) -> Iterable[Change]:
    """Slices for Endpoints that somebody made for a Service without a selector; none for any others."""
    if endpoints is None or endpoints.deleting:
        return ()
    by_hand = service is not None and not service.spec.selector
    skipped = endpoints.labels.get(SKIP_MIRROR) == "true" or LEADER in endpoints.annotations
    return mirror_changes(endpoints, cache, wanted=by_hand and not skipped)


def _endpoints(service: Service, groups: Groups, present: Endpoints | None) -> Iterable[Change]:
    """The older form of the same: addresses that are ready and those that are not, by ports."""
    content: Document = {"subsets": _subsets(service, groups) or None}
    labels = {**labels_of(service), ENDPOINTS_MANAGED_BY: "endpoint-controller"}
    if present is None:
        document = {
            "apiVersion": ENDPOINTS.api_version,
            "kind": ENDPOINTS.kind,
            "metadata": {"name": service.name, "namespace": service.namespace, "labels": labels},
            **{key: value for key, value in content.items() if value},
        }
        return (Create(ENDPOINTS, service.namespace, document),)
    patch = difference(present, labels, content)
    return (Patch(ENDPOINTS, present.namespace, present.name, patch, uid=present.uid),) if patch else ()


def _subsets(service: Service, groups: Groups) -> list[Document]:
    """Ports that the same pods have form a subset; a named port with two numbers is two ports."""
    if not service.spec.ports and not is_headless(service):
        return []
    together: dict[tuple[Numbers, ...], list[Document]] = {}
    for index, port in enumerate(service.spec.ports or ()):
        holders: dict[int | None, list[Numbers]] = {}
        for numbers in groups:
            holders.setdefault(numbers[index], []).append(numbers)
        for number, who in holders.items():
            if number is not None:
                document = {key: value for key, value in port_document(port, number).items() if value != ""}
                together.setdefault(tuple(who), []).append(document)
    if not service.spec.ports:
        together[tuple(groups)] = []  # a headless Service may lead to addresses alone
    found = [
        _subset(service, [pod for numbers in who for pod in groups[numbers]], documents)
        for who, documents in together.items()
    ]
    return [subset for subset in found if "addresses" in subset or "notReadyAddresses" in subset]


def _subset(service: Service, pods: list[Pod], ports: list[Document]) -> Document:
    ready: list[Document] = []
    waiting: list[Document] = []
    for pod in sorted(pods, key=lambda pod: (pod.status.pod_ip, pod.uid)):
        if is_ready(service, pod):
            ready.append(_address(service, pod))
        elif not pod.deleting:
            waiting.append(_address(service, pod))
    parts = {"addresses": ready, "notReadyAddresses": waiting, "ports": ports}
    return {name: part for name, part in parts.items() if part}


def _address(service: Service, pod: Pod) -> Document:
    return {"ip": pod.status.pod_ip, **whereabouts(service, pod)}
