"""From a request's body to a document of the expected kind, with the refusals a real API server gives."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from podium.embedded.registry import Kind
from podium.errors import ApiError
from podium.kube import status
from podium.kube.fields import invalid
from podium.kube.resources import Resource
from podium.kube.schema import engine
from podium.kube.transport import JSON, Request

Document = dict[str, Any]

YAML_TYPES = ("application/yaml", "application/x-yaml")


def decode_body(request: Request, *, what: str) -> Document:
    """The body as a JSON (or YAML) object.  `what` names the expected thing in the refusal."""
    media = request.content_type.partition(";")[0].strip() or JSON
    try:
        if media in YAML_TYPES:
            document = yaml.load(request.body, yaml.CSafeLoader)
        elif media == JSON:
            document = msgspec.json.decode(request.body)
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


def check_type_meta(document: Document, kind: Kind) -> Document:
    """An object must say what it is, and be what the path says.

    Built-in kinds may leave both out (the path tells), custom resources may not.  The returned document says it
    first, so that stored bytes tell their version by how they begin.
    """
    resource = kind.resource
    given, version = document.get("kind"), document.get("apiVersion")
    if kind.custom or given or version:
        if not given:
            raise status.bad_request(
                f"Object 'Kind' is missing in '{msgspec.json.encode(document).decode()[:200]}'"
            )
        if not version:
            raise status.bad_request("Object 'apiVersion' is missing: set it to " + resource.api_version)
        if version != resource.api_version:
            raise status.bad_request(
                f"the API version in the data ({version}) does not match "
                f"the expected API version ({resource.api_version})"
            )
        if given != resource.kind:
            raise status.bad_request(
                f"{given} in version {version!r} cannot be handled as a {resource.kind}: "
                f"no kind {given!r} is registered for this resource".replace("'", '"')
            )
    return {**_type_meta(resource), **document, **_type_meta(resource)}


def _type_meta(resource: Resource) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def check_fields(document: Document, kind: Kind, validation: str) -> list[str]:
    """Unknown fields and wrong types.  Returns warnings; raises 400 as `fieldValidation` asks for."""
    warnings: list[str] = []
    if validation not in ("Strict", "Warn", "Ignore", ""):
        raise status.invalid(
            Resource("meta.k8s.io", "v1", "", "CreateOptions"),
            "",
            [invalid("fieldValidation", validation, "must be one of Ignore, Warn or Strict")],
        )
    if engine.is_clean(document, kind.schema):
        return warnings
    unknown = engine.unknown_fields(document, kind.schema)
    if unknown:
        if validation == "Strict":
            raise strict_error(kind.resource, unknown)
        if validation != "Ignore":
            warnings = [f'unknown field "{path}"' for path in unknown]
        engine.prune(document, kind.schema)
    if not kind.custom:
        wrong = engine.type_error(document, kind.schema)
        if wrong is not None:
            raise status.bad_request(f"{_as_itself(kind.resource)}: {wrong}")
    return warnings


def strict_error(resource: Resource, unknown: list[str]) -> ApiError:
    told = ", ".join(f'unknown field "{path}"' for path in unknown)
    return status.bad_request(f"{_as_itself(resource)}: strict decoding error: {told}")


def _as_itself(resource: Resource) -> str:
    """How the server names what it could not read."""
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
