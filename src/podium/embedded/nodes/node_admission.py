"""Who lives on which node: the kubelets' own admission of pods.

A scheduler may be wrong, or two of them may each be right by half.  So a node looks for itself whether a pod that
is bound to it fits, and turns it away if not: a double booking shows as a Failed pod, never as a node with more on
it than it has.

What is remembered is what the API does not show yet: pods that were admitted a moment ago and whose status is
still on its way.  The rest is read from the observed pods when a node gets its first new pod.
"""

from __future__ import annotations

import msgspec

from podium.embedded.nodes.addresses import Lent
from podium.embedded.nodes.lifecycle import has_begun
from podium.kube.cache import Cache, Key, key_of
from podium.kube.pod_resources import PODS, Amounts, amounts, pod_requests
from podium.kube.selectors import matches_node_terms
from podium.kube.wire import Node, Pod

_FIRST_CHECKED = (PODS, "cpu", "memory", "ephemeral-storage")
_ANY_HOST = "0.0.0.0"

HostPort = tuple[str, str, int]  # address, protocol, port
_NO_PORTS: frozenset[HostPort] = frozenset()


class Refusal(msgspec.Struct, frozen=True):
    """Why a node will not run a pod: the reason and the sentence of the pod's status."""

    reason: str
    message: str


class Tenant(msgspec.Struct):
    """A pod that lives on a node."""

    uid: str
    node: str
    requests: Amounts
    ports: frozenset[HostPort]
    ip: str
    exact: float = 0.0  # when it began, with the fraction that the wire does not keep


class _Room(msgspec.Struct):
    """One node's tenants, added up."""

    used: Amounts
    ports: set[HostPort]
    lent: Lent
    tenants: set[Key]


class NodeAdmission:
    """All nodes' tenants."""

    def __init__(self) -> None:
        self._admission: dict[str, _Room] = {}
        self._tenants: dict[Key, Tenant] = {}

    def tenant(self, key: Key, uid: str) -> Tenant | None:
        """The pod's entry, if it was taken in since this process started."""
        found = self._tenants.get(key)
        if found is not None and found.uid != uid:
            self.leave(key)
            return None
        return found

    def admit(self, pod: Pod, node: Node, cache: Cache) -> Tenant | Refusal:
        """Takes a new pod in, or says why not."""
        room = self._open(node, cache)
        requests = pod_requests(pod.spec)
        ports = _host_ports(pod)
        refusal = _refusal(room, pod, node, requests, ports)
        if refusal is not None:
            # Whoever bound this pod may have seen the end of another before that one's turn came to leave.
            self._sweep(room, node, cache)
            room = self._open(node, cache)
            refusal = _refusal(room, pod, node, requests, ports)
        if refusal is not None:
            self._close_if_empty(node.name)
            return refusal
        return self._enter(room, pod, requests, ports, _address(room, pod, node))

    def readmit(self, pod: Pod, node: Node, cache: Cache) -> Tenant:
        """Takes in a pod that began before this process did: it is there, whether it fits or not."""
        room = self._open(node, cache)
        return self._tenants.get(key_of(pod)) or self._return(room, pod, node)

    def leave(self, key: Key) -> None:
        """The pod has finished or is gone.  Harmless if it was never here."""
        tenant = self._tenants.pop(key, None)
        if tenant is None:
            return
        room = self._admission[tenant.node]
        room.tenants.discard(key)
        for name, amount in tenant.requests.items():
            room.used[name] -= amount
        room.ports -= tenant.ports
        room.lent.free(tenant.ip)
        self._close_if_empty(tenant.node)

    def _enter(self, room: _Room, pod: Pod, requests: Amounts, ports: frozenset[HostPort], ip: str) -> Tenant:
        key = key_of(pod)
        self.leave(key)
        tenant = Tenant(uid=pod.uid, node=pod.spec.node_name, requests=requests, ports=ports, ip=ip)
        self._tenants[key] = tenant
        self._admission[tenant.node] = room  # it may just have been closed behind a predecessor of the same name
        room.tenants.add(key)
        for name, amount in requests.items():
            room.used[name] = room.used.get(name, 0) + amount
        room.ports |= ports
        return tenant

    def _open(self, node: Node, cache: Cache) -> _Room:
        """The node's room; the first time with the pods in it that began before this process did."""
        room = self._admission.get(node.name)
        if room is None:
            present = [pod for pod in cache.pods_on(node.name) if has_begun(pod) and not pod.finished]
            lent = Lent(pod.status.pod_ip for pod in present if pod.status.pod_ip)
            room = self._admission[node.name] = _Room(used={}, ports=set(), lent=lent, tenants=set())
            for pod in present:
                self._return(room, pod, node)
        return room

    def _return(self, room: _Room, pod: Pod, node: Node) -> Tenant:
        ip = pod.status.pod_ip or _address(room, pod, node)
        return self._enter(room, pod, pod_requests(pod.spec), _host_ports(pod), ip)

    def _sweep(self, room: _Room, node: Node, cache: Cache) -> None:
        """Sees off everybody who is known to have finished or gone."""
        alive = {key_of(pod): pod.uid for pod in cache.pods_on(node.name) if not pod.finished}
        for key in sorted(room.tenants):
            if alive.get(key) != self._tenants[key].uid:
                self.leave(key)

    def _close_if_empty(self, name: str) -> None:
        if not self._admission[name].tenants:
            del self._admission[name]


