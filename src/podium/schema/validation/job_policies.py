"""When a Job gives up and when it is done early: podFailurePolicy and successPolicy."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import FieldError, duplicate, invalid, required, too_many, unsupported
from podium.kube.numbers import whole_number
from podium.schema.validation.base import Document, Errors, check_not_negative, complain

_ACTIONS = frozenset({"Count", "FailIndex", "FailJob", "Ignore"})
_OPERATORS = frozenset({"In", "NotIn"})
_STATUSES = frozenset({"False", "True", "Unknown"})


def check_failure_policy(errors: Errors, path: str, spec: Document) -> None:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > 20:
        errors.append(too_many(f"{path}.rules", len(rules), 20))
    pod: Document = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name") for field in ("containers", "initContainers") for container in pod.get(field) or ()
    }
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        action = rule.get("action")
        if not action:
            errors.append(required(f"{at}.action", f"valid values: {_quoted(_ACTIONS)}"))
        elif action == "FailIndex":
            if "backoffLimitPerIndex" not in spec:
                reported = "requires the backoffLimitPerIndex to be set"
                errors.append(invalid(f"{at}.action", action, reported))
        elif action not in _ACTIONS:
            errors.append(unsupported(f"{at}.action", action, _ACTIONS))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            _check_exit_codes(errors, f"{at}.onExitCodes", codes, containers)
        for number, pattern in enumerate(conditions):
            place = f"{at}.onPodConditions[{number}]"
            kind, status = pattern.get("type", ""), pattern.get("status")
            complain(errors, f"{place}.type", kind, names.check_qualified_name(kind))
            if not status:
                errors.append(required(f"{place}.status", f"valid values: {_quoted(_STATUSES)}"))
            elif status not in _STATUSES:
                errors.append(unsupported(f"{place}.status", status, _STATUSES))
        if codes is not None and conditions:
            reported = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(FieldError(at, "FieldValueInvalid", f"Invalid value: {reported}"))
        if codes is None and not conditions:
            reported = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.append(FieldError(at, "FieldValueInvalid", f"Invalid value: {reported}"))


def _check_exit_codes(errors: Errors, path: str, codes: Document, containers: set[str | None]) -> None:
    operator, values = codes.get("operator"), codes.get("values") or []
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {_quoted(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errors.append(unsupported(f"{path}.operator", operator, _OPERATORS))
    if "containerName" in codes and codes["containerName"] not in containers:
        reported = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", codes["containerName"], reported))
    if not values:
        errors.append(invalid(f"{path}.values", values, "at least one value is required"))
    elif len(values) > 255:
        errors.append(too_many(f"{path}.values", len(values), 255))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(duplicate(f"{path}.values[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))


def check_success_policy(errors: Errors, path: str, spec: Document) -> None:
    rules = spec["successPolicy"].get("rules") or []
    if not rules:
        reported = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", reported))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.rules", len(rules), 20))
    completions = spec.get("completions", 0)
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            reported = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(required(at, reported))
        total = None
        if indexes is not None:
            total, problem = _count_indexes(indexes, completions)
            if problem:
                reported = f"error parsing succeededIndexes: {problem}"
                errors.append(invalid(f"{at}.succeededIndexes", indexes, reported))
        if count is not None:
            place = f"{at}.succeededCount"
            check_not_negative(errors, place, count)
            if count > completions:
                reported = f"must be less than or equal to {completions} (the number of specified completions)"
                errors.append(invalid(place, count, reported))
            if total is not None and count > total:
                reported = (
                    f"must be less than or equal to {total} "
                    "(the number of indexes in the specified succeededIndexes field)"
                )
                errors.append(invalid(place, count, reported))


def _count_indexes(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text like `0,2-4` names, and what is wrong with it."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, dash, end = part.partition("-")
        ends = []
        for each in (first, end) if dash else (first,):
            number = whole_number(each)
            if number is None:
                return total, f'cannot convert string to integer for index: "{each}"'
            if number >= completions:
                return total, f'too large index: "{each}"'
            ends.append(number)
        start, stop = ends[0], ends[-1]
        if start <= last or (dash and stop <= start):
            return total, f"non-increasing order, previous: {max(last, 0)}, current: {start}"
        total += stop - start + 1
        last = stop
    return total, ""


def _quoted(values: frozenset[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in sorted(values)) + "]"
