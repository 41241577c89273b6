"""The notation in which the built-in kinds are written down, and its parser.

A table is text.  A line without indent opens a type, the indented lines below it are its fields:

    Container
      name!                   string
      ports                   [ContainerPort]   by=containerPort,protocol
      terminationMessagePath  string            = /dev/termination-log

A type line may go on with `root` (a kind: it has apiVersion, kind and metadata too) and `atomic` (server-side
apply takes it as one value).  A field line is the name, with `!` when required, the type, attributes, and after
`=` the default (JSON, or a bare word).  Types are

    string bool int32 int64 number bytes Quantity IntOrString Time MicroTime
    object   a JSON object whose fields are not known       any   any JSON value
    [T] {T}  a list, a map from strings                     T     a type of these tables
    T|S      an object of the type T, or else an S

A type name means the one of the same group, else of `core`, else of `meta`; `core/Event` says which.  Attributes:

    by=K[,K]   a list of structs merged by its first key and keyed by all of them
    merge=K    merged by K, although server-side apply takes the list as one value
    merge      a list of scalars that is merged
    keys=K     keyed for server-side apply, but replaced by a strategic merge
    set        a list of scalars without duplicates
    retainKeys, replace        the strategic merge's other strategies
    atomic, granular           how server-side apply takes a map or struct in this place
    enum=A|B   the values there are, `min=N` the smallest number

Types are built when they are first asked for: a table of which nobody asks costs one split of its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from podium.schema.model import Schema

_SCALARS = {
    "string": Schema(type="string"),
    "bool": Schema(type="boolean"),
    "int32": Schema(type="integer", format="int32"),
    "int64": Schema(type="integer", format="int64"),
    "number": Schema(type="number", format="double"),
    "bytes": Schema(type="string", format="byte"),
    "Time": Schema(type="string", format="date-time", name="io.k8s.apimachinery.pkg.apis.meta.v1.Time"),
    "MicroTime": Schema(type="string", format="micro-time", name="io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"),
    "Quantity": Schema(type="string", format="quantity", name="io.k8s.apimachinery.pkg.api.resource.Quantity"),
    "IntOrString": Schema(
        type="string", int_or_string=True, name="io.k8s.apimachinery.pkg.util.intstr.IntOrString"
    ),
    "object": Schema(type="object", preserve_unknown=True),
    "any": Schema(preserve_unknown=True),
}

# A field line: name, type, attributes, default.
_FIELD = re.compile(r"  (\S+?)(!?)\s+(\S+)((?:\s+[^\s=]\S*)*)(?:\s+=\s+(.*?))?\s*")

_ROOT = "  apiVersion  string\n  kind  string\n  metadata  meta/ObjectMeta  = {}\n"


class Tables:
    """All types of all groups, built on demand.  A group is named by its first word: `core`, `apps`, `rbac`."""

    def __init__(self, tables: Iterable[tuple[str, str]], prefixes: dict[str, str]) -> None:
        """`tables` are pairs of group and text; `prefixes` give a group's part of a type's full name."""
        self._prefixes = prefixes
        self._rows: dict[tuple[str, str], str] = {}
        self._built: dict[tuple[str, str], Schema] = {}
        for group, text in tables:
            for block in re.split(r"\n(?=\S)", text.strip("\n")):
                head = block.partition("\n")[0]
                key = group, head.partition(" ")[0]
                if key in self._rows:
                    raise ValueError(f"the type {group}/{key[1]} is written down twice")
                self._rows[key] = block

    def type_named(self, name: str, group: str = "core") -> Schema:
        """The type `name`, as a table of `group` would mean it."""
        return self._type(self._resolve(name, group))

    def _resolve(self, name: str, group: str) -> tuple[str, str]:
        stated, slash, bare = name.rpartition("/")
        for candidate in (stated,) if slash else (group, "core", "meta"):
            if (candidate, bare) in self._rows:
                return candidate, bare
        raise KeyError(f"no table of {group} knows the type {name}")

    def _type(self, key: tuple[str, str]) -> Schema:
        known = self._built.get(key)
        if known is not None:
            return known
        group, name = key
        head, _, body = self._rows[key].partition("\n")
        flags = head.split()[1:]
        if "root" in flags:
            body = _ROOT + body
        lines = [_parsed(line, key) for line in body.split("\n") if line.strip()]
        properties: dict[str, Schema] = {}
        schema = Schema(
            type="object",
            properties=properties,
            required=tuple(field for field, required, *_ in lines if required),
            map_type="atomic" if "atomic" in flags else "",
            name=self._prefixes[group] + name,
        )
        # Known before its fields are: a type may contain itself.  Whoever copies it meanwhile shares `properties`.
        self._built[key] = schema
        for field, _, type_name, attributes, default in lines:
            properties[field] = self._field(type_name, group, attributes.split(), default)
        return schema

    def _field(self, text: str, group: str, attributes: list[str], default: str | None) -> Schema:
        schema = self._reference(text, group)
        if not attributes and default is None:
            return schema
        changes = _attributes(attributes)
        if default is not None:
            changes["default"] = _value(default)
        return msgspec.structs.replace(schema, **changes)

    def _reference(self, text: str, group: str) -> Schema:
        if "|" in text and text[0] not in "[{":
            struct, _, other = text.partition("|")
            return msgspec.structs.replace(self._reference(other, group), if_object=self._reference(struct, group))
        if text.startswith("["):
            return Schema(type="array", items=self._reference(text[1:-1], group), list_type="atomic")
        if text.startswith("{"):
            return Schema(type="object", values=self._reference(text[1:-1], group))
        return _SCALARS.get(text) or self._type(self._resolve(text, group))


def _parsed(line: str, where: tuple[str, str]) -> tuple[str, bool, str, str, str | None]:
    match = _FIELD.fullmatch(line)
    if match is None:
        raise ValueError(f"the table of {'/'.join(where)} has a line that is no field: {line!r}")
    name, required, type_name, attributes, default = match.groups()
    return name, bool(required), type_name, attributes or "", default


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _attributes(words: list[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    strategies: list[str] = []
    for word in words:
        name, _, value = word.partition("=")
        match name:
            case "by":
                keys = tuple(value.split(","))
                changes |= {"merge_key": keys[0], "list_type": "map", "list_keys": keys}
                strategies.append("merge")
            case "merge":
                changes["merge_key"] = value
                strategies.append("merge")
            case "keys":
                changes |= {"list_type": "map", "list_keys": tuple(value.split(","))}
            case "set":
                changes["list_type"] = "set"
            case "retainKeys" | "replace":
                strategies.append(name)
            case "atomic" | "granular":
                changes["map_type"] = name
            case "enum":
                changes["enum"] = tuple(value.split("|"))
            case "min":
                changes["minimum"] = float(value)
            case _:
                raise ValueError(f"a table uses the attribute {word!r}, which the notation does not have")
    if strategies:
        changes["merge_strategy"] = ",".join(strategies)
    return changes
