"""ReplicaSets: keep so many pods of one template, adopting what matches and replacing what is lost."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from podium.embedded.controllers.names import NamesIn, generated_names, sisters_seed
from podium.embedded.controllers.pods import (
    active,
    available_at,
    claim,
    refused_pod,
    rest_after,
    terminating,
    victims_first,
)
from podium.errors import ApiError
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Document
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.job_members import MOST_PODS_AT_ONCE, delete_pod
from podium.kube.mapping import controlled_or_selected_by, itself
from podium.kube.resources import PODS, REPLICASETS, Resource
from podium.kube.selectors import LabelMatch, from_selector
from podium.kube.wire import Object, Pod, ReplicaSet
from podium.kube.writing import count, pod_from_template, status_patch


def selector_of(obj: Object) -> LabelMatch:
    assert isinstance(obj, ReplicaSet)
    return from_selector(obj.spec.selector)


class ReplicaSetController:
    name = "replicaset"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {
            REPLICASETS: itself,
            PODS: controlled_or_selected_by(REPLICASETS, selector_of),
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        replicas = cache.find(REPLICASETS, ReplicaSet, key)
        if replicas is None:
            return NOTHING
        claimed = claim(cache, REPLICASETS, replicas, selector_of(replicas), PODS, Pod)
        if claimed.changes:
            return Outcome(claimed.changes)
        pods = [pod for pod in claimed.objects if active(pod)]
        ending = sum(terminating(pod) for pod in claimed.objects)
        status, again_at = _status(replicas, pods, ending, now)
        changes = status_patch(REPLICASETS, replicas, replicas.status, status)
        missing = replicas.spec.replicas - len(pods)
        if replicas.deleting or missing == 0:
            return Outcome(changes, again_at, rest=rest_after(len(pods)))
        if missing > 0:
            names = generated_names(
                f"{replicas.name}-",
                NamesIn(cache, PODS, replicas.namespace),
                sisters_seed(replicas.uid, (pod.uid for pod in claimed.objects)),
            )
            fresh = list(islice(names, min(missing, MOST_PODS_AT_ONCE)))
            notes = [Note(REPLICASETS, replicas, "SuccessfulCreate", f"Created pod: {name}") for name in fresh]
            creates = [Create(PODS, replicas.namespace, _pod(replicas, name)) for name in fresh]
            return Outcome((*changes, *creates), again_at, tuple(notes))
        sisters = _sisters_by_node(replicas, cache)
        victims = victims_first(pods, lambda pod: sisters[pod.spec.node_name])[:-missing][:MOST_PODS_AT_ONCE]
        notes = [Note(REPLICASETS, replicas, "SuccessfulDelete", f"Deleted pod: {pod.name}") for pod in victims]
        deletes = [delete_pod(pod) for pod in victims]
        return Outcome((*changes, *deletes), again_at, tuple(notes))

    def refused(self, key: Key, change: Change, error: ApiError, cache: Cache) -> Note | None:
        return refused_pod(REPLICASETS, cache.find(REPLICASETS, ReplicaSet, key), change, error)


def _status(replicas: ReplicaSet, pods: list[Pod], ending: int, now: float) -> tuple[Document, float | None]:
    """The status, and when the next ready pod becomes available by age alone."""
    ready = [pod for pod in pods if pod.ready]
    ages = [at for pod in ready if (at := available_at(pod, replicas.spec.min_ready_seconds)) is not None]
    labels = _template_labels(replicas)
    status: Document = {
        "replicas": len(pods),
        "fullyLabeledReplicas": count(sum(labels.items() <= pod.labels.items() for pod in pods)),
        "readyReplicas": count(len(ready)),
        "availableReplicas": count(sum(at <= now for at in ages)),
        "terminatingReplicas": ending,
        "observedGeneration": count(replicas.metadata.generation),
    }
    return status, min((at for at in ages if at > now), default=None)


def _template_labels(replicas: ReplicaSet) -> dict[str, str]:
    document = pod_from_template(bytes(replicas.spec.template), "", "", {})
    labels: dict[str, str] = document["metadata"]["labels"]
    return labels


def _sisters_by_node(replicas: ReplicaSet, cache: Cache) -> Counter[str]:
    """How many running pods each node has of this ReplicaSet and of its sisters under the same Deployment."""
    owner = replicas.metadata.controller
    family = [replicas.uid]
    if owner is not None:
        family = [sister.uid for _, sister in cache.owned_by(owner.uid, REPLICASETS)]
    return Counter(
        pod.spec.node_name
        for uid in family
        for _, pod in cache.owned_by(uid, PODS)
        if isinstance(pod, Pod) and active(pod) and pod.spec.node_name
    )


def _pod(replicas: ReplicaSet, name: str) -> Document:
    owner = owner_reference(replicas, REPLICASETS)
    template = bytes(replicas.spec.template)
    return pod_from_template(template, replicas.namespace, name, owner, f"{replicas.name}-")
