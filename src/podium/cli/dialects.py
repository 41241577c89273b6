"""What the API families bring along, for commands that start a cluster or print it."""

from __future__ import annotations

from typing import Any

from podium.dialects import speaking
from podium.dialects.dialect import Dialect
from podium.errors import UsageError
from podium.kube.admission import Hook

Document = dict[str, Any]


def chosen_dialects(names: str | None = None, among: tuple[Dialect, ...] | None = None) -> tuple[Dialect, ...]:
    """All families, or those of some names separated by commas."""
    among = speaking() if among is None else among
    if names is None:
        return among
    wanted = {name.strip() for name in names.split(",")}
    for name in sorted(wanted - {each.name for each in among}):
        known = ", ".join(each.name for each in among)
        raise UsageError(f"there is no dialect {name!r}; there are {known}")
    return tuple(each for each in among if each.name in wanted)


def hooks() -> tuple[Hook, ...]:
    return tuple(hook for each in speaking() for hook in each.hooks)


def objects() -> tuple[Document, ...]:
    """Everything that has to be there from the start, definitions first."""
    dialects = speaking()
    definitions = [document for each in dialects for document in each.documents()]
    return (*definitions, *(document for each in dialects for document in each.objects))
