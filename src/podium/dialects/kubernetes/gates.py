"""Scheduling gates that stand for a queue's quota.

Kubernetes takes a gate at a pod's creation only; later ones can be lifted but not added.  So a pod for which quota
shall be distinguished from a lack of nodes carries the gate from the start: its author wrote it, or admission did.
The scheduler lifts it when the queue has room for the pod (`core.gates`).  Until then the pod's reason is
SchedulingGated, which those who add nodes pass over; afterwards it is Unschedulable like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from podium.kube.admission import Hook, Surroundings
from podium.kube.resources import PODS

Document = dict[str, Any]

QUOTA_GATE = "podium.dev/quota"


def add_gate(pod: Document, name: str) -> None:
    """Puts a new pod behind a gate; one that has its node already is past all of them."""
    spec = pod["spec"]
    gates = spec.get("schedulingGates") or []
    if not spec.get("nodeName") and all(gate.get("name") != name for gate in gates):
        spec["schedulingGates"] = [*gates, {"name": name}]


def quota_gates(schedulers: Collection[str]) -> tuple[Hook, ...]:
    """Puts every new pod of these schedulers behind the gate: those whose profile says `quotaGate: true`."""
    if not schedulers:
        return ()
    named = ", ".join(f"'{name}'" for name in sorted(schedulers))
    (hook,) = current_quota_gates(lambda: schedulers)
    return (msgspec.structs.replace(hook, condition=f"object.spec.schedulerName in [{named}]"),)


def current_quota_gates(schedulers: Callable[[], Collection[str]]) -> tuple[Hook, ...]:
    """The same where the schedulers may change: they are asked for with each new pod."""

    def fill(pod: Document, old: Document | None, around: Surroundings) -> None:
        if old is None and pod["spec"].get("schedulerName", "default-scheduler") in schedulers():
            add_gate(pod, QUOTA_GATE)

    return (Hook(PODS, mutate=fill, new_only=True),)
