"""Deployments: one ReplicaSet for each version of the pod template, and rollouts from the old ones to the new.

A version's ReplicaSet is found by comparing templates, never by its name; a template that comes back (`kubectl
rollout undo`) finds its old ReplicaSet, which then gets the next revision number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podium.embedded.controllers.deployment_rollout import (
    DESIRED,
    MAXIMUM,
    Sizes,
    by_age,
    first_size,
    is_scaling,
    limits,
    rescale,
    roll,
)
from podium.embedded.controllers.deployment_status import is_complete, status_of
from podium.embedded.controllers.names import HASH_LABEL, LONGEST_NAME, template_hash, template_identity
from podium.embedded.controllers.pods import claim
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.mapping import controlled_or_selected_by, itself
from podium.kube.numbers import whole_number
from podium.kube.resources import DEPLOYMENTS, PODS, REPLICASETS, Resource
from podium.kube.selectors import LabelMatch, from_selector
from podium.kube.wire import Deployment, Object, Pod, ReplicaSet
from podium.kube.writing import status_patch

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
_LONGEST_HISTORY = 2000

# Annotations of the Deployment that say something about it alone and are not copied to its ReplicaSets.
_OWN_ANNOTATIONS = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
}


def selector_of(obj: Object) -> LabelMatch:
    assert isinstance(obj, Deployment)
    return from_selector(obj.spec.selector)


class DeploymentController:
    name = "deployment"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {
            DEPLOYMENTS: itself,
            REPLICASETS: controlled_or_selected_by(DEPLOYMENTS, selector_of),
            PODS: _recreated,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        deployment = cache.find(DEPLOYMENTS, Deployment, key)
        if deployment is None or selector_of(deployment).everything:
            return NOTHING
        claimed = claim(cache, DEPLOYMENTS, deployment, selector_of(deployment), REPLICASETS, ReplicaSet)
        if claimed.changes:
            return Outcome(claimed.changes)
        new, old = _versions(deployment, claimed.objects)
        return _Rollout(deployment, new, old, cache, now).step()


def _recreated(obj: Object, cache: Cache) -> Iterable[Key]:
    """A pod's end lets a Recreate rollout go on; other rollouts hear of it by their ReplicaSets."""
    owner = obj.metadata.controller
    if owner is None or owner.kind != REPLICASETS.kind:
        return
    replicas = cache.get(REPLICASETS, obj.namespace, owner.name)
    above = replicas.metadata.controller if replicas is not None else None
    if above is not None and above.kind == DEPLOYMENTS.kind:
        deployment = cache.find(DEPLOYMENTS, Deployment, (obj.namespace, above.name))
        if deployment is not None and deployment.spec.strategy.type == "Recreate":
            yield obj.namespace, above.name


def _versions(deployment: Deployment, sets: list[ReplicaSet]) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
    """The ReplicaSet of the present template (the oldest, should there be two), and all others."""
    wanted = template_identity(bytes(deployment.spec.template))
    new = next((each for each in by_age(sets) if template_identity(bytes(each.spec.template)) == wanted), None)
    return new, [each for each in by_age(sets) if each is not new]


