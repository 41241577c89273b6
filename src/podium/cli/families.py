"""What the API families bring along, for commands that start a cluster or print it."""

from __future__ import annotations

from typing import Any

from podium.dialects import DIALECTS
from podium.dialects.dialect import Dialect
from podium.errors import UsageError
from podium.kube.admission import Hook

Document = dict[str, Any]


def families(name: str | None = None) -> tuple[Dialect, ...]:
    """All families, or the one of a name."""
    if name is None:
        return DIALECTS
    found = tuple(each for each in DIALECTS if each.name == name)
    if not found:
        known = ", ".join(each.name for each in DIALECTS)
        raise UsageError(f"there is no dialect {name!r}; there are {known}")
    return found


def hooks() -> tuple[Hook, ...]:
    return tuple(hook for each in DIALECTS for hook in each.hooks)


def objects() -> tuple[Document, ...]:
    """Everything that has to be there from the start, definitions first."""
    definitions = [document for each in DIALECTS for document in each.documents()]
    return (*definitions, *(document for each in DIALECTS for document in each.objects))
