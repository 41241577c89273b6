"""Watches that break, lie or fall silent."""

from __future__ import annotations

from functools import partial

import msgspec

from podium.dialects import authoring
from podium.dialects.workloads import Ask
from podium.embedded.exchange import refusal
from podium.errors import ApiError
from podium.kube import status
from podium.kube.reflector import STALL_SECONDS
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.status import status_document
from podium.kube.transport import Request, Response
from podium.sim.histories import population as p
from podium.sim.histories.fault import Fault
from podium.sim.histories.process import Process, Watch
from podium.sim.histories.stage import SCHEDULER, Stage, Watcher
from podium.sim.histories.wire import Stream, Trouble
from podium.sim.rng import Rng

_WATCHED = (PODS, NODES, authoring().groups)
_LATE = 2.0  # seconds that a line may take


def scheduler_of(stage: Stage) -> Process:
    return stage.processes[SCHEDULER]


def watch_of(stage: Stage, resource: Resource) -> Watch:
    return scheduler_of(stage).watches[resource]


# --- versions that are gone, or are yet to come ------------------------------------------------------------------


class Expired(Trouble):
    """While it lasts, watches of some resources are refused for their version, and lists now and then."""

    def __init__(self, rng: Rng, stage: Stage) -> None:
        self._rng = rng
        self._stage = stage
        self._until: dict[Resource, float] = {}
        self.refused = 0

    def refuse(self, resource: Resource, seconds: float) -> None:
        self._until[resource] = self._stage.elapsed + seconds

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        if process != SCHEDULER or self._stage.elapsed >= self._until.get(resource, 0.0):
            return None
        if not request.flag("watch") and not request.param("continue"):
            return None
        self.refused += 1
        return refusal(self._rng.pick((status.gone("too old resource version: 1 (2)"), too_large())))


def too_large() -> ApiError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", "Timeout: Too large resource version: 9, current: 8", details)


class Compaction(Fault):
    """A new list, later each time, finds what was missed, deletions as well, without a restart."""

    number = 7
    name = "versions that are gone or too large"

    def arrange(self) -> None:
        self._expired = Expired(self.rng, self.stage)
        self.stage.wire.troubles.append(self._expired)
        for _ in range(self.rng.whole(4, 8)):
            self.stage.at(self.rng.between(5.0, 80.0), partial(self._break, self.rng.pick(_WATCHED)))

    def _break(self, resource: Resource) -> None:
        """The history is thrown away, and the watch with it; events until the next one are never sent."""
        watch = watch_of(self.stage, resource)
        how = self.rng.whole(0, 2)
        if how == 0:
            bucket = self.stage.server.store.bucket(resource)
            bucket.trimmed, bucket.oldest = bucket.end, self.stage.server.store.version
            bucket.history.clear()
        else:
            self._expired.refuse(resource, self.rng.between(0.5, 20.0))
        watch.cut(status.gone("too old resource version") if how == 2 else None)

    def verify(self) -> None:
        lists = {each: watch_of(self.stage, each).lists for each in _WATCHED}
        self.expect(any(len(times) > 1 for times in lists.values()), "nothing was listed again")
        for resource, times in lists.items():
            for first, later in zip(times, times[6:], strict=False):
                self.expect(
                    later - first > 10.0, f"{resource.plural} were listed seven times in {later - first:.1f} s"
                )
        for resource in _WATCHED:
            trouble = watch_of(self.stage, resource).reflector.trouble
            self.expect(not trouble, f"{resource.plural} are still in trouble: {trouble}")


# --- abuse -------------------------------------------------------------------------------


