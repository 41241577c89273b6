"""The admission chain: what is checked and filled in between decoding a write and validating it.

Built-in steps first (the namespace exists, priority classes, default tolerations), then the functions that an API
family hands in for its own kinds.  All are pure functions of the document and of what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from podium.embedded.conversion import to_served
from podium.embedded.registry import Kind, Registry
from podium.embedded.store import Bucket, Record, Store
from podium.errors import ApiError
from podium.kube import resources as r
from podium.kube import status
from podium.kube.admission import Facet, Hook
from podium.kube.cache import Key
from podium.kube.fields import FieldError
from podium.kube.index import Index
from podium.kube.resources import Resource
from podium.schema import values
from podium.schema.pod_defaults import add_default_tolerations

Document = dict[str, Any]

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class _Stored:
    """The store as hooks look at it: in the form in which a kind is served."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._followed: dict[Resource, _Followed] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        kind = self._kind(resource)
        record = self._store.get(kind.storage, namespace, name) if kind is not None else None
        return to_served(kind, record.document()) if kind is not None and record is not None else None

    def all(self, resource: Resource) -> Iterable[Document]:
        kind = self._kind(resource)
        return self._follow(kind).all() if kind is not None else ()

    def having(self, resource: Resource, facet: Facet, value: str) -> Iterable[Document]:
        kind = self._kind(resource)
        return self._follow(kind).having(facet, value) if kind is not None else ()

    def _follow(self, kind: Kind) -> _Followed:
        """The documents of a kind as they are now."""
        bucket = self._store.bucket(kind.storage)
        followed = self._followed.get(kind.resource)
        if followed is None or not followed.catch_up(kind, bucket):
            followed = self._followed[kind.resource] = _Followed(kind, bucket)
        return followed

    def _kind(self, resource: Resource) -> Kind | None:
        return self._registry.find(resource.group, resource.version, resource.plural)


class _Followed:
    """The documents of one kind, read once, and again when they are written."""

    def __init__(self, kind: Kind, bucket: Bucket) -> None:
        self._kind = kind
        self._bucket = bucket
        self._position = bucket.end
        self._documents = {key: to_served(kind, record.document()) for key, record in bucket.objects.items()}
        self._indexes: dict[Facet, Index[Key, Document]] = {}

    def catch_up(self, kind: Kind, bucket: Bucket) -> bool:
        """Takes in what has been written since; False when that is not known, or is served in another form now."""
        if kind is not self._kind or bucket is not self._bucket or self._position < bucket.trimmed:
            return False
        latest = {write.new.key: write for write in bucket.history[self._position - bucket.trimmed :]}
        self._position = bucket.end
        for key, write in latest.items():
            if write.deleted:
                self._documents.pop(key, None)
                for index in self._indexes.values():
                    index.drop(key)
            else:
                document = self._documents[key] = to_served(kind, write.new.document())
                for index in self._indexes.values():
                    index.put(key, document)
        return True

    def all(self) -> Iterator[Document]:
        return (self._documents[key] for key in sorted(self._documents))

    def having(self, facet: Facet, value: str) -> Iterator[Document]:
        index = self._indexes.get(facet)
        if index is None:
            index = self._indexes[facet] = Index(facet)
            for key, document in self._documents.items():
                index.put(key, document)
        return (self._documents[key] for key in sorted(index.keys(value)))


