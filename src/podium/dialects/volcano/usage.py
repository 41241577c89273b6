"""What pods take, in the words of quotas: the form in which Volcano writes a group's least resources.

A quota counts requests and limits apart and under prefixes, and CPU, memory and pods without one as well.
Extended resources are listed without a prefix, too: schedulers look for them there.  A sum is written as the first
of its parts was: two of `1G` are `2G`, two of `1Gi` are `2Gi`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from podium.kube.pod_resources import CPU, Amounts, pod_requests
from podium.kube.quantity import Quantity, QuantityError, exact_nanos, family_of, in_family
from podium.kube.wire import Container, PodSpec, Resources

_LIMITED = ("cpu", "memory", "ephemeral-storage")
_REQUESTS, _LIMITS = "requests.", "limits."
_DECIMAL = "decimal"
_NANO, _NANO_OF_MILLI = 10**9, 10**6


class Usage(msgspec.Struct):
    """Amounts by the names of quotas, CPU in thousandths, and how they were written."""

    amounts: Amounts = {}
    families: dict[str, str] = {}

    def add(self, more: Usage, times: int = 1) -> None:
        """Adds so many pods of one usage."""
        for name, amount in more.amounts.items() if times else ():
            self.amounts[name] = self.amounts.get(name, 0) + amount * times
            if name in more.families:
                self.families.setdefault(name, more.families[name])

    def quantities(self) -> dict[str, str]:
        """The resource list on the wire."""
        found = {}
        for name, amount in sorted(self.amounts.items()):
            plain = name.removeprefix(_REQUESTS).removeprefix(_LIMITS)
            nanos = amount * (_NANO_OF_MILLI if plain == CPU else _NANO)
            found[name] = in_family(nanos, self.families.get(name, _DECIMAL))
        return found


def pod_usage(spec: PodSpec) -> Usage:
    """One pod's usage.  Nothing but itself if it cannot be read."""
    usage = Usage({"pods": 1, "count/pods": 1})
    asked, limited = _asking(spec, with_requests=True), _asking(spec, with_requests=False)
    try:
        requests, limits = pod_requests(asked), pod_requests(limited)
        written, bounded = _families(asked), _families(limited)
    except QuantityError:
        return usage
    reported = [(prefix + name, name, requests, written) for name in requests for prefix in ("", _REQUESTS)]
    reported += [(_LIMITS + name, name, limits, bounded) for name in limits if name in _LIMITED]
    for called, name, amounts, families in reported:
        usage.amounts[called] = amounts[name]
        if name in families:
            usage.families[called] = families[name]
    return usage


def _families(spec: PodSpec) -> dict[str, str]:
    """How each resource was written first; nothing of it is written alike in all families."""
    found: dict[str, str] = {}
    for name, quantity in _quantities(spec):
        if exact_nanos(quantity):
            found.setdefault(name, family_of(quantity))
    return found


def _quantities(spec: PodSpec) -> Iterator[tuple[str, Quantity]]:
    whole = [spec.resources] if spec.resources is not None else []
    containers = [each.resources for each in (*spec.containers, *(spec.init_containers or ())) if each.resources]
    lists: list[Mapping[str, Quantity] | None] = [each.requests for each in (*whole, *containers)]
    for quantities in (*lists, spec.overhead):
        yield from (quantities or {}).items()


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
