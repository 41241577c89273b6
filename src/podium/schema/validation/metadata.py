"""Metadata: names by kind, labels, annotations, owners, finalizers, and what an update may not touch."""

from __future__ import annotations

from collections.abc import Callable

from podium.kube import names
from podium.kube.fields import FieldError, forbidden, invalid, required, too_long
from podium.schema.validation.base import IMMUTABLE, Document, Errors, check_labels, complain

ANNOTATION_BYTES = 256 * 1024

_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_PLAIN_FINALIZERS = frozenset({_ORPHAN, _FOREGROUND, "kubernetes"})


def validate_metadata(
    metadata: Document,
    old: Document | None = None,
    *,
    check_name: Callable[[str], str | None] = names.check_dns_subdomain,
) -> list[FieldError]:
    """The metadata of any object: a new one's, or, with `old`, an update's."""
    errors: Errors = []
    if old is None:
        _check_identity(errors, metadata, check_name)
    else:
        _check_kept(errors, metadata, old)
    check_labels(errors, "metadata.labels", metadata.get("labels"))
    check_annotations(errors, "metadata.annotations", metadata.get("annotations"))
    if owners := metadata.get("ownerReferences"):
        _check_owners(errors, owners)
    if finalizers := metadata.get("finalizers"):
        _check_finalizers(errors, finalizers, (old or {}).get("finalizers"))
    return errors


def _check_identity(errors: Errors, metadata: Document, check: Callable[[str], str | None]) -> None:
    if prefix := metadata.get("generateName"):
        # The server adds letters, so what must be good is the prefix with a letter in the place of its last dash.
        grown = f"{prefix[:-1]}a" if prefix.endswith("-") else prefix
        complain(errors, "metadata.generateName", prefix, check(grown))
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    elif problem := check(name):
        complain(errors, "metadata.name", name, problem)


def _check_kept(errors: Errors, metadata: Document, old: Document) -> None:
    for field in _IMMUTABLE:
        if metadata.get(field) != old.get(field):
            errors.append(invalid(f"metadata.{field}", metadata.get(field), IMMUTABLE))
    if old.get("deletionTimestamp"):
        known = old.get("finalizers") or ()
        added = sorted(each for each in metadata.get("finalizers") or () if each not in known)
        if added:
            shown = ", ".join(f'"{each}"' for each in added)
            errors.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{shown}}}",
                )
            )


def check_annotations(errors: Errors, path: str, annotations: Document | None) -> None:
    if not annotations:
        return
    size = 0
    for key, value in annotations.items():
        if problem := names.check_annotation_key(key):
            complain(errors, path, key, problem)
        size += len(key) + len(value)
    # Characters are the fewest bytes it can be and a quarter of the most: only in between they are counted.
    if size * 4 > ANNOTATION_BYTES:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > ANNOTATION_BYTES:
            errors.append(too_long(path, ANNOTATION_BYTES))


def _check_owners(errors: Errors, owners: list[Document]) -> None:
    path = "metadata.ownerReferences"
    controller: Document | None = None
    for owner in owners:
        version = owner.get("apiVersion", "")
        if version.count("/") > 1 or not version.rpartition("/")[2]:
            errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                errors.append(invalid(f"{path}.{field}", owner.get(field, ""), "must not be empty"))
        if version == "v1" and owner.get("kind") == "Event":
            errors.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            if controller is not None:
                both = " and ".join(f"{each.get('kind')}/{each.get('name')}" for each in (controller, owner))
                reported = (
                    f'Only one reference can have Controller set to true. Found "true" in references for {both}'
                )
                errors.append(invalid(path, owners, reported))
            controller = owner


def _check_finalizers(errors: Errors, finalizers: list[str], before: list[str] | None) -> None:
    path = "metadata.finalizers"
    for index, finalizer in enumerate(finalizers):
        if before and finalizer in before:
            continue  # what was let in once must not stop an object's later life
        complain(errors, path, finalizer, names.check_qualified_name(finalizer))
        if "/" not in finalizer and finalizer not in _PLAIN_FINALIZERS:
            errors.append(
                invalid(
                    f"{path}[{index}]",
                    finalizer,
                    "name is neither a standard finalizer name nor is it fully qualified",
                )
            )
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"))
