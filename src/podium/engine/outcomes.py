"""What an answer says about the write that it answers.

There are three outcomes.  Done and refused are answers; unknown is the lack of one, or a server failure that may
have come before or after the write.
"""

from __future__ import annotations

from enum import Enum

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


def is_doubtful(error: Exception | None) -> bool:
    """Whether it is worth asking again: nobody knows what became of it, or the server was busy."""
    return outcome(error) is Outcome.UNKNOWN or (isinstance(error, ApiError) and error.code == 429)


def failure_reason(error: Exception | None) -> str:
    """In one word how a request failed."""
    if isinstance(error, ApiError):
        return error.reason or str(error.code)
    return "NoAnswer"


def may_not_bind(error: Exception | None) -> bool:
    """Whether no bind at all will do: the account lacks the right.  A webhook's no is about one pod."""
    if not isinstance(error, ApiError):
        return False
    return error.code == 401 or (error.code == 403 and "pods/binding" in str(error))


def wanted_pause(error: Exception | None) -> float:
    """How many seconds the server has asked to be left alone for."""
    seconds = error.details.get("retryAfterSeconds") if isinstance(error, ApiError) else None
    return float(seconds) if isinstance(seconds, int | float) else 0.0
