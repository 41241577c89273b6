"""Where a history happens: the API in memory, the processes on it, a heap of events, and who looks at every step.

    events --apply, delete, kill, clocks--> server --lists, watches--> processes --requests--> server
                                               '--------- wire, with its troubles ---------'

Unlike in `sim.virtual`, every message takes some time, and scheduler and controllers are processes of their own
with reflectors of their own: nobody sees the cluster as it is, only as far as it has watched it.  All chance comes
from one seed, so the same seed gives the same history; `digest` is a hash of every write in it.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from podium.core.profiles.profile import Profile
from podium.dialects import speaking
from podium.dialects.dialect import Dialect, controllers_of
from podium.embedded.controllers import all_controllers
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.store import Record
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.errors import ApiError, PodiumError
from podium.kube.machine import Machine
from podium.kube.manager import Manager
from podium.kube.resources import EVENTS, NODES, PODS, Resource
from podium.kube.wire import Node, Pod
from podium.sim.histories.process import Process
from podium.sim.histories.wire import Call, Wire
from podium.sim.rng import Rng
from podium.sim.server import Server
from podium.sim.virtual import BEGIN

Document = dict[str, Any]
Event = Callable[[], None]

SCHEDULER = "scheduler"
CONTROLLERS = "controllers"

_REMEMBERED = 30  # lines of the history that are printed with a violation
_MOST_STEPS = 2_000_000
_MOST_IDLE_TURNS = 2_000


class Violation(PodiumError):
    """Something that must always hold does not."""

    def __init__(self, rule: str, what: str, seconds: float) -> None:
        super().__init__(f"{rule} at {seconds:.3f} s: {what}")
        self.rule = rule
        self.what = what
        self.seconds = seconds


class Clockwork:
    """The clocks of one host.  Right ones, unless a fault moves them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.ahead = 0.0  # of the time of day
        self._rate = 1.0
        self._since = 0.0
        self._passed = 0.0

    def wall(self) -> float:
        return BEGIN + self.steady() + self.ahead

    def steady(self) -> float:
        return self._passed + (self._stage.elapsed - self._since) * self._rate

    def real(self, seconds: float) -> float:
        return seconds / self._rate

    def run_at(self, rate: float) -> None:
        """From now on it goes that fast."""
        self._passed, self._since, self._rate = self.steady(), self._stage.elapsed, rate


class Watcher:
    """Called for what happens on a stage.  All of it is optional."""

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        """The server has taken a write."""

    def sent(self, call: Call) -> None:
        """A process has sent a request."""

    def answered(self, call: Call, error: Exception | None) -> None:
        """A request has been answered."""

    def began(self, process: Process) -> None:
        """A process has started."""

    def stepped(self) -> None:
        """A step is over, and something has changed in it."""


