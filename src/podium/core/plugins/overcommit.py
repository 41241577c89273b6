"""overcommit: how much more than the idle room may be admitted."""

from __future__ import annotations

import numpy as np

from podium.core.model import Gang, Phase
from podium.core.plugin import Arguments, Plugin, Vote
from podium.core.session import Session

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
        used = nodes.used[: nodes.count].sum(axis=0)[: len(session.total)]
        self._idle = session.total * self._factor - used
        self._admitted = np.zeros(len(session.total))
        for gang in session.gangs:
            if gang.phase is Phase.INQUEUE:
                self._admitted += self._wanted(gang)

    def job_enqueueable(self, gang: Gang) -> Vote:
        wanted = self._wanted(gang)
        asked = wanted > 0
        fits = bool(np.all((self._admitted + wanted)[asked] <= self._idle[asked]))
        return Vote.PERMIT if fits else Vote.REJECT

    def job_enqueued(self, gang: Gang) -> None:
        self._admitted += self._wanted(gang)

    def _wanted(self, gang: Gang) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        vector = self._session.cluster.dimensions.vector(gang.minimum_resources or {})
        return vector[: len(self._session.total)].astype(np.float64)
