"""Where the UIDs and the ends of generated names come from: dice, or a count."""

from __future__ import annotations

import random

# No vowels and nothing that looks like something else, so that no name says a word: the alphabet of a real server.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5


class RandomIdentities:
    """Dice.

    UIDs must be unique and need not be secret, so they do not cost a call to the kernel each.
    """

    def uid(self) -> str:
        """A random UUID, version 4."""
        digits = f"{random.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def suffix(self) -> str:
        return "".join(random.choices(_LETTERS, k=_SUFFIX))


class CountedIdentities:
    """Identities in order, so that the same requests give the same objects: in virtual time, and in tests."""

    def __init__(self) -> None:
        self._next = 0

    def uid(self) -> str:
        self._next += 1
        return f"00000000-0000-4000-8000-{self._next:012d}"

    def suffix(self) -> str:
        self._next += 1
        return f"{self._next:05d}"
