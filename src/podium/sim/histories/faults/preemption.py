"""Preemption, while evictions fail, victims do not leave, and those for whom it is done are gone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from podium.core.profiles.profile import Profile, read_profile
from podium.dialects import authoring
from podium.dialects.workloads import Ask
from podium.engine.dispatcher import CallType
from podium.errors import ApiError, TransportError
from podium.kube.resources import NODES, PODS
from podium.kube.status import too_many_requests
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.stage import Watcher
from podium.sim.histories.wire import Call, Trouble
from podium.sim.rng import Rng

_FINALIZER = "example.com/keep"
_STRICT = "strict"
_GUARDED = {"guarded": "true"}

# As podium's own, and budgets are a hard limit.
_PROFILE = {
    "actions": "enqueue, allocate, backfill, gangpreempt",
    "tiers": [
        {
            "plugins": [
                {"name": "priority"},
                {"name": "gang", "enablePreemptable": False},
                {"name": "conformance"},
                {"name": "pdb"},
            ]
        },
        {"plugins": [{"name": "predicates"}, {"name": "capacity"}, {"name": "nodeorder"}]},
    ],
}


class FailedEvictions(Trouble):
    """Some evictions are refused or not answered."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng

    def before(self, call: Call) -> Exception | None:
        if call.purpose not in (CallType.EVICT, CallType.MARK) or not self._rng.chance(0.5):
            return None
        return self._rng.pick(
            (
                ApiError(403, "Forbidden", "not now"),
                too_many_requests("slow down", 3),
                ApiError(500, "InternalError", "etcdserver: request timed out"),
                TransportError("no answer in time"),
            )
        )


class Budgeted(Watcher):
    """Every eviction leaves the budget its pods."""

    def __init__(self, fault: PreemptionFaults, least: int) -> None:
        self._fault = fault
        self._least = least
        self._going: set[str] = set()

    def sent(self, call: Call) -> None:
        if call.purpose != CallType.EVICT:
            return
        guarded = [pod for pod in self._fault.stage.pods.values() if pod.labels.get("guarded")]
        if call.ticket.key[1] in {pod.uid for pod in guarded}:
            self._going.add(call.ticket.key[1])
            left = sum(pod.ready and not pod.deleting and pod.uid not in self._going for pod in guarded)
            self._fault.expect(left >= self._least, f"the budget is left with {left} of {self._least} pods")


class PreemptionFaults(Fault):
    """Room is not counted twice, a promise ends with whom it was made to, and nobody goes for nothing."""

    number = 16
    name = "preemption under faults"
    horizon = 100.0

    @classmethod
    def profiles(cls, given: Mapping[str, Profile]) -> Mapping[str, Profile]:
        return {**given, _STRICT: read_profile(_PROFILE, "the profile of this fault")}

    def populate(self) -> None:
        rng = self.rng.fork("population")
        self._case = self.seed % 4
        self._gangs = rng.chance(0.4)
        nodes = rng.whole(2, 4)
        self.stage.apply(
            *p.surroundings(), *(p.node(f"node-{each}", each, cpu=16, gpus=4) for each in range(nodes))
        )
        self._room = nodes * 4
        low = Ask(gpus=1, seconds=None, scheduler=_STRICT, priority="low", leaving=rng.pick((0.0, 5.0, 15.0)))
        guarded = rng.whole(0, 2)
        for number in range(guarded):
            self.stage.apply(p.pod(f"guarded-{number}", msgspec.structs.replace(low, labels=_GUARDED)))
        if guarded:
            self.stage.apply(p.budget("guard", _GUARDED, guarded))
            self.stage.watchers.append(Budgeted(self, guarded))
        stuck = (_FINALIZER,) if self._case == 1 else ()
        left, number = self._room - guarded, 0
        while left:
            size = min(left, 2) if self._gangs else 1
            ask = msgspec.structs.replace(low, finalizers=stuck)
            made = p.gang(f"low-{number}", size, ask) if size > 1 else [p.pod(f"low-{number}", ask)]
            self.stage.apply(*made)
            left, number = left - size, number + 1
        # Somebody who waits, and takes what others do not need after all.
        self.stage.apply(p.pod("patient", msgspec.structs.replace(low, leaving=0.0)))
        self._needed = rng.whole(1, min(4, self._room - guarded))

    def arrange(self) -> None:
        self.stage.at(15.0, self._pressing)
        if self._case == 0:
            self.stage.wire.troubles.append(FailedEvictions(self.rng))
        elif self._case == 1:
            self.stage.at(70.0, self._let_go)
        elif self._case == 2:
            self.stage.at(self.rng.between(15.01, 25.0), self._give_up)
        else:
            self.stage.at(self.rng.between(15.01, 25.0), self._lose_node)

    def _pressing(self) -> None:
        ask = Ask(gpus=1, seconds=None, scheduler=_STRICT, priority="high")
        self.stage.apply(*p.gang("high", self._needed, ask))

    def _give_up(self) -> None:
        self.stage.delete(authoring().groups, "high")
        for number in range(self._needed):
            self.stage.delete(PODS, f"high-{number}")

    def _lose_node(self) -> None:
        leaving = [pod.spec.node_name for pod in self.stage.pods.values() if pod.deleting]
        name = leaving[0] if leaving else "node-0"
        self.stage.delete(NODES, name)
        node = p.node(name, 9, cpu=16, gpus=4)
        self.stage.after(20.0, partial(self.stage.apply, node))

    def _let_go(self) -> None:
        for pod in list(self.stage.pods.values()):
            if pod.metadata.finalizers:
                self.stage.patch(PODS, pod.name, {"metadata": {"finalizers": None}})

    def end(self) -> None:
        super().end()
        self._let_go()

    def verify(self) -> None:
        there = {pod.uid for pod in self.stage.pods.values() if not pod.deleting}
        victims = len(self.rules.evictions.keys() - there)
        most = self._needed + 1 if self._gangs else self._needed
        if self._case != 3:  # a node that is lost takes its victims' room along
            self.expect(victims <= most, f"{victims} pods were evicted for room of {self._needed}")
        promised = [pod.name for pod in self.stage.pods.values() if pod.status.nominated_node_name]
        self.expect(not promised, f"{promised} are still promised something")
        if self._case != 2:
            high = [pod for pod in self.stage.pods.values() if pod.name.startswith("high-")]
            self.expect(all(pod.spec.node_name for pod in high), "the pressing gang has no place")
