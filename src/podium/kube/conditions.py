"""Conditions of a status, and references to owners: the two small structures that every controller writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.kube.resources import Resource
from podium.kube.times import format_time
from podium.kube.wire import Object

Condition = dict[str, Any]


def set_condition(
    conditions: list[Condition], type: str, status: str, reason: str, message: str, now: float
) -> list[Condition]:
    """The list with that condition in it; the very same list when it says so already.

    lastTransitionTime moves only when the status does: a new message is no transition.  An empty reason or
    message is left out, as the built-in kinds do it.  Keys that this function does not know, such as a node's
    lastHeartbeatTime, stay as they are.
    """
    for index, old in enumerate(conditions):
        if old.get("type") != type:
            continue
        moved = old.get("status") != status
        if not moved and _text(old, "reason") == reason and _text(old, "message") == message:
            return conditions
        since = format_time(now) if moved else old.get("lastTransitionTime") or format_time(now)
        kept = {key: value for key, value in old.items() if key not in ("reason", "message")}
        changed = _with_texts({**kept, "status": status, "lastTransitionTime": since}, reason, message)
        return [*conditions[:index], changed, *conditions[index + 1 :]]
    added: Condition = {"type": type, "status": status, "lastTransitionTime": format_time(now)}
    return [*conditions, _with_texts(added, reason, message)]


def owner_reference(
    owner: Object | Mapping[str, Any], resource: Resource, controller: bool = True, block: bool = True
) -> dict[str, Any]:
    """The ownerReferences entry that makes `owner`, a whole document or a view of it, the owner."""
    if isinstance(owner, Object):
        name, uid = owner.name, owner.uid
    else:
        metadata = owner["metadata"]
        name, uid = metadata["name"], metadata["uid"]
    reference: dict[str, Any] = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name,
        "uid": uid,
    }
    if controller:
        reference["controller"] = True
    if block:
        reference["blockOwnerDeletion"] = True
    return reference


def _text(condition: Condition, key: str) -> str:
    return condition.get(key) or ""


def _with_texts(condition: Condition, reason: str, message: str) -> Condition:
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition
