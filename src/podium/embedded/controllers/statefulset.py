"""StatefulSets: pods with a number, a name and volumes of their own, started, stopped and updated one by one.

With OrderedReady a pod is touched only when all before it are available, so one look makes at most one step; with
Parallel the pods are started and stopped all at once.  Updates replace one pod at a time in both.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.embedded.controllers.pods import available_at, claim
from podium.embedded.controllers.statefulset_identity import (
    REVISION,
    Revision,
    claim_owners,
    claims_in_the_way,
    create_claims,
    first_ordinal,
    is_record_of,
    new_pod,
    new_record,
    ordinal,
    revision_of,
    wanted_ordinals,
)
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Document, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.job_members import delete_pod
from podium.kube.mapping import controlled_by, controlled_or_selected_by, itself
from podium.kube.resources import CONTROLLERREVISIONS, PERSISTENTVOLUMECLAIMS, PODS, STATEFULSETS, Resource
from podium.kube.selectors import LabelMatch, from_selector
from podium.kube.wire import ControllerRevision, Object, Pod, StatefulSet
from podium.kube.writing import count, status_patch


def selector_of(obj: Object) -> LabelMatch:
    assert isinstance(obj, StatefulSet)
    return from_selector(obj.spec.selector)


class StatefulSetController:
    name = "statefulset"

    def __init__(self) -> None:
        self.watches: dict[Resource, Mapper] = {
            STATEFULSETS: itself,
            PODS: controlled_or_selected_by(STATEFULSETS, selector_of),
            CONTROLLERREVISIONS: controlled_by(STATEFULSETS),
            PERSISTENTVOLUMECLAIMS: _claiming_set,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        stateful = cache.find(STATEFULSETS, StatefulSet, key)
        if stateful is None:
            return NOTHING
        claimed = claim(
            cache,
            STATEFULSETS,
            stateful,
            selector_of(stateful),
            PODS,
            Pod,
            member=lambda pod: ordinal(stateful, pod) is not None,
        )
        if claimed.changes:
            return Outcome(claimed.changes)
        records = sorted(
            (each for _, each in cache.owned_by(stateful.uid, CONTROLLERREVISIONS)), key=_record_order
        )
        known = [each for each in records if isinstance(each, ControllerRevision)]
        recording = _record(stateful, known, cache)
        if recording:
            return Outcome(recording)
        return _Look(stateful, claimed.objects, known, cache, now).outcome()


def _claiming_set(obj: Object, cache: Cache) -> Iterable[Key]:
    """A claim's name ends with the name of the pod it belongs to: `<template>-<set>-<ordinal>`."""
    parts = obj.name.split("-")
    for start in range(1, len(parts) - 1):
        name = "-".join(parts[start:-1])
        if cache.get(STATEFULSETS, obj.namespace, name) is not None:
            yield obj.namespace, name


def _record_order(record: Object) -> tuple[int, str]:
    return (record.revision if isinstance(record, ControllerRevision) else 0), record.name


def _record(stateful: StatefulSet, known: list[ControllerRevision], cache: Cache) -> tuple[Change, ...]:
    """Writes the present template down as the newest revision, unless it is; a known one is raised to the top."""
    template = bytes(stateful.spec.template)
    if stateful.deleting or (known and is_record_of(known[-1], template)):
        return ()
    number = known[-1].revision + 1 if known else 1
    for record in reversed(known):
        if is_record_of(record, template):
            return (
                Patch(CONTROLLERREVISIONS, record.namespace, record.name, {"revision": number}, uid=record.uid),
            )
    return (Create(CONTROLLERREVISIONS, stateful.namespace, new_record(stateful, number, cache)),)


class _Step(msgspec.Struct):
    """What one look wants done."""

    changes: list[Change] = []
    notes: list[Note] = []


