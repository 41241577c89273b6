"""What a client may set when it creates or changes an object, by what the record of its kind says.

Everything here works on documents in place and decides nothing about storage.
"""

from __future__ import annotations

from typing import Any

from podium.embedded.registry import Kind
from podium.embedded.store import Store

Document = dict[str, Any]


def moves_generation(kind: Kind, new: Document, old: Document) -> bool:
    """Whether a change is one that the generation counts."""
    if not kind.strategy.counts_generation:
        return False
    if kind.strategy.counts_annotations:
        notes = (new["metadata"].get("annotations"), old["metadata"].get("annotations"))
        if notes[0] != notes[1]:
            return True
    return any(
        new.get(field) != old.get(field)
        for field in new.keys() | old.keys()
        if field not in ("metadata", "status", "kind", "apiVersion")
    )


def clear_status(kind: Kind, document: Document) -> None:
    """Drops the status a creator gave: it is the system's to set.  Defaults may fill the empty one."""
    if kind.status and not kind.strategy.keeps_status:
        document.pop("status", None)
        if not kind.custom:
            document["status"] = {}


def prepare_create(kind: Kind, document: Document, store: Store) -> None:
    """Sets what the system sets at birth."""
    if kind.strategy.at_create is not None:
        kind.strategy.at_create(document, store)


def prepare_update(kind: Kind, new: Document, old: Document) -> None:
    """A write to the object itself cannot touch its status."""
    if kind.status:
        _restore(new, old, "status")
    if kind.strategy.at_update is not None:
        kind.strategy.at_update(new, old)


def prepare_status_update(kind: Kind, new: Document, old: Document) -> Document:
    """A write to the status keeps everything but the status and what of the metadata is anybody's to set."""
    result = dict(old)
    if "status" in new:
        result["status"] = new["status"]
    else:
        result.pop("status", None)
    metadata = result["metadata"] = dict(old["metadata"])
    if kind.strategy.at_status_update is not None:
        kind.strategy.at_status_update(result)
    for field in kind.strategy.with_status:
        _restore(metadata, new["metadata"], field)
    return result


def _restore(document: Document, source: Document, field: str) -> None:
    if field in source:
        document[field] = source[field]
    else:
        document.pop(field, None)
