"""Volumes of pods."""

from __future__ import annotations

from collections.abc import Callable

from podium.kube import names
from podium.kube.fields import FieldError, duplicate, forbidden, invalid, required, unsupported
from podium.schema.builtin import type_named
from podium.schema.validation.base import Document, Errors, check_choice, check_name, complain, milli_or_none
from podium.schema.validation.claims import check_claim_spec
from podium.schema.validation.environment import FILE_FIELDS, check_amount_reference, check_field_reference

_FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = frozenset(
    {
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    }
)


def validate_volumes(volumes: list[Document], path: str) -> list[FieldError]:
    """Volumes that are to be a pod's, wherever they stand."""
    errors: Errors = []
    check_volumes(errors, path, volumes, "")
    return errors


def check_volumes(errors: Errors, path: str, volumes: list[Document], pod_name: str) -> dict[str, Document]:
    """Checks a pod's volumes and returns the good ones by name: only these can be mounted."""
    usable: dict[str, Document] = {}
    made = {f"{pod_name}-{volume.get('name')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        before = len(errors)
        name = volume.get("name") or ""
        _check_source(errors, f"{path}[{index}]", volume)
        if not name or names.check_dns_label(name) is not None:
            check_name(errors, f"{path}[{index}].name", name, names.check_dns_label)
        if name in usable:
            errors.append(duplicate(f"{path}[{index}].name", name))
        if len(errors) == before:
            usable[name] = volume
        if made and (volume.get("persistentVolumeClaim") or {}).get("claimName") in made:
            claim = volume["persistentVolumeClaim"]["claimName"]
            reported = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{path}[{index}].persistentVolumeClaim.claimName", claim, reported))
    return usable


def has_back_step(path: str) -> bool:
    return ".." in path and ".." in path.split("/")


def _check_source(errors: Errors, path: str, volume: Document) -> None:
    kinds = [kind for kind in volume if kind != "name"]
    if not kinds:
        errors.append(required(path, "must specify a volume type"))
        return
    for kind in kinds[1:]:
        errors.append(forbidden(f"{path}.{kind}", "may not specify more than 1 volume type"))
    kind = kinds[0]
    check = _SOURCES.get(kind)
    if check is not None:
        check(errors, f"{path}.{kind}", volume[kind])
    else:
        check_required_fields(errors, f"{path}.{kind}", volume[kind], kind)


def check_required_fields(errors: Errors, path: str, source: Document, kind: str) -> None:
    """Sources without rules of their own: what the table calls required must be there."""
    schema = (type_named("Volume").properties or {}).get(kind) or (
        type_named("PersistentVolumeSpec").properties or {}
    )[kind]
    errors.extend(
        required(f"{path}.{field}")
        for field in schema.required
        if not source.get(field) and source.get(field) is not False and source.get(field) != 0
    )


def _check_empty_dir(errors: Errors, path: str, source: Document) -> None:
    size = source.get("sizeLimit")
    if size is not None:
        milli = milli_or_none(size)
        if milli is None or milli < 0:
            errors.append(forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def check_host_path(errors: Errors, path: str, source: Document) -> None:
    place = source.get("path") or ""
    if not place:
        errors.append(required(f"{path}.path"))
        return
    if has_back_step(place):
        errors.append(invalid(f"{path}.path", place, "must not contain '..'"))
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        errors.append(unsupported(f"{path}.type", kind, _HOST_PATH_TYPES))


def _check_keys(errors: Errors, path: str, source: Document, name_field: str) -> None:
    if not source.get(name_field):
        errors.append(required(f"{path}.{name_field}"))
    _check_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{index}]"
        if not item.get("key"):
            errors.append(required(f"{at}.key"))
        _check_file(errors, at, item)


def _check_file(errors: Errors, path: str, item: Document) -> None:
    place = item.get("path") or ""
    if not place:
        errors.append(required(f"{path}.path"))
    if place.startswith("/"):
        errors.append(invalid(f"{path}.path", place, "must be a relative path"))
    if has_back_step(place):
        errors.append(invalid(f"{path}.path", place, "must not contain '..'"))
    elif place.startswith(".."):
        errors.append(invalid(f"{path}.path", place, "must not start with '..'"))
    _check_mode(errors, f"{path}.mode", item.get("mode"))


def _check_mode(errors: Errors, path: str, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(invalid(path, mode, _FILE_MODE))


def _check_config_map(errors: Errors, path: str, source: Document) -> None:
    _check_keys(errors, path, source, "name")


def _check_secret(errors: Errors, path: str, source: Document) -> None:
    _check_keys(errors, path, source, "secretName")


def _check_downward(errors: Errors, path: str, source: Document) -> None:
    _check_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        _check_downward_file(errors, path, item)


def _check_downward_file(errors: Errors, path: str, item: Document) -> None:
    _check_file(errors, path, item)
    if "fieldRef" in item:
        check_field_reference(errors, f"{path}.fieldRef", item["fieldRef"], FILE_FIELDS)
        if "resourceFieldRef" in item:
            reported = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", reported))
    elif "resourceFieldRef" in item:
        check_amount_reference(errors, f"{path}.resourceFieldRef", item["resourceFieldRef"], in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))


def _check_projected(errors: Errors, path: str, source: Document) -> None:
    _check_mode(errors, f"{path}.defaultMode", source.get("defaultMode"))
    for index, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in projection:
                _check_keys(errors, f"{at}.{kind}", projection[kind], "name")
        for item in (projection.get("downwardAPI") or {}).get("items") or ():
            _check_downward_file(errors, f"{at}.downwardAPI", item)
        if "serviceAccountToken" in projection:
            _check_token(errors, f"{at}.serviceAccountToken", projection["serviceAccountToken"])
        if len(projection) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))


