"""The annotations by which a simulated pod is told how it runs, for whoever writes such pods."""

from __future__ import annotations

RUN_SECONDS = "podium.dev/run-seconds"
EXIT_CODE = "podium.dev/exit-code"
TERMINATION_SECONDS = "podium.dev/termination-seconds"
