"""Security contexts of pods and containers."""

from __future__ import annotations

from podium.kube.fields import forbidden, invalid, required
from podium.schema.validation.base import Document, Errors, check_choice
from podium.schema.validation.volumes import has_back_step

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LARGEST_ID = 2**31 - 1
_ID_RANGE = f"must be between 0 and {_LARGEST_ID}, inclusive"


def check_security_context(errors: Errors, path: str, context: Document, *, host_users: bool) -> None:
    """A container's security context."""
    _check_common(errors, path, context)
    kind = context.get("procMount")
    if kind is not None:
        check_choice(errors, f"{path}.procMount", kind, ("Default", "Unmasked"))
        if host_users and kind == "Unmasked":
            reported = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(f"{path}.procMount", kind, reported))
    if context.get("allowPrivilegeEscalation") is False:
        reported = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            errors.append(invalid(path, context, f"{reported} `privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            errors.append(invalid(path, context, f"{reported} `capabilities.Add` CAP_SYS_ADMIN"))


def check_pod_security_context(errors: Errors, path: str, spec: Document) -> None:
    """A pod's security context; `path` is the spec's."""
    context: Document = spec.get("securityContext") or {}
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        reported = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.securityContext.shareProcessNamespace", True, reported))
    if spec.get("hostUsers") is False:
        errors.extend(
            forbidden(f"{path}.{shown}", "when `hostUsers` is false")
            for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
            if spec.get(field)
        )
    if not context:
        return
    at = f"{path}.securityContext"
    _check_common(errors, at, context)
    group = context.get("fsGroup")
    if group is not None and not 0 <= group <= _LARGEST_ID:
        errors.append(invalid(f"{at}.fsGroup", group, _ID_RANGE))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _LARGEST_ID:
            errors.append(invalid(f"{at}.supplementalGroups[{index}]", group, _ID_RANGE))
    if "fsGroupChangePolicy" in context:
        policies = frozenset({"Always", "OnRootMismatch"})
        check_choice(errors, f"{at}.fsGroupChangePolicy", context["fsGroupChangePolicy"], policies)
    if "supplementalGroupsPolicy" in context:
        policies = frozenset({"Merge", "Strict"})
        check_choice(errors, f"{at}.supplementalGroupsPolicy", context["supplementalGroupsPolicy"], policies)


def _check_common(errors: Errors, path: str, context: Document) -> None:
    for field in ("runAsUser", "runAsGroup"):
        number = context.get(field)
        if number is not None and not 0 <= number <= _LARGEST_ID:
            errors.append(invalid(f"{path}.{field}", number, _ID_RANGE))
    profile = context.get("seccompProfile")
    if profile is not None:
        _check_seccomp(errors, f"{path}.seccompProfile", profile)


def _check_seccomp(errors: Errors, path: str, profile: Document) -> None:
    kind, file = profile.get("type"), profile.get("localhostProfile")
    check_choice(errors, f"{path}.type", kind, _PROFILES)
    at = f"{path}.localhostProfile"
    if kind != "Localhost":
        if file is not None:
            errors.append(invalid(at, profile, "can only be set when seccomp type is Localhost"))
    elif file is None:
        errors.append(required(at, "must be set when seccomp type is Localhost"))
    else:
        if file.startswith("/"):
            errors.append(invalid(at, file, "must be a relative path"))
        if has_back_step(file):
            errors.append(invalid(at, file, "must not contain '..'"))
