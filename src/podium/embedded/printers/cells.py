"""What printers are made of: headings, ages, and the small texts that many columns share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from podium.kube import selectors
from podium.kube.times import parse_time

Document = dict[str, Any]

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


class Heading(msgspec.Struct, frozen=True):
    """One column.  Priority 1 is shown by `-o wide` only; the format `name` marks what identifies the row."""

    name: str
    description: str
    type: str = "string"
    priority: int = 0
    format: str = ""

    def document(self) -> Document:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class Printer(msgspec.Struct, frozen=True):
    """How one kind is printed: its headings, and a document's cells at a time, one for each heading.

    `conditions` marks rows of objects that have run their course, which some clients hide.
    """

    headings: tuple[Heading, ...]
    cells: Callable[[Document, float], list[Any]]
    conditions: Callable[[Document], list[Document]] = lambda document: []


NAME = Heading("Name", "The object's name, unique in its namespace", format="name")
AGE = Heading("Age", "Time since the object was created")
CREATED_AT = Heading("Created At", "When the object was created", type="date")


def wide(name: str, description: str) -> Heading:
    """A column that only `-o wide` shows."""
    return Heading(name, description, priority=1)


def integer(name: str, description: str) -> Heading:
    return Heading(name, description, type="integer")


def boolean(name: str, description: str) -> Heading:
    return Heading(name, description, type="boolean")


TEMPLATE_HEADINGS = (
    wide("Containers", "Names of the containers in the pod template"),
    wide("Images", "Images of the containers in the pod template"),
)
SELECTOR = wide("Selector", "Which pods belong to the object")


# --- reaching into documents -------------------------------------------------------------------------------


def part(document: Mapping[str, Any], *path: str) -> Document:
    """The structure at a path; an empty one where there is none."""
    found: Any = document
    for key in path:
        found = found.get(key) or {}
    return found  # type: ignore[no-any-return]


def items(document: Mapping[str, Any], key: str) -> list[Document]:
    """The list under a key; an empty one where there is none."""
    return document.get(key) or []


def name_of(document: Document) -> str:
    return str(part(document, "metadata").get("name", ""))


def deleting(document: Document) -> bool:
    return "deletionTimestamp" in part(document, "metadata")


def true_conditions(status: Document) -> set[str]:
    """The types of the conditions that hold."""
    return {c.get("type", "") for c in items(status, "conditions") if c.get("status") == "True"}


# --- times -------------------------------------------------------------------------------------------------


def human_duration(seconds: float) -> str:
    """A duration in the two or three significant figures that people compare: 90s, 5m30s, 3h12m, 2d4h, 400d.

    A clock may be a second behind the one that set the time; a longer negative duration is an error to show.
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two_units(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two_units(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two_units(whole: int, large: int, large_sign: str, small: int, small_sign: str) -> str:
    count, rest = divmod(whole, large)
    rest //= small
    return f"{count}{large_sign}{rest}{small_sign}" if rest else f"{count}{large_sign}"


def since(text: str | None, now: float) -> str:
    """The time that has passed since a wire time."""
    then = parse_time(text)
    return human_duration(now - then) if then else UNKNOWN


def age(document: Document, now: float) -> str:
    return since(part(document, "metadata").get("creationTimestamp"), now)


# --- small texts -------------------------------------------------------------------------------------------


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels in the order of their keys."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector in one line; one that selects everything, or none at all, counts as absent."""
    try:
        return selectors.format_selector(selector) or NONE
    except ValueError:
        return "<error>"


def template_cells(template: Document) -> list[Any]:
    """The cells under TEMPLATE_HEADINGS."""
    containers = items(part(template, "spec"), "containers")
    return [",".join(c.get(field) or "" for c in containers) for field in ("name", "image")]


def first_few(texts: Iterable[str]) -> str:
    """The first three texts, and how many more there are."""
    found = list(texts)
    shown = ",".join(found[:3])
    return f"{shown} + {len(found) - 3} more..." if len(found) > 3 else shown
