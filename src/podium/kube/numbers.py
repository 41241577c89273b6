"""Whole numbers in text that others wrote: query parameters, headers, annotations, resource versions.

`str.isdigit` also takes `²`, `int` takes digits of every script and raises at 4,300 of them.  What Kubernetes
takes are ASCII digits, within 64 bits.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[0-9]+", re.ASCII)
_SIGNED = re.compile(r"[-+]?[0-9]+", re.ASCII)
_LONGEST = 40  # characters; leading zeros are allowed, though not for ever

_SURE = 19  # digits that are within 64 bits, whatever they are

MOST = (1 << 63) - 1


def whole_number(text: str, most: int = MOST) -> int | None:
    """The number that a text of digits says; None if it says none, or one beyond `most`."""
    if len(text) > _LONGEST or not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if number <= most else None


def signed_number(text: str) -> int | None:
    """The same with a sign allowed in front, within 64 bits."""
    if len(text) < _SURE and text.isascii() and text.isdigit():
        return int(text)
    if len(text) > _LONGEST or not _SIGNED.fullmatch(text):
        return None
    number = int(text)
    return number if -MOST - 1 <= number <= MOST else None
