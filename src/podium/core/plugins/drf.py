"""drf: dominant resource fairness between gangs.

    share(gang) = max over resources of allocated / total

The gang with the smallest share goes first, and may preempt where it would still have the smaller share.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.model import Gang, Task
from podium.core.plugin import Placed, Plugin
from podium.core.session import Session
from podium.core.shares import Ledger, dominant

_SAME = 1e-6


class Drf(Plugin):
    name = "drf"

    def on_session_open(self, session: Session) -> None:
        self._ledger = Ledger(session)
        self._shares = {id: dominant(held, self._ledger.total) for id, held in self._ledger.gangs.items()}

    def on_allocate(self, placed: Placed) -> None:
        self._update(placed, 1)

    def on_deallocate(self, placed: Placed) -> None:
        self._update(placed, -1)

    def _update(self, placed: Placed, sign: int) -> None:
        self._ledger.add(placed, sign)
        gang = placed.gang.id
        self._shares[gang] = dominant(self._ledger.gangs[gang], self._ledger.total)

    def job_order(self, left: Gang, right: Gang) -> float:
        return self._shares[left.id] - self._shares[right.id]

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        ledger = self._ledger
        mine = dominant(ledger.gangs[preemptor.gang.id] + ledger.of(preemptor.cls), ledger.total)
        left = dict(ledger.gangs)
        victims = []
        for task in candidates:
            left[task.gang.id] = left[task.gang.id] - ledger.of(task.cls)
            theirs = dominant(left[task.gang.id], ledger.total)
            if mine < theirs or abs(mine - theirs) <= _SAME:
                victims.append(task)
        return victims
