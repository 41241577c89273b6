"""What users would write so that a gang starts with fewer members, or without a partner: for the commands.

What a gang is may stand on its PodGroup, on its pods, or on both, and then the pods count: it is written wherever
it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from podium.dialects.dialect import Document, GangWish, Rewrite
from podium.dialects.koordinator.gangs import read_groups
from podium.dialects.koordinator.names import GROUPS, GROUPS_TOO, MADE, MIN_AVAILABLE, POD_GROUP_MIN, PREFIX
from podium.kube.changes import Patch
from podium.kube.resources import PODS, Resource


def rewrite_gang(
    found: tuple[Resource, Document] | None, pods: Sequence[Document], wish: GangWish
) -> Rewrite | None:
    """Another minimum, or gangs that it no longer waits for.  `found` is its PodGroup, if it has one."""
    written: list[Patch] = []
    if found is not None and _annotations(found[1]).get(MADE) != "true":
        resource, group = found
        change = _of_marks(group, wish)
        if wish.minimum is not None:
            change["spec"] = {"minMember": wish.minimum}
        if change:
            written.append(_patch(resource, group, change))
    for pod in pods:
        change = _of_marks(pod, wish)
        if wish.minimum is not None:
            for place, key in _minimums(pod):
                change.setdefault("metadata", {}).setdefault(place, {})[key] = str(wish.minimum)
        if change:
            written.append(_patch(PODS, pod, change))
    return Rewrite(written[0], also=tuple(written[1:])) if written else None


def _patch(resource: Resource, document: Document, change: Document) -> Patch:
    metadata = document["metadata"]
    return Patch(resource, metadata.get("namespace", ""), metadata["name"], change)


def _annotations(document: Document) -> dict[str, str]:
    return document["metadata"].get("annotations") or {}


def _minimums(pod: Document) -> Iterator[tuple[str, str]]:
    """Where a pod says how many start together: the first of them counts."""
    for place in ("labels", "annotations"):
        if (pod["metadata"].get(place) or {}).get(POD_GROUP_MIN):
            yield place, POD_GROUP_MIN
            return
    if _annotations(pod).get(MIN_AVAILABLE):
        yield "annotations", MIN_AVAILABLE


def _of_marks(document: Document, wish: GangWish) -> dict[str, Any]:
    """The list of gangs that start together, without some."""
    gone = {id.removeprefix(PREFIX) for id in wish.without}
    for key in (GROUPS, GROUPS_TOO):
        named = read_groups(_annotations(document).get(key, "")) if gone else None
        if named is not None and gone.intersection(named):
            kept = [each for each in named if each not in gone]
            return {"metadata": {"annotations": {key: msgspec.json.encode(kept).decode()}}}
    return {}
