"""Table answers: what `kubectl get` prints.  The server makes the columns, so every client shows the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec

from podium.embedded import jsonpath
from podium.embedded.printers.cells import (
    CREATED_AT,
    NAME,
    UNKNOWN,
    Document,
    Heading,
    Printer,
    human_duration,
    name_of,
    part,
)
from podium.embedded.registry import Column, Kind
from podium.kube.times import parse_time

META = "meta.k8s.io"

# What a custom resource without columns of its own shows.
AGE_COLUMN = Column("Age", "date", ".metadata.creationTimestamp")

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_HTML = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def list_metadata(resource_version: str, continue_token: str, remaining: int | None) -> Document:
    """The metadata of a list, whatever form its items have."""
    metadata: Document = {"resourceVersion": resource_version}
    if continue_token:
        metadata["continue"] = continue_token
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return metadata


def table(
    kind: Kind,
    documents: Sequence[Document],
    *,
    now: float,
    resource_version: str,
    continue_token: str = "",
    remaining: int | None = None,
    include: str = "Metadata",
    headers: bool = True,
    version: str = "v1",
) -> Document:
    """A Table of objects.

    `include` says what each row carries beside its cells: the object's "Metadata", the whole "Object" or "None".
    """
    printer = printer_of(kind)
    return {
        "kind": "Table",
        "apiVersion": f"{META}/{version}",
        "metadata": list_metadata(resource_version, continue_token, remaining),
        "columnDefinitions": [heading.document() for heading in printer.headings] if headers else None,
        "rows": [_row(printer, document, now, include, version) for document in documents],
    }


def table_event_row(
    kind: Kind,
    document: Document,
    *,
    now: float,
    first: bool,
    include: str = "Metadata",
    version: str = "v1",
) -> Document:
    """The Table of one row that stands for the object in a watch event.

    Only the first event of a watch carries the headings: they do not change while it lasts.
    """
    return table(
        kind,
        [document],
        now=now,
        resource_version=part(document, "metadata").get("resourceVersion", ""),
        include=include,
        headers=first,
        version=version,
    )


def partial_metadata(document: Document, version: str = "v1") -> Document:
    """An object reduced to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{META}/{version}",
        "metadata": document.get("metadata", {}),
    }


def _row(printer: Printer, document: Document, now: float, include: str, version: str) -> Document:
    row: Document = {"cells": printer.cells(document, now)}
    conditions = printer.conditions(document)
    if conditions:
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = document
    else:
        row["object"] = None if include == "None" else partial_metadata(document, version)
    return row


# --- which printer -----------------------------------------------------------------------------------------


def printer_of(kind: Kind) -> Printer:
    """How a kind is printed: by its own printer, by the columns its definition names, or by name and time."""
    if kind.custom:
        return custom_printer(kind.columns or (AGE_COLUMN,))
    return kind.printer or _DEFAULT


def _default_cells(document: Document, now: float) -> list[Any]:
    return [name_of(document), part(document, "metadata").get("creationTimestamp")]


_DEFAULT = Printer((NAME, CREATED_AT), _default_cells)


# --- custom resources --------------------------------------------------------------------------------------


def custom_printer(columns: Sequence[Column]) -> Printer:
    """The printer that a CustomResourceDefinition's additionalPrinterColumns describe.

    A server takes a definition with a path that nobody can read, and prints its objects as if it named no columns.
    """
    try:
        paths = [(column.type, jsonpath.compile_path(column.path)) for column in columns]
    except (jsonpath.PathError, RecursionError):
        return custom_printer((AGE_COLUMN,))

    def cells(document: Document, now: float) -> list[Any]:
        return [name_of(document), *(_custom_cell(kind, path.first(document), now) for kind, path in paths)]

    return Printer((NAME, *map(_custom_heading, columns)), cells)


def _custom_heading(column: Column) -> Heading:
    return Heading(
        column.name,
        column.description or f"The custom resource's field {column.path}",
        type=column.type,
        priority=column.priority,
        format=column.format,
    )


def _custom_cell(kind: str, value: Any, now: float) -> Any:
    """A value as its column's type shows it; nothing when it is of another type."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return _text(value)
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _date(value, now)
    return None


def _date(text: str, now: float) -> str:
    if not text:
        return UNKNOWN
    if not _RFC3339.fullmatch(text) or not (then := parse_time(text.upper())):
        return "<invalid>"
    return human_duration(now - then)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _float_text(value)
    # Structures are shown as JSON with sorted keys, safe to stand in a web page.
    return msgspec.json.encode(value, order="deterministic").decode().translate(_HTML)


def _float_text(value: float) -> str:
    """The shortest digits that give the number back, with an exponent from a million on: 1.5, 1.2345675e+06."""
    shortest = Decimal(repr(value)).normalize()
    power = shortest.adjusted()
    if -4 <= power < 6:
        return f"{shortest:f}"
    mantissa = shortest.scaleb(-power)
    return f"{mantissa:f}e{power:+03d}"
