"""RFC 3339 times on the wire, Unix seconds inside."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

# The years that have four digits, in UTC: what a zone moves out of them could not be written again.
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@lru_cache(maxsize=4096)
def parse_time(text: str | None) -> float:
    """Unix seconds of a wire time; 0.0 for none or for text that is no time (the field is then ignored)."""
    if not text:
        return 0.0
    try:
        found = datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
    return found if _FIRST <= found <= _LAST else 0.0


@lru_cache(maxsize=4096)
def _second(whole: int) -> str:
    # Not strftime, which writes the year 1 as one digit.
    return datetime.fromtimestamp(whole, UTC).replace(tzinfo=None).isoformat() + "Z"


def format_time(now: float) -> str:
    """A metav1.Time: whole seconds."""
    return _second(int(now))


def format_micro_time(now: float) -> str:
    """A metav1.MicroTime: six decimals, as leases and events use."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
