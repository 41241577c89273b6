"""Templates of pods in kinds of other APIs: what is wrong with one, as a server would say it about a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.schema import builtin, engine
from podium.schema.filling import drop_nulls, fill
from podium.schema.model import Schema
from podium.schema.pod_defaults import add_default_tolerations, default_pod, default_pod_spec, default_volume
from podium.schema.shape import is_quantity
from podium.schema.validation import validate_pod_template, validate_volumes

Document = dict[str, Any]


def check_pod_template(template: Any, path: str) -> list[FieldError]:
    """What is wrong with a template, which is changed: filled in as a pod would be."""
    if not isinstance(template, dict):
        return [fields.wrong_type(path, template, "must be an object")]
    schema = builtin.type_named("PodTemplateSpec")
    if errors := type_errors(template, schema, path):
        return errors
    # What the table does not know, a server drops from a pod as well.
    engine.prune(template, schema, resource=False)
    drop_nulls(template, schema)
    template.setdefault("spec", {})
    fill(template, schema)
    default_pod_spec(template["spec"])
    return validate_pod_template(template, path)


def check_shared_volumes(volumes: list[Any], path: str) -> list[FieldError]:
    """The same for volumes that a kind adds to its templates: each is said to be wrong once, where it stands."""
    schema = builtin.type_named("Volume")
    errors: list[FieldError] = []
    for index, each in enumerate(volumes):
        at = f"{path}[{index}]"
        errors += (
            type_errors(each, schema, at)
            if isinstance(each, dict)
            else [fields.wrong_type(at, each, "must be an object")]
        )
    if errors:
        return errors
    for each in volumes:
        engine.prune(each, schema, resource=False)
        drop_nulls(each, schema)
        fill(each, schema)
        default_volume(each)
    return validate_volumes(volumes, path)


def filled_in(pod: Document) -> Document:
    """A pod that is yet to be made, as a server will have it: what it fills in decides where the pod can go."""
    fill(pod, builtin.type_named("PodTemplateSpec"))  # what a template has is what a pod has
    default_pod(pod)
    add_default_tolerations(pod)
    return pod


def type_errors(value: Any, schema: Schema, at: str) -> list[FieldError]:
    """Values of a wrong type: amounts each with its path, anything else as a server's decoder says it."""
    reported = engine.type_error(value, schema)
    if reported is None:
        return []
    return list(_amount_errors(value, schema, at)) or [fields.FieldError(at, "FieldValueTypeInvalid", reported)]


def _amount_errors(value: Any, schema: Schema, at: str) -> Iterator[FieldError]:
    if schema.format == "quantity":
        if value is not None and not is_quantity(value):
            yield fields.invalid(at, value, "must be an amount such as 2, 500m or 4Gi")
    elif isinstance(value, dict):
        for key, each in value.items():
            if schema.values is not None:
                yield from _amount_errors(each, schema.values, f"{at}[{key}]")
            elif key in (schema.properties or {}):
                yield from _amount_errors(each, (schema.properties or {})[key], f"{at}.{key}")
    elif isinstance(value, list) and schema.items is not None:
        for index, each in enumerate(value):
            yield from _amount_errors(each, schema.items, f"{at}[{index}]")
