"""Writes that are under way, and what their answers mean.

A bind has three outcomes.  Done and refused are answers; unknown is the lack of one, or a server failure that may
have come before or after the write.  An unknown bind keeps its room until the pod itself has been read.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from podium.errors import ApiError, TransportError


class Outcome(Enum):
    """What became of a write."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


def outcome(error: Exception | None) -> Outcome:
    """What an answer says about the write it answers."""
    if error is None:
        return Outcome.DONE
    if isinstance(error, ApiError) and error.code < 500:
        return Outcome.REFUSED
    if isinstance(error, ApiError | TransportError):
        return Outcome.UNKNOWN
    raise error  # a bug of ours, not an answer


def is_no(error: Exception | None) -> bool:
    """Whether a server will not do it.  What is not there any more is what was wanted."""
    return isinstance(error, ApiError) and error.code < 500 and error.code not in (404, 429)


def is_doubtful(error: Exception) -> bool:
    """Whether it is worth asking again: nobody knows what became of it, or the server was busy."""
    return outcome(error) is Outcome.UNKNOWN or (isinstance(error, ApiError) and error.code == 429)


def wanted_pause(error: Exception | None) -> float:
    """How many seconds the server has asked to be left alone for."""
    seconds = error.details.get("retryAfterSeconds") if isinstance(error, ApiError) else None
    return float(seconds) if isinstance(seconds, int | float) else 0.0


class Bound(msgspec.Struct):
    """A bind under way: where to, for which plan, and how often it was in doubt."""

    node: str
    plan: str
    doubts: int = 0


FIRST_REST = 1.0
LAST_REST = 60.0


def rest(failures: int) -> float:
    """How long to leave a gang alone after a refusal or a doubt."""
    return float(min(LAST_REST, FIRST_REST * 2 ** min(failures, 16)))
