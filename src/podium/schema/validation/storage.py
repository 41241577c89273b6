"""PersistentVolumes and claims, StorageClasses, CSINodes and CSIDrivers."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, required, too_long, unsupported
from podium.schema.builtin import type_named
from podium.schema.validation.amounts import check_positive_amount
from podium.schema.validation.base import Document, Errors, check_choice, check_same, complain, milli_or_none
from podium.schema.validation.claims import VOLUME_MODES, check_access_modes, check_claim_spec
from podium.schema.validation.placement import check_node_selector
from podium.schema.validation.volumes import check_host_path, check_required_fields

_RECLAIM_POLICIES = frozenset({"Delete", "Recycle", "Retain"})
_BINDING_MODES = frozenset({"Immediate", "WaitForFirstConsumer"})
_PARAMETER_BYTES = 256 * 1024


def check_volume(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    modes = spec.get("accessModes") or []
    if modes:
        check_access_modes(errors, "spec.accessModes", modes)
    else:
        errors.append(required("spec.accessModes"))
    capacity = spec.get("capacity") or {}
    if not capacity:
        errors.append(required("spec.capacity"))
    if set(capacity) != {"storage"}:
        errors.append(unsupported("spec.capacity", capacity or None, ("storage",)))
    for name, amount in capacity.items():
        check_positive_amount(errors, f"spec.capacity[{name}]", amount)
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _RECLAIM_POLICIES:
        errors.append(unsupported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES))
    _check_node_affinity(errors, spec)
    _check_source(errors, spec)
    for field in ("storageClassName", "volumeAttributesClassName"):
        name = spec.get(field)
        if name:
            complain(errors, f"spec.{field}", name, names.check_dns_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(unsupported("spec.volumeMode", mode, VOLUME_MODES))


def _check_node_affinity(errors: Errors, spec: Document) -> None:
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        at = "spec.nodeAffinity.required"
        if "required" not in affinity:
            errors.append(required(at, "must specify required node constraints"))
        else:
            check_node_selector(errors, at, affinity["required"])
    elif "local" in spec:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))


def _check_source(errors: Errors, spec: Document) -> None:
    sources = [field for field in spec if field in _sources()]
    if not sources:
        errors.append(required("spec", "must specify a volume type"))
    for extra in sources[1:]:
        errors.append(forbidden(f"spec.{extra}", "may not specify more than 1 volume type"))
    for kind in sources[:1]:
        if kind == "hostPath":
            check_host_path(errors, "spec.hostPath", spec[kind])
            if spec[kind].get("path") == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
                reported = "may not be 'recycle' for a hostPath mount of '/'"
                errors.append(forbidden("spec.persistentVolumeReclaimPolicy", reported))
        else:
            check_required_fields(errors, f"spec.{kind}", spec[kind], kind)


def _sources() -> frozenset[str]:
    """The fields of a volume's spec that say what it is made of."""
    fields = type_named("PersistentVolumeSpec").properties or {}
    return frozenset(name for name, schema in fields.items() if schema.name.endswith("VolumeSource"))


def check_volume_update(errors: Errors, new: Document, old: Document) -> None:
    check_volume(errors, new)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if any(after.get(field) != before.get(field) for field in _sources()):
        reported = "spec.persistentvolumesource is immutable after creation"
        errors.append(forbidden("spec.persistentvolumesource", reported))
    check_same(errors, "volumeMode", after.get("volumeMode"), before.get("volumeMode"))
    if before.get("nodeAffinity") is not None:
        check_same(errors, "nodeAffinity", after.get("nodeAffinity"), before["nodeAffinity"])


def check_claim(errors: Errors, document: Document) -> None:
    check_claim_spec(errors, "spec", document.get("spec") or {})


def check_claim_update(errors: Errors, new: Document, old: Document) -> None:
    check_claim(errors, new)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    bound = (new.get("status") or {}).get("phase") == "Bound"
    size, known = _storage(after.get("resources")), _storage(before.get("resources"))
    allowed = {"volumeAttributesClassName"} if bound else set()
    if not before.get("volumeName"):
        allowed.add("volumeName")
    if before.get("storageClassName") is None:
        allowed.add("storageClassName")  # the default class may be filled in later
    changed = {field for field in after.keys() | before.keys() if after.get(field) != before.get(field)}
    if "resources" in changed and bound and _rest(after["resources"]) == _rest(before.get("resources")):
        changed.discard("resources")
    if changed - allowed:
        reported = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName "
            "for bound claims"
        )
        errors.append(forbidden("spec", reported))
    capacity = milli_or_none(((old.get("status") or {}).get("capacity") or {}).get("storage", "0")) or 0
    if size is not None and known is not None and size < known and size <= capacity:
        reported = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", reported))
    check_same(errors, "volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _storage(resources: Document | None) -> int | None:
    size = ((resources or {}).get("requests") or {}).get("storage")
    return None if size is None else milli_or_none(size)


def _rest(resources: Document | None) -> Document:
    """The resources without the one number that may grow."""
    rest = dict(resources or {})
    rest["requests"] = {key: value for key, value in (rest.get("requests") or {}).items() if key != "storage"}
    return rest


def check_storage_class(errors: Errors, document: Document) -> None:
    provisioner = document.get("provisioner") or ""
    if not provisioner:
        errors.append(required("provisioner"))
    else:
        complain(errors, "provisioner", provisioner, names.check_qualified_name(provisioner.lower()))
    parameters = document.get("parameters") or {}
    if sum(len(key) + len(value) for key, value in parameters.items()) > _PARAMETER_BYTES:
        errors.append(too_long("parameters", _PARAMETER_BYTES))
    if "" in parameters:
        errors.append(invalid("parameters", "", "field can not be empty."))
    policy = document.get("reclaimPolicy")
    if policy and policy not in ("Delete", "Retain"):
        errors.append(unsupported("reclaimPolicy", policy, ("Delete", "Retain")))
    check_choice(errors, "volumeBindingMode", document.get("volumeBindingMode"), _BINDING_MODES)


def check_storage_class_update(errors: Errors, new: Document, old: Document) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        check_same(errors, field, new.get(field), old.get(field))


def check_csi_node(errors: Errors, document: Document) -> None:
    seen: set[str] = set()
    for index, driver in enumerate((document.get("spec") or {}).get("drivers") or ()):
        at, name = f"spec.drivers[{index}]", driver.get("name", "")
        _check_driver_name(errors, f"{at}.name", name)
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if not driver.get("nodeID"):
            errors.append(required(f"{at}.nodeID"))
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            errors.append(invalid(f"{at}.allocatable.count", count, "must be greater than or equal to 0"))


def check_csi_driver(errors: Errors, document: Document) -> None:
    _check_driver_name(errors, "metadata.name", document["metadata"].get("name", ""))
    spec: Document = document.get("spec") or {}
    policies = frozenset({"File", "None", "ReadWriteOnceWithFSType"})
    check_choice(errors, "spec.fsGroupPolicy", spec.get("fsGroupPolicy"), policies)
    modes = frozenset({"Ephemeral", "Persistent"})
    for index, mode in enumerate(spec.get("volumeLifecycleModes") or ()):
        check_choice(errors, f"spec.volumeLifecycleModes[{index}]", mode, modes)


def _check_driver_name(errors: Errors, path: str, name: str) -> None:
    if not name:
        errors.append(required(path))
        return
    if len(name) > 63:
        errors.append(too_long(path, 63))
    complain(errors, path, name, names.check_dns_subdomain(name.lower()))
