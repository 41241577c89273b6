"""Versions of a kind that share one stored object: served and stored form, one into the other.

Versions of a custom resource differ in their apiVersion alone (conversion strategy None).  Events are stored in
the core form and also served by events.k8s.io, which names some of the fields differently.
"""

from __future__ import annotations

from typing import Any

from podium.embedded.registry import Kind
from podium.embedded.store import Record
from podium.kube.resources import EVENTS_V1
from podium.schema.defaulting import apply_defaults

Document = dict[str, Any]

# events.k8s.io/v1 name -> core/v1 name
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def typed(kind: Kind, document: Document) -> Document:
    """The document with what it is at its beginning, so that stored bytes show their version by how they begin."""
    said = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
    return {**said, **document, **said}


def is_served_form(kind: Kind, record: Record) -> bool:
    """Whether stored bytes can be sent as they are.  Every stored document begins with its apiVersion."""
    if kind.resource == kind.storage:
        return True
    return record.data.startswith(kind.prefix) and record.version >= kind.defaults_since


def to_served(kind: Kind, document: Document) -> Document:
    """A stored document as this kind shows it.

    One that was written before its definition got the schemas it has now gets the defaults that came with them,
    those of the version in which it is stored.
    """
    if kind.defaults_since and int(document["metadata"]["resourceVersion"]) < kind.defaults_since:
        schema = kind.defaulted.get(document["apiVersion"])
        if schema is not None:
            apply_defaults(document, schema)
    if document["apiVersion"] == kind.resource.api_version:
        return document
    if kind.resource == EVENTS_V1:
        document = {new: document[old] for old, new in _renamed(document, reverse=True)}
    document["apiVersion"] = kind.resource.api_version
    return document


def to_stored(kind: Kind, document: Document) -> Document:
    """A served document in the form in which it is kept.  A custom resource is kept in the version it came in."""
    if kind.resource == EVENTS_V1:
        document = {new: document[old] for old, new in _renamed(document, reverse=False)}
        document["apiVersion"] = kind.storage.api_version
    return document


def _renamed(document: Document, *, reverse: bool) -> list[tuple[str, str]]:
    """(present name, other form's name) of every field of the document."""
    table = {old: new for new, old in _EVENT_FIELDS.items()} if reverse else _EVENT_FIELDS
    return [(field, table.get(field, field)) for field in document]
