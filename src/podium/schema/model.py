"""The tree of field types that defaulting, pruning, validation, strategic merge and OpenAPI all work from."""

from __future__ import annotations

from typing import Any

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """One x-kubernetes-validations entry: a CEL expression and the message when it fails."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = "FieldValueInvalid"
    field_path: str = ""
    optional_old_self: bool = False


class Schema(msgspec.Struct):
    """One node.  Mutable while a table or a CRD is read (types may refer to themselves), constant afterwards.

    `type` is object, array, string, integer, number, boolean, or "" for any value.
    A list or struct says by `merge_*` how a strategic merge treats it, and by `list_type`/`list_keys` what
    server-side apply and the duplicate check need.
    """

    type: str = ""
    properties: dict[str, Schema] | None = None
    values: Schema | None = None  # additionalProperties: the type of a map's values
    items: Schema | None = None
    required: tuple[str, ...] = ()
    default: Any = msgspec.UNSET
    nullable: bool = False
    format: str = ""  # int32 int64 byte date-time micro-time quantity double ...
    int_or_string: bool = False
    if_object: Schema | None = None  # a value that is an object is of this type instead
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    one_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    all_of: tuple[Schema, ...] = ()
    negated: Schema | None = None  # "not"
    preserve_unknown: bool = False
    embedded: bool = False  # x-kubernetes-embedded-resource
    merge_key: str = ""  # strategic merge: lists of structs are merged by this field
    merge_strategy: str = ""  # merge, replace, retainKeys, or a comma-joined pair
    list_type: str = ""  # atomic, set, map
    list_keys: tuple[str, ...] = ()
    map_type: str = ""  # granular, atomic
    rules: tuple[Rule, ...] = ()
    ruled: bool = False  # there are rules here or further down
    name: str = ""  # the type's name, for OpenAPI and error messages
    description: str = ""
