"""PATCH: the three patch formats applied to a stored object."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded import decoding
from podium.embedded.conversion import to_served
from podium.embedded.objects import Objects
from podium.embedded.registry import Kind
from podium.embedded.store import Record
from podium.errors import ApiError
from podium.kube import status
from podium.kube.cache import Key
from podium.kube.fields import invalid
from podium.kube.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Request
from podium.schema import engine, patches, strategic

Document = dict[str, Any]


def patch(
    objects: Objects, kind: Kind, key: Key, subresource: str, request: Request, *, dry_run: bool
) -> tuple[Record, list[str]]:
    """Patches an object or its status; returns it with the warnings about unknown fields."""
    media = request.content_type.partition(";")[0].strip()
    known = (JSON_PATCH, MERGE_PATCH) if kind.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
    if media not in known:
        raise status.unsupported_media_type(media, known)
    record = objects.require(kind, *key)
    body = _decode(request)
    # A record that lacks defaults gets them with its next write, and that takes the whole of it.
    by_itself = (
        not subresource and record.version >= kind.defaults_since and objects.judges_metadata_by_itself(kind)
    )
    if by_itself and names_metadata_alone(media, body):
        before = to_served(kind, record.outline())
        metadata = apply(before, media, body, kind)["metadata"]
        if engine.is_clean({"metadata": metadata}, kind.schema):
            return objects.update_metadata(kind, record, before, metadata, dry_run=dry_run), []
    before = to_served(kind, record.document())
    after = apply(before, media, body, kind)
    metadata = after["metadata"]
    slight = by_itself and concerns_metadata_alone(after, before)
    if slight and engine.is_clean({"metadata": metadata}, kind.schema):
        return objects.update_metadata(kind, record, before, metadata, dry_run=dry_run), []
    after = decoding.check_type_meta(after, kind)
    validation = request.param("fieldValidation")
    if validation == "Strict":
        # A patch that brings unknown fields is an invalid object, where a whole document would be a bad request.
        _refuse_unknown(after, kind, key[1])
    wrong = decoding.wrong_type(after, kind)
    if wrong is not None:
        raise status.invalid(kind.resource, key[1], [invalid("patch", {}, wrong)])
    warnings = decoding.check_fields(after, kind, validation)
    result = objects.update(kind, key, after, subresource=subresource, dry_run=dry_run, patched=True)
    return result, warnings


def names_metadata_alone(media: str, body: Any) -> bool:
    """Whether a patch says nothing of anything else: then the rest of the object need not even be decoded."""
    return media in (MERGE_PATCH, STRATEGIC_PATCH) and isinstance(body, dict) and body.keys() == {"metadata"}


def concerns_metadata_alone(after: Document, before: Document) -> bool:
    """Whether a patch left everything but labels and the like as it was.

    Patches share what they do not touch with the document they were made from, so this is a look at identities.
    Labels and annotations are what is patched most, and such a patch needs no second look at the spec.
    """
    return after.keys() == before.keys() and all(
        after[field] is before[field] for field in before if field != "metadata"
    )


def apply(before: Document, media: str, body: Any, kind: Kind) -> Document:
    """The patched document; `before` stays as it is."""
    if media == JSON_PATCH:
        try:
            after = patches.json_patch(before, body, lenient=True)
        except patches.MalformedPatch as error:
            raise status.bad_request(str(error)) from None
        except patches.PatchError as error:
            raise ApiError(
                422, "Invalid", f"the server rejected our request due to an error in our request: {error}"
            ) from None
    elif media == MERGE_PATCH:
        if not isinstance(body, dict):
            raise status.bad_request("a merge patch is a JSON object")
        after = patches.merge_patch(before, body)
    else:
        if not isinstance(body, dict):
            raise status.bad_request("a strategic merge patch is a JSON object")
        try:
            after = strategic.strategic_merge(before, body, kind.schema)
        except ValueError as error:
            raise status.bad_request(str(error)) from None
    if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
        raise status.bad_request("the patch leaves no object with metadata")
    if media == JSON_PATCH:
        decoding.check_depth(after)  # a path that leads deep takes what is added there deeper still
    return after


def apply_to_scale(before: Document, request: Request) -> Document:
    """A patched Scale.  It has no lists, so a strategic patch is a merge patch."""
    media = request.content_type.partition(";")[0].strip()
    body = _decode(request)
    if media == JSON_PATCH:
        try:
            after = patches.json_patch(before, body, lenient=True)
        except patches.PatchError as error:
            raise status.bad_request(str(error)) from None
    elif media in (MERGE_PATCH, STRATEGIC_PATCH) and isinstance(body, dict):
        after = patches.merge_patch(before, body)
    else:
        raise status.unsupported_media_type(media, (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH))
    if not isinstance(after, dict):
        raise status.bad_request("the patch leaves no Scale")
    return decoding.checked_options(after, "autoscaling/Scale")


def _decode(request: Request) -> Any:
    try:
        return decoding.decode_json(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise status.bad_request(f"error decoding patch: {error}") from None


def _refuse_unknown(document: Document, kind: Kind, name: str) -> None:
    unknown = engine.unknown_fields(document, kind.schema)
    if unknown:
        reported = ", ".join(f'unknown field "{path}"' for path in unknown)
        error = invalid("patch", {}, f"strict decoding error: {reported}")
        raise status.invalid(kind.resource, name, [error])
