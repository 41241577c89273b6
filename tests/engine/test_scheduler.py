"""The scheduler as a machine: gangs, refusals, evictions, and every outcome that a bind can have."""

from __future__ import annotations

import pytest

from podium.dialects.volcano.names import PODGROUPS
from podium.engine.dispatcher import CallType
from podium.engine.effects import GANG_PLAN
from podium.errors import ApiError, TransportError
from podium.kube.controller import Ticket
from podium.kube.resources import PODS
from tests.embedded.server import pod
from tests.engine.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_lone_pod_is_placed_at_once(stage: Stage) -> None:
    stage.node("n1")
    stage.pod("p")
    before = stage.server.now
    stage.settle()
    assert stage.placed == {"p": "n1"}
    assert stage.server.now < before + 0.1


def test_a_gang_starts_whole_or_not_at_all(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.group("g", 3)
    for index in range(3):
        stage.pod(f"g-{index}", "g")
    stage.settle()
    assert stage.placed == {}
    stage.node("n2", cpu="2")
    stage.settle()
    assert len(stage.placed) == 3
    plans = {stage.get(PODS, f"g-{index}")["metadata"]["annotations"][GANG_PLAN] for index in range(3)}
    assert len(plans) == 1
    assert plans.pop().endswith("/3")


def test_a_waiting_pod_says_why(stage: Stage) -> None:
    for name in ("n1", "n2"):
        stage.node(name, cpu="2")
    stage.pod("p", cpu="3")
    stage.settle()
    assert "0/2 nodes are available: 2 Insufficient cpu" in stage.message("p")
    assert [event["reason"] for event in stage.events("p")] == ["FailedScheduling"]
    reported = stage.words_on("p")
    stage.pod("q", cpu="1")  # another turn, the same answer
    stage.settle()
    assert stage.placed == {"q": "n1"}
    assert stage.words_on("p") == reported
    [scheduled] = stage.events("q")
    assert scheduled["message"] == "Successfully assigned default/q to n1"


def test_a_group_shows_its_phase(stage: Stage) -> None:
    stage.node("n1")
    stage.group("g", 2)
    for index in range(2):
        stage.pod(f"g-{index}", "g")
    stage.settle()
    assert stage.get(PODGROUPS, "g")["status"]["phase"] in ("Running", "Inqueue")


def test_nothing_is_decided_before_everything_is_listed() -> None:
    stage = Stage()
    stage.node("n1")
    stage.pod("p")
    stage.restart()
    stage.scheduler._listed.discard(PODS)
    assert stage.scheduler.run(stage.server.now) == []


def test_a_refused_bind_gives_its_room_back_and_is_tried_again_later(stage: Stage) -> None:
    stage.node("n1", cpu="1")
    stage.pod("p")

    def refuse(ticket: Ticket) -> Exception | None:
        first = stage.sent(CallType.BIND) == 1
        return ApiError(429, "TooManyRequests", "slow down") if ticket.purpose == "bind" and first else None

    stage.trouble = refuse
    before = stage.server.now
    stage.settle()
    assert stage.placed == {"p": "n1"}
    assert stage.sent(CallType.BIND) == 2
    assert stage.server.now >= before + 1


def test_a_bind_without_an_answer_is_asked_after_and_counted_once(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.pod("p")
    stage.lost = lambda ticket: TransportError("reset") if ticket.purpose == "bind" else None
    stage.settle()
    assert stage.placed == {"p": "n1"}
    assert stage.sent(CallType.BIND) == 1
    assert stage.sent(CallType.ASK) == 1
    stage.lost = None
    stage.pod("q")
    stage.settle()
    assert stage.placed == {"p": "n1", "q": "n1"}


def test_a_bind_that_never_arrived_is_sent_again(stage: Stage) -> None:
    stage.node("n1")
    stage.pod("p")
    stage.trouble = lambda ticket: (
        TransportError("refused") if ticket.purpose == "bind" and stage.sent(CallType.BIND) == 1 else None
    )
    stage.settle()
    assert stage.placed == {"p": "n1"}
    assert stage.sent(CallType.BIND) == 2


def test_a_more_important_gang_pushes_a_lesser_one_out(stage: Stage) -> None:
    for name, value in (("low", 10), ("high", 1000)):
        stage.priority_class(name, value)
    stage.node("n1", cpu="2")
    stage.group("small", 1, priorityClassName="low")
    for index in range(2):
        stage.pod(f"small-{index}", "small", priorityClassName="low")
    stage.settle()
    for index in range(2):
        stage.run_pod(f"small-{index}")
    stage.group("big", 1, priorityClassName="high")
    stage.pod("big-0", "big", priorityClassName="high")
    stage.settle()
    assert stage.sent(CallType.EVICT) == 1
    assert stage.get(PODS, "big-0")["status"]["nominatedNodeName"] == "n1"
    going = [pod for pod in ("small-0", "small-1") if "deletionTimestamp" in stage.get(PODS, pod)["metadata"]]
    assert len(going) == 1
    conditions = stage.get(PODS, going[0])["status"]["conditions"]
    assert any(each["type"] == "DisruptionTarget" for each in conditions)
    stage.server.ok("DELETE", PODS.path("default", going[0]), {"gracePeriodSeconds": 0})
    stage.settle()
    assert stage.placed["big-0"] == "n1"


def test_a_restarted_scheduler_goes_on(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.pod("p")
    stage.settle()
    stage.restart()
    stage.pod("q")
    stage.pod("r")
    stage.settle()
    assert stage.placed == {"p": "n1", "q": "n1"}


def test_room_that_is_being_made_for_one_is_not_taken_by_another(stage: Stage) -> None:
    stage.node("n1", cpu="8")
    stage.priority_class("high", 1000)
    stage.pod("victim", cpu="4")
    stage.settle()
    stage.run_pod("victim")
    stage.pod("preemptor", cpu="8", priorityClassName="high")
    stage.settle()
    assert stage.get(PODS, "preemptor")["status"]["nominatedNodeName"] == "n1"
    stage.pod("small", cpu="2")  # there is room for it now, and there would not be for the preemptor then
    stage.settle()
    assert "small" not in stage.placed
    stage.bury()
    stage.settle()
    assert stage.placed == {"preemptor": "n1"}


def test_words_that_are_lost_are_said_again(stage: Stage) -> None:
    stage.group("g", 2)
    stage.node("n")
    stage.pod("a", "g")
    stage.pod("b", "g")
    lost = iter([TransportError("reset"), ApiError(429, "TooManyRequests", "slow down")])
    stage.trouble = lambda ticket: next(lost, None) if ticket.purpose == CallType.STATUS else None
    stage.settle()
    assert stage.get(PODGROUPS, "g")["status"]["phase"] == "Running"


def test_words_on_one_object_leave_one_after_the_other(stage: Stage) -> None:
    """A server that is asked many things at once may do them in any order."""
    stage.group("g", 1)
    stage.node("n")
    stage.pod("a", "g")
    under_way: list[Ticket] = []
    for _ in range(20):
        stage.tell()
        for ticket in stage.machine.run(stage.server.now):
            if ticket.purpose == CallType.STATUS and ticket.change.resource == PODGROUPS:
                under_way.append(ticket)
            else:
                stage.carry_out(ticket)
        stage.server.now += 0.1
    assert len(under_way) == 1, "the next waits until this one is answered"
    stage.carry_out(under_way[0])
    stage.settle()
    assert stage.get(PODGROUPS, "g")["status"]["phase"] == "Running"


def test_who_looks_at_the_model_in_the_middle_of_a_turn_has_it_taken_to_its_end(stage: Stage) -> None:
    """Gangs that start together are tried with pauses between them: their places are not theirs yet."""
    stage.node("n1", cpu="2")
    prefix = "gang.scheduling.koordinator.sh"
    for gang, cpu in (("one", "1"), ("two", "8")):
        document = pod(f"{gang}-0", schedulerName="volcano")
        document["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        said = {"name": gang, "min-available": "1", "groups": '["default/one", "default/two"]'}
        annotations = {f"{prefix}/{key}": value for key, value in said.items()}
        document["metadata"] |= {"namespace": "default", "annotations": annotations}
        stage.apply(document)
    stage.tell()
    tasks = stage.world.cluster.tasks
    for _ in range(1000):
        stage.scheduler.run(stage.server.now, budget=1)
        if any(task.row >= 0 for task in tasks.values()):
            break
    assert stage.scheduler.turning
    assert any(task.row >= 0 for task in tasks.values())
    stage.scheduler.finish_turn()
    assert not stage.scheduler.turning
    assert [task.row for task in tasks.values()] == [-1, -1]
    stage.settle()
    assert stage.placed == {}
