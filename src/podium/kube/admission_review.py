"""Admission reviews: what an API server asks its webhooks, answered by hooks.  Pure: a document in, one out.

An answer is never a failure: what cannot be judged (a kind without a hook, a document on which a hook breaks) is
let through, since nothing in podium depends on having been asked.
"""

from __future__ import annotations

import base64
import copy
import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from podium.errors import ApiError
from podium.kube import status
from podium.kube.admission import Hook, Surroundings
from podium.kube.resources import Resource

log = logging.getLogger(__name__)

Document = dict[str, Any]

API_VERSION = "admission.k8s.io/v1"


def mutating(review: Document, hooks: Iterable[Hook], around: Surroundings) -> Document:
    """The answer of a webhook that fills in."""
    request = review["request"]
    document = request.get("object")
    if document is None:
        return _allowed(request)
    filled = copy.deepcopy(document)
    for hook in _about(request, hooks):
        if hook.mutate is not None:
            try:
                hook.mutate(filled, request.get("oldObject"), around)
            except Exception as error:
                _tell(hook, "filled in", error)
                return _allowed(request)
    operations = _operations(document, filled)
    if not operations:
        return _allowed(request)
    patch = base64.b64encode(msgspec.json.encode(operations)).decode()
    return _allowed(request, patchType="JSONPatch", patch=patch)


def validating(review: Document, hooks: Iterable[Hook], around: Surroundings) -> Document:
    """The answer of a webhook that refuses."""
    request = review["request"]
    for hook in _about(request, hooks):
        try:
            refusal = _refusal(request, hook, around)
        except Exception as error:
            _tell(hook, "checked", error)
            continue
        if refusal is not None:
            return _answer(request, allowed=False, status=status.status_document(refusal))
    return _allowed(request)


def _tell(hook: Hook, what: str, error: Exception) -> None:
    """Nearly always the document is of another shape than its kind, which the API server then says itself."""
    trace = log.isEnabledFor(logging.DEBUG)
    log.warning("a %s could not be %s: %s", hook.resource.kind, what, error, exc_info=trace)


def _refusal(request: Document, hook: Hook, around: Surroundings) -> ApiError | None:
    document, old = request.get("object"), request.get("oldObject")
    if request["operation"] == "DELETE":
        why = hook.keep(old, around) if hook.keep is not None and old is not None else None
        return status.forbidden(hook.resource, request.get("name", ""), why) if why is not None else None
    if hook.validate is None or document is None:
        return None
    errors = hook.validate(document, old, around)
    return status.invalid(hook.resource, document["metadata"].get("name", ""), errors) if errors else None


def _about(request: Document, hooks: Iterable[Hook]) -> list[Hook]:
    """The hooks of the resource that is written.  Subresources are nobody's matter."""
    asked = request["resource"]
    if request.get("subResource"):
        return []
    return [
        hook for hook in hooks if _names(hook.resource) == (asked["group"], asked["version"], asked["resource"])
    ]


def _names(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural


def _operations(before: Document, after: Document) -> list[Document]:
    """A JSON patch: whole members of the object, and of its metadata, that have changed."""
    found = [
        _set(f"/{key}", value) for key, value in after.items() if key != "metadata" and before.get(key) != value
    ]
    old = before.get("metadata") or {}
    metadata = after.get("metadata") or {}
    return found + [_set(f"/metadata/{key}", value) for key, value in metadata.items() if old.get(key) != value]


def _set(path: str, value: Any) -> Document:
    return {"op": "add", "path": path, "value": value}


def _allowed(request: Document, **more: Any) -> Document:
    return _answer(request, allowed=True, **more)


def _answer(request: Document, **response: Any) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "AdmissionReview",
        "response": {"uid": request["uid"], **response},
    }
