"""Status: how an API server says no.  Builders of the usual refusals, and the codec of the Status object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podium.errors import ApiError
from podium.kube.fields import FieldError
from podium.kube.nesting import decode
from podium.kube.numbers import whole_number
from podium.kube.resources import Resource

_anything = msgspec.json.Decoder()

# The reason a bare HTTP code stands for, when a server answers without a Status of its own.
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def status_document(error: ApiError) -> dict[str, Any]:
    """The Status object for `error`."""
    document: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.code,
    }
    if error.details or error.code == 404:  # kubectl reads those of a 404 without asking whether there are any
        document["details"] = error.details
    return document


def error_from_body(code: int, body: bytes, retry_after: str = "") -> ApiError:
    """The ApiError that a non-2xx answer stands for; a body that is no Status is quoted.

    `retry_after` is the header of that name: whoever turns a request away before looking at it has no Status.
    """
    error = _from_body(code, body)
    seconds = whole_number(retry_after)
    if seconds is not None:
        error.details.setdefault("retryAfterSeconds", seconds)
    return error


def _from_body(code: int, body: bytes) -> ApiError:
    try:
        document = decode(_anything, body)
    except msgspec.DecodeError:
        document = None
    if not isinstance(document, dict) or document.get("kind") != "Status":
        text = body[:300].decode("utf-8", "replace").strip() or "no body"
        return ApiError(code, REASONS.get(code, "Unknown"), f"the server answered {code}: {text}")
    details = document.get("details")
    return ApiError(
        int(document.get("code") or code),
        str(document.get("reason") or REASONS.get(code, "Unknown")),
        str(document.get("message") or ""),
        details if isinstance(details, dict) else None,
    )


def _details(resource: Resource, name: str) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def not_found(resource: Resource, name: str) -> ApiError:
    message = f'{resource.group_resource} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    message = f'{resource.group_resource} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def stale(resource: Resource, name: str) -> ApiError:
    """The optimistic lock failed: the object moved on since the caller read it."""
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    message = f'{resource.group_resource} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(resource, name))


def invalid(resource: Resource, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422 with every field error; one stands in the sentence as it is, several in brackets."""
    reported = str(errors[0]) if len(errors) == 1 else "[" + ", ".join(str(e) for e in errors) + "]"
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.kind
    details["causes"] = [{"reason": e.reason, "message": e.detail, "field": e.path} for e in errors]
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {reported}', details)


def gone(message: str) -> ApiError:
    """410: the asked-for version is no longer in the history; list again."""
    return ApiError(410, "Expired", message)


def too_many_requests(
    message: str, retry_seconds: int = 10, causes: list[dict[str, Any]] | None = None
) -> ApiError:
    details: dict[str, Any] = {"retryAfterSeconds": retry_seconds}
    if causes:
        details["causes"] = causes
    return ApiError(429, "TooManyRequests", message, details)


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def no_page() -> ApiError:
    """A path of which the server knows nothing at all, not even its group: answered in plain text."""
    return ApiError(404, "", "404 page not found")


def unknown_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def unsupported_media_type(given: str, supported: Sequence[str]) -> ApiError:
    known = ", ".join(supported)
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    return ApiError(415, "UnsupportedMediaType", message, {"given": given} if not given else None)
