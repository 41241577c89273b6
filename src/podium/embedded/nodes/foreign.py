"""Nodes whose kubelet is somebody else's: they are taken for lost when it has been silent for too long.

A sign of life is a renewed Lease or a new heartbeat in the Ready condition.  What counts is when it was seen here:
the clock of the one who wrote it may be wrong.  The simulated kubelets are in this process and need no watching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from podium.embedded.nodes.conditions import Wanted, condition_patches
from podium.embedded.nodes.kubelets import LEASE_NAMESPACE
from podium.embedded.nodes.shapes import HEALTHY
from podium.kube.cache import Cache, Key
from podium.kube.changes import Patch
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import LEASES, NODES, Resource
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Lease, Node, Object, condition

# What a real node controller grants.
GRACE_SECONDS = 50.0

_LOST = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
_NEVER_SEEN = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")


class _Heard(msgspec.Struct, frozen=True):
    """The last sign of life of a node, and when it was seen."""

    sign: tuple[object, ...]
    at: float


class ForeignNodes:
    """Keyed by node.  `drives` are the nodes of our own kubelets."""

    name = "foreign-nodes"

    def __init__(self, drives: Callable[[Node], bool]) -> None:
        self.watches: dict[Resource, Mapper] = {NODES: itself, LEASES: _node_of_lease}
        self._drives = drives
        self._heard: dict[str, _Heard] = {}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        node = cache.find(NODES, Node, key)
        if node is None or node.deleting or self._drives(node):
            self._heard.pop(key[1], None)
            return NOTHING
        sign = _sign(node, cache)
        heard = self._heard.get(node.name)
        if heard is None or heard.sign != sign:
            heard = self._heard[node.name] = _Heard(sign, now)
        due = heard.at + GRACE_SECONDS
        if now < due:
            return Outcome(again_at=due)
        patches = condition_patches(node.status.conditions, _unknown(node), now)
        if not patches:
            return NOTHING
        status = {"status": {"conditions": patches}}
        return Outcome((Patch(NODES, "", node.name, status, "status", STRATEGIC_PATCH, uid=node.uid),))


def _sign(node: Node, cache: Cache) -> tuple[object, ...]:
    lease = cache.find(LEASES, Lease, (LEASE_NAMESPACE, node.name))
    ready = condition(node.status.conditions, "Ready")
    # A condition that was written here, because there was none, is no sign.
    seen = None if ready is None or ready.reason == _NEVER_SEEN[0] else (ready.last_heartbeat_time,)
    return lease.spec.renew_time if lease is not None else None, seen


def _unknown(node: Node) -> Iterable[Wanted]:
    for kind, *_ in HEALTHY:
        old = condition(node.status.conditions, kind)
        if old is None or old.status != "Unknown":
            yield Wanted(kind, "Unknown", *(_NEVER_SEEN if old is None else _LOST))


def _node_of_lease(obj: Object, cache: Cache) -> Iterable[Key]:
    return (("", obj.name),) if obj.namespace == LEASE_NAMESPACE else ()
