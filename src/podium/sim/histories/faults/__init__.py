"""All faults, by number.  The numbers are those of the table in docs/simulator.md."""

from __future__ import annotations

from podium.sim.histories.fault import Fault
from podium.sim.histories.faults.binds import FailedBinds, LostAnswers

_ALL: tuple[type[Fault], ...] = (LostAnswers, FailedBinds)

FAULTS: dict[int, type[Fault]] = {each.number: each for each in _ALL}
