"""The built-in kinds: their schemas by resource or by type name."""

from __future__ import annotations

from functools import cache

from podium.kube.resources import Resource
from podium.schema.kinds import TABLES
from podium.schema.model import Schema
from podium.schema.table import Tables

# What stands before a type's name in OpenAPI documents; clients find types by it.
_UNUSUAL = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1.",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.",
}
_PREFIXES = {group: _UNUSUAL.get(group, f"io.k8s.api.{group}.v1.") for group, _ in TABLES}

_tables = Tables(TABLES, _PREFIXES)


@cache
def schema_of(resource: Resource) -> Schema:
    """The schema of a built-in kind's objects, with apiVersion, kind and metadata; KeyError for a foreign one."""
    group = resource.group.partition(".")[0] or "core"
    return _tables.type_named(f"{group}/{resource.kind}")


@cache
def type_named(name: str) -> Schema:
    """A type by its name: `PodSpec` of the core group (or of meta), `batch/JobSpec` of another."""
    return _tables.type_named(name)
