"""RFC 3339 times on the wire, Unix seconds inside."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def parse_time(text: str | None) -> float:
    """Unix seconds of a wire time; 0.0 for none or for text that is no time (the field is then ignored)."""
    if not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


@lru_cache(maxsize=4096)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_time(now: float) -> str:
    """A metav1.Time: whole seconds."""
    return _second(int(now))


def format_micro_time(now: float) -> str:
    """A metav1.MicroTime: six decimals, as leases and events use."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
