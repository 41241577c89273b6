"""sla: a gang that has waited as long as it may is admitted, and its promised places count."""

from __future__ import annotations

import math

from podium.core.framework.plugin import Argument, Arguments, Plugin, Vote
from podium.core.framework.session import Session
from podium.core.model.durations import duration
from podium.core.model.model import Gang


class Sla(Plugin):
    name = "sla"
    ARGUMENTS = (
        Argument("sla-waiting-time", "", "how long gangs without a time of their own may wait, such as 1h15m"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._default = duration(arguments.text("sla-waiting-time"))

    def on_session_open(self, session: Session) -> None:
        """What passes with time alone has to be looked at again when it has passed."""
        self._now = session.now
        for gang in session.own:
            deadline = self._deadline(gang)
            if self._now < deadline < math.inf:
                session.look_again(gang, deadline)

    def job_order(self, left: Gang, right: Gang) -> float:
        one, other = self._deadline(left), self._deadline(right)
        return 0 if one == other else -1 if one < other else 1

    def job_key(self, gang: Gang) -> float:
        return self._deadline(gang)

    def job_enqueueable(self, gang: Gang) -> Vote:
        return Vote.PERMIT if self._deadline(gang) <= self._now else Vote.ABSTAIN

    def job_pipelined(self, gang: Gang) -> Vote:
        return Vote.PERMIT if self._deadline(gang) <= self._now else Vote.ABSTAIN

    def _deadline(self, gang: Gang) -> float:
        longest = gang.longest_wait if gang.longest_wait is not None else self._default
        return math.inf if longest is None else gang.created + longest
