"""How much of a node a pod takes: its effective requests as integers.

CPU counts in thousandths, everything else in whole units.  Init containers run before the others, so the pod needs
the larger of both; restartable init containers (sidecars) stay, so they count with everything started after them.
Requests of the pod as a whole, where given, replace what its containers add up to; the runtime's overhead comes
on top.
"""

from __future__ import annotations

from collections.abc import Mapping

from podium.kube.quantity import Quantity, parse_milli, parse_units
from podium.kube.wire import Container, PodSpec

Amounts = dict[str, int]

CPU = "cpu"
PODS = "pods"


def amounts(quantities: Mapping[str, Quantity] | None) -> Amounts:
    """A resource list (requests, capacity, allocatable) as integers."""
    return {
        name: parse_milli(quantity) if name == CPU else parse_units(quantity)
        for name, quantity in (quantities or {}).items()
    }


def pod_requests(spec: PodSpec) -> Amounts:
    """What a node must have free for this pod, without the pod's own slot (`pods`)."""
    total: Amounts = {}
    for container in spec.containers:
        _add(total, _requests(container))
    if spec.init_containers:
        total = _with_init_containers(total, spec.init_containers)
    if spec.resources is not None and spec.resources.requests:
        total.update(amounts(spec.resources.requests))
    if spec.overhead:
        _add(total, amounts(spec.overhead))
    return total


def _with_init_containers(total: Amounts, containers: list[Container]) -> Amounts:
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in containers:
        needed = _requests(container)
        if container.restart_policy == "Always":
            _add(sidecars, needed)
            needed = dict(sidecars)
        else:
            _add(needed, sidecars)
        _raise_to(peak, needed)
    _add(total, sidecars)
    _raise_to(total, peak)
    return total


def _requests(container: Container) -> Amounts:
    return amounts(container.resources.requests) if container.resources is not None else {}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if amount > total.get(name, 0):
            total[name] = amount
