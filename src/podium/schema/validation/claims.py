"""Specs of volume claims: of PersistentVolumeClaims and of the templates for them in pods and StatefulSets."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import forbidden, invalid, required, unsupported
from podium.schema.validation.amounts import check_positive_amount
from podium.schema.validation.base import Document, Errors, check_selector, complain

ACCESS_MODES = frozenset({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"})
VOLUME_MODES = frozenset({"Block", "Filesystem"})


def check_access_modes(errors: Errors, path: str, modes: list[str]) -> None:
    if not modes:
        errors.append(required(path, "at least 1 access mode is required"))
    errors.extend(unsupported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES - {"ReadWriteOncePod"} for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def check_claim_spec(errors: Errors, path: str, spec: Document) -> None:
    check_access_modes(errors, f"{path}.accessModes", spec.get("accessModes") or [])
    check_selector(errors, f"{path}.selector", spec.get("selector"))
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    # The API server leaves `requests` out of this path; people search for what it prints.
    if size is None:
        errors.append(required(f"{path}.resources[storage]"))
    else:
        check_positive_amount(errors, f"{path}.resources[storage]", size)
    for field in ("storageClassName", "volumeAttributesClassName"):
        name = spec.get(field)
        if name:
            complain(errors, f"{path}.{field}", name, names.check_dns_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(unsupported(f"{path}.volumeMode", mode, VOLUME_MODES))
    for field in ("dataSource", "dataSourceRef"):
        source = spec.get(field)
        if source is not None:
            _check_data_source(errors, f"{path}.{field}", source)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and reference and not reference.get("namespace") and source != reference:
        errors.append(invalid(path, f"{path}.dataSource", "must match dataSourceRef"))


def _check_data_source(errors: Errors, path: str, source: Document) -> None:
    errors.extend(required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field))
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") not in (None, "PersistentVolumeClaim"):
        reported = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, source.get("kind"), reported))
