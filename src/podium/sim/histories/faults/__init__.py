"""All faults, by number.  The numbers are those of the table in docs/simulator.md."""

from __future__ import annotations

from podium.sim.histories.fault import Fault
from podium.sim.histories.faults.binds import FailedBinds, LostAnswers
from podium.sim.histories.faults.clocks import Clocks
from podium.sim.histories.faults.crashes import Crash, StaleStandby
from podium.sim.histories.faults.gangs import Contention
from podium.sim.histories.faults.hiccups import Breaking, Failing, Reset, SlowServer, Throttling
from podium.sim.histories.faults.nodes import GpuShrink, NodeFlap, NotYetSynced
from podium.sim.histories.faults.preemption import PreemptionFaults
from podium.sim.histories.faults.watches import Compaction, TimeTravel, WatchAbuse

_ALL: tuple[type[Fault], ...] = (
    Crash,
    StaleStandby,
    LostAnswers,
    FailedBinds,
    Compaction,
    WatchAbuse,
    TimeTravel,
    NodeFlap,
    GpuShrink,
    NotYetSynced,
    Contention,
    PreemptionFaults,
    Clocks,
    Reset,
    Breaking,
    SlowServer,
    Throttling,
    Failing,
)

FAULTS: dict[int, type[Fault]] = {each.number: each for each in _ALL}
