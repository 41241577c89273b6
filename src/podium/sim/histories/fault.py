"""What a fault is to the histories: whom it lives among, what goes wrong until when, what is expected then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from podium.core.profiles.profile import Profile
from podium.sim.histories import population as p
from podium.sim.histories.invariants import Invariants
from podium.sim.histories.stage import SCHEDULER, Stage, Violation
from podium.sim.rng import Rng

Document = dict[str, Any]


class Fault:
    """One fault in one history.  A subclass says what differs from a history in which all goes well."""

    number: ClassVar[int] = 0
    name: ClassVar[str] = ""
    horizon: ClassVar[float] = 90.0  # seconds after which everything goes well again
    quiet: ClassVar[float] = 65.0  # seconds without work that are rest: longer than any wait of the scheduler's

    def __init__(self, stage: Stage, rules: Invariants, seed: int) -> None:
        self.stage = stage
        self.rules = rules
        self.seed = seed
        self.rng = stage.rng.fork(self.name)

    @classmethod
    def profiles(cls, given: Mapping[str, Profile]) -> Mapping[str, Profile]:
        """The profiles of the scheduler; by default those that everybody has."""
        return given

    def populate(self) -> None:
        """Nodes, queues and workloads: by default some of each kind, coming over time."""
        rng = self.rng.fork("population")
        self.stage.apply(*p.surroundings(), *p.some_nodes(rng, rng.whole(3, 5)))
        self.arriving(rng, p.some_workloads(rng, rng.whole(6, 9)), self.horizon * 0.7)

    def arriving(self, rng: Rng, workloads: list[list[Document]], within: float) -> None:
        """Lets workloads come at any time of the first seconds; every third one is given up again later."""
        for number, documents in enumerate(workloads):
            at = rng.between(0.0, within)
            self.stage.at(at, self._coming(documents))
            if number % 3 == 2:
                self.stage.at(at + rng.between(5.0, 60.0), self._going(documents[0]))

    def _coming(self, documents: list[Document]) -> Callable[[], None]:
        return lambda: self.stage.apply(*documents)

    def _going(self, document: Document) -> Callable[[], None]:
        resource = self.stage.server.served(document["apiVersion"], document["kind"])
        return lambda: self.stage.delete(resource, document["metadata"]["name"])

    def start(self) -> None:
        """Who runs."""
        self.stage.start_controllers()
        self.stage.start_scheduler()

    def arrange(self) -> None:
        """What goes wrong, and when."""

    def end(self) -> None:
        """Everything goes well from now on."""
        self.stage.wire.calm()

    def begin_anew(self) -> None:
        """At rest: a scheduler that knows only what stands in the API takes the place of the one that runs."""
        self.stage.restart(SCHEDULER)

    def verify(self) -> None:
        """What is expected of this fault beyond what always holds, when all is at rest."""

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise Violation(f"fault {self.number}", what, self.stage.elapsed)
