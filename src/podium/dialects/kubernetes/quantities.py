"""Resource lists as integers, however they were written, and back.

An amount that is none (`0x`, `NaN`, `1e400`) or below zero is left out and reported: one bad number must not take
the good ones beside it along.  An amount beyond all bounds is no mistake of form: it stays, and fits nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from podium.kube.quantity import Quantity, QuantityError, format_bytes, format_milli, parse_milli, parse_units
from podium.reasons import BAD_SPEC, Refusal, refuse

Amounts = dict[str, int]

# Quotas speak of CPU under these names too.
_MILLI = frozenset({"cpu", "requests.cpu", "limits.cpu"})
_BYTES = frozenset({"memory", "ephemeral-storage"})


def read_amounts(quantities: Mapping[str, Quantity] | None, path: str) -> tuple[Amounts, list[Refusal]]:
    """The good amounts by name, and what is wrong with the others."""
    good: Amounts = {}
    bad: list[Refusal] = []
    for name, quantity in (quantities or {}).items():
        try:
            amount = parse_milli(quantity) if name in _MILLI else parse_units(quantity)
        except QuantityError as error:
            bad.append(refuse(BAD_SPEC, field=f"{path}[{name}]", detail=str(error)))
            continue
        if amount < 0:
            bad.append(refuse(BAD_SPEC, field=f"{path}[{name}]", detail=f"{quantity} is less than nothing"))
        else:
            good[name] = amount
    return good, bad


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource as an API server prints it."""
    if name in _MILLI:
        return format_milli(amount)
    if name in _BYTES or name.startswith("hugepages-"):
        return format_bytes(amount)
    return str(amount)
