"""What the server serves: every kind with its names, schema and subresources, built-in or defined by a CRD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from podium.embedded.printers.cells import Printer
from podium.embedded.store import Store
from podium.kube.resources import Resource
from podium.schema.model import Schema
from podium.schema.rules import Rules

Document = dict[str, Any]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Column(msgspec.Struct, frozen=True):
    """One printed column of a custom resource."""

    name: str
    type: str
    path: str  # JSONPath, e.g. .spec.replicas
    description: str = ""
    priority: int = 0
    format: str = ""


class ScalePaths(msgspec.Struct, frozen=True):
    """Where a kind keeps the numbers that its scale subresource shows (JSONPaths without filters)."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """What is particular to a kind when it is written.

    `at_create`, `at_update` and `at_status_update` change a document in place: what the system sets at birth, what
    an update of the object keeps of the old one, and what belongs together in a status.
    """

    counts_generation: bool = False  # metadata.generation counts changes of the spec
    counts_annotations: bool = False  # and those of the annotations: a Deployment's steer its rollout
    keeps_status: bool = False  # the one that its creator gives: a kubelet registers its node with one
    needs_version: bool = False  # a replacement must name the version that it replaces
    created_by_update: bool = False  # a PUT creates what is absent
    returned_on_delete: bool = False  # a deletion is answered with the object instead of a Status
    without_effect: str = ""  # the warning for whoever makes one, if it is kept and does nothing here
    # What of the metadata a write to the status may set: a controller notes a revision, a kubelet labels its node.
    with_status: tuple[str, ...] = ("labels", "annotations", "finalizers", "ownerReferences")
    at_create: Callable[[Document, Store], None] | None = None
    at_update: Callable[[Document, Document], None] | None = None
    at_status_update: Callable[[Document], None] | None = None


class Kind(msgspec.Struct, frozen=True):
    """One served resource type: the record of all that is particular to it.

    Those of the built-in kinds stand in `embedded.kinds`, those of custom resources come from their definitions.
    `storage` is the resource under which objects are kept: the versions of a custom resource share one (with the
    version left empty), and so do the two groups that serve Events.
    """

    resource: Resource
    schema: Schema
    storage: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    scale: ScalePaths | None = None
    subresources: tuple[str, ...] = ()  # beyond status and scale: binding, eviction, log ...
    to_processes: frozenset[str] = frozenset()  # subresources that lead to a process, which nothing simulated has
    verbs: tuple[str, ...] = ALL_VERBS
    rules: Rules = Rules()  # what is filled in and refused beyond the schema
    strategy: Strategy = Strategy()
    printer: Printer | None = None  # a custom resource is printed by its columns
    custom: bool = False
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()  # JSONPaths that field selectors may name, beyond name and namespace
    # Records older than this may lack defaults of their version's schema; 0 if no version has any.
    defaults_since: int = 0
    defaulted: dict[str, Schema] = {}  # the schemas with defaults, by apiVersion

    @property
    def prefix(self) -> bytes:
        """How a stored document begins that is in this kind's form."""
        return b'{"apiVersion":"%s"' % self.resource.api_version.encode()


class Registry:
    """The table of served kinds.  `version` moves on with every change, for caches of discovery documents."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.version = 0
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._groups: set[str] = set()
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        resource = kind.resource
        self._kinds[resource.group, resource.version, resource.plural] = kind
        self._groups.add(resource.group)
        self.version += 1

    def remove(self, resource: Resource) -> None:
        self._kinds.pop((resource.group, resource.version, resource.plural), None)
        self._groups = {group for group, _, _ in self._kinds}
        self.version += 1

    @property
    def watchable(self) -> set[Resource]:
        """What of the built-in kinds can be followed: not everything that can be created is kept."""
        return {kind.storage for kind in self._kinds.values() if not kind.custom and "watch" in kind.verbs}

    def serves(self, group: str) -> bool:
        return group in self._groups

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        """By what an object says of itself; owner references name their owner this way."""
        for each in self._kinds.values():
            if each.resource.kind == kind and each.resource.api_version == api_version:
                return each
        return None

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def groups(self) -> dict[str, list[str]]:
        """Each API group with its versions, most preferred first; the core group is ""."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._kinds:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        for versions in found.values():
            versions.sort(key=version_order)
        return found


def version_order(version: str) -> tuple[int, int, int, str]:
    """Sort key by Kubernetes' preference: v2, v1, v1beta1, v1alpha1, then anything else by name."""
    rest = version[1:] if version.startswith("v") else ""
    major, stage, minor = rest, "", ""
    for name in ("beta", "alpha"):
        if name in rest:
            major, _, minor = rest.partition(name)
            stage = name
    if not major.isdigit() or (stage and not minor.isdigit()):
        return 3, 0, 0, version
    rank = {"": 0, "beta": 1, "alpha": 2}[stage]
    return rank, -int(major), -int(minor or 0), version
