"""overcommit: how much more than the idle room may be admitted.

    admitted and not placed yet + wanted <= total * factor - used

arguments
    overcommit-factor    1.2; below 1 it would hold back room that is free, so 1.2 is taken then
"""

from __future__ import annotations

import numpy as np

from podium.core.model import Gang
from podium.core.plugin import Arguments, Plugin, Vote
from podium.core.session import Session
from podium.core.shares import TOLERANCE, Ledger, minimum_of, outstanding

_DEFAULT = 1.2


class Overcommit(Plugin):
    name = "overcommit"

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        factor = arguments.number("overcommit-factor", _DEFAULT)
        self._factor = factor if factor >= 1 else _DEFAULT

    def on_session_open(self, session: Session) -> None:
        self._session = session
        nodes = session.cluster.nodes
        width, live = len(session.total), nodes.live[: nodes.count]
        used = nodes.used[: nodes.count][live].sum(axis=0)[:width]
        self._idle = session.total * self._factor - used
        ledger = Ledger(session)
        self._admitted = np.zeros(width)
        for gang in session.gangs:
            self._admitted += outstanding(session, gang, ledger.gangs[gang.id])

    def job_enqueueable(self, gang: Gang) -> Vote:
        wanted = minimum_of(self._session, gang)
        asked = wanted > 0
        fits = bool(np.all((self._admitted + wanted)[asked] <= self._idle[asked] + TOLERANCE))
        return Vote.PERMIT if fits else Vote.REJECT

    def job_enqueued(self, gang: Gang) -> None:
        self._admitted += minimum_of(self._session, gang)
