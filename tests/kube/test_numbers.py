"""Whole numbers that others wrote."""

from __future__ import annotations

import pytest

from podium.kube.numbers import MOST, signed_number, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        (str(MOST), MOST),
        (str(MOST + 1), None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        ("1_0", None),
        (" 1", None),
        ("1\n", None),
        ("²", None),
        ("٣", None),
        ("9" * 5000, None),
        ("0" * 5000, None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number
    assert signed_number(text) == (number if text not in ("-1", "+1") else int(text))


def test_bounds() -> None:
    assert whole_number("10", 10) == 10
    assert whole_number("11", 10) is None
    assert signed_number(str(-MOST - 1)) == -MOST - 1
    assert signed_number(str(-MOST - 2)) is None
