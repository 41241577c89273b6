"""A machine that raises is built anew, is told everything again, and harms nobody beside it."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import ClassVar

import msgspec
import pytest

from podium.kube.changes import Delete
from podium.kube.controller import Ticket
from podium.kube.resources import CONFIGMAPS, Resource
from podium.kube.restarting import FIRST_PAUSE, Restarting
from podium.kube.wire import Object, struct_of


class Brittle:
    """Raises whatever it is told to, where it is told to."""

    made: ClassVar[list[Brittle]] = []

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.listed: set[Resource] = set()
        self.answered: list[Ticket] = []
        self.out: list[Ticket] = []
        self.broken = ""
        Brittle.made.append(self)

    @property
    def resources(self) -> set[Resource]:
        return {CONFIGMAPS}

    def _at(self, place: str) -> None:
        if self.broken == place:
            raise ValueError(f"a bug in {place}")

    def serve(self, resource: Resource) -> None:
        self._at("serve")

    def withdraw(self, resource: Resource) -> None:
        self._at("withdraw")

    def synced(self, resource: Resource) -> None:
        self._at("synced")
        self.listed.add(resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        self._at("observe")
        self.known[obj.name] = obj.metadata.resource_version

    def forget(self, resource: Resource, obj: Object) -> None:
        self._at("forget")
        self.known.pop(obj.name, None)

    def run(self, now: float, budget: int) -> list[Ticket]:
        self._at("run")
        taken, self.out = self.out, []
        return taken

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        self._at("done")
        self.answered.append(ticket)

    def next_wake(self, now: float) -> float | None:
        self._at("next_wake")
        return None


def thing(name: str, version: int = 1) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}
    return msgspec.convert({"metadata": metadata}, struct_of(CONFIGMAPS))


def ticket() -> Ticket:
    return Ticket("x", ("default", "a"), Delete(CONFIGMAPS, "default", "a"))


@pytest.fixture
def machine() -> Restarting:
    Brittle.made = []
    machine = Restarting(Brittle, "the tester")
    machine.serve(CONFIGMAPS)
    for number in range(5):
        machine.observe(CONFIGMAPS, thing(f"c{number}"))
    machine.synced(CONFIGMAPS)
    return machine


def advance(machine: Restarting, now: float, steps: int = 20) -> None:
    for _ in range(steps):
        machine.run(now, 2)
        machine.next_wake(now)


@pytest.mark.parametrize("place", ["serve", "synced", "observe", "forget", "run", "done", "next_wake"])
def test_it_is_built_anew_and_told_everything_again(
    machine: Restarting, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent = ticket()
    Brittle.made[0].out = [sent]
    assert machine.run(0.0, 10) == [sent]
    Brittle.made[0].broken = place
    with caplog.at_level(logging.ERROR):
        machine.serve(CONFIGMAPS)
        machine.observe(CONFIGMAPS, thing("new"))
        machine.forget(CONFIGMAPS, thing("c0"))
        machine.synced(CONFIGMAPS)
        machine.done(sent, None, None, 0.0)
        advance(machine, 0.0)
    assert [record.message for record in caplog.records] == ["the tester failed; it is started anew"]
    assert len(Brittle.made) == 1, "not at once"
    assert machine.next_wake(0.5) == FIRST_PAUSE
    machine.observe(CONFIGMAPS, thing("c1", 2))
    advance(machine, FIRST_PAUSE)
    _, second = Brittle.made
    assert second.known == {"c1": "2", "c2": "1", "c3": "1", "c4": "1", "new": "1"}
    assert second.listed == {CONFIGMAPS}
    assert machine.restarts == 1
    machine.observe(CONFIGMAPS, thing("c9"))
    assert "c9" in second.known


def test_what_the_old_one_had_asked_for_is_awaited_and_not_told_to_the_new_one(machine: Restarting) -> None:
    sent = ticket()
    Brittle.made[0].out = [sent]
    machine.run(0.0, 10)
    Brittle.made[0].broken = "run"
    advance(machine, 0.0)
    assert machine.next_wake(5.0) is None, "the answer wakes it"
    advance(machine, 5.0)
    assert len(Brittle.made) == 1
    machine.done(sent, None, None, 5.0)
    advance(machine, 5.0)
    assert len(Brittle.made) == 2
    assert not Brittle.made[1].answered


def test_it_is_given_longer_pauses(machine: Restarting) -> None:
    now, starts = 0.0, []
    while now < 40.0:
        Brittle.made[-1].broken = "run"
        before = len(Brittle.made)
        advance(machine, now)
        if len(Brittle.made) > before:
            starts.append(now)
        now += 0.5
    pauses = [round(later - first) for first, later in pairwise(starts)]
    assert pauses == sorted(pauses)
    assert 2 <= len(starts) <= 6


def test_what_went_while_it_was_told_anew_is_not_told(machine: Restarting) -> None:
    Brittle.made[0].broken = "run"
    advance(machine, 0.0)
    machine.run(FIRST_PAUSE, 1)  # one has been told
    for number in range(5):
        machine.forget(CONFIGMAPS, thing(f"c{number}"))
    advance(machine, FIRST_PAUSE)
    assert Brittle.made[1].known == {}


def test_what_it_watches_stays_while_nothing_runs(machine: Restarting, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.resources == {CONFIGMAPS}
    Brittle.made[0].broken = "run"
    machine.run(0.0, 2)
    monkeypatch.setattr(Brittle, "resources", property(lambda self: set()))
    assert machine.resources == {CONFIGMAPS}, "what a broken one says does not count"
    advance(machine, 0.0)
    advance(machine, 1000.0)
    assert machine.resources == set()
