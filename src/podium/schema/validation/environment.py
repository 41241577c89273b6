"""Environment variables of containers, and the downward API that they share with volumes."""

from __future__ import annotations

from collections.abc import Collection

from podium.kube import names
from podium.kube.fields import invalid, required, unsupported
from podium.kube.quantity import QuantityError, canonical
from podium.schema.validation.base import Document, Errors, check_name, complain

ENVIRONMENT_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
FILE_FIELDS = frozenset(
    {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
)
_CONVERTIBLE = ENVIRONMENT_FIELDS | FILE_FIELDS | {"spec.host", "spec.restartPolicy", "spec.schedulerName"}

_AMOUNTS = frozenset(
    f"{side}.{resource}" for side in ("limits", "requests") for resource in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_SIZE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_environment(errors: Errors, path: str, container: Document) -> None:
    """A container's `env` and `envFrom`; `path` is the container's."""
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name")
        if not name or names.check_env_name(name) is not None:
            check_name(errors, f"{path}.env[{index}].name", name, names.check_env_name)
        if "valueFrom" in variable:
            _check_source(errors, f"{path}.env[{index}].valueFrom", variable)
    for index, source in enumerate(container.get("envFrom") or ()):
        at = f"{path}.envFrom[{index}]"
        if prefix := source.get("prefix"):
            complain(errors, f"{at}.prefix", prefix, names.check_env_name(prefix))
        given = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in given:
            check_name(errors, f"{at}.{kind}.name", source[kind].get("name"), names.check_dns_subdomain)
        # The list, not its entry, is named here by the API server too.
        if not given:
            errors.append(invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(f"{path}.envFrom", "", "may not have more than one field specified at a time"))


def _check_source(errors: Errors, path: str, variable: Document) -> None:
    source: Document = variable["valueFrom"]
    given = [kind for kind in _SOURCES if kind in source]
    for kind in given:
        at, reference = f"{path}.{kind}", source[kind]
        if kind == "fieldRef":
            check_field_reference(errors, at, reference, ENVIRONMENT_FIELDS)
        elif kind == "resourceFieldRef":
            check_amount_reference(errors, at, reference)
        elif kind == "fileKeyRef":
            check_name(errors, f"{at}.key", reference.get("key"), names.check_env_name)
            check_name(errors, f"{at}.volumeName", reference.get("volumeName"), names.check_dns_label)
            if not reference.get("path"):
                errors.append(required(f"{at}.path"))
        else:
            name = reference.get("name", "")
            complain(errors, f"{at}.name", name, names.check_dns_subdomain(name))
            check_name(errors, f"{at}.key", reference.get("key"), names.check_config_key)
    if not given:
        listed = ", ".join(f"`{kind}`" for kind in _SOURCES[:-1]) + f" or `{_SOURCES[-1]}`"
        errors.append(invalid(path, "", f"must specify one of: {listed}"))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))


def check_field_reference(errors: Errors, path: str, reference: Document, allowed: Collection[str]) -> None:
    """A reference to a field of the pod itself, such as metadata.labels['app']."""
    if not reference.get("apiVersion"):
        errors.append(required(f"{path}.apiVersion"))
    field: str = reference.get("fieldPath") or ""
    if not field:
        errors.append(required(f"{path}.fieldPath"))
        return
    if field in allowed:
        return
    whole, bracket, rest = field.partition("['")
    if bracket and rest.endswith("']") and whole.startswith("metadata."):
        key = rest[:-2]
        if whole == "metadata.annotations":
            complain(errors, path, key.lower(), names.check_qualified_name(key.lower()))
        elif whole == "metadata.labels":
            complain(errors, path, key, names.check_qualified_name(key))
        else:
            errors.append(invalid(path, whole, "does not support subscript"))
    elif field not in _CONVERTIBLE:
        reported = f"error converting fieldPath: field label not supported: {field}"
        errors.append(invalid(f"{path}.fieldPath", field, reported))
    else:
        errors.append(unsupported(f"{path}.fieldPath", field, frozenset(allowed)))


def check_amount_reference(errors: Errors, path: str, reference: Document, *, in_volume: bool = False) -> None:
    """A reference to a container's limits or requests."""
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _AMOUNTS and not resource.startswith(_HUGE_PAGES):
        errors.append(unsupported(f"{path}.resource", resource, _AMOUNTS))
    try:
        divisor = canonical(reference.get("divisor", "0"))
    except QuantityError as error:
        errors.append(invalid(f"{path}.divisor", reference["divisor"], str(error)))
        return
    if divisor == "0":
        return
    if resource.endswith(".cpu"):
        if divisor not in _CPU_DIVISORS:
            reported = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(invalid(f"{path}.divisor", resource, reported))
    elif divisor not in _SIZE_DIVISORS:
        what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
        noun = what.get(resource.partition(".")[2], "hugepages")
        reported = f"only divisor's values {', '.join(_SIZE_DIVISORS)} are supported with the {noun} resource"
        errors.append(invalid(f"{path}.divisor", resource, reported))
