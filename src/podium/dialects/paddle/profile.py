"""The profile of Paddle's scheduler, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core.actions.elastic import ARGUMENTS, CFS, FULFILMENT
from podium.core.elastic.unit import LITERAL, POD_SECONDS, WEIGHTED
from podium.core.framework.arguments import Argument, Arguments
from podium.core.model.durations import duration
from podium.dialects.dialect import BuiltInProfile
from podium.dialects.kubernetes.quantities import read_amounts
from podium.errors import UsageError

Document = dict[str, Any]

_TEXT = """
actions: "elastic, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: gpunodes
  - name: capacity
  - name: nodeorder
"""

# Those of the action, under the names that they have in a file.
_NAMES = {
    "period": "period",
    "policy": "policy",
    "scoreMode": "scoreMode",
    "timeMode": "timeMode",
    "halfLife": "halfLife",
    "maxLoadDesired": "maxLoadDesired",
    "evennessThreshold": "evennessThreshold",
    "patience": "patience",
    "minCpuPerGpu": "minCpuPerGpu",
    "quotas": "quotas",
    "productionMayEnd": "mayEnd",
}
_CHOICES = {"policy": (CFS, FULFILMENT), "scoreMode": (WEIGHTED, LITERAL), "timeMode": (POD_SECONDS, LITERAL)}
_DURATIONS = ("period", "patience", "halfLife")
_NUMBERS = {"maxLoadDesired": (0.0, 1.0), "evennessThreshold": (0.0, 1e6), "minCpuPerGpu": (0.0, 1e6)}


def _options() -> tuple[Argument, ...]:
    declared = {each.name: each for each in ARGUMENTS}
    return tuple(
        Argument(name, declared[own].default, declared[own].about)
        if name == own
        else _renamed(name, declared[own])
        for name, own in _NAMES.items()
    )


def _renamed(name: str, argument: Argument) -> Argument:
    return Argument(name, argument.default, "Whether a Production job may send Experiment jobs back to wait.")


def _configure(document: Document, options: Arguments) -> Document:
    """The options as arguments of the action."""
    found = {_NAMES[name]: _checked(name, value) for name, value in options.values.items()}
    if not found:
        return document
    given = document.get("configurations")
    others = list(given) if isinstance(given, list) else []
    return {**document, "configurations": [{"name": "elastic", "arguments": found}, *others]}


def _checked(name: str, value: object) -> object:
    """UsageError says what is wrong with an option."""
    if name in _CHOICES and value not in _CHOICES[name]:
        raise UsageError(f"{name}: there is no {value!r}; there are {' and '.join(_CHOICES[name])}")
    if name in _DURATIONS:
        seconds = _seconds(value)
        if seconds is None:
            raise UsageError(f"{name}: want a duration such as 10m, got {value!r}")
        return f"{seconds:g}s" if seconds else "0.000001s"
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise UsageError(f"{name}: want a number from {least:g} to {most:g}, got {value!r}")
    if name == "productionMayEnd" and not isinstance(value, bool):
        raise UsageError(f"{name}: want true or false, got {value!r}")
    return _quotas(value) if name == "quotas" else value


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if value >= 0 else None
    return duration(value) if isinstance(value, str) and value not in ("0", "0s") else 0.0 if value else None


def _quotas(value: object) -> dict[str, dict[str, int]]:
    if not isinstance(value, Mapping):
        raise UsageError(f"quotas: want amounts by user and resource, got {value!r}")
    found: dict[str, dict[str, int]] = {}
    for user, amounts in value.items():
        if not isinstance(amounts, Mapping):
            raise UsageError(f"quotas.{user}: want amounts by resource, got {amounts!r}")
        try:
            good, bad = read_amounts({str(name): amount for name, amount in amounts.items()}, f"quotas.{user}")
        except (TypeError, AttributeError):
            raise UsageError(f"quotas.{user}: want amounts such as 4 or 500m, got {amounts!r}") from None
        if bad:
            raise UsageError(str(bad[0]))
        found[str(user)] = good
    return found


PROFILE = BuiltInProfile(_TEXT, _options(), _configure)
