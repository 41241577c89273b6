"""Custom resource definitions, made from the structs through which podium reads the resource.

A field is declared once, in its struct: its type, its default, what it means and which values it may have.  The
definition that a server gets follows from that, and so do the words of `kubectl explain`.

Bounds go into the definition only, not into decoding (`said` instead of msgspec's own `ge` and `pattern`): a
server with an older definition may hold objects that break them, and those shall be refused with a reason, not be
unreadable.

A part that is a built-in type (a template of pods) is kept raw in its struct, and names the type: its fields go
into the definition from the tables of the built-in kinds, so that any server finds a field that nobody reads.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import inspect as types

from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.kube.wire import Object
from podium.schema.builtin import type_named
from podium.schema.model import Schema

Document = dict[str, Any]


_BUILT_IN = "built-in type"


def said(description: str, *, built_in: str = "", **schema: Any) -> msgspec.Meta:
    """What a field means, and keywords of its schema (`minimum=0`, `enum=[...]`).

    `built_in` is the type of a raw field: `PodTemplateSpec`.
    """
    if built_in:
        schema[_BUILT_IN] = built_in
    return msgspec.Meta(description=description, extra_json_schema=schema or None)


# Only what can be an amount: a sign that is no minus, digits, a suffix or an exponent.
_QUANTITY = r"^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,3}))?$"

# The bounds are far beyond any use; without them a server refuses rules over such maps as too costly.
Amount = Annotated[
    str | int | float, msgspec.Meta(extra_json_schema={"pattern": _QUANTITY, "minimum": 0, "maxLength": 64})
]
Amounts = Annotated[dict[str, Amount], msgspec.Meta(extra_json_schema={"maxProperties": 64})]


class Rule(msgspec.Struct, frozen=True):
    """A condition in CEL between the fields of a struct.  A struct lists its own in a class variable `RULES`.

    `field` is the one that is said to be wrong: `.minAvailable`.
    """

    rule: str
    message: str
    field: str = ""

    def document(self) -> Document:
        found = {"rule": self.rule, "message": self.message}
        return found | ({"fieldPath": self.field} if self.field else {})


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`; those of a priority above 0 only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


class Scale(msgspec.Struct, frozen=True):
    """Where `kubectl scale` finds and sets what it needs."""

    wanted: str
    observed: str
    selector: str = ""


class Definition(msgspec.Struct, frozen=True):
    """One kind of an API family: its struct, and what a server has to know beside the fields."""

    resource: Resource
    view: type[Object]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    status: bool = False  # whether the status is a subresource of its own
    scale: Scale | None = None
    approved: str = ""  # where the API was reviewed: servers ask for it in groups of Kubernetes' own names

    def document(self) -> Document:
        """The CustomResourceDefinition, ready to be applied."""
        document: Document = msgspec.json.decode(_encoded(self))
        return document


@cache
def _encoded(definition: Definition) -> bytes:
    """The document as text: every caller gets one of its own, and the fields of pods are gone through once."""
    return msgspec.json.encode(_document(definition))


def _document(definition: Definition) -> Document:
    resource = definition.resource
    version: Document = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root(definition.view)},
    }
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(each) for each in definition.columns]
    subresources: Document = {"status": {}} if definition.status else {}
    if definition.scale is not None:
        paths = {
            "specReplicasPath": definition.scale.wanted,
            "statusReplicasPath": definition.scale.observed,
            "labelSelectorPath": definition.scale.selector,
        }
        subresources["scale"] = {key: path for key, path in paths.items() if path}
    if subresources:
        version["subresources"] = subresources
    names: Document = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    metadata: Document = {"name": resource.group_resource}
    if definition.approved:
        metadata["annotations"] = {"api-approved.kubernetes.io": definition.approved}
    return {
        "apiVersion": CUSTOMRESOURCEDEFINITIONS.api_version,
        "kind": CUSTOMRESOURCEDEFINITIONS.kind,
        "metadata": metadata,
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _column(column: Column) -> Document:
    document: Document = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return document | ({"priority": column.priority} if column.priority else {})


def _root(view: type[Object]) -> Document:
    """The schema of a whole object.  What all objects have is the server's own matter and only named."""
    schema = schema_of(view)
    own = {name: member for name, member in schema["properties"].items() if name not in _COMMON}
    schema["properties"] = _COMMON | own
    required = [name for name in schema.pop("required", ()) if name not in _COMMON]
    return schema | ({"required": required} if required else {})


