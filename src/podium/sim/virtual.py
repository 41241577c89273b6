"""A cluster in virtual time: the embedded API in memory, its controllers and kubelets, and the scheduler.

    heap of events --apply, delete--> API --history--> machines --tickets--> API
                                        ^----------------------------------'

It is the same API, the same controllers and the same scheduler as of `podium up`, without sockets and without
waiting: what is due at one moment is done until nothing is left, then the clock is put forward to the next event
or to the next time that a machine wants to be asked.  Identities are counted, so that the same events give the
same history; `digest` is a hash of it.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from podium.core.profiles.profile import Profile
from podium.dialects.dialect import Dialect, controllers_of
from podium.embedded.controllers import all_controllers
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.script import script_of
from podium.embedded.store import Write
from podium.engine.dispatcher import CallType
from podium.engine.scheduler import PERIOD, Scheduler
from podium.engine.world import World
from podium.errors import ApiError, PodiumError
from podium.kube.controller import Controller, Ticket
from podium.kube.machine import Machine, Together
from podium.kube.manager import Manager
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.sim.binds import BindTrouble
from podium.sim.server import Server

Event = Callable[[], None]
# Called for every write: the resource, the object, and whether it is gone.
Listener = Callable[[Resource, Object, bool], None]

# When virtual time begins: 2023-11-14 22:13:20 UTC, a round number of seconds.
BEGIN = 1_700_000_000.0

# A moment that does not end is a bug: so many rounds without the clock moving are not work.
_ENDLESS = 100_000
# Containers that start again and again do so for ever: after so many seconds of nothing else the run is over.
_ONLY_RESTARTS = 3600.0


class VirtualCluster:
    """The API and whoever works on it, on a clock of its own."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        dialects: Iterable[Dialect],
        *,
        controllers: bool = True,
        quiet: bool = False,
        period: float = PERIOD,
        turns: int | None = None,
        begin: float = BEGIN,
    ) -> None:
        """`controllers` are the built-in ones and those of the dialects; a replay of bare pods needs none.

        A `quiet` scheduler writes no words on objects, only what it does.  `period` is the scheduler's;
        `turns` limits how often it looks, until it is restarted: with none it is held.  The clock starts at
        `begin`.
        """
        self.now = self._begin = begin
        self.listeners: list[Listener] = []
        self.refused = 0  # writes that the API did not take
        self.bind_trouble: BindTrouble | None = None  # what binds meet on their way
        self._dialects = tuple(dialects)
        self._profiles = dict(profiles)
        self._controllers = controllers
        self._quiet = quiet
        self._period = period
        self._digest = hashlib.sha256()
        self._heap: list[tuple[float, int, Event]] = []
        self._events = 0
        self._positions: dict[Resource, int] = {}  # how far the watches have come
        self._observed = 0  # the newest version that they have been asked about
        self._stages: dict[str, str] = {}  # of pods that there are, by UID
        self._news_at = begin  # when a pod last came, went or got further
        self.server = Server(self._dialects, lambda: self.now)
        self.restart(turns)

    def restart(self, turns: int | None = None) -> None:
        """All processes but the API begin anew: they know what stands in it."""
        self._tell()  # for those that listen
        self.world = World(self._dialects)
        self.scheduler = Scheduler(
            self.world,
            self._profiles,
            turns,
            period=self._period,
            flush=math.inf,
            check=math.inf,
            quiet=self._quiet,
        )
        kubelets = simulated_kubelets(events=False)
        own: list[Controller] = []
        if self._controllers:
            own += all_controllers("", self.server.api.registry.watchable)
            own += controllers_of(self._dialects)
        self._machine: Machine = Together(Manager([*own, *kubelets]), self.scheduler)
        for dialect in self._dialects:
            for definition in dialect.definitions:
                self._machine.serve(definition.resource)
        self._positions.clear()
        for resource in sorted(self._machine.resources, key=lambda each: (each.group, each.plural)):
            bucket = self.server.bucket(resource)
            if bucket is not None:
                self._positions[resource] = bucket.end
                for obj in self.server.objects(resource):
                    self._machine.observe(resource, obj)
            self._machine.synced(resource)

    @property
    def resources(self) -> frozenset[Resource]:
        """What anybody in the cluster looks at."""
        return frozenset(self._positions)

    @property
    def elapsed(self) -> float:
        """Seconds of virtual time since the beginning."""
        return self.now - self._begin

    @property
    def digest(self) -> str:
        """A hash of what became of pods, and when: places, beginnings and ends."""
        return self._digest.hexdigest()

    # --- what users do -----------------------------------------------------------------------------------------

    def at(self, seconds: float, event: Event) -> None:
        """Something happens so many seconds after the beginning; what is due at once happens in this order."""
        self._events += 1
        heapq.heappush(self._heap, (self._begin + seconds, self._events, event))

    # --- time --------------------------------------------------------------------------------------------------

    def run(self, until: float = math.inf) -> None:
        """Lets time pass until nothing is due any more, or so many seconds after the beginning.

        Without an end of its own a run is also over when all that still happens are restarts of containers.
        """
        end = self._begin + until
        while True:
            self.settle()
            due = self._next_due()
            if due is None or due > end or (until == math.inf and self._only_restarts()):
                break
            self.now = max(self.now, due)
            while self._heap and self._heap[0][0] <= self.now:
                heapq.heappop(self._heap)[2]()
        if math.isfinite(end):
            self.now = max(self.now, end)

    def settle(self) -> None:
        """Everything that is due now, and what follows from it."""
        last = "nobody writes anything"
        for _ in range(_ENDLESS):
            moved = self._tell()
            while self._tell():  # who listens may have written something
                pass
            tickets = self._machine.run(self.now, 1 << 30)
            for ticket in tickets:
                self._carry_out(ticket)
                last = f"the last write was by {ticket.purpose or 'a note'} for {'/'.join(ticket.key)}"
            if not tickets and not moved:
                wake = self._machine.next_wake(self.now)
                if wake is None or wake > self.now:
                    return
        still = f"virtual time stands still at {self.elapsed:.3f} s: the cluster does not come to rest"
        raise PodiumError(f"{still}; {last}")

    def _only_restarts(self) -> bool:
        if self._heap or self.now - self._news_at < _ONLY_RESTARTS:
            return False
        self._news_at = self.now  # before the next look at all pods as long a time shall pass
        pods = self.server.objects(PODS)
        return not any(_will_end(pod) for pod in pods if isinstance(pod, Pod) and not pod.finished)

    def _next_due(self) -> float | None:
        wake = self._machine.next_wake(self.now)
        event = self._heap[0][0] if self._heap else None
        return min((each for each in (wake, event) if each is not None), default=None)

    # --- watches and writes --------------------------------------------------------------------------------------

    def _tell(self) -> bool:
        """What the watches have to say since the last time; whether it was anything."""
        if self.server.store.version == self._observed:
            return False
        self._observed = self.server.store.version
        moved = False
        for resource, position in self._positions.items():
            bucket = self.server.bucket(resource)
            if bucket is None or bucket.end == position:
                continue
            moved = True
            self._positions[resource] = bucket.end
            for write in bucket.history[position - bucket.trimmed :]:
                self._tell_of(resource, write)
        return moved

    def _tell_of(self, resource: Resource, write: Write) -> None:
        obj = self.server.decode(resource, write.new.data)
        if resource == PODS:
            assert isinstance(obj, Pod)
            stage = "gone" if write.deleted else "leaving" if obj.deleting else obj.status.phase
            reported = f"{self.elapsed:.6f} {obj.namespace}/{obj.name} {obj.spec.node_name} {stage}\n"
            self._digest.update(reported.encode())
            if stage != self._stages.get(obj.uid):
                self._news_at = self.now
            if write.deleted:
                self._stages.pop(obj.uid, None)
            else:
                self._stages[obj.uid] = stage
        if write.deleted:
            self._machine.forget(resource, obj)
        else:
            self._machine.observe(resource, obj)
        for listener in self.listeners:
            listener(resource, obj, write.deleted)

    def _carry_out(self, ticket: Ticket) -> None:
        if self.bind_trouble is not None and ticket.purpose == CallType.BIND:
            self.at(self.elapsed + self.bind_trouble.seconds, partial(self._bind, ticket, self._machine))
            return
        result: Object | None = None
        failure: Exception | None = None
        try:
            result = self.server.carry_out(ticket.change)
        except ApiError as error:
            self.refused += 1
            failure = error
        self._machine.done(ticket, result, failure, self.now)

    def _bind(self, ticket: Ticket, sender: Machine) -> None:
        """A bind that may meet trouble.  Whoever sent it may be gone when it is answered."""
        assert self.bind_trouble is not None
        failure = self.bind_trouble.before()
        if failure is None:
            try:
                self.server.carry_out(ticket.change)
            except ApiError as error:
                failure = error
            failure = self.bind_trouble.after() or failure
        self.refused += failure is not None
        if sender is self._machine:
            sender.done(ticket, None, failure, self.now)


def _will_end(pod: Pod) -> bool:
    """Whether a pod's containers end for good one day, without anybody's doing."""
    if pod.deleting or (pod.spec.active_deadline_seconds is not None and pod.status.start_time is not None):
        return True
    script = script_of(pod.annotations)
    ends = script.run_seconds is not None or script.exit_now
    policy = pod.spec.restart_policy
    return (
        bool(pod.spec.node_name)
        and ends
        and (policy == "Never" or (policy == "OnFailure" and not script.exit_code))
    )
