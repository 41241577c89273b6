"""PodDisruptionBudgets: how many of the selected pods are healthy, how many must be, how many may be evicted.

The eviction subresource spends the budget: it takes one from `disruptionsAllowed` and enters the pod in
`disruptedPods`.  Until the pod's deletion is seen, the entry keeps it from counting as healthy; an entry whose
pod is still there after two minutes was an eviction that came to nothing.
"""

from __future__ import annotations

from podium.embedded.controllers.amounts import scaled
from podium.kube.cache import Cache, Key
from podium.kube.changes import Document
from podium.kube.conditions import set_condition
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself, selected_by
from podium.kube.resources import (
    DEPLOYMENTS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Resource,
)
from podium.kube.selectors import LabelMatch, from_selector
from podium.kube.times import parse_time
from podium.kube.wire import (
    Deployment,
    Object,
    OwnerReference,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from podium.kube.writing import condition_documents, status_patch

EXPIRY = 120.0


def selector_of(obj: Object) -> LabelMatch:
    assert isinstance(obj, PodDisruptionBudget)
    return from_selector(obj.spec.selector)


class DisruptionController:
    name = "disruption"

    def __init__(self) -> None:
        covering = selected_by(PODDISRUPTIONBUDGETS, selector_of)
        self.watches: dict[Resource, Mapper] = {
            PODDISRUPTIONBUDGETS: itself,
            PODS: covering,
            # The wanted number of a controller is what percentages are taken of.
            REPLICASETS: _covering_pods_of,
            STATEFULSETS: _covering_pods_of,
            DEPLOYMENTS: _covering_all,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        budget = cache.find(PODDISRUPTIONBUDGETS, PodDisruptionBudget, key)
        if budget is None:
            return NOTHING
        selected = cache.select(PODS, budget.namespace, selector_of(budget))
        pods = [pod for pod in selected if isinstance(pod, Pod)]
        entries = {
            pod.name: at
            for pod in pods
            if not pod.deleting
            and (at := (budget.status.disrupted_pods or {}).get(pod.name))
            and parse_time(at) + EXPIRY > now
        }
        again_at = min((parse_time(at) + EXPIRY for at in entries.values()), default=None)
        try:
            expected, desired = _expectation(budget, pods, cache)
        except _NoControllerError as error:
            status = _failed(budget, str(error), now)
            return Outcome(status_patch(PODDISRUPTIONBUDGETS, budget, budget.status, status, exact=True), again_at)
        healthy = sum(pod.ready and not pod.deleting and pod.name not in entries for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        expired = dict.fromkeys(set(budget.status.disrupted_pods or ()) - set(entries))
        status = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
            "disruptedPods": {**entries, **expired} or None,
            "observedGeneration": budget.metadata.generation,
            "conditions": _conditions(budget, allowed > 0, "", now),
        }
        return Outcome(status_patch(PODDISRUPTIONBUDGETS, budget, budget.status, status, exact=True), again_at)


class _NoControllerError(Exception):
    """A share of an unknown whole: the pod's controller does not say how many it wants."""


def _expectation(budget: PodDisruptionBudget, pods: list[Pod], cache: Cache) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be healthy."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _wanted(pods, cache)
        return expected, max(0, expected - scaled(spec.max_unavailable, expected, round_up=True))
    if isinstance(spec.min_available, str):
        expected = _wanted(pods, cache)
        return expected, scaled(spec.min_available, expected, round_up=True)
    return len(pods), spec.min_available or 0


def _wanted(pods: list[Pod], cache: Cache) -> int:
    """The sum of what the pods' controllers want; pods without a controller do not count."""
    sizes: dict[str, int] = {}
    seen: set[str] = set()
    for pod in pods:
        reference = pod.metadata.controller
        if reference is None or reference.uid in seen:
            continue
        seen.add(reference.uid)
        found = _size(pod.namespace, reference, cache)
        if found is None:
            raise _NoControllerError(f'found no controllers for pod "{pod.name}"')
        sizes[found[0]] = found[1]
    return sum(sizes.values())


def _size(namespace: str, reference: OwnerReference, cache: Cache) -> tuple[str, int] | None:
    """The UID and the wanted size of the topmost controller that this reference leads to."""
    key = namespace, reference.name
    if reference.kind == STATEFULSETS.kind:
        stateful = cache.find(STATEFULSETS, StatefulSet, key)
        if stateful is not None and stateful.uid == reference.uid:
            return stateful.uid, stateful.spec.replicas
    if reference.kind == REPLICASETS.kind:
        replicas = cache.find(REPLICASETS, ReplicaSet, key)
        if replicas is not None and replicas.uid == reference.uid:
            above = replicas.metadata.controller
            if above is not None and above.kind == DEPLOYMENTS.kind:
                deployment = cache.find(DEPLOYMENTS, Deployment, (namespace, above.name))
                if deployment is not None and deployment.uid == above.uid:
                    return deployment.uid, deployment.spec.replicas
            return replicas.uid, replicas.spec.replicas
    return None


def _covering_pods_of(obj: Object, cache: Cache) -> list[Key]:
    """Budgets that cover the pods of a controller, found by one of them: they are alike."""
    for _, pod in cache.owned_by(obj.uid, PODS):
        return list(selected_by(PODDISRUPTIONBUDGETS, selector_of)(pod, cache))
    return []


def _covering_all(obj: Object, cache: Cache) -> list[Key]:
    found: list[Key] = []
    for _, replicas in cache.owned_by(obj.uid, REPLICASETS):
        found += _covering_pods_of(replicas, cache)
    return found


def _failed(budget: PodDisruptionBudget, message: str, now: float) -> Document:
    return {"disruptionsAllowed": 0, "conditions": _conditions(budget, False, message, now)}


def _conditions(budget: PodDisruptionBudget, allowed: bool, problem: str, now: float) -> list[Document]:
    reason = "SyncFailed" if problem else "SufficientPods" if allowed else "InsufficientPods"
    changed = set_condition(
        condition_documents(budget.status.conditions),
        "DisruptionAllowed",
        "True" if allowed else "False",
        reason,
        problem,
        now,
    )
    generation = budget.metadata.generation
    return [
        {"message": "", **each, "observedGeneration": generation} if each["type"] == "DisruptionAllowed" else each
        for each in changed
    ]