_COMMON: Document = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
# A null is no value, as in a pod.  Any server drops that of a field; one in a list or a map has to be allowed.
_OR_NULL: Document = {"nullable": True}
_ANYTHING: Document = {"x-kubernetes-preserve-unknown-fields": True}


def schema_of(kind: Any) -> Document:
    """The structural schema of a type."""
    return _schema(types.type_info(kind))


def _schema(kind: types.Type) -> Document:
    match kind:
        case types.Metadata():
            more = dict(kind.extra_json_schema or {})
            built_in = more.pop(_BUILT_IN, None)
            return (_schema(kind.type) if built_in is None else _outline(type_named(built_in))) | more
        case types.StructType():
            return _struct(kind)
        case types.UnionType():
            return _union([each for each in kind.types if not isinstance(each, types.NoneType)])
        case types.StrType():
            return {"type": "string"}
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer", "format": "int32"}
        case types.FloatType():
            return {"type": "number"}
        case types.ListType():
            return {"type": "array", "items": _schema(kind.item_type)}
        case types.DictType():
            return {"type": "object", "additionalProperties": _schema(kind.value_type)}
        case types.RawType() | types.AnyType():
            return {"type": "object", **_ANYTHING}
    raise TypeError(f"a definition has no words for {kind}")


def _outline(schema: Schema) -> Document:
    """The fields of a built-in type and what they hold: what pruning and strict decoding need, and no more.

    Defaults would change what users wrote, and what is a good value is for validation to say.  An amount may be
    any number or text, as in a pod.
    """
    if schema.format == "quantity" or not schema.type:
        return dict(_ANYTHING)
    if schema.int_or_string:
        return {"x-kubernetes-int-or-string": True}
    document: Document = {"type": schema.type}
    if schema.properties:
        document["properties"] = {name: _outline(member) for name, member in schema.properties.items()}
    elif schema.values is not None:
        document["additionalProperties"] = _outline(schema.values) | _OR_NULL
    elif schema.items is not None:
        document["items"] = _outline(schema.items) | _OR_NULL
    elif schema.type == "object":
        document |= _ANYTHING
    return document


def _union(members: list[types.Type]) -> Document:
    if len(members) == 1:
        return _schema(members[0])
    kinds = {type(each) for each in members}
    if kinds <= {types.StrType, types.IntType, types.FloatType} and types.StrType in kinds:
        return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    raise TypeError(f"a definition has no words for one of {members}")


def _struct(kind: types.StructType) -> Document:
    members = {}
    for field in kind.fields:
        member = _schema(field.type)
        # A default that says something is filled in by the server, so that everybody reads the same.
        if isinstance(field.default, str | int | bool) and field.default:
            member["default"] = field.default
        members[field.encode_name] = member
    schema: Document = {"type": "object"}
    if kind.cls.__doc__:
        schema["description"] = " ".join(kind.cls.__doc__.split())
    schema["properties"] = members
    # What decoding does without, a server may insist on: a struct lists that in a class variable `REQUIRED`.
    insists: tuple[str, ...] = getattr(kind.cls, "REQUIRED", ())
    required = [each.encode_name for each in kind.fields if each.required or each.encode_name in insists]
    if required:
        schema["required"] = required
    rules: tuple[Rule, ...] = getattr(kind.cls, "RULES", ())
    if rules:
        schema["x-kubernetes-validations"] = [each.document() for each in rules]
    return schema
