"""What must hold on the mixed day, looked at after every write, from the objects of the API alone.

Rules about one write are checked with it, those about how things stand when a moment is over: the writes of one
moment come one after the other.
"""

from __future__ import annotations

from collections import Counter

import yaml

from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.types import TYJob
from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.paddle.types import TrainingJob
from podium.kube.pod_resources import Amounts, amounts, pod_requests
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Node, Object, Pod
from podium.runtime.configuration import embedded_profiles
from podium.sim.scenario import Other, Stage, read_scenario
from tests.mixed_day import GPU, MOST_GPUS, POOLS, QUEUE, SCENARIO, Part, parts

_PATIENCE = 30.0  # seconds that a pod may wait at home beside borrowers: they take a turn or two to leave
_OWNERS = {node: pool for pool, nodes in POOLS.items() for node in nodes}


class Rules:
    """Listens to every write, and notes every rule that is broken."""

    def __init__(self, parts: dict[str, Part], grace: float = 0.0) -> None:
        """`grace` is how long what belongs together may be seen in parts: in real time writes take a while."""
        self.parts = parts
        self.grace = grace
        self.broken: list[str] = []
        self.most_held = 0  # GPUs, by the queue
        self.borrowed = 0  # pods that have run on nodes of another pool
        self.succeeded: Counter[str] = Counter()
        self.seen: Counter[object] = Counter()  # how often there was something to check
        self.used: list[tuple[float, Counter[str], int]] = []  # over time: GPUs by dialect, and in the queue
        self._nodes: dict[str, Amounts] = {}
        self._pods: dict[str, Pod] = {}
        self._asked: dict[str, Amounts] = {}
        self._owner: dict[str, Part | None] = {}  # by pod
        self._since: dict[str, float] = {}  # when pods came
        self._bound_at: dict[str, float] = {}
        self._whole: set[str] = set()
        self._touched: set[str] = set()
        self._trainings: dict[str, TrainingJob] = {}
        self._places: dict[str, dict[str, str]] = {}  # of TYJobs, by pod
        self._to_compare: list[tuple[float, str, Pod]] = []  # TYJobs' pods that have just been bound
        self._partly: dict[str, float] = {}  # gangs that are seen in parts, and since when
        self._now = 0.0

    def heard(self, now: float, resource: Resource, obj: Object, gone: bool) -> None:
        if now > self._now:
            self.moment_over()
            self._now = now
        if resource == NODES and isinstance(obj, Node):
            self._nodes[obj.name] = amounts(obj.status.allocatable)
        elif resource == PODS and isinstance(obj, Pod) and self._part(obj) is not None:
            self._pod(obj, gone)
        elif resource == TRAININGJOBS and isinstance(obj, TrainingJob):
            self._training(obj)
        elif resource == TYJOBS and isinstance(obj, TYJob):
            self._places[obj.name] = {each.name: each.node for each in obj.status.allocations or ()}

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.broken.append(f"at {self._now:.3f} s: {otherwise}")

    def _part(self, pod: Pod) -> Part | None:
        if pod.uid not in self._owner:
            self._owner[pod.uid] = self.parts.get("-".join(pod.name.split("-")[:2]))
        return self._owner[pod.uid]

    # --- one write -----------------------------------------------------------------------------------------------

    def _pod(self, pod: Pod, gone: bool) -> None:
        part = self._part(pod)
        assert part is not None
        before = self._pods.get(pod.uid)
        self._since.setdefault(pod.uid, self._now)
        self._touched.add(part.name)
        if pod.status.phase == "Succeeded" and (before is None or before.status.phase != "Succeeded"):
            self.succeeded[part.name] += 1
        if gone or pod.finished:
            self._pods.pop(pod.uid, None)
            return
        self._pods[pod.uid] = pod
        self._asked.setdefault(pod.uid, pod_requests(pod.spec))
        if pod.spec.node_name and (before is None or not before.spec.node_name):
            self._bound(pod, part)

    def _bound(self, pod: Pod, part: Part) -> None:
        node = pod.spec.node_name
        self._bound_at[pod.uid] = self._now
        here = [each for each in self._pods.values() if each.spec.node_name == node]
        used: Counter[str] = Counter({"pods": len(here)})
        for each in here:
            used.update(self._asked[each.uid])
        for name, amount in used.items():
            self._expect(amount <= self._nodes[node].get(name, 0), f"{pod.name} brings {node} to {amount} {name}")
        if part.queue:
            held = self._held(part.queue)
            self.most_held = max(self.most_held, held)
            self.seen["queue", part.dialect] += 1
            self._expect(held <= MOST_GPUS, f"{pod.name} brings {part.queue} to {held} GPUs")
        if part.dialect == "arranger":
            self._to_compare.append((self._now, part.name, pod))
        if part.pool and node in _OWNERS and _OWNERS[node] != part.pool:
            self.borrowed += 1

    def _held(self, queue: str) -> int:
        """GPUs; what goes is the queue's no longer."""
        found = 0
        for each in self._pods.values():
            part = self._part(each)
            if part is not None and part.queue == queue and each.spec.node_name and not each.deleting:
                found += self._asked[each.uid].get(GPU, 0)
        return found

    def _training(self, job: TrainingJob) -> None:
        least, most = self.parts[job.name].trainers
        self._trainings[job.name] = job
        wanted = job.status.wanted or 0
        fits = wanted == 0 or least <= wanted <= most
        self._expect(fits, f"{job.name} is to have {wanted} of {least} to {most}")
        self.seen["size"] += 1

    # --- when a moment is over -----------------------------------------------------------------------------------

    def moment_over(self) -> None:
        for name in self._touched | self._partly.keys():
            part = self.parts[name]
            if part.together:
                self._check_gang(part)
            if part.dialect == "paddle":
                self._check_trainers(part)
        self._touched.clear()
        later = [each for each in self._to_compare if self._now - each[0] < self.grace]
        for _, name, pod in self._to_compare[: len(self._to_compare) - len(later)]:
            place, node = self._places.get(name, {}).get(pod.name), pod.spec.node_name
            self._expect(place == node, f"{pod.name} is on {node}, and its place is on {place}")
            self.seen["place"] += 1
        self._to_compare = later
        self._check_homes()
        self._note()

    def _check_gang(self, part: Part) -> None:
        """All are bound or none; a TYJob has the places of all before its first pod is made."""
        bound = sum(1 for each in self._pods.values() if self._part(each) is part and each.spec.node_name)
        bound += self.succeeded[part.name]
        if max(bound, len(self._places.get(part.name, ()))) >= part.together:
            self._whole.add(part.name)
        self.seen["gang", part.dialect] += 1
        if not bound or part.name in self._whole:
            self._partly.pop(part.name, None)
        elif self._now - self._partly.setdefault(part.name, self._now) >= self.grace:
            self._expect(False, f"{bound} of {part.name} are bound, of {part.together}")

    def _check_trainers(self, part: Part) -> None:
        trainers = [
            each
            for each in self._pods.values()
            if self._part(each) is part and "-trainer-" in each.name and not each.deleting
        ]
        self._expect(len(trainers) <= part.trainers[1], f"{part.name} has {len(trainers)} trainers")

    def _check_homes(self) -> None:
        """Nobody waits at home while borrowers sit on room there that would do."""
        for pod in self._pods.values():
            part = self._part(pod)
            if part is None or not part.pool or pod.spec.node_name or self._now - self._since[pod.uid] < _PATIENCE:
                continue
            self.seen["home"] += 1
            for node in POOLS[part.pool]:
                room = Counter(self._nodes[node])
                borrowers = []
                for each in self._pods.values():
                    other = self._part(each)
                    assert other is not None
                    if each.spec.node_name != node:
                        continue
                    if other.pool and other.pool != part.pool:
                        borrowers.append(each.name)
                        if self._now - self._bound_at.get(each.uid, 0.0) < _PATIENCE:
                            room.subtract(self._asked[each.uid])
                    else:
                        room.subtract(self._asked[each.uid])
                fits = all(room[name] >= amount for name, amount in self._asked[pod.uid].items())
                self._expect(not (fits and borrowers), f"{pod.name} waits at home beside {borrowers}")

    def _note(self) -> None:
        used: Counter[str] = Counter()
        for each in self._pods.values():
            part = self._part(each)
            if part is not None and each.status.phase == "Running":
                used[part.dialect] += self._asked[each.uid].get(GPU, 0)
        self.used.append((self._now, used, self._held(QUEUE)))

    def over(self) -> None:
        """Nothing is due any more: everybody has run who would run alone."""
        self._now += self.grace
        self.moment_over()
        self._expect(not self.waiting, f"they have not ended: {self.waiting}")
        left = sorted(pod.name for pod in self._pods.values())
        self._expect(not left, f"they are still there: {left[:5]}")

    @property
    def waiting(self) -> list[str]:
        """The workloads that have not done their work."""
        return [part.name for part in self.parts.values() if self.succeeded[part.name] < part.ends]

    @property
    def running(self) -> int:
        """Pods that are there and have not ended."""
        return len(self._pods)


def play() -> Rules:
    """The whole day in virtual time, with every rule checked on the way."""
    stage = Stage(read_scenario(SCENARIO), SCENARIO, embedded_profiles(), Other())
    rules, cluster = Rules(parts(yaml.safe_load(SCENARIO.read_text()))), stage.cluster
    cluster.listeners.append(lambda resource, obj, gone: rules.heard(cluster.elapsed, resource, obj, gone))
    stage.run()
    rules.over()
    return rules
