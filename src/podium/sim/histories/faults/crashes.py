"""Processes that are killed at any write, and a standby that takes over with a watch that is behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from podium.engine.dispatcher import CallType
from podium.errors import ApiError, TransportError
from podium.kube.changes import Read
from podium.kube.lease import Ask, Election, Pause
from podium.kube.resources import LEASES, PODS, Resource
from podium.kube.transport import Request, Response
from podium.kube.wire import Lease
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.stage import CONTROLLERS, SCHEDULER, Stage, Watcher
from podium.sim.histories.wire import Call, Stream, Trouble
from podium.sim.rng import Rng

# Seeds from here on are one small scenario that is killed once: before and after its first write, its second, ...
SWEEP = 1_000_000

_HUNDREDS = 100  # every so many seeds the cluster is a large one
_GANGS = 200


class Killing(Trouble):
    """Kills whoever makes the next fatal write, right before the server sees it or right after."""

    def __init__(self, strike: Callable[[str], None]) -> None:
        """`strike` is how somebody is killed, and what becomes of him afterwards."""
        self._strike = strike
        self._victim = ""
        self._purpose = ""
        self._left = 0
        self._after = False
        self._fatal: Call | None = None

    def aim(self, victim: str, number: int, purpose: str = "", *, after: bool) -> None:
        """At somebody's write of that number from now, of all or of those for one errand."""
        self._victim, self._purpose, self._left, self._after = victim, purpose, number, after

    def before(self, call: Call) -> Exception | None:
        if call.process != self._victim or isinstance(call.ticket.change, Read):
            return None
        if self._purpose and call.purpose != self._purpose:
            return None
        self._left -= 1
        if self._left == 0:
            self._fatal = call
        return self._kill() if self._fatal is call and not self._after else None

    def after(self, call: Call) -> Exception | None:
        return self._kill() if self._fatal is call else None

    def _kill(self) -> Exception:
        self._fatal = None
        self._strike(self._victim)
        return TransportError("killed")


class Crash(Fault):
    """Whatever was half done is completed or given back."""

    number = 1
    name = "killed at any write"

    def populate(self) -> None:
        if self.seed < SWEEP and self.seed % _HUNDREDS != _HUNDREDS - 1:
            super().populate()
            return
        rng = Rng(0, "sweep") if self.seed >= SWEEP else self.rng.fork("population")
        large = self.seed < SWEEP
        self.stage.apply(*p.surroundings(), *p.some_nodes(rng, 40 if large else 3))
        workloads = p.some_workloads(rng, _GANGS if large else 4, gangs=True)
        self.arriving(rng, workloads, self.horizon * 0.3)

    def arrange(self) -> None:
        self._killing = Killing(self._strike)
        if self.seed >= SWEEP:
            number, after = divmod(self.seed - SWEEP, 2)
            self._killing.aim(SCHEDULER, number + 1, after=bool(after))
        else:
            for number in range(self.rng.whole(1, 4)):
                self.stage.at(self.rng.between(1.0, 20.0) + 18.0 * number, self._aim)
        self.stage.wire.troubles.append(self._killing)

    def _strike(self, victim: str) -> None:
        self.stage.kill(victim)
        self.stage.after(1.0, partial(self._revive, victim))

    def _revive(self, victim: str) -> None:
        if victim not in self.stage.processes:
            self.stage.restart(victim)

    def _aim(self) -> None:
        after = self.rng.chance(0.5)
        if self.rng.chance(0.5):
            self._killing.aim(SCHEDULER, self.rng.whole(1, 4), CallType.BIND, after=after)
        else:
            victim = self.rng.pick((SCHEDULER, CONTROLLERS))
            self._killing.aim(victim, self.rng.whole(1, 15), after=after)

    def end(self) -> None:
        super().end()
        for name in (SCHEDULER, CONTROLLERS):
            self._revive(name)


# --- two of them -------------------------------------------------------------------------------


