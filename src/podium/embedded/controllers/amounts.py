"""Numbers that users write either as a count or as a share of one: `2`, `25%`."""

from __future__ import annotations

from podium.kube.numbers import whole_number


def scaled(value: int | str | None, total: int, *, round_up: bool, default: int | str = 0) -> int:
    """`value` as a count: a percentage is taken of `total`.  Text that is neither counts as zero."""
    given = default if value is None else value
    if isinstance(given, int):
        return given
    number = whole_number(given.removesuffix("%")) if given.endswith("%") else None
    if number is None:
        return 0
    share = number * total
    return -(-share // 100) if round_up else share // 100
