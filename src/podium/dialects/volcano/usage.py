"""What pods take, in the words of quotas: the form in which Volcano writes a group's least resources.

A quota counts requests and limits apart and under prefixes, and CPU, memory and pods without one as well.
Extended resources are listed without a prefix, too: schedulers look for them there.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.dialects.kubernetes.quantities import format_amount
from podium.kube.pod_resources import Amounts, pod_requests
from podium.kube.quantity import QuantityError
from podium.kube.wire import Container, PodSpec, Resources

_LIMITED = ("cpu", "memory", "ephemeral-storage")
_REQUESTS, _LIMITS = "requests.", "limits."


def pod_usage(spec: PodSpec) -> Amounts:
    """One pod's usage by the names of quotas; CPU in thousandths.  Nothing but itself if it cannot be read."""
    usage = {"pods": 1, "count/pods": 1}
    try:
        requests = pod_requests(_asking(spec, with_requests=True))
        limits = pod_requests(_asking(spec, with_requests=False))
    except QuantityError:
        return usage
    for name, amount in requests.items():
        usage[name] = usage[_REQUESTS + name] = amount
    usage.update({_LIMITS + name: amount for name, amount in limits.items() if name in _LIMITED})
    return usage


def add_usage(total: Amounts, more: Mapping[str, int], times: int = 1) -> None:
    """Adds so many pods of one usage to a total."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount * times


def usage_quantities(usage: Mapping[str, int]) -> dict[str, str]:
    """A usage as a resource list on the wire."""
    found = {}
    for name, amount in sorted(usage.items()):
        plain = name.removeprefix(_REQUESTS).removeprefix(_LIMITS)
        found[name] = format_amount(plain, amount)
    return found


def _asking(spec: PodSpec, *, with_requests: bool) -> PodSpec:
    """The spec with what counts as requests: the limits, and over them the requests if these are what is wanted.

    A template has not been defaulted yet: a container that names a limit alone asks for as much.
    """

    def asking(resources: Resources | None) -> Resources | None:
        if resources is None:
            return None
        requests = resources.requests if with_requests else None
        return Resources(requests={**(resources.limits or {}), **(requests or {})})

    def each(containers: list[Container]) -> list[Container]:
        return [msgspec.structs.replace(one, resources=asking(one.resources)) for one in containers]

    return msgspec.structs.replace(
        spec,
        containers=each(spec.containers),
        init_containers=each(spec.init_containers) if spec.init_containers else None,
        resources=asking(spec.resources),
        overhead=spec.overhead if with_requests else None,
    )
