"""Where the UIDs and the random ends of generated names come from."""

from __future__ import annotations

import random
import uuid

# No vowels and nothing that looks like something else, so that no name says a word: the alphabet of a real server.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5


class RandomIdentities:
    """Dice.  The simulator has a source with a seed in its place."""

    def uid(self) -> str:
        return str(uuid.uuid4())

    def suffix(self) -> str:
        return "".join(random.choices(_LETTERS, k=_SUFFIX))
