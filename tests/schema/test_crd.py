"""Definitions made from structs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from podium.dialects import DIALECTS
from podium.kube.resources import Resource
from podium.kube.wire import LabelSelector, Object, View
from podium.schema import structural
from podium.schema.crd import Amounts, Column, Definition, Rule, Scale, said, schema_of


class Part(View):  # type: ignore[misc]
    """A part of the whole."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule("self.size > 0", "it must have a size"),)

    name: str
    size: Annotated[int, said("How large.", minimum=1, maximum=9, format="int64")] = 3
    kind: Annotated[str, said("Which.", enum=["a", "b"])] = "a"
    enabled: bool = True
    off: bool = False
    ratio: float = 0.0
    when: Annotated[str | None, said("Since then.", format="date-time")] = None


class Spec(View):  # type: ignore[misc]
    parts: list[Part] | None = None
    amounts: Amounts | None = None
    template: msgspec.Raw = msgspec.Raw(b"{}")
    anything: Any = None
    selector: LabelSelector | None = None
    port: int | str = 0
    counts: dict[str, int] | None = None


class Whole(Object):  # type: ignore[misc]
    """The whole."""

    spec: Spec = Spec()


WHOLES = Resource("example.org", "v1", "wholes", "Whole")


def test_types_and_what_is_said_of_them() -> None:
    assert schema_of(Part) == {
        "type": "object",
        "description": "A part of the whole.",
        "properties": {
            "name": {"type": "string"},
            "size": {
                "type": "integer",
                "format": "int64",
                "description": "How large.",
                "minimum": 1,
                "maximum": 9,
                "default": 3,
            },
            "kind": {"type": "string", "description": "Which.", "enum": ["a", "b"], "default": "a"},
            "enabled": {"type": "boolean", "default": True},
            "off": {"type": "boolean"},
            "ratio": {"type": "number"},
            "when": {"type": "string", "description": "Since then.", "format": "date-time"},
        },
        "required": ["name"],
        "x-kubernetes-validations": [{"rule": "self.size > 0", "message": "it must have a size"}],
    }
    spec = schema_of(Spec)["properties"]
    assert spec["parts"]["items"] == schema_of(Part)
    assert spec["amounts"]["additionalProperties"]["x-kubernetes-int-or-string"] is True
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert (spec["template"], spec["anything"]) == (free, free)
    assert set(spec["selector"]["properties"]) == {"matchLabels", "matchExpressions"}
    assert spec["port"] == {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert spec["counts"]["additionalProperties"] == {"type": "integer", "format": "int32"}


def test_what_has_no_words_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="no words"):
        schema_of(bytes)
    with pytest.raises(TypeError, match="no words"):
        schema_of(int | bool)


def test_a_whole_definition() -> None:
    document = Definition(
        WHOLES,
        Whole,
        short_names=("wh",),
        categories=("all",),
        columns=(Column("SIZE", ".spec.size", "integer"), Column("MORE", ".spec.more", priority=1)),
        status=True,
        scale=Scale(".spec.replicas", ".status.replicas"),
    ).document()
    assert document["metadata"] == {"name": "wholes.example.org"}
    assert document["spec"]["names"] == {
        "kind": "Whole",
        "listKind": "WholeList",
        "plural": "wholes",
        "singular": "whole",
        "shortNames": ["wh"],
        "categories": ["all"],
    }
    (version,) = document["spec"]["versions"]
    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }
    assert version["additionalPrinterColumns"] == [
        {"name": "SIZE", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "MORE", "type": "string", "jsonPath": ".spec.more", "priority": 1},
    ]
    schema = version["schema"]["openAPIV3Schema"]
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert "required" not in schema


DEFINITIONS = [definition for each in DIALECTS for definition in each.definitions]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.resource.kind)
def test_definitions_of_the_families_are_good(definition: Definition) -> None:
    schema = definition.document()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert structural.problems(schema, "schema") == []
