"""What a Deployment's status says: its numbers, whether it is available, whether its rollout gets on."""

from __future__ import annotations

import msgspec

from podium.embedded.controllers.deployment_rollout import limits, wanted
from podium.kube.changes import Document
from podium.kube.conditions import set_condition
from podium.kube.times import format_time, parse_time
from podium.kube.wire import Deployment, DeploymentStatus, ReplicaSet, condition
from podium.kube.writing import condition_documents, count

NO_DEADLINE = 2**31 - 1

CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
UPDATED = "ReplicaSetUpdated"
AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds != NO_DEADLINE


def numbers(deployment: Deployment, new: ReplicaSet | None, sets: list[ReplicaSet]) -> DeploymentStatus:
    available = sum(each.status.available_replicas for each in sets)
    return DeploymentStatus(
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(0, wanted(sets) - available),
        terminating_replicas=sum(each.status.terminating_replicas or 0 for each in sets),
        observed_generation=deployment.metadata.generation,
        collision_count=deployment.status.collision_count,
    )


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Every wanted pod is of the new version and available, and no other is left."""
    total = deployment.spec.replicas
    return (
        status.updated_replicas == status.replicas == status.available_replicas == total
        and status.observed_generation >= deployment.metadata.generation
    )


class Progress(msgspec.Struct):
    """A status to write, and when a rollout that stands still has to be looked at again."""

    status: Document
    again_at: float | None = None


def status_of(
    deployment: Deployment,
    new: ReplicaSet | None,
    sets: list[ReplicaSet],
    now: float,
    *,
    created: str = "",
    estimate: bool = True,
) -> Progress:
    """The whole status.  `created` is the ReplicaSet that is being made now; without `estimate` (paused, being
    scaled or deleted) progress is not judged."""
    status = numbers(deployment, new, sets)
    conditions = condition_documents(deployment.status.conditions)
    conditions = _paused(deployment, conditions, now)
    if created and has_deadline(deployment):
        conditions = with_condition(
            conditions, "Progressing", "True", CREATED, f'Created new replica set "{created}"', now
        )
    elif new is not None and has_deadline(deployment) and not _present(conditions, "Progressing"):
        conditions = with_condition(
            conditions, "Progressing", "True", FOUND, f'Found new replica set "{new.name}"', now
        )
    enough = status.available_replicas >= deployment.spec.replicas - limits(deployment)[1]
    if enough:
        sentence = "Deployment has minimum availability."
        conditions = with_condition(conditions, "Available", "True", "MinimumReplicasAvailable", sentence, now)
    else:
        sentence = "Deployment does not have minimum availability."
        conditions = with_condition(conditions, "Available", "False", "MinimumReplicasUnavailable", sentence, now)
    if not has_deadline(deployment):
        conditions = [each for each in conditions if each["type"] != "Progressing"]
    elif estimate:
        conditions = _progress(deployment, new, status, conditions, now)
    document = {
        "replicas": count(status.replicas),
        "updatedReplicas": count(status.updated_replicas),
        "readyReplicas": count(status.ready_replicas),
        "availableReplicas": count(status.available_replicas),
        "unavailableReplicas": count(status.unavailable_replicas),
        "terminatingReplicas": status.terminating_replicas,
        "observedGeneration": count(status.observed_generation),
        "collisionCount": status.collision_count,
        "conditions": conditions,
    }
    return Progress(document, _next_look(deployment, status, conditions) if estimate else None)


def _paused(deployment: Deployment, conditions: list[Document], now: float) -> list[Document]:
    """A pause is noted, so that its length is not taken for a lack of progress afterwards."""
    current = condition(deployment.status.conditions, "Progressing")
    reason = current.reason if current is not None else ""
    if not has_deadline(deployment) or reason == TIMED_OUT:
        return conditions
    if deployment.spec.paused and reason != PAUSED:
        return with_condition(conditions, "Progressing", "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and reason == PAUSED:
        return with_condition(conditions, "Progressing", "Unknown", RESUMED, "Deployment is resumed", now)
    return conditions


def _progress(
    deployment: Deployment,
    new: ReplicaSet | None,
    status: DeploymentStatus,
    conditions: list[Document],
    now: float,
) -> list[Document]:
    current = _present(conditions, "Progressing")
    if current and current.get("reason") == AVAILABLE and status.replicas == status.updated_replicas:
        return conditions
    who = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
    if is_complete(deployment, status):
        sentence = f"{who} has successfully progressed."
        return with_condition(conditions, "Progressing", "True", AVAILABLE, sentence, now)
    if _moved(deployment.status, status):
        sentence = f"{who} is progressing."
        return with_condition(conditions, "Progressing", "True", UPDATED, sentence, now, anew=True)
    if _timed_out(deployment, current, now):
        sentence = f"{who} has timed out progressing."
        return with_condition(conditions, "Progressing", "False", TIMED_OUT, sentence, now)
    return conditions


def _moved(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    return (
        new.updated_replicas > old.updated_replicas
        or new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        or new.ready_replicas > old.ready_replicas
        or new.available_replicas > old.available_replicas
    )


def _timed_out(deployment: Deployment, current: Document | None, now: float) -> bool:
    if current is None or current.get("reason") == AVAILABLE:
        return False
    if current.get("reason") == TIMED_OUT:
        return True
    return now >= parse_time(current.get("lastUpdateTime")) + deployment.spec.progress_deadline_seconds


def _next_look(deployment: Deployment, status: DeploymentStatus, conditions: list[Document]) -> float | None:
    current = _present(conditions, "Progressing")
    if current is None or current.get("reason") in (AVAILABLE, TIMED_OUT) or is_complete(deployment, status):
        return None  # a rollout that has been complete once is judged no longer: pods that come later are scaling
    return parse_time(current.get("lastUpdateTime")) + deployment.spec.progress_deadline_seconds


def _present(conditions: list[Document], kind: str) -> Document | None:
    return next((each for each in conditions if each["type"] == kind), None)


def with_condition(
    conditions: list[Document],
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: float,
    *,
    anew: bool = False,
) -> list[Document]:
    """Sets a condition; one of the same status and reason stays as it is, unless it is to be stamped `anew`."""
    current = _present(conditions, kind)
    if current is not None and not anew and (current["status"], current.get("reason")) == (status, reason):
        return conditions
    changed = set_condition(conditions, kind, status, reason, message, now)
    return [{**each, "lastUpdateTime": format_time(now)} if each["type"] == kind else each for each in changed]
