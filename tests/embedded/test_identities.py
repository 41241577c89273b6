"""UIDs and the ends of generated names."""

from __future__ import annotations

import re
import uuid

from podium.embedded.identities import RandomIdentities


def test_uids_are_random_uuids() -> None:
    dice = RandomIdentities()
    found = [dice.uid() for _ in range(1000)]
    assert len(set(found)) == 1000
    for text in found:
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


def test_suffixes_are_five_letters_of_the_safe_alphabet() -> None:
    dice = RandomIdentities()
    found = [dice.suffix() for _ in range(1000)]
    assert len(set(found)) > 990
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", text) for text in found)
