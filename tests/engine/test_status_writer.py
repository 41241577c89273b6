"""What is written, when, and how much at a time."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.model.decisions import Failure, Refuse
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import PODGROUPS
from podium.engine.status_writer import (
    REPEAT_SECONDS,
    WHILE_BINDING,
    WRITES_A_SECOND,
    NullStatusWriter,
    StatusWriter,
)
from podium.engine.world import World
from podium.kube.changes import Change, Create, Patch
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Metadata, Node
from podium.reasons import NO_NODES, refuse
from tests.engine.stage import Stage

NOW = 1000.0


def patch(name: str, text: str = "") -> Patch:
    return Patch(PODS, "ns", name, {"status": {"message": text}}, subresource="status")


def status_writer(*names: str) -> StatusWriter:
    found = StatusWriter(World(DIALECTS))
    found.take(NOW)
    for name in names:
        found._put(patch(name))
    return found


def names(changes: list[Change]) -> list[str]:
    return [each.name for each in changes if isinstance(each, Patch)]


# --- the budget --------------------------------------------------------------------------------------------------


def test_a_second_has_so_many_words_and_no_more() -> None:
    many = 3 * int(WRITES_A_SECOND)
    found = status_writer(*(f"p{index}" for index in range(many)))
    assert len(found.take(NOW)) == WRITES_A_SECOND
    assert found.take(NOW) == []
    assert found.waiting == many - WRITES_A_SECOND
    assert len(found.take(NOW + 0.5)) == WRITES_A_SECOND / 2
    # What was not used is not kept for longer than a second.
    assert len(found.take(NOW + 100)) == WRITES_A_SECOND


def test_while_binds_are_under_way_there_are_fewer() -> None:
    found = status_writer(*(f"p{index}" for index in range(3 * int(WRITES_A_SECOND))))
    assert len(found.take(NOW, binding=True)) == int(WRITES_A_SECOND * WHILE_BINDING)


def test_when_the_next_word_is_due() -> None:
    found = status_writer()
    assert found.next_wake(NOW) is None
    for index in range(2 * int(WRITES_A_SECOND)):
        found._put(patch(f"p{index}"))
    assert found.next_wake(NOW) == NOW
    found.take(NOW)
    wake = found.next_wake(NOW)
    assert wake is not None
    assert wake == pytest.approx(NOW + 1 / WRITES_A_SECOND)
    assert len(found.take(wake)) == 1


def test_what_others_wait_for_goes_at_once_and_beyond_the_budget() -> None:
    found = status_writer(*(f"p{index}" for index in range(3 * int(WRITES_A_SECOND))))
    found.take(NOW)
    found._put(patch("urgent"), urgent=True)
    assert found.next_wake(NOW) == NOW
    assert names(found.take(NOW)) == ["urgent"]


def test_of_one_object_the_last_word_counts_and_one_is_under_way_at_a_time() -> None:
    found = status_writer()
    found._put(patch("p", "old"))
    found._put(patch("p", "new"))
    (first,) = found.take(NOW)
    assert first == patch("p", "new")
    found._put(patch("p", "newest"))
    found._put(patch("q"))
    assert names(found.take(NOW + 1)) == ["q"]
    found.answered(first, lost=False)
    assert found.take(NOW + 2) == [patch("p", "newest")]


def test_a_word_that_was_lost_is_said_again_unless_there_is_a_newer_one() -> None:
    found = status_writer("p")
    (first,) = found.take(NOW)
    found.answered(first, lost=True)
    assert found.take(NOW + 1) == [first]
    found._put(patch("p", "newer"))
    found.answered(first, lost=True)
    assert found.take(NOW + 2) == [patch("p", "newer")]
    found._put(patch("p", "urgent"), urgent=True)
    found.answered(patch("p", "newer"), lost=True)  # another object of the same content: not the one under way
    assert found.take(NOW + 3) == []


# --- the log -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [StatusWriter, NullStatusWriter])
def test_a_plugin_that_fails_in_every_turn_is_logged_once_in_a_while(
    kind: type[StatusWriter], caplog: pytest.LogCaptureFixture
) -> None:
    found = kind(World(DIALECTS))
    for now in (NOW, NOW + 1, NOW + REPEAT_SECONDS - 1):
        found.decided([Failure("plugin x", "bug", "trace")], now)
    found.decided([Failure("plugin y", "bug", "trace")], NOW)
    assert len(caplog.records) == 2
    found.decided([Failure("plugin x", "bug", "trace")], NOW + REPEAT_SECONDS)
    assert len(caplog.records) == 3
    assert "plugin x failed: bug\ntrace" in caplog.records[0].getMessage()


def test_silence_says_nothing_and_keeps_nothing() -> None:
    world = World(DIALECTS)
    found = NullStatusWriter(world)
    node = Node(metadata=Metadata(name="n", uid="n"))
    world.blame(NODES, node, refuse(NO_NODES))
    found.bad_objects((), NOW)
    assert list(world.take_faults()) == []
    found.decided([Refuse("ns/g", refuse(NO_NODES))], NOW)
    found.turn_ended(NOW)
    found.progress(NOW)
    assert found.take(NOW) == []
    assert found.next_wake(NOW) is None


# --- objects -----------------------------------------------------------------------------------------------------


def events(changes: list[Change]) -> list[Any]:
    return [each.document["message"] for each in changes if isinstance(each, Create)]


def test_a_bad_object_is_blamed_once_for_each_sentence() -> None:
    world = World(DIALECTS)
    found = StatusWriter(world)
    node = Node(metadata=Metadata(name="n", uid="n"))
    for _ in range(2):
        world.blame(NODES, node, refuse(NO_NODES))
        found.bad_objects((), NOW)
    assert len(events(found.take(NOW))) == 1
    found.forget("n")
    world.blame(NODES, node, refuse(NO_NODES))
    found.bad_objects((), NOW + 100)
    assert found.waiting == 1


def test_turns_have_numbers_in_what_groups_say() -> None:
    stage = Stage()
    stage.node("n1", cpu="1")
    stage.group("g", 2)
    for number in range(2):
        stage.pod(f"g-{number}", "g")
    stage.settle(5)
    first = _transition(stage)
    stage.node("n2", cpu="1")
    stage.settle(5)
    assert first.startswith("turn-")
    assert _transition(stage) != first


def _transition(stage: Stage) -> str:
    conditions = stage.get(PODGROUPS, "g")["status"]["conditions"]
    return str(next(each for each in conditions if each["status"] == "True")["transitionID"])
