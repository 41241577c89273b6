"""What `KIND/NAME` means on a cluster: kinds by name, plural, short name or with their group."""

from __future__ import annotations

import asyncio

import msgspec

from podium.dialects import speaking
from podium.errors import ApiError, UsageError
from podium.kube import resources as r
from podium.kube.changes import Document
from podium.kube.client import Client
from podium.kube.resources import Resource

# Short names of Kubernetes itself; those of dialects stand in their definitions.
_SHORT = {
    "po": r.PODS,
    "no": r.NODES,
    "deploy": r.DEPLOYMENTS,
    "rs": r.REPLICASETS,
    "sts": r.STATEFULSETS,
    "ds": r.DAEMONSETS,
    "cj": r.CRONJOBS,
    "ns": r.NAMESPACES,
}
_BUILT_IN = (
    r.PODS,
    r.NODES,
    r.JOBS,
    r.DEPLOYMENTS,
    r.REPLICASETS,
    r.STATEFULSETS,
    r.DAEMONSETS,
    r.CRONJOBS,
    r.REPLICATIONCONTROLLERS,
)


class Reference(msgspec.Struct, frozen=True):
    """An object of a cluster."""

    resource: Resource
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"

    @property
    def qualified(self) -> str:
        """With the group of its kind: for where several have the name."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.kind.lower()}{group}/{self.name}"


def split(text: str) -> tuple[str, str]:
    """KIND and NAME of what was typed."""
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise UsageError(f'"{text}" names nothing: write KIND/NAME, such as pod/web-0 or job/train')
    return kind, name


def known_kinds(word: str) -> list[Resource]:
    """The kinds that podium knows by a word."""
    word, _, group = word.lower().partition(".")
    found = []
    if word in _SHORT:
        found.append(_SHORT[word])
    candidates: dict[Resource, tuple[str, ...]] = dict.fromkeys(_BUILT_IN, ())
    for dialect in speaking():
        candidates |= {each.resource: each.short_names for each in dialect.definitions}
        for resource in (*(kind.resource for kind in dialect.groups), *(kind.resource for kind in dialect.queues)):
            candidates.setdefault(resource, ())
    for resource, short in candidates.items():
        if word in (resource.kind.lower(), resource.plural, *short) and resource not in found:
            found.append(resource)
    # The group as a whole, or its version and the group, as kubectl takes it.
    return [each for each in found if not group or group in (each.group, f"{each.version}.{each.group}")]


async def find(client: Client, text: str, namespace: str) -> list[tuple[Reference, Document]]:
    """The objects that KIND/NAME may mean: of each kind of that name the one that there is."""
    word, name = split(text)
    kinds = known_kinds(word) or await client.find(word)
    if not kinds:
        raise UsageError(f'"{word}" is no kind that this cluster has')
    answers = await asyncio.gather(*(_get(client, kind, namespace, name) for kind in kinds))
    found = [each for each in answers if each is not None]
    if not found:
        where = f" in namespace {namespace}" if any(kind.namespaced for kind in kinds) else ""
        raise UsageError(f"there is no {word} named {name}{where}")
    return found


async def _get(client: Client, kind: Resource, namespace: str, name: str) -> tuple[Reference, Document] | None:
    where = namespace if kind.namespaced else ""
    try:
        document = await client.get(kind, where, name)
    except ApiError as error:
        if error.code != 404:
            raise
        if not _is_built_in(kind, name):
            return None
        document = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "uid": ""}}
    return Reference(kind, where, name, document["metadata"]["uid"]), document


def _is_built_in(kind: Resource, name: str) -> bool:
    """Whether it is a queue that is there without an object."""
    of_kind = (each for dialect in speaking() for each in dialect.queues if each.resource == kind)
    return any(each.id(name) in {queue.id for queue in each.built_in} for each in of_kind)


async def resource_of(client: Client, document: Document) -> Resource:
    """The kind of an object that a user wrote."""
    api, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(api, str) or not isinstance(kind, str):
        raise UsageError("an object needs apiVersion and kind")
    group, _, version = api.rpartition("/")
    for resource in known_kinds(f"{kind}.{group}" if group else kind):
        if resource.api_version == api and resource.kind == kind:
            return resource
    for resource in await client.find(f"{kind}.{version}.{group}" if group else kind):
        if resource.kind == kind and resource.group == group:
            return msgspec.structs.replace(resource, version=version)
    raise UsageError(f"this cluster does not know {kind} of {api}")
