"""All simulated kubelets together, as controllers: one for nodes, one for pods, and one for leases if wanted.

They run in a `kube.controller.Manager`, which has neither clock nor loop, so the same kubelets serve the embedded
server, a real one and virtual time.  There is no state per idle node and no timer but for what will happen by
itself: the end of a run, of a wait, of a deadline.

A pod is driven while its node exists, is ours and is Ready.  A silent node's pods stay as they are; when it comes
back, everything that should have happened meanwhile follows from their status and the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from podium.embedded.nodes.addresses import Ranges
from podium.embedded.nodes.containers import Clock
from podium.embedded.nodes.lifecycle import Place, Step, advance, has_begun, refused
from podium.embedded.nodes.node_admission import NodeAdmission, Refusal, Tenant
from podium.embedded.nodes.node_status import is_silent, node_changes, unless_foreign
from podium.embedded.nodes.work import SharedWork
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Controller, Note, Outcome
from podium.kube.events import WARNING
from podium.kube.resources import LEASES, NODES, PODS
from podium.kube.times import format_micro_time, parse_time
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Lease, Node, Object, Pod, condition

LEASE_NAMESPACE = "kube-node-lease"
_LEASE_SECONDS = 40
_RENEW_SECONDS = 10.0

Drives = Callable[[Node], bool]


def simulated_kubelets(
    *,
    drives: Drives = unless_foreign,
    start_seconds: float = 0.0,
    events: bool = True,
    heartbeat: bool = False,
) -> tuple[Controller, ...]:
    """The controllers that play the kubelets of all nodes that `drives` accepts.

    `start_seconds` is how long pods take to start.  `heartbeat` renews a Lease for each node, without which the
    node controller of a real cluster takes the nodes for dead.
    """
    found: list[Controller] = [NodeKubelet(drives), PodKubelet(drives, start_seconds, events), SharedWork()]
    if heartbeat:
        found.append(Heartbeat(drives))
    return tuple(found)


class NodeKubelet:
    """Keeps the Node objects: registration, health, and what the annotation podium.dev/fail asks for."""

    name = "kubelet-nodes"

    def __init__(self, drives: Drives = unless_foreign) -> None:
        self.watches = {NODES: _own_key}
        self._drives = drives
        self._ranges = Ranges()
        self._ranges_read = False

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        node = cache.find(NODES, Node, key)
        if node is None:
            self._ranges.release(key[1])
            return NOTHING
        if not self._drives(node) or node.deleting:
            return NOTHING
        return Outcome(node_changes(node, self._range(node, cache), now))

    def _range(self, node: Node, cache: Cache) -> str:
        """The node's pod range: its own, or a free one.  What is free shows only when all nodes were seen."""
        if node.spec.pod_cidr:
            self._ranges.note(node.name, node.spec.pod_cidr)
            return node.spec.pod_cidr
        if not self._ranges_read:
            self._ranges_read = True
            for each in cache.all(NODES):
                if isinstance(each, Node) and each.spec.pod_cidr:
                    self._ranges.note(each.name, each.spec.pod_cidr)
        return self._ranges.take(node.name)


