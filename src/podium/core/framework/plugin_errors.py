"""Whose fault an exception is.

Plugins and actions may be anybody's code.  When one raises, what it was asked about is refused with its name, the
rest of the turn goes on, and the exception with its trace goes to the log as a decision like any other.  Who it
was is read from the trace itself, so that asking a hook costs nothing more for it.
"""

from __future__ import annotations

import traceback

from podium.core.framework.answers import WrongAnswer
from podium.core.framework.plugin import Plugin
from podium.core.model.decisions import Failure

_LONGEST = 200  # of the exception's own words in a refusal; the log has all of them


def failure_of(error: Exception, action: str) -> Failure:
    """An exception as a decision: the plugin that raised it, or else the action that was running."""
    reported = " ".join(str(error).split())
    name = "wrong answer" if isinstance(error, WrongAnswer) else type(error).__name__
    sentence = f"{name}: {reported}" if reported else name
    trace = "".join(traceback.format_exception(error))
    return Failure(_culprit(error) or f"action {action}", sentence[:_LONGEST], trace)


def _culprit(error: Exception) -> str | None:
    """The outermost hook on the way to the exception."""
    if isinstance(error, WrongAnswer):
        return error.who
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self")
        if isinstance(owner, Plugin):
            return f"plugin {owner.name}, asked for {frame.f_code.co_name},"
    return None