class _Rollout:
    """One look at one Deployment."""

    def __init__(
        self, deployment: Deployment, new: ReplicaSet | None, old: list[ReplicaSet], cache: Cache, now: float
    ) -> None:
        self.deployment, self.new, self.old, self.cache, self.now = deployment, new, old, cache, now
        self.all = [*old, *([new] if new is not None else [])]

    def step(self) -> Outcome:
        deployment, new, old = self.deployment, self.new, self.old
        if deployment.deleting:
            return self._close([], estimate=False)
        changes = self._follow_revision()
        if deployment.spec.paused or is_scaling(deployment, self.all):
            sizes = rescale(deployment, new, old)
            cleanup = self._cleanup() if deployment.spec.paused else []
            return self._close([*changes, *self._resize(sizes), *cleanup], sizes, estimate=False)
        if deployment.spec.strategy.type == "Recreate":
            sizes = {each.uid: 0 for each in old if each.spec.replicas}
            if sizes or self._old_pods_remain():
                return self._close([*changes, *self._resize(sizes)], sizes)
        if new is None:
            return self._create()
        if deployment.spec.strategy.type == "Recreate":
            total = deployment.spec.replicas
            sizes = {new.uid: total} if new.spec.replicas != total else {}
        else:
            sizes = roll(deployment, new, old)
        if not sizes and is_complete(deployment, deployment.status):
            changes += self._cleanup()
        return self._close([*changes, *self._resize(sizes)], sizes)

    def _close(self, changes: list[Change], sizes: Sizes | None = None, *, estimate: bool = True) -> Outcome:
        """The status goes first, so that a ReplicaSet that cannot be written does not hide it."""
        deployment = self.deployment
        progress = status_of(deployment, self.new, self.all, self.now, estimate=estimate)
        status = status_patch(DEPLOYMENTS, deployment, deployment.status, progress.status)
        notes = tuple(self._note(each, sizes[each.uid]) for each in self.all if sizes and each.uid in sizes)
        return Outcome((*status, *changes), progress.again_at, notes)

    # --- the new ReplicaSet --------------------------------------------------------------------------------

    def _create(self) -> Outcome:
        deployment = self.deployment
        collisions = deployment.status.collision_count
        mark = template_hash(bytes(deployment.spec.template), collisions)
        name = f"{deployment.name[: LONGEST_NAME - 1 - len(mark)]}-{mark}"
        if self.cache.get(REPLICASETS, deployment.namespace, name) is not None:
            # The name belongs to something that is not this version's: the next hash takes the count in.
            bump = {"collisionCount": (collisions or 0) + 1}
            return Outcome(status_patch(DEPLOYMENTS, deployment, deployment.status, bump))
        size = first_size(deployment, 0, self.old)
        revision = str(_last_revision(self.old) + 1)
        document = self._document(name, mark, size, revision)
        progress = status_of(deployment, None, self.all, self.now, created=name)
        notes = (self._scaled(name, 0, size),) if size else ()
        return Outcome(
            (
                Create(REPLICASETS, deployment.namespace, document),
                *self._set_revision(revision),
                *status_patch(DEPLOYMENTS, deployment, deployment.status, progress.status),
            ),
            progress.again_at,
            notes,
        )

    def _document(self, name: str, mark: str, size: int, revision: str) -> Document:
        deployment = self.deployment
        template = msgspec.json.decode(deployment.spec.template)
        metadata = template.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), HASH_LABEL: mark}
        selector = {k: v for k, v in msgspec.to_builtins(deployment.spec.selector).items() if v}
        selector["matchLabels"] = {**selector.get("matchLabels", {}), HASH_LABEL: mark}
        return {
            "apiVersion": REPLICASETS.api_version,
            "kind": REPLICASETS.kind,
            "metadata": {
                "name": name,
                "namespace": deployment.namespace,
                "labels": metadata["labels"],
                "annotations": {**self._inherited(), **self._size_notes(), REVISION: revision},
                "ownerReferences": [owner_reference(deployment, DEPLOYMENTS)],
            },
            "spec": {
                "replicas": size,
                "minReadySeconds": deployment.spec.min_ready_seconds,
                "selector": selector,
                "template": template,
            },
        }

    def _follow_revision(self) -> list[Change]:
        """Keeps the new ReplicaSet's annotations and readiness rule, and both revision numbers, up to date."""
        new, deployment = self.new, self.deployment
        if new is None:
            return []
        changes: list[Change] = []
        notes = {key: value for key, value in self._inherited().items() if new.annotations.get(key) != value}
        present = _revision(new)
        revision = max(present, _last_revision(self.old) + 1)
        if revision != present:
            notes[REVISION] = str(revision)
            if present:
                notes[HISTORY] = _with_history(new.annotations.get(HISTORY, ""), present)
        patch: dict[str, Any] = {"metadata": {"annotations": notes}} if notes else {}
        if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
            patch["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
        if patch:
            changes.append(Patch(REPLICASETS, new.namespace, new.name, patch, uid=new.uid))
        return [*changes, *self._set_revision(str(revision))]

    def _set_revision(self, revision: str) -> list[Change]:
        deployment = self.deployment
        if deployment.annotations.get(REVISION) == revision:
            return []
        # Through the status: a note of the controller's own must not count as a change of what is wanted.
        note = {"metadata": {"annotations": {REVISION: revision}}}
        return [Patch(DEPLOYMENTS, deployment.namespace, deployment.name, note, "status", uid=deployment.uid)]

    def _inherited(self) -> dict[str, str]:
        return {k: v for k, v in self.deployment.annotations.items() if k not in _OWN_ANNOTATIONS}

    def _size_notes(self) -> dict[str, str]:
        total = self.deployment.spec.replicas
        return {DESIRED: str(total), MAXIMUM: str(total + limits(self.deployment)[0])}

    # --- sizes and history ---------------------------------------------------------------------------------

    def _resize(self, sizes: Sizes) -> list[Change]:
        """Writes new sizes, and on every busy ReplicaSet what they were computed for."""
        notes = self._size_notes()
        changes: list[Change] = []
        for each in self.all:
            patch: dict[str, Any] = {}
            size = sizes.get(each.uid, each.spec.replicas)
            if size != each.spec.replicas:
                patch["spec"] = {"replicas": size}
            if (size or patch) and any(each.annotations.get(key) != value for key, value in notes.items()):
                patch["metadata"] = {"annotations": notes}
            if patch:
                changes.append(Patch(REPLICASETS, each.namespace, each.name, patch, uid=each.uid))
        return changes

    def _old_pods_remain(self) -> bool:
        """Pods of old versions that may still run, those that are terminating included."""
        return any(
            isinstance(pod, Pod) and not pod.finished
            for each in self.old
            for _, pod in self.cache.owned_by(each.uid, PODS)
        )

    def _cleanup(self) -> list[Change]:
        """Deletes the oldest versions beyond the history limit, once they are empty."""
        kept = sorted((each for each in self.old if not each.deleting), key=_revision)
        surplus = kept[: max(0, len(kept) - self.deployment.spec.revision_history_limit)]
        return [
            Delete(REPLICASETS, each.namespace, each.name, uid=each.uid)
            for each in surplus
            if not each.spec.replicas
            and not each.status.replicas
            and each.metadata.generation <= each.status.observed_generation
        ]

    def _note(self, each: ReplicaSet, size: int) -> Note:
        return self._scaled(each.name, each.spec.replicas, size)

    def _scaled(self, name: str, before: int, after: int) -> Note:
        way = "up" if after > before else "down"
        message = f"Scaled {way} replica set {name} from {before} to {after}"
        return Note(DEPLOYMENTS, self.deployment, "ScalingReplicaSet", message)


def _revision(replicas: ReplicaSet) -> int:
    return whole_number(replicas.annotations.get(REVISION, "")) or 0


def _last_revision(sets: list[ReplicaSet]) -> int:
    return max((_revision(each) for each in sets), default=0)


def _with_history(history: str, revision: int) -> str:
    past = [*filter(None, history.split(",")), str(revision)]
    while len(",".join(past)) > _LONGEST_HISTORY:
        del past[0]
    return ",".join(past)