class Abuse(Trouble):
    """Events come twice, late, and old ones again; of an object that came and went only the deletion is sent."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._old: dict[Stream, bytes] = {}
        self._dead: dict[tuple[str, Resource], int] = {}  # connections that have fallen silent

    def stall(self, stream: Stream) -> None:
        self._dead[stream.process, stream.resource] = stream.opened

    def silent(self, stream: Stream) -> bool:
        return self._dead.get((stream.process, stream.resource)) == stream.opened

    def lines(self, stream: Stream, lines: list[bytes]) -> list[tuple[float, bytes]]:
        arriving: list[tuple[float, bytes]] = []
        for line in lines:
            if b'"ADDED"' in line[:20] and b'"coalesced"' in line:
                continue
            late = self._rng.between(0.0, _LATE) if self._rng.chance(0.2) else 0.0
            arriving += [(late, line)] * (2 if self._rng.chance(0.2) else 1)
            if self._rng.chance(0.1) and stream in self._old:
                arriving.append((0.0, self._old[stream]))
            if b'"ADDED"' in line[:20] or b'"MODIFIED"' in line[:24]:
                self._old[stream] = line
        return arriving


class WatchAbuse(Fault):
    """Handlers take everything twice; a connection that is dead is found out by its silence."""

    number = 8
    name = "watches that lie, repeat and fall silent"
    horizon = 240.0

    def arrange(self) -> None:
        self._abuse = Abuse(self.rng)
        self._stalled: list[tuple[Resource, float]] = []
        self.stage.wire.troubles.append(self._abuse)
        # The last connection cannot come up again before the fault is over.
        dead, ended = self.rng.shuffled(_WATCHED)[:2]
        self.stage.at(self.rng.between(20.0, 100.0), partial(self._stall, dead))
        self.stage.at(self.rng.between(100.0, 160.0), partial(self._resume, ended))
        for number in range(6):
            self.stage.at(self.rng.between(5.0, 150.0), partial(self._blink, f"coalesced-{number}"))

    def _stall(self, resource: Resource) -> None:
        self._abuse.stall(watch_of(self.stage, resource).stream)
        self._stalled.append((resource, self.stage.elapsed))

    def _resume(self, resource: Resource) -> None:
        """A connection ends after it has said nothing but bookmarks, or little else."""
        watch_of(self.stage, resource).cut()

    def _blink(self, name: str) -> None:
        ask = Ask(labels={"coalesced": "true"})
        self.stage.apply(p.pod(name, ask))
        self.stage.delete(PODS, name, grace=0)

    def verify(self) -> None:
        for resource, since in self._stalled:
            found = [at for at in watch_of(self.stage, resource).stalls if at >= since]
            self.expect(bool(found), f"nobody noticed that the watch of {resource.plural} was dead")
            took = found[0] - since
            self.expect(
                took <= STALL_SECONDS + _LATE, f"it took {took:.1f} s to notice that {resource.plural} were silent"
            )
        for resource in _WATCHED:
            lists = watch_of(self.stage, resource).lists
            self.expect(len(lists) == 1, f"{resource.plural} were listed again, and their watch could be resumed")


# --- time travel -------------------------------------------------------------------------------


class OldView(Trouble):
    """One process is served from a server that is behind."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lists: dict[Resource, Response] = {}
        self._until = 0.0
        self.served = 0

    def remember(self) -> None:
        for resource in _WATCHED:
            reply = self._stage.server.handle(Request("GET", resource.path()))
            assert isinstance(reply, Response)
            self._lists[resource] = reply

    def serve(self, seconds: float) -> None:
        self._until = self._stage.elapsed + seconds

    def answer(self, process: str, resource: Resource, request: Request) -> Response | Exception | None:
        if process != SCHEDULER or self._stage.elapsed >= self._until or resource not in self._lists:
            return None
        self.served += 1
        return refusal(too_large()) if request.flag("watch") else self._lists[resource]


class Forward(Watcher):
    """No watch may ever know an older version than it knew."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._versions: dict[Resource, int] = {}

    def began(self, process: Process) -> None:
        self._versions.clear()

    def stepped(self) -> None:
        process = self._fault.stage.processes.get(SCHEDULER)
        if process is None or not process.watches:
            return
        for resource in _WATCHED:
            version = int(process.watches[resource].reflector.version or 0)
            before = self._versions.get(resource, 0)
            self._fault.expect(
                version >= before, f"{resource.plural} went back from version {before} to {version}"
            )
            self._versions[resource] = version


class TimeTravel(Fault):
    """A list that is older than what is known is refused, and asked for again later."""

    number = 9
    name = "a server that is behind"

    def arrange(self) -> None:
        self._old = OldView(self.stage)
        self.stage.wire.troubles.append(self._old)
        self.stage.watchers.append(Forward(self))
        remembered = self.rng.between(3.0, 25.0)
        self.stage.at(remembered, self._old.remember)
        self.stage.at(remembered + self.rng.between(5.0, 30.0), self._travel)

    def _travel(self) -> None:
        self._old.serve(self.rng.between(5.0, 40.0))
        for resource in _WATCHED:
            line = msgspec.json.encode({"type": "ERROR", "object": status_document(status.gone("too old"))})
            watch_of(self.stage, resource).interrupt(line)

    def verify(self) -> None:
        self.expect(self._old.served > 0, "nobody was served an old list")
