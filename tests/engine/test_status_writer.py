"""What is written, when, and how much at a time."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from podium.core.model.decisions import Failure, Refuse
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import PODGROUPS
from podium.engine.null_status_writer import NullStatusWriter
from podium.engine.status_writer import REPEAT_SECONDS, StatusWriter
from podium.engine.world import World
from podium.engine.write_queue import AT_ONCE
from podium.kube.changes import Change, Create
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Metadata, Node
from podium.reasons import NO_NODES, refuse
from tests.engine.stage import Stage

NOW = 1000.0


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
    assert sum(found.turn_ended(NOW)) == 0
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


# --- what changes again and again --------------------------------------------------------------------------------


def _flap(stage: Stage, times: int) -> None:
    """A node is closed and opened ten times a second: why something waits is another reason each time."""
    for number in range(times):
        stage.cordon("n1", number % 2 == 0)
        stage.settle(0.0)
        stage.server.now += 0.1


def test_a_flapping_node_costs_one_status_a_second_and_the_last_one_is_true() -> None:
    stage = Stage()
    stage.node("n1", cpu="1")
    stage.group("g", 2)
    for number in range(2):
        stage.pod(f"g-{number}", "g")
    stage.settle(5)
    stage.tickets.clear()
    _flap(stage, 101)  # ends with a closed node
    written = Counter(each.change.name for each in stage.tickets if each.change.resource in (PODS, PODGROUPS))
    stage.settle(5)
    conditions = stage.get(PODGROUPS, "g")["status"]["conditions"]
    closed = "1 node(s) were unschedulable"
    assert closed in next(each["message"] for each in conditions if each["status"] == "True")
    assert closed in stage.message("g-0")
    assert set(written) == {"g", "g-0", "g-1"}
    assert max(written.values()) <= AT_ONCE + 11, "some at once, then one a second"


def test_a_pod_with_a_place_is_not_said_to_wait() -> None:
    """What was put off is not written when it is no longer true."""
    stage = Stage()
    stage.node("n1", cpu="1")
    stage.pod("p", cpu="2")
    stage.settle(5)
    _flap(stage, 40)
    stage.cordon("n1", False)
    stage.node("n2", cpu="4")
    stage.settle(5)
    assert stage.placed == {"p": "n2"}
    conditions = stage.get(PODS, "p")["status"]["conditions"]
    assert [each["status"] for each in conditions if each["type"] == "PodScheduled"] == ["True"]


def test_numbers_that_were_left_out_are_written_though_nothing_else_happens() -> None:
    stage = Stage()
    stage.node("n1")
    stage.group("ring", 3)

    def told() -> list[str]:
        pods = [stage.server.ok("GET", PODS.path("default", f"ring-{number}")) for number in range(2)]
        return [each["message"] for pod in pods for each in pod["status"]["conditions"]]

    for number in range(2):
        stage.pod(f"ring-{number}", "ring")
        stage.settle(5.0)
    assert [re.findall(r"has (\d)", each) for each in told()] == [["1"], ["2"]]
    stage.settle(REPEAT_SECONDS)
    assert [re.findall(r"has (\d)", each) for each in told()] == [["2"], ["2"]]
