"""From a request's body to a document of the expected kind, with the refusals a real API server gives."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from podium.embedded.conversion import typed
from podium.embedded.doubled import doubled_keys
from podium.embedded.registry import Kind
from podium.errors import ApiError
from podium.kube import status
from podium.kube.resources import Resource
from podium.kube.schema import engine
from podium.kube.transport import JSON, Request

Document = dict[str, Any]

# How deep lists and objects may stand in each other.  Code that walks a document takes a few frames a level, of
# the thousand that Python has.
MAX_DEPTH = 200

YAML_TYPES = ("application/yaml", "application/x-yaml")


def decode_body(request: Request, *, what: str) -> Document:
    """The body as a JSON (or YAML) object.  `what` names the expected thing in the refusal."""
    media = request.content_type.partition(";")[0].strip() or JSON
    try:
        if media in YAML_TYPES:
            document = yaml.load(request.body, yaml.CSafeLoader)
            check_depth(document)
        elif media == JSON:
            document = decode_json(request.body)
        else:
            raise status.unsupported_media_type(media, (JSON, *YAML_TYPES))
    except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        told = str(error).splitlines()[0] if str(error) else "it is empty"
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {what}): "
            f"couldn't get version/kind; json parse error: {told}"
        ) from None
    if not isinstance(document, dict):
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {what}): it is not a JSON object"
        )
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
    told = f"lists and objects stand in each other more than {MAX_DEPTH} deep"
    return status.bad_request(f"the body exceeded max depth: {told}")


def check_type_meta(document: Document, kind: Kind) -> Document:
    """An object must say what it is, and be what the path says.

    Built-in kinds may leave it out (the path tells), custom resources may not.
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
    problems: list[str] = []
    if body and validation != "Ignore":
        problems = [f'duplicate field "{path}"' for path in doubled_keys(body, document)]
    if engine.is_clean(document, kind.schema) and not problems:
        return problems
    unknown = engine.unknown_fields(document, kind.schema)
    if unknown:
        engine.prune(document, kind.schema)
        if validation != "Ignore":
            problems += [f'unknown field "{path}"' for path in unknown]
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
