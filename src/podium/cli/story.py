"""The story that the demo plays: objects that are created one after the other, and want the same GPUs.

Files of examples/demo/ in the order of their names.  Two annotations direct them, and are taken off before an
object is created:

    podium.dev/demo-at     seconds after the beginning at which it is created
    podium.dev/demo-says   what there is to see then
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.cli.examples import example_documents
from podium.dialects import speaking

Document = dict[str, Any]

AT, SAYS = "podium.dev/demo-at", "podium.dev/demo-says"


class Scene(msgspec.Struct, frozen=True):
    """One object of the story."""

    at: float
    says: str
    document: Document


def story() -> list[Scene]:
    """All scenes, first first."""
    scenes = [_scene(document) for document in example_documents("demo")]
    return sorted(scenes, key=lambda scene: scene.at)  # stable: of one moment in the order of the files


def tour() -> list[Scene]:
    """The examples: everything of Kubernetes itself, and of each dialect what it wants to be shown."""
    found = example_documents("kubernetes")
    for each in speaking():
        found += example_documents(each.name, each.tour) if each.tour else []
    return [Scene(0.0, "", document) for document in found]


def _scene(document: Document) -> Scene:
    metadata = document["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    at, says = float(annotations.pop(AT, 0)), str(annotations.pop(SAYS, ""))
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    if annotations:
        rest["annotations"] = annotations
    return Scene(at, says, {**document, "metadata": rest})
