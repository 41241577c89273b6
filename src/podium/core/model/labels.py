"""Conditions on labels of one thing, and tolerations.  Questions to all nodes at once are in `properties`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from podium.core.model.constraints import Requirement, Toleration


class Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str
    value: str = ""


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """One condition.  An operator that is not known never holds."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and compares(requirement, value)
    return False


def all_hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(holds(each, labels) for each in requirements)


def tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether one of the tolerations covers a taint."""
    for each in tolerations:
        if each.effect and each.effect != taint.effect:
            continue
        if each.key and each.key != taint.key:
            continue
        if each.operator == "Exists" or (
            each.operator in ("Equal", "") and each.key and each.value == taint.value
        ):
            return True
    return False


def compares(requirement: Requirement, value: str) -> bool:
    """Gt and Lt: both sides must be whole numbers."""
    try:
        number, limit = int(value), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return number > limit if requirement.operator == "Gt" else number < limit
