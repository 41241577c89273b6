"""What the plugins of a Job want beside its pods: made, kept as they say, and taken away in the end.

Services, ConfigMaps and NetworkPolicies are watched and kept: each carries a digest of what it was made of, and is
changed when that moves.  Others (Secrets above all, which nobody should have to list) are made once, before the
status records their plugin, and go with the Job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from podium.dialects.volcano.job.names import DIGEST, JOBS
from podium.dialects.volcano.job.plugin import JobPlugin, Wanted, WithKeys
from podium.dialects.volcano.job.registry import UnusablePluginError, asking, find_plugin
from podium.dialects.volcano.job.types import Job
from podium.kube import resources as r
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, CreateKeyPair, Delete, Patch
from podium.kube.conditions import owner_reference
from podium.kube.resources import Resource

Document = dict[str, Any]

KEPT = (r.SERVICES, r.CONFIGMAPS, r.NETWORKPOLICIES)

_RESOURCES = {(each.api_version, each.kind): each for each in vars(r).values() if isinstance(each, Resource)}


def plugins_of(job: Job) -> list[JobPlugin]:
    """A Job's plugins.  Names that nobody knows were refused with the Job."""
    found = []
    for name, arguments in (job.spec.plugins or {}).items():
        kind = find_plugin(name)
        if kind is not None:
            with asking(name, "__init__"):
                found.append(kind(arguments or [], job))
    return found


def plugin_records(job: Job) -> dict[str, str]:
    """The plugins as the status lists them."""
    return {f"plugin-{name}": name for name in job.spec.plugins or ()}


def object_changes(job: Job, plugins: list[JobPlugin], cache: Cache) -> list[Change]:
    """What makes the objects as the plugins want them."""
    changes: list[Change] = []
    for plugin in plugins:
        new = f"plugin-{plugin.name}" not in (job.status.controlled_resources or {})
        with asking(plugin.name, "objects"):
            for wanted in plugin.objects():
                changes += _changes(job, wanted, new, cache)
    return changes


def _changes(job: Job, wanted: Wanted, new: bool, cache: Cache) -> Iterator[Change]:
    given = wanted.document if isinstance(wanted, WithKeys) else wanted
    kind = given["apiVersion"], given["kind"]
    resource = _RESOURCES.get(kind)
    if resource is None:
        raise UnusablePluginError(f"a plugin wants a {kind[1]} of {kind[0]}, and only built-in kinds can be made")
    document = _owned(job, given)
    if isinstance(wanted, WithKeys):
        if new:
            yield CreateKeyPair(resource, job.namespace, document, private=wanted.private, public=wanted.public)
        return
    if resource not in KEPT:
        if new:
            yield Create(resource, job.namespace, document)
        return
    seen = cache.get(resource, job.namespace, document["metadata"]["name"])
    if seen is None:
        yield Create(resource, job.namespace, document)
    elif _is_ours(seen.metadata.controller, job) and seen.annotations.get(DIGEST) != _digest(given):
        yield Patch(resource, job.namespace, seen.name, _patch(document), uid=seen.uid)


def leftover_objects(job: Job, cache: Cache) -> list[Change]:
    """What is taken away when the Job is over."""
    return [
        Delete(resource, job.namespace, obj.name, uid=obj.uid)
        for resource in KEPT
        for _, obj in cache.owned_by(job.uid, resource, job.namespace)
        if _is_ours(obj.metadata.controller, job) and DIGEST in obj.annotations and not obj.deleting
    ]


def _is_ours(controller: Any, job: Job) -> bool:
    return controller is not None and controller.uid == job.uid


def _owned(job: Job, given: Document) -> Document:
    metadata: Document = dict(given["metadata"])
    metadata["namespace"] = job.namespace
    metadata["ownerReferences"] = [owner_reference(job, JOBS)]
    metadata["annotations"] = {**metadata.get("annotations", {}), DIGEST: _digest(given)}
    return {**given, "metadata": metadata}


def _patch(document: Document) -> Document:
    """All that the plugin says now; keys of its own that it no longer has stay."""
    metadata = {
        field: document["metadata"][field] for field in ("labels", "annotations") if field in document["metadata"]
    }
    body = {field: value for field, value in document.items() if field not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **body}


def _digest(document: Document) -> str:
    return hashlib.blake2b(msgspec.json.encode(document, order="sorted"), digest_size=8).hexdigest()
