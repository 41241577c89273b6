"""Custom resource definitions: from a stored definition to served kinds, and back out again.

The definitions are watched in the store itself, so whoever writes one (a client, a controller, a restart) gets the
same result at once: kinds in the registry, the Established condition, and at the end the removal of all objects
before the definition goes.

A stored definition that cannot be served, such as one from before a limit, is left out with a line in the log: it
and its objects are kept, and everybody else's are served.
"""

from __future__ import annotations

import logging
from typing import Any

from podium.embedded import decoding, deletion
from podium.embedded.objects import Objects
from podium.embedded.options import DeleteOptions
from podium.embedded.registry import Column, Kind, ScalePaths, Strategy
from podium.embedded.store import Record
from podium.errors import ApiError
from podium.kube import status
from podium.kube.conditions import set_condition
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from podium.schema.defaulting import has_defaults
from podium.schema.model import Schema
from podium.schema.roots import root_schema

log = logging.getLogger(__name__)

Document = dict[str, Any]

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

# How objects of every custom resource are written.
_STRATEGY = Strategy(counts_generation=True, needs_version=True, with_status=())


class CustomResources:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._store = objects.store
        self._registry = objects.registry
        self._served: dict[str, list[Kind]] = {}  # by the definition's name
        self._bucket = self._store.bucket(CUSTOMRESOURCEDEFINITIONS)
        self._position = self._bucket.end
        self._busy = False
        self._leaving: set[Resource] = set()
        self._terminating: set[str] = set()  # definitions on their way out
        for record in list(self._store.scan(CUSTOMRESOURCEDEFINITIONS)):
            self._try_to_take_in(record)
        self._bucket.listeners.append(self._catch_up)

    def _catch_up(self) -> None:
        """Handles the definitions written since the last call.  Its own writes come back here: they wait."""
        if self._busy:
            return
        self._busy = True
        try:
            while self._position < self._bucket.end:
                write = self._bucket.history[self._position - self._bucket.trimmed]
                self._position += 1
                if write.deleted:
                    self._withdraw(write.new.name)
                elif self._store.get(CUSTOMRESOURCEDEFINITIONS, "", write.new.name) is write.new:
                    self._try_to_take_in(write.new)
        finally:
            self._busy = False

    def _try_to_take_in(self, record: Record) -> None:
        """Whatever is wrong with one definition concerns nobody else."""
        try:
            decoding.check_depth(record.document())
            self._take_in(record)
        except Exception as error:
            expected = isinstance(error, ApiError | RecursionError)
            log.error(
                "customresourcedefinition %s cannot be served and is left out: %s",
                record.name,
                error,
                exc_info=None if expected else error,
            )
            for kind in self._served.pop(record.name, ()):
                self._registry.remove(kind.resource)
            self._let_go(record)

    def _let_go(self, record: Record) -> None:
        """A definition that is left out can still be deleted, and its objects, which nobody serves, with it."""
        definition = record.document()
        if "deletionTimestamp" in definition["metadata"]:
            storage = _storage(definition)
            for each in list(self._store.scan(storage)):
                self._store.remove(storage, each, each.document())
            self._store.drop(storage)
            self._release(record.name)

    def _take_in(self, record: Record) -> None:
        definition = record.document()
        leaving = "deletionTimestamp" in definition["metadata"]
        taken = None if leaving else self._names_taken(record.name, definition)
        if taken is not None and record.name not in self._served:
            self._turn_away(record, definition, taken)
            return
        kinds = kinds_of(definition)
        for kind in self._served.get(record.name, ()):
            if kind.resource not in {each.resource for each in kinds}:
                self._registry.remove(kind.resource)
        for kind in kinds:
            self._registry.add(kind)
        self._served[record.name] = kinds
        if leaving:
            self._terminating.add(record.name)
            self._clean_up(record.name)
        else:
            self._establish(record, definition)

    def _names_taken(self, name: str, definition: Document) -> tuple[str, str] | None:
        """A reason and a sentence, if another definition of the group has one of the names already."""
        spec = definition["spec"]
        names = spec["names"]
        for other, kinds in self._served.items():
            for kind in kinds:
                if other == name or kind.resource.group != spec["group"]:
                    continue
                if kind.resource.kind == names["kind"]:
                    list_kind = names.get("listKind") or f"{names['kind']}List"
                    return "ListKindConflict", f'"{list_kind}" is already in use'
                used = {kind.resource.plural, kind.singular, *kind.short_names}
                for wanted in (names["plural"], names.get("singular", ""), *(names.get("shortNames") or ())):
                    if wanted in used:
                        return "PluralConflict", f'"{wanted}" is already in use'
        return None

    def _turn_away(self, record: Record, definition: Document, taken: tuple[str, str]) -> None:
        """A definition whose names are taken is kept but not served."""
        state = definition.get("status") or {}
        now = self._objects.clock()
        conditions = set_condition(state.get("conditions") or [], "NamesAccepted", "False", *taken, now)
        conditions = set_condition(
            conditions, "Established", "False", "NotAccepted", "not all names are accepted", now
        )
        if conditions != state.get("conditions"):
            definition["status"] = {**state, "conditions": conditions}
            self._store.put(CUSTOMRESOURCEDEFINITIONS, definition, record)

    def refuse_late(self, kind: Kind, name: str) -> None:
        """A definition on its way out takes no new objects."""
        if kind.resource.group_resource in self._terminating:
            raise status.forbidden(
                kind.resource, name, "create not allowed while custom resource definition is terminating"
            )

    def _establish(self, record: Record, definition: Document) -> None:
        state = definition.get("status") or {}
        now = self._objects.clock()
        spec = definition["spec"]
        conditions = state.get("conditions") or []
        conditions = set_condition(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        conditions = set_condition(
            conditions, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now
        )
        stored = list(state.get("storedVersions") or [])
        stored += [v["name"] for v in spec["versions"] if v.get("storage") and v["name"] not in stored]
        wanted = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}
        finalizers = definition["metadata"].get("finalizers") or []
        if state != wanted or CLEANUP not in finalizers:
            definition["status"] = wanted
            if CLEANUP not in finalizers:
                definition["metadata"]["finalizers"] = [*finalizers, CLEANUP]
            self._store.put(CUSTOMRESOURCEDEFINITIONS, definition, record)

    def _clean_up(self, name: str) -> None:
        """Deletes all objects of a definition that is being deleted; the last one takes the definition along."""
        kind = next(iter(self._served.get(name, ())), None)
        if kind is not None:
            bucket = self._store.bucket(kind.storage)
            for record in list(self._store.scan(kind.storage)):
                deletion.delete(self._objects, kind, record, DeleteOptions())
            if bucket.objects:
                if kind.storage not in self._leaving:
                    self._leaving.add(kind.storage)
                    bucket.listeners.append(lambda: None if bucket.objects else self._release(name))
                return
        self._release(name)

    def _release(self, name: str) -> None:
        record = self._store.get(CUSTOMRESOURCEDEFINITIONS, "", name)
        if record is None:
            return
        definition = record.document()
        finalizers = [f for f in definition["metadata"].get("finalizers") or () if f != CLEANUP]
        definition["metadata"]["finalizers"] = finalizers
        if finalizers:
            self._store.put(CUSTOMRESOURCEDEFINITIONS, definition, record)
        else:
            self._store.remove(CUSTOMRESOURCEDEFINITIONS, record, definition)

    def _withdraw(self, name: str) -> None:
        self._terminating.discard(name)
        for kind in self._served.pop(name, ()):
            self._registry.remove(kind.resource)
            self._store.drop(kind.storage)
            self._leaving.discard(kind.storage)