def _address(room: _Room, pod: Pod, node: Node) -> str:
    """An address for the pod; empty where it uses the node's."""
    return "" if pod.spec.host_network else room.lent.take(node.spec.pod_cidr)


def _refusal(room: _Room, pod: Pod, node: Node, requests: Amounts, ports: frozenset[HostPort]) -> Refusal | None:
    return _shortage(room, requests, node) or _mismatch(pod, node) or _port_clash(room, ports)


def _shortage(room: _Room, requests: Amounts, node: Node) -> Refusal | None:
    has = amounts(node.status.allocatable)
    needed = {PODS: 1, **{name: amount for name, amount in requests.items() if amount > 0}}
    for name in sorted(needed, key=lambda n: (_FIRST_CHECKED.index(n) if n in _FIRST_CHECKED else 9, n)):
        used = len(room.tenants) if name == PODS else room.used.get(name, 0)
        if used + needed[name] > has.get(name, 0):
            return Refusal(
                f"OutOf{name}",
                f"Pod was rejected: Node didn't have enough resource: {name}, requested: {needed[name]}, "
                f"used: {used}, capacity: {has.get(name, 0)}",
            )
    return None


def selects(pod: Pod, node: Node) -> bool:
    """Whether the pod's node selector and required node affinity accept the node."""
    if not all(node.labels.get(key) == value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    wanted = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return wanted is None or matches_node_terms(wanted.node_selector_terms, node.labels, node.name)


def _mismatch(pod: Pod, node: Node) -> Refusal | None:
    if selects(pod, node):
        return None
    return Refusal(
        "NodeAffinity",
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    )


def _host_ports(pod: Pod) -> frozenset[HostPort]:
    found = frozenset(
        (port.host_ip or _ANY_HOST, port.protocol, port.host_port)
        for container in pod.spec.containers
        for port in container.ports or ()
        if port.host_port
    )
    return found or _NO_PORTS  # one for the thousands that have none


def _port_clash(room: _Room, ports: frozenset[HostPort]) -> Refusal | None:
    for host, protocol, port in ports:
        for other_host, other_protocol, other_port in room.ports:
            same = (protocol, port) == (other_protocol, other_port)
            if same and (host == other_host or _ANY_HOST in (host, other_host)):
                return Refusal(
                    "NodePorts",
                    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the "
                    f"requested pod ports ({port}/{protocol})",
                )
    return None
