"""How the controllers write: status patches that go out only when they say something new; pods from templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.kube.changes import Document, Patch
from podium.kube.resources import PODS, Resource
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Condition, Object, Pod

_NO_CONDITIONS: list[Condition] = []


def condition_documents(conditions: list[Condition] | None) -> list[Document]:
    """Conditions as they stand on the wire, to be changed and sent back as a whole list."""
    return [
        {key: value for key, value in msgspec.to_builtins(each).items() if value not in (None, "")}
        for each in conditions or _NO_CONDITIONS
    ]


def status_patch(
    resource: Resource, obj: Object, status: msgspec.Struct, desired: Document, *, exact: bool = False
) -> tuple[Patch, ...]:
    """The patch that makes the status `desired`, or none when the observed one says the same.

    None in `desired` means absent, as counters of zero are on the wire.  `exact` adds the optimistic lock, for
    counters that must not be computed from an outdated object.
    """
    current = msgspec.to_builtins(status)
    if all(_same(value, current.get(key)) for key, value in desired.items()):
        return ()
    version = obj.metadata.resource_version if exact else ""
    return (
        Patch(
            resource,
            obj.namespace,
            obj.name,
            {"status": desired},
            subresource="status",
            uid=obj.uid,
            resource_version=version,
        ),
    )


def _same(desired: Any, current: Any) -> bool:
    if desired is None:
        return not current
    if isinstance(desired, Mapping) and isinstance(current, Mapping):
        return all(_same(value, current.get(key)) for key, value in desired.items())
    if isinstance(desired, list) and isinstance(current, list):
        return len(desired) == len(current) and all(map(_same_item, desired, current))
    return bool(desired == current)


def _same_item(desired: Any, current: Any) -> bool:
    """Items of a list are whole: what an item does not say must not be there."""
    if isinstance(desired, Mapping) and isinstance(current, Mapping):
        return {k: v for k, v in desired.items() if v not in (None, "")} == {
            k: v for k, v in current.items() if v not in (None, "")
        }
    return bool(desired == current)


def both_patches(first: Patch | None, second: Patch | None) -> Patch | None:
    """Two patches of one object as one."""
    if first is None or second is None:
        return first or second
    assert first.subresource == second.subresource, "both are written to one place"
    return msgspec.structs.replace(first, patch=_merged(first.patch, second.patch))


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What both have; patches of one object are about different fields."""
    both = dict(first)
    for key, value in second.items():
        known = both.get(key)
        both[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return both


def count(number: int) -> int | None:
    """A counter as the wire has it: zero is left out."""
    return number or None


def without_finalizer(resource: Resource, obj: Object, finalizer: str) -> Patch:
    """Takes one finalizer off a built-in object, whatever else happens to the list meanwhile."""
    return Patch(
        resource,
        obj.namespace,
        obj.name,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}},
        content_type=STRATEGIC_PATCH,
        uid=obj.uid,
    )


def with_finalizer(resource: Resource, obj: Object, finalizer: str) -> Patch:
    """Puts one finalizer onto a built-in object."""
    return Patch(
        resource,
        obj.namespace,
        obj.name,
        {"metadata": {"finalizers": [finalizer]}},
        content_type=STRATEGIC_PATCH,
        uid=obj.uid,
    )


def pod_condition(pod: Pod, condition: Document, phase: str = "") -> Patch:
    """Sets one condition of a pod beside those that its node and its scheduler write at the same time."""
    status: Document = {"conditions": [condition]}
    if phase:
        status["phase"] = phase
    return Patch(
        PODS,
        pod.namespace,
        pod.name,
        {"status": status},
        subresource="status",
        content_type=STRATEGIC_PATCH,
        uid=pod.uid,
    )


def pod_from_template(raw: bytes, namespace: str, name: str, owner: Document, generate_name: str = "") -> Document:
    """A whole new pod document: the template's labels, annotations, finalizers and spec under an owner."""
    template: Document = msgspec.json.decode(raw)
    given = template.get("metadata") or {}
    metadata: Document = {"name": name, "namespace": namespace}
    if generate_name:
        metadata["generateName"] = generate_name
    for part in ("labels", "annotations"):
        metadata[part] = dict(given.get(part) or {})
    metadata["finalizers"] = list(given.get("finalizers") or ())
    metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
