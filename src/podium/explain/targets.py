"""From an object that somebody names to the gangs and pods that it stands for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.core.model.model import Gang, State, Task
from podium.explain.absent import absent_pods
from podium.explain.documents import Document
from podium.explain.model import Model
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Pod


class Target(msgspec.Struct, frozen=True):
    """What is asked about: its gangs, those that wait first, and its pods."""

    name: str  # kind/name
    namespace: str
    gangs: tuple[Gang, ...] = ()
    tasks: tuple[Task, ...] = ()
    pod: bool = False  # one pod, whatever its gang has beside it
    absent: str = ""  # why it has no pods, where that can be seen


def target_of(model: Model, resource: Resource, document: Document) -> Target:
    """What an object stands for: itself, or the groups and pods that it owns."""
    namespace, name = document["metadata"].get("namespace", ""), document["metadata"]["name"]
    shown = f"{resource.kind.lower()}/{name}"
    cluster = model.cluster
    if resource == PODS:
        task = cluster.tasks.get(document["metadata"]["uid"])
        own = (task,) if task is not None else ()
        return Target(shown, namespace, _gangs(model, own), own, pod=True)
    if resource in model.world.groups:
        gang = cluster.gangs.get(model.world.groups[resource].id(namespace, name))
        if gang is not None:
            return Target(shown, namespace, (gang,), tuple(gang.tasks.values()))
    uids = set(_owned(model, document["metadata"]["uid"]))
    tasks = tuple(task for id, task in cluster.tasks.items() if id in uids)
    gangs = dict.fromkeys(_gangs(model, tasks))
    for kind in model.world.groups.values():
        for obj in model.world.cache.all(kind.resource):
            found = cluster.gangs.get(kind.id(obj.namespace, obj.name)) if obj.uid in uids else None
            if found is not None:
                gangs[found] = None
    members = tuple(dict.fromkeys((*tasks, *(task for gang in gangs for task in gang.tasks.values()))))
    ordered = sorted(gangs, key=lambda gang: (not gang.counts[State.PENDING], gang.name))
    return Target(shown, namespace, tuple(ordered), members, absent=absent_pods(model, document, len(tasks)))


def _gangs(model: Model, tasks: tuple[Task, ...]) -> tuple[Gang, ...]:
    known = model.cluster.gangs
    return tuple(dict.fromkeys(task.gang for task in tasks if task.gang.id in known))


def _owned(model: Model, uid: str) -> Iterator[str]:
    """The identities of everything that an object owns, and of what that owns."""
    by_owner: dict[str, list[str]] = {}
    for resource in model.resources:
        if resource in model.world.groups or resource == PODS:
            for obj in model.world.cache.all(resource):
                for owner in obj.metadata.owner_references or ():
                    by_owner.setdefault(owner.uid, []).append(obj.uid)
        elif resource not in model.world.resources:
            for document in model.all(resource):
                for reference in document["metadata"].get("ownerReferences") or ():
                    by_owner.setdefault(reference["uid"], []).append(document["metadata"]["uid"])
    ahead, seen = [uid], {uid}
    while ahead:
        for each in by_owner.get(ahead.pop(), ()):
            if each not in seen:
                seen.add(each)
                ahead.append(each)
                yield each


def pods_of(model: Model, target: Target) -> list[Pod]:
    """The pods that an object stands for."""
    found = (model.world.pod_of(task) for task in target.tasks if task.has_pod)
    return [pod for pod in found if pod is not None]
