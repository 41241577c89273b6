"""What is wrong with a field: the one shape in which every validation of podium speaks.

The sentences follow the API server's own wording, because people search for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import msgspec


class FieldError(msgspec.Struct, frozen=True):
    """One complaint: the field's path (`spec.containers[0].name`), the cause's reason code, and the sentence."""

    path: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


def show(value: Any) -> str:
    """A bad value as the API server quotes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "null"
    return msgspec.json.encode(value).decode()


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(path, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {show(value)}: {detail}")


def wrong_type(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(path, "FieldValueTypeInvalid", f"Invalid value: {show(value)}: {detail}")


def unsupported(path: str, value: Any, supported: Iterable[Any]) -> FieldError:
    """`supported` is listed in its own order, or, being a set, sorted."""
    listed = sorted(supported, key=str) if isinstance(supported, Set) else supported
    known = ", ".join(show(s) for s in listed)
    return FieldError(
        path, "FieldValueNotSupported", f"Unsupported value: {show(value)}: supported values: {known}"
    )


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(path, "FieldValueDuplicate", f"Duplicate value: {show(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")


def not_found(path: str, value: Any, detail: str = "") -> FieldError:
    return FieldError(path, "FieldValueNotFound", f"Not found: {show(value)}" + (f": {detail}" if detail else ""))


def too_long(path: str, limit: int) -> FieldError:
    return FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(path: str, count: int, limit: int) -> FieldError:
    return FieldError(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} items")
