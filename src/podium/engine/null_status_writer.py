"""The status writer of runs that nobody reads: only what controllers act on is written."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from podium.core.model.decisions import Decision, Failure, Release, Reserve, Resize
from podium.core.model.model import Task
from podium.engine.status_writer import PORTION, StatusWriter
from podium.reasons import Refusal


class NullStatusWriter(StatusWriter):
    """Writes no conditions and events, for who watches the model itself: a simulation.  Failures are logged."""

    def decided(self, decisions: Iterable[Decision], now: float) -> None:
        acted_on: dict[str, None] = {}
        for decision in decisions:
            if isinstance(decision, Failure):
                self._log(decision, now)
            elif isinstance(decision, Reserve | Release | Resize):
                acted_on[decision.gang] = None  # what controllers act on is written all the same
        self._acted_on |= acted_on

    def _write_decided(self, gangs: Iterable[str]) -> None:
        for id in gangs:
            gang = self._world.cluster.gangs.get(id)
            found = self._world.group_of(gang) if gang is not None else None
            if gang is not None and found is not None and found[1].decided is not None:
                patch = found[1].decided(found[2], gang, self._world.places_of(gang))
                if patch is not None:
                    self._writes.put(patch, urgent=True)

    def bad_objects(self, profiles: Container[str], now: float) -> bool:
        self._world.take_changed_refusals(PORTION)
        self._world.take_faults(PORTION)
        return not self._world.reports_waiting

    def bound(self, task: Task, now: float) -> None:
        return

    def bind_failed(self, task: Task, refusal: Refusal, now: float) -> None:
        return

    def turn_ended(self, now: float) -> Iterator[int]:
        acted_on, self._acted_on = self._acted_on, {}
        self._write_decided(acted_on)
        yield len(acted_on)

    def progress(self, now: float) -> None:
        self._world.take_faults()
        gangs = self._world.cluster.gangs
        found = (gangs.get(id) for id in self._world.take_moved())
        slotted = (
            each.id for each in found if each is not None and any(task.slot for task in each.tasks.values())
        )
        self._write_decided(slotted)  # they may have lost places
