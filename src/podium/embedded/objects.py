"""Creating and changing objects: the rules that hold for every kind, in the order a real API server applies them.

Synchronous and deterministic: clock and identities are handed in.  Results are records in the store; refusals are
ApiErrors.  Deletion has its own page (`embedded.deletion`), reading too (`embedded.reading`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from podium.embedded import strategies
from podium.embedded.admission import Admission
from podium.embedded.conversion import to_served, to_stored, typed
from podium.embedded.registry import Kind, Registry
from podium.embedded.store import Record, Store
from podium.errors import ApiError
from podium.kube import fields, status
from podium.kube import resources as r
from podium.kube.cache import Key
from podium.kube.fields import FieldError
from podium.kube.times import format_time
from podium.schema import engine, rules, values
from podium.schema.validation import validate_metadata

Document = dict[str, Any]

# What a client may never change, whatever it sends.
_SYSTEM_METADATA = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")

MAX_NAME_PREFIX = 58  # generateName keeps room for five more characters within a DNS label


class Identities(Protocol):
    """Where UIDs and the random ends of generated names come from: dice in the shell, a count in the simulator."""

    def uid(self) -> str: ...

    def suffix(self) -> str: ...


class Objects:
    """Writes over one store."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        admission: Admission,
        clock: Callable[[], float],
        identities: Identities,
    ) -> None:
        self.store = store
        self.registry = registry
        self.admission = admission
        self.clock = clock
        self.identities = identities

    def require(self, kind: Kind, namespace: str, name: str) -> Record:
        record = self.store.get(kind.storage, namespace, name)
        if record is None:
            raise status.not_found(kind.resource, name)
        return record

    # --- create --------------------------------------------------------------------------------------------

    def create(self, kind: Kind, namespace: str, document: Document, *, dry_run: bool = False) -> Record:
        """A new object from a decoded, type-checked document."""
        document = typed(kind, document)
        metadata = self._birth_certificate(kind, namespace, document)
        strategies.clear_status(kind, document)
        self._default(kind, document)
        self.admission.mutate(kind, namespace, document, None)
        strategies.prepare_create(kind, document, self.store)
        _drop_empty(metadata)
        self._refuse(kind, metadata["name"], self._problems(kind, document, None))
        if self.store.get(kind.storage, namespace, metadata["name"]) is not None:
            raise status.already_exists(kind.resource, metadata["name"])
        return self._put(kind, document, None, dry_run)

    def _birth_certificate(self, kind: Kind, namespace: str, document: Document) -> Document:
        """Metadata of a new object: identity set, what a client may not set dropped."""
        metadata: Document = document.get("metadata") or {}
        document["metadata"] = metadata
        if metadata.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        given = metadata.get("namespace")
        if kind.resource.namespaced:
            if given and given != namespace:
                raise status.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        elif given:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        for field in (*_SYSTEM_METADATA, "selfLink", "managedFields"):
            metadata.pop(field, None)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"][:MAX_NAME_PREFIX] + self.identities.suffix()
        metadata["uid"] = self.identities.uid()
        metadata["creationTimestamp"] = format_time(self.clock())
        if kind.strategy.counts_generation:
            metadata["generation"] = 1
        if not metadata.get("name"):
            raise status.invalid(
                kind.resource, "", [fields.required("metadata.name", "name or generateName is required")]
            )
        return metadata

    # --- update --------------------------------------------------------------------------------------------

    def update(
        self,
        kind: Kind,
        key: Key,
        document: Document,
        *,
        subresource: str = "",
        dry_run: bool = False,
        patched: bool = False,
    ) -> Record:
        """A changed object.  `document` is the whole new object, and a resourceVersion in it a condition.

        Another UID is a lost race when it comes in a whole document, and a wrong value when a patch set it.
        """
        namespace, name = key
        record = self.store.get(kind.storage, namespace, name)
        if record is None:
            if kind.strategy.created_by_update and not subresource:
                return self.create(kind, namespace, document, dry_run=dry_run)
            raise status.not_found(kind.resource, name)
        old = to_served(kind, record.document())
        if kind.custom and not engine.is_clean(old, kind.schema):
            # Its definition has lost fields since it was written: a part of the object that is kept has them, too.
            engine.prune(old, kind.schema)
            engine.prune(document, kind.schema)
        metadata = document.get("metadata") or {}
        document["metadata"] = metadata
        self._check_identity(kind, namespace, name, metadata, old["metadata"], patched)
        self._check_version(kind, name, metadata, record)
        if subresource == "status":
            document = strategies.prepare_status_update(kind, document, old)
            if kind.resource == r.NAMESPACES:
                self._default(kind, document)  # its own name stays among its labels
        elif subresource == "finalize":
            self._keep_system_metadata(metadata, old["metadata"])
            document = {**old, "spec": document.get("spec", {}), "metadata": metadata}
        else:
            self._keep_system_metadata(metadata, old["metadata"])
            strategies.prepare_update(kind, document, old)
            self._default(kind, document)
            self.admission.mutate(kind, namespace, document, old)
        _drop_empty(document["metadata"])
        self._refuse(kind, name, self._problems(kind, document, old, subresource))
        if not subresource and strategies.moves_generation(kind, document, old):
            document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if document["metadata"].get("deletionTimestamp") and self._is_finished(kind, document):
            return self._remove(kind, record, document, dry_run)
        if document == old:
            return record  # nothing changed: no new version, no event, as on a real server
        return self._put(kind, document, record, dry_run)

    def judges_metadata_by_itself(self, kind: Kind) -> bool:
        """Whether a change of nothing but the metadata needs no look at the rest of the object.

        A namespace keeps a label with its own name, and goes when its spec holds it no longer.
        """
        return kind.resource != r.NAMESPACES and not self.admission.validates(kind)

    def update_metadata(
        self, kind: Kind, record: Record, old: Document, metadata: Document, *, dry_run: bool = False
    ) -> Record:
        """A change of nothing but the metadata: what `update` would do, for kinds that judge it by itself.

        The old document may be an outline.
        """
        name = record.name
        metadata = dict(metadata)
        self._check_identity(kind, record.namespace, name, metadata, old["metadata"], patched=True)
        self._check_version(kind, name, metadata, record)
        self._keep_system_metadata(metadata, old["metadata"])
        _drop_empty(metadata)
        document = {**old, "metadata": metadata}
        self._refuse(kind, name, validate_metadata(metadata, old["metadata"]))
        if strategies.moves_generation(kind, document, old):
            metadata["generation"] = old["metadata"].get("generation", 0) + 1
        if metadata.get("deletionTimestamp") and self._is_finished(kind, document):
            return self._remove(kind, record, document, dry_run)
        if metadata == old["metadata"]:
            return record
        return self._put(kind, document, record, dry_run)

    def _check_identity(
        self, kind: Kind, namespace: str, name: str, metadata: Document, old: Document, patched: bool
    ) -> None:
        given = metadata.get("name")
        if given != name:
            raise status.bad_request(
                f"the name of the object ({given or ''}) does not match the name on the URL ({name})"
            )
        if kind.resource.namespaced and metadata.get("namespace", namespace) != namespace:
            raise status.bad_request(
                f"the namespace of the object ({metadata['namespace']}) does not match "
                f"the namespace on the URL ({namespace})"
            )
        uid = metadata.get("uid")
        if uid and uid != old["uid"]:
            if patched:
                complaint = fields.invalid("metadata.uid", uid, "field is immutable")
                raise status.invalid(kind.resource, name, [complaint])
            raise status.conflict(
                kind.resource,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['uid']}",
            )

    def _check_version(self, kind: Kind, name: str, metadata: Document, record: Record) -> None:
        version = metadata.get("resourceVersion")
        if not version:
            if kind.strategy.needs_version:
                raise status.invalid(
                    kind.resource,
                    name,
                    [fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")],
                )
        elif version != str(record.version):
            raise status.stale(kind.resource, name)

    def _keep_system_metadata(self, metadata: Document, old: Document) -> None:
        for field in (*_SYSTEM_METADATA, "namespace"):
            if field in old:
                metadata[field] = old[field]
            else:
                metadata.pop(field, None)
        metadata["resourceVersion"] = old["resourceVersion"]
        metadata.pop("selfLink", None)
        metadata.pop("managedFields", None)
        if old.get("generateName"):
            metadata.setdefault("generateName", old["generateName"])

    def _default(self, kind: Kind, document: Document) -> None:
        if kind.custom:
            engine.apply_defaults(document, kind.schema)
        else:
            rules.default_object(document, kind.schema, kind.rules)

    # --- shared --------------------------------------------------------------------------------------------

    def _problems(
        self, kind: Kind, document: Document, old: Document | None, subresource: str = ""
    ) -> list[FieldError]:
        errors: list[FieldError] = []
        if kind.custom:
            errors += validate_metadata(document["metadata"], old["metadata"] if old else None)
            errors += values.validate(document, kind.schema, old=old)
        elif subresource:
            assert old is not None
            if document["metadata"] != old["metadata"]:
                errors += validate_metadata(document["metadata"], old["metadata"])
            return errors
        elif old is None:
            errors += rules.validate_create(document, kind.rules)
        else:
            errors += rules.validate_update(document, old, kind.rules)
        # As on a real server hooks come last: they rely on what the schema says, and do not say it a second time.
        if not subresource and not errors:
            errors += self.admission.validate(kind, document, old)
        return errors

    def _refuse(self, kind: Kind, name: str, errors: list[FieldError]) -> None:
        if errors:
            raise status.invalid(kind.resource, name, errors)

    def _is_finished(self, kind: Kind, document: Document) -> bool:
        """A deleted object goes when nothing holds it any longer: no finalizer, no grace, and for a namespace
        no content."""
        metadata = document["metadata"]
        if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
            return False
        return not (kind.resource == r.NAMESPACES and (document.get("spec") or {}).get("finalizers"))

    def _put(self, kind: Kind, document: Document, old: Record | None, dry_run: bool) -> Record:
        if dry_run:
            return _imagined(document, old)
        return self.store.put(kind.storage, to_stored(kind, document), old)

    def _remove(self, kind: Kind, record: Record, document: Document, dry_run: bool) -> Record:
        if dry_run:
            return _imagined(document, record)
        return self.store.remove(kind.storage, record, to_stored(kind, document))


def _drop_empty(metadata: Document) -> None:
    """An empty list or map in the metadata says no more than none, and is not kept."""
    for field in ("finalizers", "ownerReferences", "labels", "annotations"):
        if field in metadata and not metadata[field]:
            del metadata[field]


def _imagined(document: Document, old: Record | None) -> Record:
    """What a dry run would have stored."""
    metadata = document["metadata"]
    return Record(
        0,
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        old.version if old is not None else 0,
        metadata.get("labels"),
        msgspec.json.encode(document),
    )
