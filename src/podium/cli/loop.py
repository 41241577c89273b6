"""What a process that runs for long asks of the interpreter: a fast event loop and an unobtrusive collector."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

# What a burst allocates is mostly gone before the first look; no look is at so many that it would be felt; and all
# objects are looked through practically never.
_COLLECTOR_THRESHOLDS = (20_000, 5, 1000)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def collect_rarely() -> None:
    """For a process that mirrors a cluster: hundreds of thousands of objects that live long and form no cycles.

    A full collection walks through all of them for tenths of a second, with binds and answers waiting, and finds
    nothing.  What does form cycles (tasks, exceptions) dies young; a turn's session lets go of its own.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
