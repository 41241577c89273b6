"""A thread with an event loop of its own, for what no work may delay: renewing leases and answering probes.

A turn of the scheduler goes in small portions, and still somebody's plugin, or a list of a hundred thousand
objects, may take seconds of the process's own loop.  A lease that is lost by that goes to another replica, which
then has the same work before it.

A loop that never comes back is another matter.  `Pulse` knows how long it has been away: after a minute probes say
so, and the lease is no longer renewed, so that somebody else may lead.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

BEAT_SECONDS = 1.0
STUCK_SECONDS = 60.0


class Pulse:
    """Whether an event loop still turns.  Use it as a context manager in that loop; ask it from anywhere."""

    def __init__(self, longest: float = STUCK_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest = longest
        self._clock = clock
        self._last = clock()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Pulse:
        self._beat(asyncio.get_running_loop())
        return self

    def __exit__(self, *exc: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = self._clock()
        self._timer = loop.call_later(BEAT_SECONDS, self._beat, loop)

    def stuck(self) -> str:
        """What to say of a loop that has not turned for too long; "" while it does."""
        away = self._clock() - self._last
        return f"the process has been busy with one thing for {away:.0f} s" if away > self._longest else ""


class Aside:
    """The thread.  Use it as an async context manager."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="aside", daemon=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def __aenter__(self) -> Aside:
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Has something done there.  Whoever stops waiting stops it, and waits for its end."""
        here = asyncio.get_running_loop()
        ended = here.create_future()
        begun: list[asyncio.Task[T]] = []

        def begin() -> None:
            task = self._loop.create_task(work)
            begun.append(task)
            task.add_done_callback(lambda _: here.call_soon_threadsafe(ended.set_result, None))

        self._loop.call_soon_threadsafe(begin)
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(lambda: begun[0].cancel())
            await ended
            raise
        return begun[0].result()
