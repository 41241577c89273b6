"""What a simulated process does: the `podium.dev/` annotations of its pod.

They may change while the pod runs, so they are read afresh at every step.  A value that makes no sense is left out
and reported in a condition of the pod; it never stops anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from podium.kube.pod_script import EXIT_CODE, RUN_SECONDS, START_SECONDS, TERMINATION_SECONDS

_SECONDS = re.compile(r"\d{1,10}(\.\d{1,9})?", re.ASCII)
_CODE = re.compile(r"\d{1,3}", re.ASCII)


class Script(msgspec.Struct, frozen=True):
    """One pod's orders."""

    run_seconds: float | None = None  # how long each run of a container lasts; None: until it is stopped
    exit_code: int = 0
    exit_now: bool = False  # an exit code without a run time: end as soon as it runs
    termination_seconds: float = 0.0  # how long a container takes to stop
    start_seconds: float = 0.0  # how long it takes from its admission to the start of its containers
    complaint: str = ""


DEFAULT = Script()


def script_of(annotations: Mapping[str, str]) -> Script:
    """Reads the orders out of a pod's annotations."""
    if not any(name in annotations for name in (RUN_SECONDS, EXIT_CODE, TERMINATION_SECONDS, START_SECONDS)):
        return DEFAULT
    complaints: list[str] = []

    def seconds(name: str) -> float | None:
        text = annotations.get(name)
        if text is None or _SECONDS.fullmatch(text):
            return None if text is None else float(text)
        complaints.append(
            f"metadata.annotations[{name}]: {text[:64]!r} is not a number of seconds such as 30 or 0.5"
        )
        return None

    run_seconds = seconds(RUN_SECONDS)
    termination_seconds = seconds(TERMINATION_SECONDS)
    code_text = annotations.get(EXIT_CODE)
    exit_code = None
    if code_text is not None:
        if _CODE.fullmatch(code_text) and int(code_text) <= 255:
            exit_code = int(code_text)
        else:
            complaints.append(
                f"metadata.annotations[{EXIT_CODE}]: {code_text[:64]!r} is not an exit code from 0 to 255"
            )
    return Script(
        run_seconds=run_seconds,
        exit_code=exit_code or 0,
        # A run time that cannot be read is no order to end at once.
        exit_now=exit_code is not None and RUN_SECONDS not in annotations,
        termination_seconds=termination_seconds or 0.0,
        start_seconds=seconds(START_SECONDS) or 0.0,
        complaint="; ".join(complaints),
    )
