"""Processes that tests and benchmarks start."""

from __future__ import annotations

import subprocess
from typing import Any


def end(process: subprocess.Popen[Any], within: float) -> None:
    """Ends a process politely; one that takes longer than so many seconds is killed."""
    process.terminate()
    try:
        process.wait(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