class PodKubelet:
    """Runs the pods: admits them, starts and ends their containers, and takes deleted ones out of the API."""

    name = "kubelet-pods"
    component = "kubelet"

    def __init__(self, drives: Drives = unless_foreign, start_seconds: float = 0.0, events: bool = True) -> None:
        self.watches = {PODS: _bound_pod, NODES: _pods_of_node}
        self._drives = drives
        self._start_seconds = start_seconds
        self._tells = events
        self._admission = NodeAdmission()

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        pod = cache.find(PODS, Pod, key)
        if pod is None or not pod.spec.node_name:
            self._admission.leave(key)
            return NOTHING
        if pod.finished:
            self._admission.leave(key)
        node = cache.find(NODES, Node, ("", pod.spec.node_name))
        if node is None or not self._drives(node) or not _is_up(node):
            return NOTHING
        tenant = self._tenant(pod, node, cache)
        if isinstance(tenant, Refusal):
            status = refused(tenant.reason, tenant.message, now)
            note = Note(PODS, pod, tenant.reason, tenant.message, WARNING)
            return Outcome((_status_patch(pod, status),), notes=(note,) if self._tells else ())
        host_ip = _host_ip(node)
        place = Place((tenant.ip if tenant else pod.status.pod_ip) or host_ip, host_ip)
        step = advance(pod, place, Clock(now, tenant.exact if tenant else 0.0), self._start_seconds)
        if tenant is not None and step.begins:
            tenant.exact = now
        return Outcome(_changes(pod, step), step.again_at, _notes(pod, step) if self._tells else ())

    def _tenant(self, pod: Pod, node: Node, cache: Cache) -> Tenant | Refusal | None:
        """The pod's entry on its node.  None where none is needed: it has its address, or will get none."""
        found = self._admission.tenant(key_of(pod), pod.uid)
        if found is not None or pod.finished:
            return found
        if has_begun(pod):
            return None if pod.status.pod_ip else self._admission.readmit(pod, node, cache)
        return None if pod.deleting else self._admission.admit(pod, node, cache)


class Heartbeat:
    """Renews the Lease of every node that is up."""

    name = "kubelet-leases"

    def __init__(self, drives: Drives = unless_foreign) -> None:
        self.watches = {NODES: _own_key, LEASES: _leased_node}
        self._drives = drives

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        node = cache.find(NODES, Node, key)
        if node is None or not self._drives(node) or is_silent(node) or node.deleting:
            return NOTHING
        lease = cache.find(LEASES, Lease, (LEASE_NAMESPACE, node.name))
        renewal = {"renewTime": format_micro_time(now)}
        if lease is None:
            spec = {"holderIdentity": node.name, "leaseDurationSeconds": _LEASE_SECONDS, **renewal}
            owner = owner_reference(node, NODES, controller=False, block=False)
            document = {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
                "spec": spec,
            }
            return Outcome((Create(LEASES, LEASE_NAMESPACE, document),), now + _RENEW_SECONDS)
        due = parse_time(lease.spec.renew_time) + _RENEW_SECONDS
        if due > now:
            return Outcome(again_at=due)
        patch = Patch(LEASES, LEASE_NAMESPACE, node.name, {"spec": renewal}, uid=lease.uid)
        return Outcome((patch,), now + _RENEW_SECONDS)


def _changes(pod: Pod, step: Step) -> tuple[Change, ...]:
    changes: list[Change] = []
    if step.status is not None:
        changes.append(_status_patch(pod, step.status))
    if step.remove:
        changes.append(Delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace=0))
    return tuple(changes)


def _notes(pod: Pod, step: Step) -> tuple[Note, ...]:
    started = (Note(PODS, pod, "Started", f"Started container {name}") for name in step.started)
    held_back = (
        Note(PODS, pod, "BackOff", f"Back-off restarting failed container {name} in pod {pod.name}", WARNING)
        for name in step.held_back
    )
    return (*started, *held_back)


def _status_patch(pod: Pod, status: dict[str, object]) -> Patch:
    return Patch(PODS, pod.namespace, pod.name, {"status": status}, "status", STRATEGIC_PATCH, uid=pod.uid)


def _is_up(node: Node) -> bool:
    """Its kubelet speaks, and has registered: before, the node has neither addresses nor resources."""
    ready = condition(node.status.conditions, "Ready")
    return not is_silent(node) and ready is not None and ready.status == "True"


def _host_ip(node: Node) -> str:
    for address in node.status.addresses or ():
        if address.type == "InternalIP":
            return address.address
    return ""


def _own_key(obj: Object, cache: Cache) -> Iterable[Key]:
    return (key_of(obj),)


def _leased_node(obj: Object, cache: Cache) -> Iterable[Key]:
    return (("", obj.name),) if obj.namespace == LEASE_NAMESPACE else ()


def _bound_pod(obj: Object, cache: Cache) -> Iterable[Key]:
    return (key_of(obj),) if isinstance(obj, Pod) and obj.spec.node_name else ()


def _pods_of_node(obj: Object, cache: Cache) -> Iterable[Key]:
    return [key_of(pod) for pod in cache.pods_on(obj.name)]
