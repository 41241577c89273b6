"""A few letters that stand for something longer, as names of created objects need them.

The alphabet and the length are the ones that users know from generated names: no vowels, hence no words, and no
digits that look like letters.
"""

from __future__ import annotations

import hashlib

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


def short_hash(*parts: object, length: int = SUFFIX_LENGTH) -> str:
    """A few letters that stand for `parts`."""
    text = "\0".join(str(part) for part in parts)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())
    letters = []
    for _ in range(length):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)