class _Look:
    """One look at one StatefulSet whose template is on record."""

    def __init__(
        self, stateful: StatefulSet, pods: list[Pod], records: list[ControllerRevision], cache: Cache, now: float
    ) -> None:
        self.stateful, self.pods, self.records, self.cache, self.now = stateful, pods, records, cache, now
        self.step = _Step()
        by_ordinal = {number: pod for pod in pods if (number := ordinal(stateful, pod)) is not None}
        self.replicas = {number: by_ordinal.get(number) for number in wanted_ordinals(stateful)}
        self.condemned = {
            number: by_ordinal[number]
            for number in sorted(by_ordinal, reverse=True)
            if number not in self.replicas
        }

    def outcome(self) -> Outcome:
        stateful = self.stateful
        if not self.records:
            return NOTHING  # deleted before its template was ever recorded
        update = revision_of(self.records[-1])
        current = next(
            (revision_of(each) for each in self.records if each.name == stateful.status.current_revision), update
        )
        status = self._status(current, update)
        if not stateful.deleting:
            ordered = stateful.spec.pod_management_policy != "Parallel"
            if self._start(current, update, ordered) and self._stop(ordered):
                self._update(update)
            self._forget_history(current, update)
        changes = (*status_patch(STATEFULSETS, stateful, stateful.status, status), *self.step.changes)
        return Outcome(changes, self._next_available(), tuple(self.step.notes))

    # --- the three parts of a step; each returns whether the next may go on ------------------------------------

    def _start(self, current: Revision, update: Revision, ordered: bool) -> bool:
        """Brings every wanted pod into being, in order."""
        for number, pod in self.replicas.items():
            if pod is None:
                if not claims_in_the_way(self.stateful, number, self.cache):
                    self._create(number, current if self._stays_behind(number) else update)
                if ordered:
                    return False
                continue
            if pod.finished:
                self._delete(pod)
                if ordered:
                    return False
                continue
            if pod.status.phase == "Pending" and not pod.deleting:
                self.step.changes += create_claims(self.stateful, number, self.cache)
            if ordered and (pod.deleting or not self._available(pod)):
                return False
            self.step.changes += claim_owners(self.stateful, pod, number, self.cache)
        return True

    def _stop(self, ordered: bool) -> bool:
        """Takes the pods beyond the wanted number away, the highest first."""
        unhealthy = self._first_unhealthy()
        for number, pod in self.condemned.items():
            self.step.changes += claim_owners(self.stateful, pod, number, self.cache)
            if pod.deleting:
                if ordered:
                    return False
                continue
            if ordered and not self._available(pod) and pod is not unhealthy:
                return False
            self._delete(pod)
            if ordered:
                return False
        return True

    def _update(self, update: Revision) -> None:
        """Replaces the highest pod of an older revision, once all above it are available."""
        strategy = self.stateful.spec.update_strategy
        if strategy.type == "OnDelete":
            return
        partition = strategy.rolling_update.partition if strategy.rolling_update is not None else 0
        for number, pod in sorted(self.replicas.items(), reverse=True):
            if number < first_ordinal(self.stateful) + partition or pod is None:
                return
            if pod.labels.get(REVISION) != update.name and not pod.deleting:
                self._delete(pod)
                return
            if pod.deleting or not self._available(pod):
                return

    def _stays_behind(self, number: int) -> bool:
        """Whether a pod made now belongs to the revision before the update: below the partition it does."""
        strategy = self.stateful.spec.update_strategy
        if strategy.type != "RollingUpdate":
            return False
        before = self.stateful.status.current_replicas
        if strategy.rolling_update is not None:
            before = strategy.rolling_update.partition
        return number < first_ordinal(self.stateful) + before

    def _first_unhealthy(self) -> Pod | None:
        """The lowest pod that is not available: the one broken pod that may be stopped although it is."""
        pods = [pod for pod in self.replicas.values() if pod is not None]
        pods += [pod for _, pod in sorted(self.condemned.items())]
        return next((pod for pod in pods if pod.deleting or not self._available(pod)), None)

    # --- details -------------------------------------------------------------------------------------------

    def _available(self, pod: Pod) -> bool:
        at = available_at(pod, self.stateful.spec.min_ready_seconds)
        return pod.status.phase == "Running" and at is not None and at <= self.now

    def _next_available(self) -> float | None:
        seconds = self.stateful.spec.min_ready_seconds
        due = [at for pod in self.pods if (at := available_at(pod, seconds)) is not None]
        return min((at for at in due if at > self.now), default=None)

    def _create(self, number: int, revision: Revision) -> None:
        stateful = self.stateful
        document = new_pod(stateful, number, revision)
        self.step.changes += create_claims(stateful, number, self.cache)
        self.step.changes.append(Create(PODS, stateful.namespace, document))
        message = f"create Pod {document['metadata']['name']} in StatefulSet {stateful.name} successful"
        self.step.notes.append(Note(STATEFULSETS, stateful, "SuccessfulCreate", message))

    def _delete(self, pod: Pod) -> None:
        if pod.deleting:
            return
        self.step.changes.append(delete_pod(pod))
        message = f"delete Pod {pod.name} in StatefulSet {self.stateful.name} successful"
        self.step.notes.append(Note(STATEFULSETS, self.stateful, "SuccessfulDelete", message))

    def _forget_history(self, current: Revision, update: Revision) -> None:
        live = {current.name, update.name, *(pod.labels.get(REVISION, "") for pod in self.pods)}
        past = [record for record in self.records if record.name not in live]
        surplus = past[: max(0, len(past) - self.stateful.spec.revision_history_limit)]
        self.step.changes += [
            Delete(CONTROLLERREVISIONS, each.namespace, each.name, uid=each.uid) for each in surplus
        ]

    def _status(self, current: Revision, update: Revision) -> Document:
        stateful = self.stateful
        ready = sum(pod.ready and pod.status.phase == "Running" for pod in self.pods)
        present = [pod.labels.get(REVISION) for pod in self.pods if not pod.deleting]
        current_name, current_count = current.name, present.count(current.name)
        updated = present.count(update.name)
        rolling = stateful.spec.update_strategy.type == "RollingUpdate"
        if rolling and updated == ready == len(self.pods) == stateful.spec.replicas:
            current_name, current_count = update.name, updated
        return {
            "observedGeneration": count(stateful.metadata.generation),
            "replicas": len(self.pods),
            "readyReplicas": count(ready),
            "availableReplicas": sum(self._available(pod) for pod in self.pods),
            "currentReplicas": count(current_count),
            "updatedReplicas": count(updated),
            "currentRevision": current_name,
            "updateRevision": update.name,
            "collisionCount": stateful.status.collision_count or 0,
        }
