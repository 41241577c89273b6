"""What an answer of a server means for the write that it is about."""

from __future__ import annotations

import pytest

from podium.engine.outcomes import Outcome as O
from podium.engine.outcomes import failure_reason, is_doubtful, is_no, may_not_bind, outcome, wanted_pause
from podium.errors import ApiError, TransportError


@pytest.mark.parametrize(
    ("error", "result", "no", "doubtful"),
    [
        (None, O.DONE, False, False),
        (TransportError("reset"), O.UNKNOWN, False, True),
        (ApiError(400, "BadRequest", ""), O.REFUSED, True, False),
        (ApiError(404, "NotFound", ""), O.REFUSED, False, False),
        (ApiError(409, "Conflict", ""), O.REFUSED, True, False),
        (ApiError(429, "TooManyRequests", ""), O.REFUSED, False, True),
        (ApiError(499, "", ""), O.REFUSED, True, False),
        (ApiError(500, "InternalError", ""), O.UNKNOWN, False, True),
    ],
    ids=str,
)
def test_what_an_answer_says(error: Exception | None, result: O, no: bool, doubtful: bool) -> None:
    assert outcome(error) is result
    assert (is_no(error), is_doubtful(error)) == (no, doubtful)


def test_a_bug_is_no_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        outcome(ZeroDivisionError())


@pytest.mark.parametrize(
    ("error", "never"),
    [
        (ApiError(401, "Unauthorized", "who are you"), True),
        (ApiError(403, "Forbidden", 'cannot create resource "pods/binding"'), True),
        (ApiError(403, "Forbidden", "admission webhook denied the request"), False),
        (ApiError(500, "InternalError", "pods/binding"), False),
        (TransportError("pods/binding"), False),
        (None, False),
    ],
)
def test_whether_no_bind_at_all_will_do(error: Exception | None, never: bool) -> None:
    assert may_not_bind(error) == never


def test_why_and_for_how_long() -> None:
    assert failure_reason(ApiError(409, "Conflict", "")) == "Conflict"
    assert failure_reason(ApiError(499, "", "")) == "499"
    assert failure_reason(TransportError("reset")) == failure_reason(None) == "NoAnswer"
    assert wanted_pause(ApiError(429, "TooManyRequests", "", {"retryAfterSeconds": 7})) == 7.0
    assert wanted_pause(ApiError(429, "TooManyRequests", "", {"retryAfterSeconds": "soon"})) == 0.0
    assert wanted_pause(ApiError(429, "TooManyRequests", "")) == wanted_pause(None) == 0.0
