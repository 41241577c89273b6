"""From a request's body to a document of the expected kind, with the refusals a real API server gives."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from podium.embedded.conversion import typed
from podium.embedded.doubled import MOST, doubled_keys, in_order
from podium.embedded.registry import Kind
from podium.errors import ApiError
from podium.kube import status, yaml_loading
from podium.kube.resources import Resource
from podium.kube.transport import JSON, Request
from podium.kube.yaml_loading import MAX_DEPTH
from podium.schema import engine
from podium.schema.builtin import type_named

Document = dict[str, Any]

YAML_TYPES = ("application/yaml", "application/x-yaml")


def decode_body(request: Request, *, what: str) -> Document:
    """The body as a JSON (or YAML) object.  `what` names the expected thing in the refusal."""
    media = request.content_type.partition(";")[0].strip() or JSON
    try:
        if media in YAML_TYPES:
            document = yaml_loading.load(request.body)
        elif media == JSON:
            document = decode_json(request.body)
        else:
            raise status.unsupported_media_type(media, (JSON, *YAML_TYPES))
    except yaml.YAMLError as error:
        reported, line, column = yaml_loading.describe(error)
        place = f"line {line}, column {column}: " if line else ""
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {what}): yaml: {place}{reported}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {what}): "
            f"couldn't get version/kind; json parse error: {error}"
        ) from None
    if not isinstance(document, dict):
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {what}): it is not a JSON object"
        )
    return document


def decode_options(request: Request, kind: str, type_name: str) -> Document:
    """The body of a request that is about an object and is none itself: a Binding, a Scale, DeleteOptions."""
    document = decode_body(request, what=kind)
    given = document.get("kind")
    if given and given != kind:
        raise status.bad_request(f"the body of this request is a {kind}, not a {str(given)[:60]}")
    return checked_options(document, type_name)


def checked_options(document: Document, type_name: str) -> Document:
    wrong = engine.type_error(document, type_named(type_name))
    if wrong is not None:
        raise status.bad_request(wrong)
    return document


def decode_json(body: bytes) -> Any:
    """A body of JSON.  DecodeError if it is none, ApiError if it nests too deep."""
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise too_deep() from None
    # What has few brackets is not deep: nearly every body is done with this.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """ApiError if lists and objects stand in each other too deep for those who walk them."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep()
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]


def too_deep() -> ApiError:
    reported = f"lists and objects stand in each other more than {MAX_DEPTH} deep"
    return status.bad_request(f"the body exceeded max depth: {reported}")


def check_type_meta(document: Document, kind: Kind) -> Document:
    """An object must say what it is, and be what the path says.

    Built-in kinds may leave it out (the path names them), custom resources may not.
    """
    resource = kind.resource
    given, version = document.get("kind"), document.get("apiVersion")
    if kind.custom:
        if not given:
            raise status.bad_request(
                f"Object 'Kind' is missing in '{msgspec.json.encode(document).decode()[:200]}'"
            )
        if not version:
            raise status.bad_request("Object 'apiVersion' is missing: set it to " + resource.api_version)
    if version and version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match "
            f"the expected API version ({resource.api_version})"
        )
    if given and given != resource.kind:
        raise status.bad_request(
            f'{given} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"the path is one of {resource.group_resource}"
        )
    return typed(kind, document)


def check_fields(document: Document, kind: Kind, validation: str, body: bytes = b"") -> list[str]:
    """Unknown and doubled fields, and wrong types.  Returns warnings; raises 400 as `fieldValidation` asks for."""
    doubled = doubled_keys(body, document) if body and validation != "Ignore" else []
    if engine.is_clean(document, kind.schema) and not doubled:
        return []
    unknown = engine.unknown_fields(document, kind.schema)
    if unknown:
        engine.prune(document, kind.schema)
    if validation == "Ignore":
        problems = []
    elif kind.custom:
        # It is decoded first, which finds the doubled ones, and compared with its schema afterwards.
        problems = doubled + [f'unknown field "{path}"' for path in unknown[:MOST]]
    else:
        problems = in_order(body, doubled, unknown)
    if problems and validation == "Strict":
        raise status.bad_request(f"{_as_itself(kind.resource)}: strict decoding error: {', '.join(problems)}")
    wrong = wrong_type(document, kind)
    if wrong is not None:
        raise status.bad_request(wrong)
    return problems


def wrong_type(document: Document, kind: Kind) -> str | None:
    """The first value that has not its field's type, in words.

    Of a custom resource only the metadata has to be right to be decoded: the rest is for its schema to judge.
    """
    if kind.custom:
        wrong = engine.metadata_type_error(document.get("metadata"))
    else:
        wrong = engine.type_error(document, kind.schema)
    return None if wrong is None else f"{_as_itself(kind.resource)}: {wrong}"


def _as_itself(resource: Resource) -> str:
    """How the server names what it could not read."""
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
