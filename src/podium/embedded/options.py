"""The options of a request: what may stand in its query or in a DELETE's body, and what may not."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded import decoding
from podium.errors import ApiError
from podium.kube import fields, status
from podium.kube.fields import FieldError
from podium.kube.numbers import MOST, signed_number, whole_number
from podium.kube.resources import Resource
from podium.kube.transport import Request

Document = dict[str, Any]

_META = "meta.k8s.io"
_LONGEST_MANAGER = 128
_QUOTED = 64  # characters of a bad value that its refusal repeats
_VALIDATIONS = ("Ignore", "Warn", "Strict")
_POLICIES = ("Background", "Foreground", "Orphan")
_MATCHES = ("Exact", "NotOlderThan")


def _refusal(kind: str, errors: list[FieldError]) -> ApiError:
    return status.invalid(Resource(_META, "v1", "", kind), "", errors)


def check_write(request: Request, kind: str) -> bool:
    """Checks what every write may carry; whether it is a dry run."""
    errors: list[FieldError] = []
    dry_run = request.param("dryRun")
    if dry_run not in ("", "All"):
        errors.append(fields.unsupported("dryRun", dry_run, ("All",)))
    validation = request.param("fieldValidation")
    if validation and validation not in _VALIDATIONS:
        errors.append(fields.unsupported("fieldValidation", validation, _VALIDATIONS))
    if len(request.param("fieldManager")) > _LONGEST_MANAGER:
        errors.append(fields.too_long("fieldManager", _LONGEST_MANAGER))
    if errors:
        raise _refusal(kind, errors)
    return bool(dry_run)


def check_list(request: Request) -> None:
    """The rules of resourceVersion, of its match, and of initial events, for lists and watches."""
    version, match = request.param("resourceVersion"), request.param("resourceVersionMatch")
    watch, initial = request.flag("watch"), request.param("sendInitialEvents")
    number(request, "timeoutSeconds")
    if watch:
        number(request, "limit")  # which a list reads, and a watch only looks at
    errors: list[FieldError] = []
    if initial and not watch:
        errors.append(fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    elif initial and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(fields.forbidden("resourceVersionMatch", detail))
    elif match and watch and not initial:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(fields.forbidden("resourceVersionMatch", detail))
    elif match and not watch:
        errors += _match_problems(version, match)
    if errors:
        raise _refusal("ListOptions", errors)


def _match_problems(version: str, match: str) -> list[FieldError]:
    path = "resourceVersionMatch"
    if match not in _MATCHES:
        return [fields.unsupported(path, match, (*_MATCHES, ""))]
    if not version:
        return [fields.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided")]
    if match == "Exact" and version == "0":
        return [fields.forbidden(path, 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"')]
    return []


def number(request: Request, name: str) -> int | None:
    """The whole number of a query parameter; None if there is none, 400 if it is something else."""
    text = request.param(name)
    if not text:
        return None
    found = signed_number(text)
    if found is None:
        digits = text.lstrip("+-")
        why = "value out of range" if digits.isascii() and digits.isdecimal() else "invalid syntax"
        raise status.bad_request(f'{name}: strconv.ParseInt: parsing "{text[:_QUOTED]}": {why}')
    return found


def version(request: Request) -> int:
    """The resource version that a request names; 0 if it names none."""
    text = request.param("resourceVersion")
    found = whole_number(text or "0", 2 * MOST + 1)
    if found is None:
        raise status.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text[:_QUOTED]}": it is not a number'
        )
    return found


class Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel"):
    """How to delete, from the body and the query together."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None


def read_delete(request: Request) -> DeleteOptions:
    """The options a DELETE came with.  A client sends them in the body, in the query, or not at all."""
    options = DeleteOptions()
    if request.body.strip():
        options = delete_options(decoding.decode_options(request, "DeleteOptions", "DeleteOptions"))
    grace = number(request, "gracePeriodSeconds")
    if grace is not None:
        options.grace_period_seconds = grace
    if request.param("propagationPolicy"):
        options.propagation_policy = request.param("propagationPolicy")
    if request.param("dryRun"):
        options.dry_run = [request.param("dryRun")]
    errors: list[FieldError] = []
    policy = options.propagation_policy
    if policy and policy not in _POLICIES:
        errors.append(fields.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if policy and options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fields.invalid("propagationPolicy", policy, detail))
    if options.dry_run and options.dry_run != ["All"]:
        errors.append(fields.unsupported("dryRun", options.dry_run, ("All",)))
    if errors:
        raise _refusal("DeleteOptions", errors)
    return options


def delete_options(document: Document) -> DeleteOptions:
    """The options in a document whose types have been checked."""
    try:
        return msgspec.convert(document, DeleteOptions)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"the body is not a DeleteOptions: {error}") from None
