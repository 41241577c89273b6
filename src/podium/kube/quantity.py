"""Kubernetes quantities: `250m`, `1.5Gi`, `2e3` to integers and back.

A quantity is a signed decimal number with a suffix of one of three families: decimal (`n u m k M G T P E`), binary
(`Ki` to `Ei`) and exponent (`e3`).  Its smallest step is one billionth; anything finer is rounded up, since who
asks for some of a resource must not get none of it.  Schedulers count in integers: CPU in thousandths
(`parse_milli`), bytes and everything else in whole units (`parse_units`), both rounded up and both capped at the
largest 64-bit integer, the most that Kubernetes itself can count to.

`canonical` writes a quantity the way an API server prints it: the largest suffix of the same family that leaves a
whole number.
"""

from __future__ import annotations

import re
from functools import lru_cache

Quantity = str | int | float

MAXIMUM = 2**63 - 1

_NANO = 10**9
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = ["", *_BINARY]

_PARTS = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]*)([+-]?\d*)", re.ASCII)
# Beyond these no quantity means anything, and the powers of ten would become a way to burn the CPU.
_LARGEST_EXPONENT = 99
_LONGEST = 128


class QuantityError(ValueError):
    """The text is no quantity.  The message is one sentence that quotes it."""


def parse_milli(value: Quantity) -> int:
    """Thousandths, rounded up: the measure of CPU."""
    return _scaled(_text(value), _NANO // 1000)


def parse_units(value: Quantity) -> int:
    """Whole units, rounded up: bytes, GPUs, pods."""
    return _scaled(_text(value), _NANO)


def exact_nanos(value: Quantity) -> int:
    """Billionths: everything a quantity says, for comparisons and sums."""
    return _parse(_text(value))[0]


def family_of(value: Quantity) -> str:
    """How a quantity was written: decimal, binary or exponent."""
    return _parse(_text(value))[1]


def canonical(value: Quantity) -> str:
    """The quantity as an API server prints it, in the family it was written in."""
    return _canonical(_text(value), 1)


def canonical_resource(value: Quantity) -> str:
    """The same for an entry of a resource list (requests, capacity, quotas): kept in whole thousandths only."""
    return _canonical(_text(value), _NANO // 1000)


def format_milli(milli: int) -> str:
    """Thousandths as a canonical decimal quantity: 1500 is `1500m`, 2000 is `2`."""
    return _decimal_form(milli, -3) if milli else "0"


def format_bytes(count: int) -> str:
    """Whole units as a canonical binary quantity: 1073741824 is `1Gi`; below 1Ki as a plain number."""
    step = 0
    if abs(count) < 1024:
        return _decimal_form(count, 0) if count else "0"
    while count % 1024 == 0 and step < len(_BINARY):
        count //= 1024
        step += 1
    return f"{count}{_BINARY_SUFFIX[step]}"


def in_family(nano: int, family: str) -> str:
    """Billionths as a canonical quantity of a family."""
    if nano == 0:
        return "0"
    if family == "binary" and abs(nano) >= 1024 * _NANO and nano % _NANO == 0:
        return format_bytes(nano // _NANO)
    # A binary quantity below 1Ki, or one with a fraction of a byte, has no exact binary form.
    return _decimal_form(nano, -9, exponent_form=family == "exponent")


def _decimal_form(number: int, power: int, *, exponent_form: bool = False) -> str:
    while number % 1000 == 0 and (exponent_form or power < 18):
        number //= 1000
        power += 3
    if exponent_form:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_SUFFIX[power]}"


def _text(value: Quantity) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError(f"a quantity is a string or a number, not {value!r}")
    return str(value)


@lru_cache(maxsize=8192)
def _scaled(text: str, unit: int) -> int:
    scaled = -(-_parse(text)[0] // unit)
    return max(-MAXIMUM, min(MAXIMUM, scaled))


@lru_cache(maxsize=8192)
def _canonical(text: str, step: int) -> str:
    nano, family = _parse(text)
    # Away from zero: some must not become none, whatever its sign.
    return in_family(-(-nano // step) * step if nano > 0 else nano // step * step, family)


def _parse(text: str) -> tuple[int, str]:
    """Billionths, and the family: decimal, binary or exponent."""
    text = text.strip()
    match = _PARTS.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError(f"{text[:_LONGEST]!r} is not a quantity such as 500m, 2, 1.5Gi or 1e3")
    sign, whole, fraction, suffix, exponent = match.groups(default="")
    digits = whole + fraction
    if not digits:
        raise QuantityError(f"{text!r} is not a quantity: it has no digits")
    number = int(digits)
    if suffix in ("e", "E") and exponent.lstrip("+-"):
        power, family = int(exponent), "exponent"
        if abs(power) > _LARGEST_EXPONENT:
            raise QuantityError(f"{text!r} is not a quantity: its exponent is beyond {_LARGEST_EXPONENT}")
    elif exponent or (suffix not in _DECIMAL and suffix not in _BINARY):
        raise QuantityError(f"{text!r} is not a quantity: unknown suffix {suffix + exponent!r}")
    elif suffix in _BINARY:
        number <<= _BINARY[suffix]
        power, family = 0, "binary"
    else:
        power, family = _DECIMAL[suffix], "decimal"
    power += 9 - len(fraction)
    nano = number * 10**power if power >= 0 else -(-number // 10**-power)
    if family == "binary":
        nano = min(nano, MAXIMUM * _NANO)
    return (-nano if sign == "-" else nano), family
