"""Resource lists: names of resources, quantities, and requests against limits."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from podium.kube import names
from podium.kube.fields import duplicate, forbidden, invalid, not_found, required, unsupported
from podium.kube.quantity import QuantityError, canonical, parse_milli
from podium.schema.validation.base import NOT_NEGATIVE, POSITIVE, Document, Errors, complain, milli_or_none

_COMPUTE = ("cpu", "memory")
_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
STANDARD_RESOURCES = (
    _COUNTED
    | _CONTAINER_RESOURCES
    | {
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
        "requests.storage",
        "storage",
    }
)

_HUGE_PAGES = "hugepages-"
_POD_RESOURCES = frozenset({*_COMPUTE, _HUGE_PAGES})


def is_extended(name: str) -> bool:
    """A resource that is not Kubernetes' own, such as nvidia.com/gpu: whole numbers only, never overcommitted."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def check_requirements(
    errors: Errors, path: str, resources: Document, claims: Collection[str] = (), *, of_pod: bool = False
) -> None:
    """A container's (or a whole pod's) limits, requests and claims."""
    limits: Document = resources.get("limits") or {}
    requests: Document = resources.get("requests") or {}
    before = len(errors)
    _check_list(errors, f"{path}.limits", limits, of_pod=of_pod)
    # Equal to its limits, which were fine: most pods with GPUs.
    if requests != limits or len(errors) > before:
        _check_list(errors, f"{path}.requests", requests, of_pod=of_pod)
        _check_against(errors, path, requests, limits)
    if any(name.startswith(_HUGE_PAGES) for name in (*limits, *requests)) and not any(
        name in limits or name in requests for name in _COMPUTE
    ):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if resources.get("claims"):
        _check_claims(errors, f"{path}.claims", resources["claims"], claims)


def check_amount(errors: Errors, path: str, name: str, value: Any) -> None:
    """One quantity of a named resource."""
    complain(errors, path, value, _amount_problem(name, value))


@lru_cache(maxsize=4096)
def _amount_problem(name: str, value: Any) -> str | None:
    try:
        milli = parse_milli(value)
    except QuantityError as error:
        return str(error)
    if milli < 0:
        return NOT_NEGATIVE
    if milli % 1000 and (name in _COUNTED or is_extended(name)):
        return "must be an integer"
    if name.startswith(_HUGE_PAGES):
        page = milli_or_none(name.removeprefix(_HUGE_PAGES))
        if page and (milli % page or not milli):
            return f"{canonical(value)} is not positive integer multiple of {name}"
    return None


def _check_list(errors: Errors, path: str, amounts: Document, *, of_pod: bool) -> None:
    for name, value in amounts.items():
        if of_pod:
            if name not in _COMPUTE and not name.startswith(_HUGE_PAGES):
                errors.append(unsupported(f"{path}[{name}]", name, _POD_RESOURCES))
        elif (problem := _name_problem(name)) is not None:
            complain(errors, f"{path}[{name}]", name, problem)
        problem = _amount_problem(name, value)
        if problem is not None:
            complain(errors, f"{path}[{name}]", value, problem)


@lru_cache(maxsize=1024)
def _name_problem(name: str) -> str | None:
    problem = names.check_qualified_name(name)
    if problem is not None:
        return problem
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
            reported = "must be a standard resource for containers"
            problem = check_resource_name(name)
            return reported if problem is None else f"{problem}; {reported}"
    elif "kubernetes.io/" not in name and not is_extended(name):
        return "doesn't follow extended resource name standard"
    return None


def check_resource_name(name: str) -> str | None:
    """A resource's name must be qualified, or one of the well-known bare words."""
    problem = names.check_qualified_name(name)
    if problem is not None:
        return problem
    if "/" not in name and name not in STANDARD_RESOURCES and _HUGE_PAGES not in name:
        return "must be a standard resource type or fully qualified"
    return None


def _check_against(errors: Errors, path: str, requests: Document, limits: Document) -> None:
    for name, requested in requests.items():
        native = "/" not in name or "kubernetes.io/" in name
        overcommit = native and not name.startswith(_HUGE_PAGES)
        limit = limits.get(name)
        if limit is None:
            if not overcommit:
                errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
            continue
        if limit == requested:
            continue
        asked, allowed = milli_or_none(requested), milli_or_none(limit)
        if asked is None or allowed is None:
            continue
        if asked != allowed and not overcommit:
            errors.append(
                invalid(f"{path}.requests", requested, f"must be equal to {name} limit of {canonical(limit)}")
            )
        elif asked > allowed:
            errors.append(
                invalid(
                    f"{path}.requests",
                    requested,
                    f"must be less than or equal to {name} limit of {canonical(limit)}",
                )
            )


def _check_claims(errors: Errors, path: str, used: list[Document], known: Collection[str]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(used):
        at = f"{path}[{index}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(at))
            continue
        if (name, request) in seen or (name, "") in seen:
            errors.append(duplicate(at, f"{name}/{request}" if request else name))
        seen.add((name, request))
        if name not in known:
            listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
            errors.append(not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{listed}"))


def check_positive_amount(errors: Errors, path: str, value: Any) -> None:
    milli = milli_or_none(value)
    if milli is None:
        errors.append(invalid(path, value, "must be a quantity such as 500m, 2, 1.5Gi or 1e3"))
    elif milli <= 0:
        errors.append(invalid(path, value, POSITIVE))