class Admission:
    """The chain over one store."""

    def __init__(self, store: Store, registry: Registry, hooks: Iterable[Hook] = ()) -> None:
        self._store = store
        self._stored = _Stored(store, registry)
        self._hooks: dict[Resource, list[Hook]] = {}
        for hook in hooks:
            self._hooks.setdefault(hook.resource, []).append(hook)

    def mutate(self, kind: Kind, namespace: str, document: Document, old: Document | None) -> None:
        """Fills in.  Raises what the API server raises when the surroundings forbid the write."""
        if old is None:
            if kind.resource.namespaced:
                self._check_namespace(kind.resource, namespace, document["metadata"].get("name", ""))
            if kind.resource == r.PODS:
                self._resolve_priority(document)
                document["spec"].setdefault("serviceAccountName", "default")
                document["spec"].setdefault("serviceAccount", document["spec"]["serviceAccountName"])
            elif kind.resource == r.PERSISTENTVOLUMECLAIMS:
                self._choose_storage_class(document)
        if kind.resource == r.PODS:
            add_default_tolerations(document)
        for hook in self._concerned(kind, old):
            if hook.mutate is not None:
                try:
                    hook.mutate(document, old, self._stored)
                except Exception:
                    # Filling in comes before the schema is asked: what broke the hook may be the schema's to name.
                    if not (kind.custom and values.is_mistyped(document, kind.schema)):
                        raise
                    return

    def validate(self, kind: Kind, document: Document, old: Document | None) -> list[FieldError]:
        checks = (hook.validate for hook in self._concerned(kind, old) if hook.validate is not None)
        return [error for check in checks for error in check(document, old, self._stored)]

    def validates(self, kind: Kind) -> bool:
        """Whether anybody looks at changes of this kind."""
        return any(hook.validate is not None and not hook.new_only for hook in self._hooks.get(kind.resource, ()))

    def _concerned(self, kind: Kind, old: Document | None) -> Iterator[Hook]:
        return (hook for hook in self._hooks.get(kind.resource, ()) if old is None or not hook.new_only)

    def check_delete(self, kind: Kind, record: Record) -> None:
        """Raises when a hook says that an object has to stay."""
        for hook in self._hooks.get(kind.resource, ()):
            why = hook.keep(to_served(kind, record.document()), self._stored) if hook.keep is not None else None
            if why is not None:
                raise status.forbidden(kind.resource, record.name, why)

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        record = self._store.get(r.NAMESPACES, "", namespace)
        if record is None:
            raise status.not_found(r.NAMESPACES, namespace)
        # The bytes are a quick no; an annotation may be called so as well.
        if b'"deletionTimestamp"' in record.data and "deletionTimestamp" in record.outline()["metadata"]:
            error = status.forbidden(
                resource,
                name,
                f"unable to create new content in namespace {namespace} because it is being terminated",
            )
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise ApiError(error.code, error.reason, error.message, {**error.details, "causes": [cause]})

    def _resolve_priority(self, pod: Document) -> None:
        """Turns a class name into a number; without a name the global default class counts, else zero."""
        spec = pod["spec"]
        name = spec.get("priorityClassName")
        if name:
            record = self._store.get(r.PRIORITYCLASSES, "", name)
            if record is None:
                raise status.forbidden(
                    r.PODS, pod["metadata"].get("name", ""), f"no PriorityClass with name {name} was found"
                )
            chosen: Document | None = record.document()
        else:
            chosen = self._default_priority_class()
            if chosen is not None:
                spec["priorityClassName"] = chosen["metadata"]["name"]
        value = int(chosen.get("value", 0)) if chosen else 0
        policy = (chosen or {}).get("preemptionPolicy", "PreemptLowerPriority")
        given = spec.get("priority")
        if given is not None and given != value:
            raise status.forbidden(
                r.PODS,
                pod["metadata"].get("name", ""),
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name",
            )
        spec["priority"] = value
        spec.setdefault("preemptionPolicy", policy)

    def _default_priority_class(self) -> Document | None:
        found = [
            record.document()
            for record in self._store.scan(r.PRIORITYCLASSES)
            if b'"globalDefault":true' in record.data
        ]
        return min(found, key=lambda each: int(each.get("value", 0)), default=None)

    def _choose_storage_class(self, claim: Document) -> None:
        """A claim that names no class gets the default one; an empty name means "none" and stays."""
        if "storageClassName" in claim.get("spec", {}):
            return
        for record in self._store.scan(r.STORAGECLASSES):
            document = record.document()
            marks = document["metadata"].get("annotations") or {}
            if marks.get("storageclass.kubernetes.io/is-default-class") == "true":
                claim["spec"]["storageClassName"] = document["metadata"]["name"]
                return
