"""The scheduler's model in a file, when somebody sends SIGUSR2.

The work goes on meanwhile: the model is read in portions, and encoded and written by a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from podium.engine.dump import dump
from podium.engine.scheduler import Scheduler

log = logging.getLogger(__name__)

_PORTION = 200  # entries between two looks at what else there is to do


class Dumps:
    """Writes one dump at a time."""

    def __init__(self, running: Callable[[], Scheduler | None], directory: Path | None = None) -> None:
        """`running` is the scheduler that leads in this process, if one does."""
        self._running = running
        self._directory = directory or Path(tempfile.gettempdir())
        self._writing: asyncio.Task[Path | None] | None = None

    def begin(self) -> None:
        """Called by a signal.  A second one while a dump is written is ignored."""
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self.write())

    async def write(self) -> Path | None:
        """The file; None if there is nothing to write, or it cannot be written: the log says which."""
        scheduler = self._running()
        if scheduler is None:
            log.warning("there is no model to dump: this process does not lead")
            return None
        found: dict[str, list[dict[str, Any]]] = {}
        for number, (list_name, entry) in enumerate(dump(scheduler)):
            found.setdefault(list_name, []).append(entry)
            if number % _PORTION == 0:
                await asyncio.sleep(0)
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = self._directory / f"podium-model-{moment}-{os.getpid()}.json"
        try:
            await asyncio.to_thread(_write, path, found)
        except OSError as error:
            log.warning("the model could not be written to %s: %s", path, error.strerror)
            return None
        log.info("the model has been written to %s: %s", path, {name: len(some) for name, some in found.items()})
        return path


def _write(path: Path, document: object) -> None:
    """For the owner's eyes: it names everybody's jobs."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(opened, "wb") as file:
        file.write(msgspec.json.encode(document))
