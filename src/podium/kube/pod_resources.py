"""How much of a node a pod takes: its effective requests as integers.

CPU counts in thousandths, everything else in whole units.  Init containers run before the others, so the pod needs
the larger of both; restartable init containers (sidecars) stay, so they count with everything started after them.
Requests of the pod as a whole, where given, replace what its containers add up to; the runtime's overhead comes
on top.

While a pod is being resized in place it holds the largest of what its spec asks for, what its node has granted and
what its containers still have.  A resize that the node has called infeasible asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podium.kube.quantity import Quantity, parse_milli, parse_units
from podium.kube.wire import Container, ContainerStatus, PodSpec, PodStatus, Resources, condition

Amounts = dict[str, int]

CPU = "cpu"
PODS = "pods"


def amounts(quantities: Mapping[str, Quantity] | None) -> Amounts:
    """A resource list (requests, capacity, allocatable) as integers."""
    return {
        name: parse_milli(quantity) if name == CPU else parse_units(quantity)
        for name, quantity in (quantities or {}).items()
    }


def pod_requests(spec: PodSpec, status: PodStatus | None = None) -> Amounts:
    """What a node must have free for this pod, without the pod's own slot (`pods`).

    With a status it is what the pod takes of the node that it is on.
    """
    granted = _granted(status) if status is not None else {}
    infeasible = bool(granted) and status is not None and _infeasible(status)

    def of(container: Container) -> Amounts:
        needed = _requests(container.resources)
        seen = granted.get(container.name)
        return needed if seen is None else _held(needed, seen.resources, seen.allocated_resources, infeasible)

    total: Amounts = {}
    for container in spec.containers:
        _add(total, of(container))
    if spec.init_containers:
        total = _with_init_containers(total, spec.init_containers, of)
    if spec.resources is not None and spec.resources.requests:
        whole = amounts(spec.resources.requests)
        if status is not None and status.resources is not None:
            whole = _held(whole, status.resources, status.allocated_resources, _infeasible(status))
        total.update(whole)
    if spec.overhead:
        _add(total, amounts(spec.overhead))
    return total


def _granted(status: PodStatus) -> dict[str, ContainerStatus]:
    """The containers whose node has reported what they have."""
    both = (status.container_statuses, status.init_container_statuses)
    return {each.name: each for some in both for each in some or () if each.resources is not None}


def _infeasible(status: PodStatus) -> bool:
    pending = condition(status.conditions, "PodResizePending")
    return pending is not None and pending.reason == "Infeasible"


def _held(
    asked: Amounts, actual: Resources | None, allocated: Mapping[str, Quantity] | None, infeasible: bool
) -> Amounts:
    held = _requests(actual)
    _raise_to(held, amounts(allocated))
    if not infeasible:
        _raise_to(held, asked)
    return held


def _with_init_containers(
    total: Amounts, containers: list[Container], requests: Callable[[Container], Amounts]
) -> Amounts:
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in containers:
        if container.restart_policy == "Always":
            _add(sidecars, requests(container))
            needed = sidecars
        else:
            # It has run before the node could be asked for more.
            needed = _requests(container.resources)
            _add(needed, sidecars)
        _raise_to(peak, needed)
    _add(total, sidecars)
    _raise_to(total, peak)
    return total


def _requests(resources: Resources | None) -> Amounts:
    return amounts(resources.requests) if resources is not None else {}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if amount > total.get(name, 0):
            total[name] = amount