def _check_token(errors: Errors, path: str, token: Document) -> None:
    seconds = token.get("expirationSeconds", 3600)
    if seconds < 600:
        errors.append(
            invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        )
    elif seconds > 2**32:
        errors.append(
            invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        )
    _check_file(errors, path, token)


def _check_claim(errors: Errors, path: str, source: Document) -> None:
    if not source.get("claimName"):
        errors.append(required(f"{path}.claimName"))


def _check_ephemeral(errors: Errors, path: str, source: Document) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(required(f"{path}.volumeClaimTemplate"))
    else:
        check_claim_spec(errors, f"{path}.volumeClaimTemplate.spec", template.get("spec") or {})


def _check_csi(errors: Errors, path: str, source: Document) -> None:
    driver = source.get("driver") or ""
    if not driver:
        errors.append(required(f"{path}.driver"))
    else:
        complain(errors, f"{path}.driver", driver, names.check_dns_subdomain(driver.lower()))


def _check_nfs(errors: Errors, path: str, source: Document) -> None:
    place = source.get("path") or ""
    if not source.get("server"):
        errors.append(required(f"{path}.server"))
    if not place:
        errors.append(required(f"{path}.path"))
    elif not place.startswith("/"):
        errors.append(invalid(f"{path}.path", place, "must be an absolute path"))


def _check_image(errors: Errors, path: str, source: Document) -> None:
    if not source.get("reference"):
        errors.append(required(f"{path}.reference"))
    check_choice(
        errors, f"{path}.pullPolicy", source.get("pullPolicy"), frozenset({"Always", "IfNotPresent", "Never"})
    )


_SOURCES: dict[str, Callable[[Errors, str, Document], None]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "configMap": _check_config_map,
    "secret": _check_secret,
    "downwardAPI": _check_downward,
    "projected": _check_projected,
    "persistentVolumeClaim": _check_claim,
    "ephemeral": _check_ephemeral,
    "csi": _check_csi,
    "nfs": _check_nfs,
    "image": _check_image,
}
