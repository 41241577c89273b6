"""Priority classes, disruption budgets and quotas in the core's words."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from podium.core.model.constraints import PodSelection
from podium.core.model.model import Budget, Quota
from podium.dialects.kubernetes.constraints import UnreadableError, selection_of
from podium.dialects.kubernetes.quantities import read_amounts
from podium.kube.wire import PodDisruptionBudget, PriorityClass, ResourceQuota


class Priorities:
    """The numbers of the priority classes."""

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._values: dict[str, int] = {}
        defaults: list[int] = []
        for each in classes:
            self._values[each.name] = each.value
            if each.global_default:
                defaults.append(each.value)
        self._default = min(defaults, default=0)  # of several defaults a server takes the lowest

    def value(self, name: str) -> int:
        """The number of a class; that of the default one for an empty name or one that does not exist."""
        return self._values.get(name, self._default)


def object_id(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def read_budget(budget: PodDisruptionBudget) -> Budget:
    """How many pods may be disturbed now.  One that cannot be read allows it for nobody in its namespace."""
    namespaces = (budget.namespace,)
    try:
        labels = selection_of(budget.spec.selector, "spec.selector")
    except UnreadableError:
        return Budget(object_id(budget.namespace, budget.name), PodSelection(namespaces, ()), 0)
    selection = PodSelection(namespaces, labels)
    allowed = max(0, budget.status.disruptions_allowed)
    return Budget(object_id(budget.namespace, budget.name), selection, allowed)


def namespace_weights(quotas: Iterable[Quota], names: Collection[str]) -> dict[str, int]:
    """The weights of namespaces whose quotas name one, under any of these names; of several the largest counts."""
    weights: dict[str, int] = {}
    for quota in quotas:
        for name in names:
            if name in quota.hard:
                weights[quota.namespace] = max(weights.get(quota.namespace, 1), quota.hard[name])
    return weights


def read_quota(quota: ResourceQuota) -> Quota:
    """What a namespace may hold and holds.  The spec's limits count even before a controller has taken them in."""
    hard, _ = read_amounts(quota.spec.hard or quota.status.hard, "spec.hard")
    used, _ = read_amounts(quota.status.used, "status.used")
    return Quota(object_id(quota.namespace, quota.name), quota.namespace, hard, used)
