"""Conditions on a node's labels and name."""

from __future__ import annotations

from collections.abc import Mapping

from podium.core.model import NodeTerm, Requirement, Toleration
from podium.core.nodes import NodeFacts, Taint


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
            try:
                number, limit = int(value or ""), int(requirement.values[0])
            except (ValueError, IndexError):
                return False
            return number > limit if requirement.operator == "Gt" else number < limit
    return False


def matches(term: NodeTerm, facts: NodeFacts) -> bool:
    """All conditions of a term; a term without any matches nothing."""
    if not term.labels and not term.names:
        return False
    named = {"metadata.name": facts.name}
    return all(holds(each, facts.labels) for each in term.labels) and all(
        holds(each, named) for each in term.names
    )


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
