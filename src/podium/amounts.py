"""How amounts are written for people."""

from __future__ import annotations

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def shown(name: str, amount: float) -> str:
    """An amount as people write it: cores, bytes with a suffix, or a count."""
    whole = int(amount)
    if name == "cpu":
        return str(whole // 1000) if whole % 1000 == 0 else f"{whole}m"
    if name not in ("memory", "ephemeral-storage") and not name.startswith("hugepages-"):
        return str(whole)
    value, step = float(whole), 0
    while abs(value) >= 1024 and step < len(_BINARY) - 1:
        value, step = value / 1024, step + 1
    return f"{value:.4g}{_BINARY[step]}"


def counted(count: int, what: str) -> str:
    """A number of things in a sentence."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
