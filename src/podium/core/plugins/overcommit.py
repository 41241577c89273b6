"""overcommit: how much more than the idle room may be admitted.

    admitted and not placed yet + wanted <= total * factor - used

arguments
    overcommit-factor    1.2; below 1 it would hold back room that is free, so 1.2 is taken then
"""

from __future__ import annotations

import numpy as np

from podium.core.framework.plugin import Argument, Arguments, Plugin, Vote
from podium.core.framework.session import Session
from podium.core.framework.shares import TOLERANCE, Ledger, minimum_of
from podium.core.model.model import Gang
from podium.queue_reasons import NOT_ADMITTED
from podium.reasons import Refusal, refuse

_DEFAULT = 1.2


class Overcommit(Plugin):
    name = "overcommit"
    ARGUMENTS = (
        Argument("overcommit-factor", _DEFAULT, "how much of the whole may be used or admitted; not below 1"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        factor = arguments.number("overcommit-factor")
        self._factor = factor if factor >= 1 else _DEFAULT

    def on_session_open(self, session: Session) -> None:
        self._session = session
        nodes = session.cluster.nodes
        width, live = len(session.total), nodes.live[: nodes.count]
        self._used = nodes.used[: nodes.count][live].sum(axis=0)[:width]
        self._idle = session.total * self._factor - self._used
        inqueue = Ledger(session).summed("inqueue")
        self._admitted = sum(inqueue.values(), np.zeros(width))

    def job_enqueueable(self, gang: Gang) -> Vote:
        wanted = minimum_of(self._session, gang)
        asked = wanted > 0
        fits = bool(np.all((self._admitted + wanted)[asked] <= self._idle[asked] + TOLERANCE))
        return Vote.PERMIT if fits else Vote.REJECT

    def admission_refusal(self, gang: Gang) -> Refusal | None:
        wanted, names = minimum_of(self._session, gang), self._session.cluster.dimensions.names
        short = np.flatnonzero((wanted > 0) & (wanted > self._idle - self._admitted + TOLERANCE)).tolist()
        if not short:
            return None
        column = min(short, key=lambda each: names[each])
        need, total = float(wanted[column]), float(self._session.total[column])
        admitted = float(self._admitted[column])
        free = max(0.0, total - float(self._used[column]) - admitted)
        return refuse(NOT_ADMITTED, resource=names[column], need=need, free=free, total=total, admitted=admitted)

    def job_enqueued(self, gang: Gang) -> None:
        self._admitted += minimum_of(self._session, gang)
