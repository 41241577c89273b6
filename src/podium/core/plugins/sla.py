"""sla: a gang that has waited as long as it may is admitted, and its promised places count."""

from __future__ import annotations

import math
import re

from podium.core.model import Gang
from podium.core.plugin import Argument, Arguments, Plugin, Vote
from podium.core.session import Session

KEYS = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


def duration(text: str) -> float | None:
    """Seconds of a duration such as 1h15m; None for none, or for text that is no positive duration."""
    parts = _PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return seconds if seconds > 0 else None


class Sla(Plugin):
    name = "sla"
    ARGUMENTS = (
        Argument("sla-waiting-time", "", "how long gangs without a time of their own may wait, such as 1h15m"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._default = duration(arguments.text("sla-waiting-time"))

    def on_session_open(self, session: Session) -> None:
        self._now = session.now

    def job_order(self, left: Gang, right: Gang) -> float:
        one, other = self._deadline(left), self._deadline(right)
        return 0 if one == other else -1 if one < other else 1

    def job_key(self, gang: Gang) -> float:
        return self._deadline(gang)

    def job_enqueueable(self, gang: Gang) -> Vote:
        return Vote.PERMIT if self._deadline(gang) < self._now else Vote.ABSTAIN

    def job_pipelined(self, gang: Gang) -> Vote:
        return Vote.PERMIT if self._deadline(gang) < self._now else Vote.ABSTAIN

    def _deadline(self, gang: Gang) -> float:
        for key in KEYS:
            if key in gang.attributes:
                own = duration(gang.attributes[key])
                if own is not None:
                    return gang.created + own
        return math.inf if self._default is None else gang.created + self._default
