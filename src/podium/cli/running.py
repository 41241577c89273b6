"""Running an embedded cluster in the foreground of a command: event loop, signals, log."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable

from podium.cli.log_format import log_to_stderr
from podium.cli.loop import collect_rarely, loop_factory
from podium.embedded.cluster import EmbeddedCluster, Settings

Work = Callable[[EmbeddedCluster, asyncio.Event], Awaitable[int]]


def run_cluster(settings: Settings, work: Work) -> int:
    """Starts a cluster, does `work` with it, stops it; returns what `work` returns.

    `work` gets an event that SIGINT and SIGTERM set.  The cluster is stopped in order after either.
    """
    # The log's writer wants the interpreter a few times a batch, and answers wait for it: a busy loop shall not
    # keep it for the usual five milliseconds each time.
    sys.setswitchinterval(0.001)
    collect_rarely()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(settings, work))


async def _run(settings: Settings, work: Work) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with EmbeddedCluster(settings) as cluster:
        return await work(cluster, stop)


async def first_of(*events: asyncio.Event) -> None:
    """Until one of the events is set."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def set_up_logging(verbose: bool, form: str = "text") -> None:
    """Warnings only, unless more is asked for: a cluster that is well says nothing."""
    log_to_stderr(logging.INFO if verbose else logging.WARNING, form)
