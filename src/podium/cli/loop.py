"""What a process that runs for long asks of the interpreter: a fast event loop and an unobtrusive collector."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

# What a burst allocates is mostly gone before the first look; no look is at more than some 30,000 objects, so that
# it is shorter than a portion of work (at 120,000 it took 60 to 80 ms of a busy machine, the longest pause there
# was); and all objects are looked through practically never.
_COLLECTOR_THRESHOLDS = (5_000, 5, 4_000)


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
