"""Where the UIDs and the random ends of generated names come from."""

from __future__ import annotations

import random

# No vowels and nothing that looks like something else, so that no name says a word: the alphabet of a real server.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5


class RandomIdentities:
    """Dice.  The simulator has a source with a seed in its place.

    UIDs must be unique and need not be secret, so they do not cost a call to the kernel each.
    """

    def uid(self) -> str:
        """A random UUID, version 4."""
        digits = f"{random.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def suffix(self) -> str:
        return "".join(random.choices(_LETTERS, k=_SUFFIX))
