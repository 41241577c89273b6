"""The annotations that say how a simulated pod runs, for whoever writes such pods."""

from __future__ import annotations

RUN_SECONDS = "podium.dev/run-seconds"
EXIT_CODE = "podium.dev/exit-code"
TERMINATION_SECONDS = "podium.dev/termination-seconds"
START_SECONDS = "podium.dev/start-seconds"
# The pods of one controller share so many seconds of running; when these are used up, all of them end.
WORK_SECONDS = "podium.dev/work-seconds"
SCRIPT = (RUN_SECONDS, EXIT_CODE, TERMINATION_SECONDS, START_SECONDS, WORK_SECONDS)
