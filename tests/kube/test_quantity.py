"""Quantities against known answers of an API server and against the official client's parser."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from podium.kube import quantity as q


@pytest.mark.parametrize(
    ("text", "milli", "units"),
    [
        ("0", 0, 0),
        ("1", 1000, 1),
        ("500m", 500, 1),
        ("0.1", 100, 1),
        ("1n", 1, 1),
        ("1u", 1, 1),
        ("1001u", 2, 1),
        ("100m", 100, 1),
        ("2k", 2_000_000, 2000),
        ("1e3", 1_000_000, 1000),
        ("1E3", 1_000_000, 1000),
        ("1E", 10**21, 10**18),
        ("12e-1", 1200, 2),
        ("1Ki", 1_024_000, 1024),
        ("1.5Gi", 1_610_612_736_000, 1_610_612_736),
        ("+5", 5000, 5),
        ("-5", -5000, -5),
        ("-1500m", -1500, -1),
        (".5", 500, 1),
        ("1.", 1000, 1),
        ("1.G", 10**12, 10**9),
        (" 2 ", 2000, 2),
        (3, 3000, 3),
        (0.25, 250, 1),
        (1e-12, 1, 1),
        ("0.0000000000001", 1, 1),
    ],
)
def test_integers(text: q.Quantity, milli: int, units: int) -> None:
    assert q.parse_milli(text) == min(milli, q.MAXIMUM)
    assert q.parse_units(text) == units


@pytest.mark.parametrize("text", ["16Ei", "8Ei", "9999999999999999999", "10E", "1e30", "99Ei"])
def test_what_no_64_bit_integer_holds_is_capped(text: str) -> None:
    assert q.parse_units(text) == q.MAXIMUM
    assert q.parse_milli(text) == q.MAXIMUM
    assert q.parse_units("-" + text) == -q.MAXIMUM


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "0x", "NaN", "inf", "-", "+", ".", "m", "1e400", "1e-400", "1mi", "1ki", "1K", "1B", "1GB",
        "1 Gi", "1e", "1e+", "1,5", "--1", "1.2.3", "1k3", "1Mi2", "1e3m", "١", "1_000", "9" * 200, "Ki",
        "+-1", "1i",
    ],
)  # fmt: skip
def test_refusals_are_one_sentence(text: str) -> None:
    for function in (q.parse_milli, q.parse_units, q.canonical):
        with pytest.raises(q.QuantityError) as caught:
            function(text)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, None, [], {}])
def test_refuses_values_that_are_no_quantity(value: object) -> None:
    with pytest.raises(q.QuantityError):
        q.parse_units(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("000", "0"),
        ("1", "1"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1000000", "1M"),
        ("0.5Ki", "512"),
        ("0.5Mi", "512Ki"),
        ("1023", "1023"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("0.3Gi", "322122547200m"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("1E3", "1e3"),
        ("1000e3", "1e6"),
        ("1e-3", "1e-3"),
        ("0.5e0", "500e-3"),
        ("1.50", "1500m"),
        ("0.0001", "100u"),
        ("0.00000000001", "1n"),
        ("-1024Mi", "-1Gi"),
        ("-500m", "-500m"),
        ("16Ei", "9223372036854775807"),
        ("1000E", "1000E"),
        ("100", "100"),
        ("+5", "5"),
        (2, "2"),
        (0.5, "500m"),
    ],
)
def test_canonical(given: q.Quantity, canonical: str) -> None:
    assert q.canonical(given) == canonical


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("0.0001", "1m"),
        ("0.0015", "2m"),
        ("123456789n", "124m"),
        ("1e-12", "1e-3"),
        ("-1u", "-1m"),
        ("2Gi", "2Gi"),
    ],
)
def test_a_resource_list_keeps_whole_thousandths(given: str, canonical: str) -> None:
    assert q.canonical_resource(given) == canonical


def test_formatting_of_integers() -> None:
    assert q.format_milli(0) == "0"
    assert q.format_milli(250) == "250m"
    assert q.format_milli(64_000) == "64"
    assert q.format_milli(2_000_000) == "2k"
    assert q.format_bytes(0) == "0"
    assert q.format_bytes(1000) == "1k"
    assert q.format_bytes(1500) == "1500"
    assert q.format_bytes(64 * 2**30) == "64Gi"
    assert q.format_bytes(2**63) == "8Ei"
    assert q.format_bytes(-2048) == "-2Ki"


_SUFFIXES = [
    "n",
    "u",
    "m",
    "",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "e3",
    "e-2",
    "E+1",
]
_numbers = st.builds(
    lambda sign, whole, fraction: f"{sign}{whole}{fraction}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**12),
    st.one_of(st.just(""), st.from_regex(r"\.[0-9]{1,9}", fullmatch=True)),
)


@given(_numbers, st.sampled_from(_SUFFIXES))
def test_equals_the_official_client_rounded_up(number: str, suffix: str) -> None:
    text = number + suffix
    exact = parse_quantity(text)
    # A billionth is the smallest step, and it is reached away from zero.
    sign = -1 if exact < 0 else 1
    nano = sign * math.ceil(abs(exact) * 10**9)
    if suffix.endswith("i"):
        nano = max(-q.MAXIMUM * 10**9, min(q.MAXIMUM * 10**9, nano))
    for parse, unit in ((q.parse_milli, 10**6), (q.parse_units, 10**9)):
        assert parse(text) == max(-q.MAXIMUM, min(q.MAXIMUM, -(-nano // unit)))


@given(_numbers, st.sampled_from(_SUFFIXES))
def test_canonical_keeps_the_value_and_is_stable(number: str, suffix: str) -> None:
    text = number + suffix
    once = q.canonical(text)
    assert q.canonical(once) == once
    assert q.parse_milli(once) == q.parse_milli(text)
    assert "." not in once


@given(st.integers(-(2**63), 2**63))
def test_formats_parse_back(number: int) -> None:
    assert parse_quantity(q.format_milli(number)) == Decimal(number) / 1000
    assert parse_quantity(q.format_bytes(number)) == number
