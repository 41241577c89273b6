"""Binds whose answers are lost, and binds that fail."""

from __future__ import annotations

from podium.engine.backoff import FIRST_BACKOFF
from podium.engine.dispatcher import CallType
from podium.errors import ApiError, TransportError
from podium.sim.binds import failure
from podium.sim.histories.fault import Fault
from podium.sim.histories.faults.crashes import Behind
from podium.sim.histories.stage import SCHEDULER, Watcher
from podium.sim.histories.wire import Call, Trouble
from podium.sim.rng import Rng

_LIKELY = 0.3


class Lossy(Trouble):
    """Some binds are carried out, and nobody hears of it."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self.lost: set[str] = set()  # pods

    def after(self, call: Call) -> Exception | None:
        if call.purpose != CallType.BIND or not self._rng.chance(_LIKELY):
            return None
        self.lost.add(call.ticket.key[1])
        return TransportError("the connection was reset")


class LostAnswers(Fault):
    """The pod is asked for how it stands, counted once, and never bound again."""

    number = 5
    name = "bind answers lost after the commit"

    def arrange(self) -> None:
        self._lossy = Lossy(self.rng)
        self._asked = Asked(self._lossy)
        self.stage.wire.troubles.append(self._lossy)
        # The watch is too late to be of help: the pod has to be asked.
        self.stage.wire.troubles.append(Behind(SCHEDULER, 4.0))
        self.stage.watchers.append(self._asked)

    def verify(self) -> None:
        for uid in sorted(self._lossy.lost):
            # One that was deleted before was not bound, and may be tried again until the watch says so.
            sent = self.rules.binds[uid] if uid in self.rules.homes else 1
            self.expect(sent == 1, f"pod {uid} was bound, and was sent {sent} binds")
            self.expect(
                uid in self._asked.about, f"nobody asked how pod {uid} stands, whose bind was not answered"
            )


class Asked(Watcher):
    """Notes which of the pods whose binds were not answered have been asked about, or were seen before that."""

    def __init__(self, lossy: Lossy) -> None:
        self.about: set[str] = set()
        self._lossy = lossy

    def sent(self, call: Call) -> None:
        if call.purpose == CallType.ASK:
            self.about.add(call.ticket.key[1])

    def answered(self, call: Call, error: Exception | None) -> None:
        if call.purpose == CallType.BIND and call.ticket.key[1] in self._lossy.lost:
            self.about.add(call.ticket.key[1])


class Failing(Trouble):
    """Some binds are refused or not answered, before or after they were carried out."""

    def __init__(self, rng: Rng, likely: float = _LIKELY) -> None:
        self._rng = rng
        self._likely = likely

    def before(self, call: Call) -> Exception | None:
        if call.purpose != CallType.BIND or not self._rng.chance(self._likely):
            return None
        return failure(self._rng)


class Attempts(Watcher):
    """When binds of each pod failed, with how long nobody should have tried again."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}
        self.worst = 0

    def sent(self, call: Call) -> None:
        if call.purpose != CallType.BIND:
            return
        pod = call.ticket.key[1]
        until = self._until.pop(pod, 0.0)
        # A clock of a whole step may end a little early by rounding.
        self._fault.expect(
            self._fault.stage.elapsed >= until - 0.01, f"pod {pod} is tried again before {until:.3f} s"
        )

    def answered(self, call: Call, error: Exception | None) -> None:
        if call.purpose != CallType.BIND or error is None:
            return
        pod = call.ticket.key[1]
        count = self._failures[pod] = self._failures.get(pod, 0) + 1
        self.worst = max(self.worst, count)
        asked = error.details.get("retryAfterSeconds", 0) if isinstance(error, ApiError) else 0
        self._until[pod] = self._fault.stage.elapsed + max(float(asked), FIRST_BACKOFF)


class FailedBinds(Fault):
    """Nobody is tried again before the back-off is over, or before the server said; gangs end whole or wait."""

    number = 6
    name = "binds that fail"

    def arrange(self) -> None:
        self._attempts = Attempts(self)
        self.stage.wire.troubles.append(Failing(self.rng))
        self.stage.watchers.append(self._attempts)