def _storage(definition: Document) -> Resource:
    """Under which name the objects of all versions are kept."""
    spec = definition["spec"]
    names = spec["names"]
    return Resource(spec["group"], "", names["plural"], names["kind"], spec.get("scope") == "Namespaced")


def kinds_of(definition: Document) -> list[Kind]:
    """The kinds that a (valid) definition makes the server serve."""
    spec = definition["spec"]
    names = spec["names"]
    namespaced = spec.get("scope") == "Namespaced"
    schemas = {version["name"]: _root_schema(version) for version in spec["versions"]}
    defaulted = {f"{spec['group']}/{name}": each for name, each in schemas.items() if has_defaults(each)}
    storage = _storage(definition)
    kinds = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        subresources = version.get("subresources") or {}
        kinds.append(
            Kind(
                resource=Resource(spec["group"], version["name"], names["plural"], names["kind"], namespaced),
                schema=schemas[version["name"]],
                storage=storage,
                singular=names.get("singular") or names["kind"].lower(),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                status="status" in subresources,
                scale=_scale(subresources.get("scale")),
                strategy=_STRATEGY,
                custom=True,
                columns=tuple(_column(each) for each in version.get("additionalPrinterColumns") or ()),
                selectable_fields=tuple(f["jsonPath"] for f in version.get("selectableFields") or ()),
                defaults_since=int(definition["metadata"]["resourceVersion"]) if defaulted else 0,
                defaulted=defaulted,
            )
        )
    return kinds


def _root_schema(version: Document) -> Schema:
    openapi = (version.get("schema") or {}).get("openAPIV3Schema")
    return root_schema(openapi or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})


def _scale(paths: Document | None) -> ScalePaths | None:
    if not paths:
        return None
    return ScalePaths(paths["specReplicasPath"], paths["statusReplicasPath"], paths.get("labelSelectorPath", ""))


def _column(column: Document) -> Column:
    return Column(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("description", ""),
        column.get("priority", 0),
        column.get("format", ""),
    )
