"""Where a Service leads to: EndpointSlices and an Endpoints object for every Service with a selector.

The Endpoints of a Service without one are made by hand; slices that say the same are made from them.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.embedded.controllers.endpoint_parts import (
    difference,
    has_address,
    is_headless,
    is_ready,
    labels_of,
    ports_of,
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
        return Outcome((*mirror, *slice_changes(service, pods, cache), *_endpoints(service, pods, present)))


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


def _endpoints(service: Service, pods: list[Pod], present: Endpoints | None) -> Iterable[Change]:
    """The older form of the same: addresses that are ready and those that are not, by ports."""
    content: Document = {"subsets": _subsets(service, pods) or None}
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


def _subsets(service: Service, pods: list[Pod]) -> list[Document]:
    """Ports that the same pods have form a subset; a named port with two numbers is two ports."""
    offered: dict[tuple[object, ...], Document] = {}
    offering: dict[tuple[object, ...], list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.status.pod_ip, pod.uid)):
        if pod.deleting and not service.spec.publish_not_ready_addresses:
            continue
        ports = ports_of(service, pod)
        # Only a headless Service may have no ports at all: then it leads to addresses alone.
        for port in ports or ([{}] if is_headless(service) and not service.spec.ports else []):
            key = tuple(port.values())
            offered[key] = {name: value for name, value in port.items() if value != ""}
            offering.setdefault(key, []).append(pod)
    together: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    for key, those in offering.items():
        together.setdefault(tuple(pod.uid for pod in those), []).append(key)
    return [
        _subset(service, offering[keys[0]], [offered[key] for key in keys if offered[key]])
        for keys in together.values()
    ]


def _subset(service: Service, pods: list[Pod], ports: list[Document]) -> Document:
    ready = [_address(service, pod) for pod in pods if is_ready(service, pod)]
    waiting = [_address(service, pod) for pod in pods if not is_ready(service, pod)]
    parts = {"addresses": ready, "notReadyAddresses": waiting, "ports": ports}
    return {name: part for name, part in parts.items() if part}


def _address(service: Service, pod: Pod) -> Document:
    return {"ip": pod.status.pod_ip, **whereabouts(service, pod)}
