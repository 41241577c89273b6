"""What an Endpoints object and the EndpointSlices of a Service have in common: addresses, ports, labels."""

from __future__ import annotations

import msgspec

from podium.kube.changes import Document
from podium.kube.wire import Object, Pod, Service, ServicePort

HEADLESS = "service.kubernetes.io/headless"

Numbers = tuple[int | None, ...]  # of the ports of a Service, in their order; None where a pod lacks the name
Groups = dict[Numbers, list[Pod]]

# A pod that has ended keeps its address in its status, but nothing answers there.
_ADDRESSED_PHASES = ("Pending", "Running")


def has_address(pod: Pod) -> bool:
    return bool(pod.status.pod_ip) and pod.status.phase in _ADDRESSED_PHASES


def is_ready(service: Service, pod: Pod) -> bool:
    return service.spec.publish_not_ready_addresses or (pod.ready and not pod.deleting)


def is_headless(service: Service) -> bool:
    return service.spec.cluster_ip == "None"


def labels_of(service: Service) -> dict[str, str]:
    return {**service.labels, HEADLESS: ""} if is_headless(service) else dict(service.labels)


def by_numbers(service: Service, pods: list[Pod]) -> Groups:
    """Pods by the numbers that the Service's ports have in them: only a named port has more than one."""
    ports = service.spec.ports or ()
    if not any(isinstance(_target(port), str) for port in ports):
        return {tuple(_number(port, None) for port in ports): pods} if pods else {}
    found: Groups = {}
    for pod in pods:
        found.setdefault(tuple(_number(port, pod) for port in ports), []).append(pod)
    return found


def _target(port: ServicePort) -> int | str:
    return port.target_port if port.target_port not in (None, 0, "") else port.port


def _number(port: ServicePort, pod: Pod | None) -> int | None:
    """The number behind a port of the Service; a name is looked up in the pod's containers."""
    target = _target(port)
    if isinstance(target, int):
        return target
    for container in pod.spec.containers if pod is not None else ():
        for each in container.ports or ():
            if each.name == target and each.protocol == port.protocol:
                return each.container_port
    return None


def port_document(port: ServicePort, number: int) -> Document:
    document: Document = {"name": port.name, "port": number, "protocol": port.protocol}
    return document if port.app_protocol is None else {**document, "appProtocol": port.app_protocol}


def whereabouts(service: Service, pod: Pod) -> Document:
    """The part that an endpoint has in either form: the pod, its node, and its name within the Service."""
    target = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    found: Document = {"targetRef": target}
    if pod.spec.node_name:
        found["nodeName"] = pod.spec.node_name
    if pod.spec.hostname and pod.spec.subdomain == service.name:
        found["hostname"] = pod.spec.hostname
    return found


def difference(present: Object, labels: dict[str, str], content: Document) -> Document:
    """The merge patch that brings an object's labels and content up to date; empty when they are."""
    shown = msgspec.to_builtins(present)
    patch: Document = {key: value for key, value in content.items() if (shown.get(key) or None) != (value or None)}
    missing = {key: value for key, value in labels.items() if present.labels.get(key) != value}
    if missing:
        patch["metadata"] = {"labels": missing}
    return patch
