"""A server that fails in the middle of a plan, in many shapes: some members of a gang are bound, others are not.

Whatever it is, it ends.  Where there is room for all, every gang is completed, and nobody loses a pod by it.
Where there is not, several gangs may be bound half and stand in each other's way: those whose pods come again give
way, the others keep what they have.  Most gangs here are of pods that nobody would create again.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from podium.dialects import authoring
from podium.dialects.workloads import Ask
from podium.engine.dispatcher import CallType
from podium.engine.effects import GANG_PLAN
from podium.errors import ApiError, TransportError
from podium.kube.changes import Create
from podium.kube.resources import Resource
from podium.kube.status import too_many_requests
from podium.kube.transport import Request, Response
from podium.sim.histories import population as p
from podium.sim.histories.fault import Document, Fault
from podium.sim.histories.stage import SCHEDULER, Stage
from podium.sim.histories.wire import Call, Stream, Trouble
from podium.sim.rng import Rng

_PER_NODE = 8
_TENS = 10  # every so many seeds the gangs are large ones
_EACH_WAY = 0.4  # seconds that a message takes to a slow server, and back


class Outage(Trouble):
    """Begins with some bind of each gang's, and lasts for a while.  Subclasses say what it is like."""

    def __init__(self, stage: Stage, rng: Rng, longest: float) -> None:
        self.hits = 0  # requests that it has touched
        self.stage = stage
        self.rng = rng
        self._longest = longest
        self._binds: dict[str, int] = {}  # by gang
        self._fatal: dict[str, int] = {}  # the bind of a gang with which it begins
        self._since = 0.0
        self._until = 0.0

    def strikes(self, gang: str, bind: int) -> None:
        """Begins with that bind of a gang."""
        self._fatal[gang] = bind

    @property
    def on(self) -> bool:
        return self.stage.elapsed < self._until

    def before(self, call: Call) -> Exception | None:
        if call.process != SCHEDULER:
            return None
        if call.purpose == CallType.BIND:
            self._count(call)
        first = self.on and self.stage.elapsed == self._since
        error = self.refuse(call, first) if self.on else None
        self.hits += error is not None
        return error

    def after(self, call: Call) -> Exception | None:
        if call.process != SCHEDULER or not self.on:
            return None
        error = self.lose(call)
        self.hits += error is not None
        return error

    def _count(self, call: Call) -> None:
        change = call.ticket.change
        assert isinstance(change, Create)
        gang = _workload(change.document["metadata"]["annotations"][GANG_PLAN].rsplit("/", 3)[1])
        self._binds[gang] = self._binds.get(gang, 0) + 1
        if self._fatal.get(gang) == self._binds[gang]:
            self._since = self.stage.elapsed
            self._until = self._since + self.rng.between(0.5, self._longest)
            self.began()

    def began(self) -> None:
        """What happens at once."""

    def refuse(self, call: Call, first: bool) -> Exception | None:
        """What a request is answered with that is not carried out; the first one is always hit."""
        return None

    def lose(self, call: Call) -> Exception | None:
        """What a request is answered with that was carried out."""
        return None


def _workload(name: str) -> str:
    """The name of what a group or a pod was made for: theirs are longer."""
    return "-".join(name.split("-")[:2])


class Resets(Outage):
    """All connections are reset, and nobody can connect for a while."""

    def began(self) -> None:
        self.cut()

    def cut(self) -> None:
        process = self.stage.processes.get(SCHEDULER)
        if process is not None:
            for watch in process.watches.values():
                self.stage.after(0.0, partial(watch.cut, TransportError("the connection was reset")))

    def refuse(self, call: Call, first: bool) -> Exception | None:
        return TransportError("the connection was refused") if first or self.rng.chance(0.8) else None

    def lose(self, call: Call) -> Exception | None:
        return TransportError("the connection was reset")

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        return TransportError("the connection was refused") if process == SCHEDULER and self.on else None


class Breaks(Resets):
    """Connections break once a second: what is under way then is lost, before or after it was carried out."""

    def began(self) -> None:
        if self.on:
            self.cut()
            self.stage.after(1.0, self.began)

    @property
    def _breaking(self) -> bool:
        return (self.stage.elapsed - self._since) % 1.0 < 0.1

    def refuse(self, call: Call, first: bool) -> Exception | None:
        lost = first or (self._breaking and self.rng.chance(0.5))
        return TransportError("the connection was reset") if lost else None

    def lose(self, call: Call) -> Exception | None:
        return TransportError("the connection was reset") if self._breaking else None

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        broken = process == SCHEDULER and self.on and self._breaking
        return TransportError("the connection was reset") if broken else None


