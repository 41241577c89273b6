"""Objects as users write them: what has to be in order before they are sent anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.embedded.nodes.script import script_of
from podium.errors import UsageError

Document = dict[str, Any]


def unpacked(document: Document, path: str = "$") -> Iterator[tuple[str, Document]]:
    """The objects of a manifest, each with its path: a List, as `kubectl get` writes it, holds several."""
    items = document.get("items")
    if document.get("apiVersion") != "v1" or document.get("kind") != "List" or not isinstance(items, list):
        yield path, document
        return
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise UsageError(f"items[{number}]: want an object with apiVersion and kind")
        yield from unpacked(item, f"{path}.items[{number}]")


def check_manifest(document: Document) -> None:
    """That an object has the shape of one.  UsageError says what is missing."""
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str):
            raise UsageError(f"{name}: want a text, got {document.get(name)!r:.60}")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name", metadata.get("generateName")), str):
        raise UsageError("metadata.name: want a text")
    for pod in (document, *templates(document.get("spec"))):
        _check_script(pod)


def _check_script(pod: Document) -> None:
    """A pod with a bad duration would run for ever, and nobody would know why."""
    metadata = pod.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return
    reported = {str(name): value for name, value in annotations.items() if isinstance(value, str)}
    complaint = script_of(reported).complaint
    if complaint:
        raise UsageError(complaint)


def templates(value: object) -> Iterator[Document]:
    """The pod templates inside an object, whatever its kind."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "template" and isinstance(inner, dict) and "containers" in (inner.get("spec") or {}):
                yield inner
            else:
                yield from templates(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from templates(inner)
