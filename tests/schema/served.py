"""The rules of the built-in kinds, as the embedded server has them in its records."""

from __future__ import annotations

from typing import Any

from podium.embedded.kinds import builtin_kinds
from podium.kube.fields import FieldError
from podium.kube.resources import Resource
from podium.schema import rules

Document = dict[str, Any]

_KINDS = {kind.resource: kind for kind in builtin_kinds()}


def default_object(resource: Resource, document: Document) -> None:
    kind = _KINDS[resource]
    rules.default_object(document, kind.schema, kind.rules)


def validate_create(resource: Resource, document: Document) -> list[FieldError]:
    return rules.validate_create(document, _KINDS[resource].rules)


def validate_update(resource: Resource, new: Document, old: Document) -> list[FieldError]:
    return rules.validate_update(new, old, _KINDS[resource].rules)
