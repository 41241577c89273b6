"""ConfigMaps, Secrets, quotas and limit ranges."""

from __future__ import annotations

import msgspec

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, required, too_long
from podium.kube.quantity import canonical
from podium.schema.validation.amounts import STANDARD_RESOURCES, check_amount, check_resource_name
from podium.schema.validation.base import Document, Errors, check_same, complain, milli_or_none

_BYTES = 1024 * 1024
_ONLY_WITH_NEW_OBJECT = "field is immutable when `immutable` is set"

# What a Secret of a known type must contain.
_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SCOPES = frozenset(
    {
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    }
)
_SCOPE_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_REQUEST = "default request value {}"
# Which of a limit's values must not exceed which, the field that is blamed, and the one that is quoted.
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", f"min value {{}} is greater than {_REQUEST}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", f"{_REQUEST} is greater than max value {{}}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        f"{_REQUEST} is greater than default limit value {{}}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def check_config_map(errors: Errors, document: Document) -> None:
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        complain(errors, f"data[{key}]", key, names.check_config_key(key))
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value.encode())
    for key, value in binary.items():
        complain(errors, f"binaryData[{key}]", key, names.check_config_key(key))
        size += len(value) * 3 // 4
    if size > _BYTES:
        errors.append(too_long("[]", _BYTES))


def check_config_map_update(errors: Errors, new: Document, old: Document) -> None:
    _check_frozen(errors, new, old, ("data", "binaryData"))
    check_config_map(errors, new)


def check_secret(errors: Errors, document: Document) -> None:
    data = document.get("data") or {}
    for key in data:
        complain(errors, f"data[{key}]", key, names.check_config_key(key))
    if sum(len(value) for value in data.values()) * 3 // 4 > _BYTES:
        errors.append(too_long("data", _BYTES))
    kind = document.get("type", "")
    errors.extend(required(f"data[{key}]") for key in _KEYS.get(kind, ()) if key not in data)
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        if not (document["metadata"].get("annotations") or {}).get(key):
            errors.append(required(f"metadata.annotations[{key}]"))
    if kind in ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson") and _KEYS[kind][0] in data:
        _check_docker(errors, f"data[{_KEYS[kind][0]}]", data[_KEYS[kind][0]])


def _check_docker(errors: Errors, path: str, encoded: str) -> None:
    try:
        msgspec.json.decode(msgspec.convert(encoded, bytes, strict=False), type=dict)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        errors.append(invalid(path, "<secret contents redacted>", str(error)))


def check_secret_update(errors: Errors, new: Document, old: Document) -> None:
    check_same(errors, "type", new.get("type"), old.get("type"))
    _check_frozen(errors, new, old, ("data",))
    check_secret(errors, new)


def _check_frozen(errors: Errors, new: Document, old: Document, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        errors.append(forbidden("immutable", _ONLY_WITH_NEW_OBJECT))
    errors.extend(
        forbidden(field, _ONLY_WITH_NEW_OBJECT)
        for field in fields
        if (new.get(field) or {}) != (old.get(field) or {})
    )


def check_quota(errors: Errors, document: Document) -> None:
    spec: Document = document.get("spec") or {}
    for name, amount in (spec.get("hard") or {}).items():
        at = f"spec.hard[{name}]"
        problem = _quota_name_problem(name)
        complain(errors, at, name, problem)
        check_amount(errors, at, name, amount)
    scopes = spec.get("scopes") or []
    errors.extend(invalid("spec.scopes", scopes, "unsupported scope") for scope in scopes if scope not in _SCOPES)
    for pair in _SCOPE_PAIRS:
        if all(scope in scopes for scope in pair):
            errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    for index, each in enumerate((spec.get("scopeSelector") or {}).get("matchExpressions") or ()):
        _check_scope_requirement(errors, f"spec.scopeSelector.matchExpressions[{index}]", each)


def _quota_name_problem(name: str) -> str | None:
    if "/" in name:
        return names.check_qualified_name(name)
    problem = check_resource_name(name)
    if name in STANDARD_RESOURCES or "hugepages-" in name:
        return problem
    reported = "must be a standard resource for quota"
    return reported if problem is None else f"{problem}; {reported}"


def _check_scope_requirement(errors: Errors, path: str, requirement: Document) -> None:
    scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    if scope not in _SCOPES:
        errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
    if operator in ("In", "NotIn"):
        if not values:
            reported = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", reported))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            reported = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector"
            errors.append(invalid(f"{path}.values", values, reported))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))


def check_quota_update(errors: Errors, new: Document, old: Document) -> None:
    check_quota(errors, new)
    after = (new.get("spec") or {}).get("scopes") or []
    if set(after) != set((old.get("spec") or {}).get("scopes") or ()):
        errors.append(invalid("spec.scopes", after, "field is immutable"))


def check_limit_range(errors: Errors, document: Document) -> None:
    seen: set[str] = set()
    for index, item in enumerate((document.get("spec") or {}).get("limits") or ()):
        at, kind = f"spec.limits[{index}]", item.get("type", "")
        complain(errors, f"{at}.type", kind, names.check_qualified_name(kind))
        if kind and "/" not in kind and kind not in _LIMIT_TYPES:
            errors.append(invalid(f"{at}.type", kind, "must be a standard limit type or fully qualified"))
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        if kind == "Pod":
            errors.extend(
                forbidden(f"{at}.{field}", "may not be specified when `type` is 'Pod'")
                for field in ("default", "defaultRequest")
                if item.get(field)
            )
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(field) or {}) for field in ("min", "max")
        ):
            reported = "either minimum or maximum storage value is required, but neither was provided"
            errors.append(required(f"{at}.limits", reported))
        _check_limits(errors, at, item)


def _check_limits(errors: Errors, path: str, item: Document) -> None:
    for low, high, where, shown, reported in _ORDER:
        smaller, larger = item.get(low) or {}, item.get(high) or {}
        for name in smaller:
            if name not in larger:
                continue
            first, second = milli_or_none(smaller[name]), milli_or_none(larger[name])
            if first is not None and second is not None and first > second:
                sentence = reported.format(canonical(smaller[name]), canonical(larger[name]))
                errors.append(invalid(f"{path}.{where}[{name}]", item[shown][name], sentence))
    for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
        milli = milli_or_none(ratio)
        if milli is not None and milli < 1000:
            reported = f"ratio {canonical(ratio)} is less than 1"
            errors.append(invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, reported))