class Candidate:
    """A scheduler that stands in line for the lease, as `runtime.electing` makes it do."""

    def __init__(self, stage: Stage, name: str, identity: str = "") -> None:
        self.name = name
        self._identity = identity or name
        self.led: list[float] = []  # when it began to lead
        self.lost = 0
        self.alive = True
        self.frozen = False
        self._stage = stage
        self._rng = stage.rng.fork(name)
        self._host = stage.host(name)
        self._begin()
        stage.after(0.0, self._step)

    @property
    def leading(self) -> bool:
        return self._election.leading

    def _begin(self) -> None:
        identity = f"{self._identity}-{self.lost}"
        self._election = Election("kube-system", "podium-scheduler", identity, seed=self._rng.whole(0, 1 << 30))

    def kill(self) -> None:
        self.alive = False
        self._stage.kill(self.name)

    def freeze(self, *, frozen: bool) -> None:
        """SIGSTOP and SIGCONT."""
        self.frozen = frozen
        process = self._stage.processes.get(self.name)
        if process is not None:
            process.frozen = frozen

    def _after(self, seconds: float, event: Callable[[], None]) -> None:
        def happen() -> None:
            if self.alive and self.frozen:
                self._stage.after(0.25, happen)
            elif self.alive:
                event()

        self._stage.after(seconds, happen)

    def _step(self) -> None:
        election, host = self._election, self._host
        step = election.next(host.steady(), host.wall())
        if isinstance(step, Pause):
            self._settle()
            self._after(host.real(max(0.001, step.until - host.steady())), self._step)
            return
        try:
            if isinstance(step, Ask):
                election.seen(self._read(), host.steady())
            else:
                lease = self._stage.server.carry_out(step.change)
                assert isinstance(lease, Lease)
                election.written(lease, host.steady())
        except ApiError as error:
            election.failed(error, host.steady())
        self._settle()
        self._after(self._rng.between(0.001, 0.01), self._step)

    def _read(self) -> Lease | None:
        reply = self._stage.server.handle(Request("GET", LEASES.path("kube-system", "podium-scheduler")))
        assert isinstance(reply, Response)
        if reply.status == 404:
            return None
        lease = self._stage.server.decode(LEASES, reply.body)
        assert isinstance(lease, Lease)
        return lease

    def _settle(self) -> None:
        """A leader works; who leads no longer throws everything away and stands in line again."""
        election = self._election
        running = self.name in self._stage.processes
        if election.leading and not running:
            self.led.append(self._stage.elapsed)
            self._stage.start_scheduler(self.name, lambda: election.may_write(self._host.steady()))
        elif not election.leading and election.lost:
            self.lost += 1
            self._stage.kill(self.name)
            self._begin()


class Behind(Trouble):
    """The pods that one process watches come late; its lists are noted."""

    def __init__(self, process: str, seconds: float) -> None:
        self._process = process
        self._seconds = seconds
        self.lists: list[str] = []  # the version that each list asked for

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        if process == self._process and resource == PODS and not request.flag("watch"):
            self.lists.append(request.param("resourceVersion"))
        return None

    def lines(self, stream: Stream, lines: list[bytes]) -> list[tuple[float, bytes]]:
        late = stream.process == self._process and stream.resource == PODS
        return [(self._seconds if late else 0.0, line) for line in lines]


class Binders(Watcher):
    """Who has bound, and when last and first."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def sent(self, call: Call) -> None:
        if call.purpose == CallType.BIND:
            self.first.setdefault(call.process, self._stage.elapsed)
            self.last[call.process] = self._stage.elapsed


class StaleStandby(Fault):
    """The standby lists the newest state before it decides anything, and nobody else writes by then."""

    number = 3
    name = "a standby whose watch is behind takes over"
    horizon = 120.0

    def start(self) -> None:
        self.stage.start_controllers()
        self._first = Candidate(self.stage, "scheduler-a")
        self.stage.after(1.0, self._join)

    def _join(self) -> None:
        self._second = Candidate(self.stage, "scheduler-b")

    def arrange(self) -> None:
        self._behind = Behind("scheduler-b", 20.0)
        self._binders = Binders(self.stage)
        self._frozen = self.rng.chance(0.5)
        self._ends = self.rng.between(15.0, 45.0)
        self.stage.wire.troubles.append(self._behind)
        self.stage.watchers.append(self._binders)
        self.stage.at(self._ends, self._leave)

    def _leave(self) -> None:
        if not self._frozen:
            self._first.kill()
            return
        self._first.freeze(frozen=True)
        self.stage.after(30.0, lambda: self._first.freeze(frozen=False))

    def verify(self) -> None:
        self.expect(bool(self._second.led), "the standby never led")
        took = self._second.led[0] - self._ends
        self.expect(took <= 17.1, f"the standby led {took:.1f} s after the leader was gone")
        self.expect(self._behind.lists[:1] == [""], f"the standby listed pods as of {self._behind.lists[:1]}")
        late = self._binders.last.get("scheduler-a", 0.0)
        self.expect(late <= self._ends + 0.01, f"the old leader still bound at {late:.3f} s")

    def begin_anew(self) -> None:
        leader = self._second if self._second.leading else self._first
        leader.kill()
        Candidate(self.stage, "scheduler-c")