class Stage:
    """A history under way."""

    def __init__(
        self, seed: int, profiles: Mapping[str, Profile], dialects: tuple[Dialect, ...] | None = None
    ) -> None:
        dialects = speaking() if dialects is None else dialects
        self.elapsed = 0.0
        self.steps = 0
        self.writes = 0
        self.last_work = 0.0  # when somebody last wrote something that is more than a word
        self.rng = Rng(seed)
        self.wire = Wire()
        self.hosts: dict[str, Clockwork] = {}
        self.watchers: list[Watcher] = []
        self.processes: dict[str, Process] = {}
        self.nodes: dict[str, Node] = {}
        self.pods: dict[tuple[str, str], Pod] = {}
        self.trace: deque[str] = deque(maxlen=_REMEMBERED)
        self.profiles = dict(profiles)
        self.dialects = dialects
        self._starts = 0
        self._touched = False
        self._digest = hashlib.sha256()
        self._heap: list[tuple[float, int, Event]] = []
        self._events = 0
        self.server = Server(dialects, self.host("server").wall)
        self.server.listeners.append(self._written)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def host(self, name: str) -> Clockwork:
        found = self.hosts.get(name)
        if found is None:
            found = self.hosts[name] = Clockwork(self)
        return found

    # --- processes ---------------------------------------------------------------------------

    def start(self, name: str, machine: Machine, may_write: Callable[[], bool] = lambda: True) -> Process:
        """A process begins; one of the same name that still runs is killed."""
        self.kill(name)
        self._starts += 1
        rng = self.rng.fork(f"{name} {self._starts}")
        process = Process(self, name, machine, self.host(name), rng, may_write=may_write)
        for dialect in self.dialects:
            for definition in dialect.definitions:
                machine.serve(definition.resource)
        self.processes[name] = process
        self.say(f"{name} starts")
        for watcher in self.watchers:
            watcher.began(process)
        process.start()
        return process

    def start_scheduler(self, name: str = SCHEDULER, may_write: Callable[[], bool] = lambda: True) -> Process:
        return self.start(name, Scheduler(World(self.dialects), self.profiles), may_write)

    def start_controllers(self) -> Process:
        served = self.server.api.registry.watchable
        own = controllers_of(self.dialects)
        return self.start(
            CONTROLLERS, Manager([*all_controllers("", served), *own, *simulated_kubelets(events=False)])
        )

    def kill(self, name: str) -> None:
        """kill -9: what it has sent may arrive, and nobody waits for the answers."""
        process = self.processes.pop(name, None)
        if process is not None:
            self.say(f"{name} is killed")
            process.kill()
            self._touched = True

    def restart(self, name: str) -> None:
        """Ends a process and starts it anew: it knows what stands in the API."""
        self.kill(name)
        if name == CONTROLLERS:
            self.start_controllers()
        else:
            self.start_scheduler(name)

    @property
    def schedulers(self) -> list[tuple[Process, Scheduler]]:
        """The schedulers that run."""
        found = ((process, process.machine) for process in self.processes.values())
        return [(process, machine) for process, machine in found if isinstance(machine, Scheduler)]

    # --- what users do ---------------------------------------------------------------------------

    def apply(self, *documents: Document) -> None:
        """Creates objects; one that is there already stays as it is."""
        for document in documents:
            try:
                self.server.apply(document)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    def delete(self, resource: Resource, name: str, namespace: str = "default", grace: int | None = None) -> None:
        """Deletes an object, if it is there."""
        self.server.delete(resource, namespace if resource.namespaced else "", name, grace)

    def patch(
        self, resource: Resource, name: str, patch: Document, namespace: str = "default", subresource: str = ""
    ) -> None:
        """Changes an object, if it is there."""
        try:
            self.server.patch(resource, namespace if resource.namespaced else "", name, patch, subresource)
        except ApiError as error:
            if error.code != 404:
                raise

    # --- time ---------------------------------------------------------------------------

    def after(self, seconds: float, event: Event) -> None:
        self._events += 1
        heapq.heappush(self._heap, (self.elapsed + max(0.0, seconds), self._events, event))

    def at(self, seconds: float, event: Event) -> None:
        """So many seconds after the beginning."""
        self.after(seconds - self.elapsed, event)

    def run(self, until: float) -> None:
        """Lets time pass until so many seconds after the beginning."""
        while self._heap and self._heap[0][0] <= until:
            self.elapsed, _, event = heapq.heappop(self._heap)
            event()
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise Violation("I7", "so many steps are no work any more", self.elapsed)
            if self._touched or any(process.busy for process in self.processes.values()):
                self._look()
        self.elapsed = max(self.elapsed, until)

    def run_to_rest(self, quiet: float, patience: float) -> bool:
        """Until nobody has done anything for `quiet` seconds; False if that does not come within `patience`."""
        end = self.elapsed + patience
        self.last_work = self.elapsed
        while self.elapsed < end:
            self.run(min(end, self.last_work + quiet))
            if self.elapsed >= self.last_work + quiet:
                return True
        return False

    @property
    def standing(self) -> dict[str, tuple[str, ...]]:
        """How every pod stands, by namespace and name."""
        return {f"{namespace}/{name}": _standing(pod) for (namespace, name), pod in self.pods.items()}

    def _look(self) -> None:
        self._touched = False
        for watcher in self.watchers:
            watcher.stepped()
        for process in self.processes.values():
            process.busy = False
            if process.idle_turns > _MOST_IDLE_TURNS:
                raise Violation("I7", f"{process.name} turns without anything to do", self.elapsed)

    # --- its watchers ---------------------------------------------------------------------------

    def say(self, line: str) -> None:
        """Adds a line to the history."""
        reported = f"{self.elapsed:.6f} {line}"
        self.trace.append(reported)
        self._digest.update(reported.encode() + b"\n")

    def sent(self, call: Call) -> None:
        for watcher in self.watchers:
            watcher.sent(call)

    def answered(self, call: Call, error: Exception | None) -> None:
        for watcher in self.watchers:
            watcher.answered(call, error)

    def _written(self, resource: Resource, record: Record, gone: bool) -> None:
        self.writes += 1
        self._touched = True
        if resource == PODS:
            self._pod_written(record, gone)
        elif resource == NODES:
            node = self.server.decode(NODES, record.data)
            assert isinstance(node, Node)
            if gone:
                self.nodes.pop(record.name, None)
            else:
                self.nodes[record.name] = node
        if resource != EVENTS:
            self.say(f"{resource.plural} {record.namespace}/{record.name} {'gone' if gone else record.version}")
        for watcher in self.watchers:
            watcher.written(resource, record, gone)

    def _pod_written(self, record: Record, gone: bool) -> None:
        pod = self.server.decode(PODS, record.data)
        assert isinstance(pod, Pod)
        known = self.pods.get(record.key)
        if gone:
            self.pods.pop(record.key, None)
        else:
            self.pods[record.key] = pod
        stood, stands = _standing(known), _standing(None if gone else pod)
        if stood != stands:
            self.last_work = self.elapsed
            self.say(f"pod {record.namespace}/{record.name} {stands}")


def _standing(pod: Pod | None) -> tuple[str, ...]:
    """What a pod's life consists of; words on it are none."""
    if pod is None:
        return ("gone",)
    leaving = "leaving" if pod.deleting else ""
    return (pod.uid, pod.spec.node_name, pod.status.phase, leaving, pod.status.nominated_node_name)
