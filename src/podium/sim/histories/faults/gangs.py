"""Gangs that stand in each other's way."""

from __future__ import annotations

from functools import partial

from podium.dialects import authoring
from podium.dialects.workloads import NAMESPACE, Ask
from podium.embedded.store import Record
from podium.engine.effects import GANG_PLAN
from podium.engine.recovery import PATIENCE, write_plan
from podium.kube.changes import Create
from podium.kube.resources import PODS, Resource
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.stage import CONTROLLERS, Watcher
from podium.sim.virtual import BEGIN

_TRIES = 6  # binds of one pod that are no livelock


class Contention(Fault):
    """One goes ahead, the others wait without holding anything, and all have their turn."""

    number = 15
    name = "gangs that fit alone and not together"
    horizon = 60.0

    def populate(self) -> None:
        rng = self.rng.fork("population")
        self._halves = self.seed % 3 == 2
        # Clocks of machines differ: what was planned when is not found by comparing them.
        ahead = rng.pick((0.0, 3600.0)) if self._halves else 0.0
        for host in ("server", CONTROLLERS):
            self.stage.host(host).ahead = ahead
        self._gangs = 2 if self.seed % 3 == 0 else rng.whole(3, 6)
        self._size = 2 * rng.whole(1, 3)
        # Room for one and a half of them; where each holds its half already, for exactly these halves.
        room = self._size * self._gangs // 2 if self._halves else self._size + self._size // 2
        per_node = rng.pick((1, 2)) if room % 2 == 0 else 1
        self.stage.apply(
            *p.surroundings(),
            *(p.node(f"node-{each:02}", each, cpu=16, gpus=per_node) for each in range(room // per_node)),
        )
        # Halves last longer than they may be held.
        seconds = 50.0 if self._halves else 12.0
        self._ask = Ask(gpus=1, seconds=seconds, scheduler=rng.pick((p.TAKING, p.PEACEFUL)), owner="trainer")
        self._per_node = per_node
        for number in range(self._gangs):
            documents = p.gang(f"gang-{number}", self._size, self._ask)
            if self._halves:
                self.stage.apply(*documents)
                self._hold_half(number)
            else:
                self.stage.at(rng.between(0.0, 2.0), partial(self.stage.apply, *documents))

    def _hold_half(self, number: int) -> None:
        """What a scheduler leaves behind that was killed in the middle of its binds."""
        name = f"gang-{number}"
        plan = write_plan(authoring().gang_id(NAMESPACE, name), number, self._size, BEGIN + 0.5)
        for member in range(self._size // 2):
            place = (number * (self._size // 2) + member) // self._per_node
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": f"{name}-{member}", "annotations": {GANG_PLAN: plan}},
                "target": {"apiVersion": "v1", "kind": "Node", "name": f"node-{place:02}"},
            }
            change = Create(PODS, "default", binding, name=f"{name}-{member}", subresource="binding")
            self.stage.server.carry_out(change)

    def arrange(self) -> None:
        self.stage.watchers.append(Owner(self))
        if self._halves:
            self.stage.at(PATIENCE + 15.0, self._nothing_held)
        else:
            self.stage.at(8.0, self._one_ahead)

    def again(self, name: str) -> None:
        """A member that was evicted comes anew, as its owner would have it."""
        number = int(name.split("-")[1])
        for document in p.gang(f"gang-{number}", self._size, self._ask):
            if document["metadata"]["name"] == name:
                self.stage.after(1.0, partial(self.stage.apply, document))

    def _bound(self) -> list[int]:
        counts = [0] * self._gangs
        for pod in self.stage.pods.values():
            if pod.spec.node_name and not pod.deleting:
                counts[int(pod.name.split("-")[1])] += 1
        return counts

    def _one_ahead(self) -> None:
        counts = self._bound()
        self.expect(sorted(counts) == [0] * (self._gangs - 1) + [self._size], f"members bound: {counts}")

    def _nothing_held(self) -> None:
        counts = self._bound()
        self.expect(all(count in (0, self._size) for count in counts), f"halves are held too long: {counts}")

    def verify(self) -> None:
        done = sum(pod.status.phase == "Succeeded" for pod in self.stage.pods.values())
        self.expect(
            done == self._gangs * self._size, f"{done} of {self._gangs * self._size} members have had their turn"
        )
        worst = max(self.rules.binds.values(), default=0)
        self.expect(worst <= _TRIES, f"a pod was bound {worst} times")
        taken = self.rules.evictions and not self._halves
        self.expect(not taken, "somebody was evicted, and all would have had their turn")


class Owner(Watcher):
    """Makes members anew that were evicted."""

    def __init__(self, fault: Contention) -> None:
        self._fault = fault

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        if resource == PODS and gone and record.name.startswith("gang-"):
            self._fault.again(record.name)
