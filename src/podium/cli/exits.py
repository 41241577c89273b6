"""The exit codes of every command."""

from __future__ import annotations

DONE = 0
FAILED = 1
WRONG_USAGE = 2
TIMED_OUT = 3
