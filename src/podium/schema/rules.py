"""What an API server knows of a kind beyond the table of its fields: what it fills in, and what it refuses.

The functions themselves stand in `defaults` and `validation`; whoever serves a kind says in its record which of
them are its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from podium.kube import names
from podium.kube.fields import FieldError
from podium.schema.filling import drop_nulls, fill
from podium.schema.model import Schema
from podium.schema.validation.base import Errors
from podium.schema.validation.metadata import validate_metadata

Document = dict[str, Any]


class Rules(msgspec.Struct, frozen=True):
    """The rules of one kind.  Without a check of its own an update is checked as a creation is."""

    default: Callable[[Document], None] | None = None
    check: Callable[[Errors, Document], None] | None = None
    check_update: Callable[[Errors, Document, Document], None] | None = None
    check_name: Callable[[str], str | None] = names.check_dns_subdomain


def default_object(document: Document, schema: Schema, rules: Rules) -> None:
    """Fills in a built-in object before admission, at creation and at every update alike."""
    drop_nulls(document, schema)
    fill(document, schema)
    if rules.default is not None:
        rules.default(document)


def validate_create(document: Document, rules: Rules) -> list[FieldError]:
    """What is wrong with a new object of a built-in kind."""
    errors = validate_metadata(document["metadata"], check_name=rules.check_name)
    if rules.check is not None:
        rules.check(errors, document)
    return errors


def validate_update(new: Document, old: Document, rules: Rules) -> list[FieldError]:
    """What is wrong with a changed object of a built-in kind."""
    errors = validate_metadata(new["metadata"], old["metadata"])
    if _same_but_metadata(new, old):
        return errors  # labels, annotations, finalizers: the frequent updates
    if rules.check_update is not None:
        rules.check_update(errors, new, old)
    elif rules.check is not None:
        rules.check(errors, new)
    return errors


def _same_but_metadata(new: Document, old: Document) -> bool:
    return len(new) == len(old) and all(
        field == "metadata" or (field in old and old[field] == value) for field, value in new.items()
    )
