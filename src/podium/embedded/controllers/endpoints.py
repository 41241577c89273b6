"""Where a Service leads to: an EndpointSlice and an Endpoints object for every Service with a selector."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.embedded.controllers.names import NamesIn, generated_names
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself, selected_by
from podium.kube.resources import ENDPOINTS, ENDPOINTSLICES, PODS, SERVICES, Resource
from podium.kube.selectors import NOTHING as MATCHES_NOTHING
from podium.kube.selectors import LabelMatch, from_labels
from podium.kube.wire import Endpoints, EndpointSlice, Object, Pod, Service, ServicePort

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"

# A pod that has ended keeps its address in its status, but nothing answers there.
_ADDRESSED_PHASES = ("Pending", "Running")


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
        if service is None:
            # The slice goes with its owner; the Endpoints object is of the same name and has none.
            orphan = cache.find(ENDPOINTS, Endpoints, key)
            if orphan is None or orphan.deleting or ENDPOINTS_MANAGED_BY not in orphan.labels:
                return NOTHING
            return Outcome((Delete(ENDPOINTS, *key, uid=orphan.uid),))
        if service.deleting or not service.spec.selector:
            return NOTHING
        selected = cache.select(PODS, service.namespace, selector_of(service))
        pods = [pod for pod in selected if isinstance(pod, Pod) and _has_address(pod)]
        return Outcome((*_slice(service, pods, cache), *_endpoints(service, pods, cache)))


def _service_of_slice(obj: Object, cache: Cache) -> Iterable[Key]:
    name = obj.labels.get(SERVICE_NAME)
    return ((obj.namespace, name),) if name and obj.labels.get(MANAGED_BY) == MANAGER else ()


def _has_address(pod: Pod) -> bool:
    return bool(pod.status.pod_ip) and pod.status.phase in _ADDRESSED_PHASES


def _is_ready(service: Service, pod: Pod) -> bool:
    return service.spec.publish_not_ready_addresses or (pod.ready and not pod.deleting)


def _labels(service: Service) -> dict[str, str]:
    headless = {HEADLESS: ""} if service.spec.cluster_ip == "None" else {}
    return {**service.labels, **headless}


# --- ports -------------------------------------------------------------------------------------------------


def _port_number(port: ServicePort, pod: Pod | None) -> int | None:
    """The number behind a port of the Service; a name is looked up in the pod's containers."""
    target = port.target_port if port.target_port not in (None, 0, "") else port.port
    if isinstance(target, int):
        return target
    for container in pod.spec.containers if pod is not None else ():
        for each in container.ports or ():
            if each.name == target and each.protocol == port.protocol:
                return each.container_port
    return None


def _ports(service: Service, pod: Pod | None) -> list[Document]:
    found: list[Document] = []
    for port in service.spec.ports or ():
        number = _port_number(port, pod)
        if number is not None:
            document: Document = {"name": port.name, "port": number, "protocol": port.protocol}
            if port.app_protocol is not None:
                document["appProtocol"] = port.app_protocol
            found.append(document)
    return found


# --- the two objects ---------------------------------------------------------------------------------------


def _reference(pod: Pod) -> Document:
    return {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _slice(service: Service, pods: list[Pod], cache: Cache) -> Iterable[Change]:
    """One slice for the Service, `<service>-` and five letters as users know it.

    Pods of one Service are taken to be alike, so the first tells the numbers of named ports.
    """
    endpoints: list[Document] = []
    for pod in pods:
        endpoint: Document = {
            "addresses": [pod.status.pod_ip],
            "conditions": {
                "ready": _is_ready(service, pod),
                "serving": pod.ready,
                "terminating": pod.deleting,
            },
            "targetRef": _reference(pod),
        }
        if pod.spec.node_name:
            endpoint["nodeName"] = pod.spec.node_name
        if pod.spec.hostname and pod.spec.subdomain == service.name:
            endpoint["hostname"] = pod.spec.hostname
        endpoints.append(endpoint)
    content: Document = {"endpoints": endpoints, "ports": _ports(service, pods[0] if pods else None)}
    present = _present_slice(service, cache)
    labels = {**_labels(service), SERVICE_NAME: service.name, MANAGED_BY: MANAGER}
    if present is None:
        name = next(
            generated_names(f"{service.name}-", NamesIn(cache, ENDPOINTSLICES, service.namespace), service.uid)
        )
        document = {
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
        return (Create(ENDPOINTSLICES, service.namespace, document),)
    patch = _difference(present, labels, content)
    if not patch:
        return ()
    return (Patch(ENDPOINTSLICES, present.namespace, present.name, patch, uid=present.uid),)


def _present_slice(service: Service, cache: Cache) -> EndpointSlice | None:
    for _, each in cache.owned_by(service.uid, ENDPOINTSLICES):
        if isinstance(each, EndpointSlice) and each.labels.get(MANAGED_BY) == MANAGER and not each.deleting:
            return each
    return None


def _endpoints(service: Service, pods: list[Pod], cache: Cache) -> Iterable[Change]:
    """The older form of the same: addresses that are ready and those that are not, by ports."""
    ready = [_address(service, pod) for pod in pods if _is_ready(service, pod)]
    waiting = [_address(service, pod) for pod in pods if not _is_ready(service, pod) and not pod.deleting]
    subset: Document = {}
    if ready:
        subset["addresses"] = ready
    if waiting:
        subset["notReadyAddresses"] = waiting
    if subset and (ports := _ports(service, pods[0])):
        subset["ports"] = [{key: value for key, value in port.items() if value != ""} for port in ports]
    content: Document = {"subsets": [subset] if subset else None}
    labels = {**_labels(service), ENDPOINTS_MANAGED_BY: "endpoint-controller"}
    present = cache.find(ENDPOINTS, Endpoints, (service.namespace, service.name))
    if present is None:
        document = {
            "apiVersion": ENDPOINTS.api_version,
            "kind": ENDPOINTS.kind,
            "metadata": {"name": service.name, "namespace": service.namespace, "labels": labels},
            **{key: value for key, value in content.items() if value},
        }
        return (Create(ENDPOINTS, service.namespace, document),)
    patch = _difference(present, labels, content)
    return (Patch(ENDPOINTS, present.namespace, present.name, patch, uid=present.uid),) if patch else ()


def _address(service: Service, pod: Pod) -> Document:
    address: Document = {"ip": pod.status.pod_ip, "targetRef": _reference(pod)}
    if pod.spec.node_name:
        address["nodeName"] = pod.spec.node_name
    if pod.spec.hostname and pod.spec.subdomain == service.name:
        address["hostname"] = pod.spec.hostname
    return address


def _difference(present: Object, labels: dict[str, str], content: Document) -> Document:
    """The merge patch that brings an object's labels and content up to date; empty when they are."""
    shown = msgspec.to_builtins(present)
    patch: Document = {key: value for key, value in content.items() if (shown.get(key) or None) != (value or None)}
    missing = {key: value for key, value in labels.items() if present.labels.get(key) != value}
    if missing:
        patch["metadata"] = {"labels": missing}
    return patch