class Slow(Outage):
    """Every message takes long, in both directions, and so do the lines of watches."""

    def delay(self, call: Call) -> float:
        self.hits += call.process == SCHEDULER and self.on
        return self.delay_back(call)

    def delay_back(self, call: Call) -> float:
        return _EACH_WAY if call.process == SCHEDULER and self.on else 0.0

    def lines(self, stream: Stream, lines: list[bytes]) -> list[tuple[float, bytes]]:
        late = _EACH_WAY if stream.process == SCHEDULER and self.on else 0.0
        return [(late, line) for line in lines]


class Throttled(Outage):
    """The server has too much to do: it says so, with or without a word on when to come back."""

    def refuse(self, call: Call, first: bool) -> Exception | None:
        if not first and not self.rng.chance(0.7):
            return None
        bare = ApiError(429, "TooManyRequests", "slow down")
        return bare if self.rng.chance(0.5) else too_many_requests("slow down", self.rng.whole(1, 5))


class Failures(Outage):
    """The server fails inside: before or after the write, nobody knows."""

    def refuse(self, call: Call, first: bool) -> Exception | None:
        return _failure(self.rng) if first or self.rng.chance(0.5) else None

    def lose(self, call: Call) -> Exception | None:
        return _failure(self.rng) if self.rng.chance(0.5) else None


def _failure(rng: Rng) -> Exception:
    return rng.pick(
        (
            ApiError(500, "InternalError", "etcdserver: request timed out"),
            ApiError(503, "ServiceUnavailable", "the server is shutting down"),
            ApiError(504, "Timeout", "the request did not complete within 34 s"),
        )
    )


class Hiccup(Fault):
    """A history with such a server."""

    horizon = 120.0
    outage: ClassVar[type[Outage]] = Outage
    longest: ClassVar[float] = 10.0  # seconds that one lasts

    def populate(self) -> None:
        rng = self.rng.fork("population")
        large = self.seed % _TENS == 0
        sizes = [rng.pick((60, 40) if large else (3, 6, 12, 24)) for _ in range(rng.whole(2, 4))]
        # Mostly there is room for all; else some wait for as long as others run.
        self._roomy = rng.chance(0.7)
        room = sum(sizes) if self._roomy else max(sizes) + rng.whole(0, 3)
        nodes = -(-room // _PER_NODE)
        self.stage.apply(
            *p.surroundings(),
            *(p.node(f"node-{each:02}", each, cpu=64, gpus=_PER_NODE) for each in range(nodes)),
        )
        self._outage = self.outage(self.stage, self.rng, self.longest)
        self._sizes: dict[str, int] = {}
        for number, size in enumerate(sizes):
            name = f"gang-{number}"
            self._sizes[name] = size
            self._outage.strikes(name, rng.whole(2, size))
            self.stage.at(rng.between(0.0, 30.0), partial(self.stage.apply, *self._gang(rng, name, size)))

    def _gang(self, rng: Rng, name: str, size: int) -> list[Document]:
        ask = Ask(gpus=1, seconds=rng.pick((20.0, 60.0)), scheduler=rng.pick((p.TAKING, p.PEACEFUL)))
        if rng.chance(0.25):
            return [authoring().job(name, size, ask)]
        return p.gang(name, size, ask)

    def arrange(self) -> None:
        self.stage.wire.troubles.append(self._outage)

    def verify(self) -> None:
        self.expect(self._outage.hits > 0, "nothing went wrong")
        if not self._roomy:
            return
        self.expect(not self.rules.evictions, f"{len(self.rules.evictions)} pods were evicted")
        done = dict.fromkeys(self._sizes, 0)
        for pod in self.stage.pods.values():
            done[_workload(pod.name)] += pod.status.phase == "Succeeded"
        self.expect(done == self._sizes, f"members that had their turn: {done}, not {self._sizes}")


class Reset(Hiccup):
    number = 20
    name = "connections reset in the middle of a plan"
    outage = Resets
    longest = 45.0  # longer than a half-bound gang may hold places in vain


class Breaking(Hiccup):
    number = 21
    name = "connections that break every second"
    outage = Breaks
    longest = 45.0


class SlowServer(Hiccup):
    number = 22
    name = "a server that becomes slow in the middle of a plan"
    outage = Slow
    longest = 45.0


class Throttling(Hiccup):
    number = 23
    name = "too many requests in the middle of a plan"
    outage = Throttled


class Failing(Hiccup):
    number = 24
    name = "a server that fails inside in the middle of a plan"
    outage = Failures
    longest = 45.0
