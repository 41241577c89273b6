"""Clocks that jump, drift and disagree."""

from __future__ import annotations

from functools import partial

from podium.dialects.workloads import Ask
from podium.embedded.nodes.shapes import TaintShape
from podium.engine.dispatcher import CallType
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.faults.binds import Failing
from podium.sim.histories.faults.crashes import Candidate, Killing
from podium.sim.histories.stage import CONTROLLERS

_LEADER = "scheduler-a"
_SOON = 5.0  # seconds in which a pod with room has its place, whatever the clocks say


class Clocks(Fault):
    """The leader stays, nobody starves, ages are not negative, and a gang that was bound half is known for one."""

    number = 18
    name = "clocks that jump, drift and disagree"
    quiet = 130.0  # a clock may go at half its speed

    def start(self) -> None:
        # Which of the clocks is wrong from the start: objects are then made in the future, or in the past.
        ahead = self.rng.pick((-3600.0, 0.0, 0.0, 3600.0))
        for host in ("server", CONTROLLERS):
            self.stage.host(host).ahead = ahead
        self.stage.start_controllers()
        self._leader = Candidate(self.stage, _LEADER)
        self._killed = 0

    def populate(self) -> None:
        super().populate()
        self.stage.apply(p.node("spare", 99, cpu=16, taints=[TaintShape("probes", "NoSchedule")]))

    def arrange(self) -> None:
        self.stage.host(_LEADER).run_at(self.rng.pick((0.5, 1.0, 1.0, 2.0)))
        for _ in range(self.rng.whole(2, 4)):
            self.stage.at(self.rng.between(5.0, 80.0), self._jump)
        for number in range(6):
            self.stage.at(12.0 * (number + 1), partial(self._probe, f"probe-{number}"))
        self._killing = Killing(self._strike)
        self.stage.wire.troubles.append(self._killing)
        if self.rng.chance(0.5):
            number, after = self.rng.whole(1, 3), self.rng.chance(0.5)
            at = self.rng.between(0.0, 50.0)
            aim = partial(self._killing.aim, _LEADER, number, CallType.BIND, after=after)
            self.stage.at(at, aim)
        if self.rng.chance(0.5):
            self.stage.wire.troubles.append(Failing(self.rng, 0.1))

    def _strike(self, victim: str) -> None:
        """The leader is killed, and another one on the same machine takes over when the lease is over."""
        self._leader.kill()
        self._killed += 1
        self._leader = Candidate(self.stage, _LEADER, identity=f"{_LEADER}-{self._killed}")

    def _jump(self) -> None:
        """Of the scheduler's machine, or of the one that everybody else is on."""
        seconds = self.rng.pick((-3600.0, 3600.0, -60.0, 60.0))
        for host in self.rng.pick(((_LEADER,), (_LEADER,), ("server", CONTROLLERS))):
            self.stage.host(host).ahead += seconds

    def _probe(self, name: str) -> None:
        """Room is kept for it on a node of its own."""
        spec = {
            "nodeSelector": {"kubernetes.io/hostname": "spare"},
            "tolerations": [{"key": "probes", "operator": "Exists"}],
        }
        ask = Ask(cpu=1, priority="high", seconds=None, spec=spec)
        self.stage.apply(p.pod(name, ask))
        self.stage.after(_SOON, partial(self._placed, name))

    def _placed(self, name: str) -> None:
        pod = self.stage.pods[("default", name)]
        tried = self.rules.binds[pod.uid]
        alone = not self.stage.schedulers or self._killed > 0  # somebody has to take the lease first
        self.expect(
            bool(pod.spec.node_name) or tried > 0 or alone, f"{name} has waited for {_SOON:g} s beside free room"
        )

    def verify(self) -> None:
        self.expect(self._leader.lost == 0, "the leader has lost its lease to a clock")
        for _, scheduler in self.stage.schedulers:
            latency = scheduler.counters.task_latency
            self.expect(latency.sum >= 0, f"pods have waited for {latency.sum} ms")

    def begin_anew(self) -> None:
        self._leader.kill()
        self._leader = Candidate(self.stage, "scheduler-b")
