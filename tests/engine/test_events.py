"""Events on pods: what `kubectl describe pod` says of pods that wait, and of binds that failed."""

from __future__ import annotations

from typing import Any

import pytest

from podium.engine.dispatcher import CallType
from podium.engine.status_writer import PODS_WITH_EVENTS
from podium.errors import ApiError, TransportError
from podium.kube.changes import Patch
from podium.kube.controller import Ticket
from podium.kube.resources import PODS
from tests.engine.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def failed(stage: Stage, name: str) -> list[dict[str, Any]]:
    return [event for event in stage.events(name) if event["reason"] == "FailedScheduling"]


def test_some_pods_of_a_waiting_gang_say_why(stage: Stage) -> None:
    stage.node("n1")
    stage.group("g", 20)
    for number in range(20):
        stage.pod(f"g-{number}", "g")
    stage.settle(100)
    reported = {number: failed(stage, f"g-{number}") for number in range(20)}
    assert sum(bool(events) for events in reported.values()) == PODS_WITH_EVENTS
    (event,) = next(events for events in reported.values() if events)
    assert event["type"] == "Warning"
    assert event["message"] == stage.message("g-0")
    assert "of 20 members could be placed" in event["message"]


def test_a_pod_for_which_others_leave_says_where_it_will_run(stage: Stage) -> None:
    stage.node("n1", cpu="8")
    stage.priority_class("high", 1000)
    for name in ("a", "b"):
        stage.pod(name, cpu="4")
    stage.settle()
    for name in ("a", "b"):
        stage.run_pod(name)
    stage.pod("asked", cpu="4", priorityClassName="high")
    stage.settle()
    assert stage.message("asked") == "it has a place on n1 and waits for others to leave"
    (event,) = failed(stage, "asked")
    assert event["message"] == stage.message("asked")
    stage.bury()
    stage.settle()
    assert stage.placed["asked"] == "n1"


FAILURES = (
    ApiError(403, "Forbidden", "no binding"),
    ApiError(429, "TooManyRequests", "slow down"),
    TransportError("reset"),
)


@pytest.mark.parametrize("error", FAILURES, ids=str)
def test_a_bind_that_failed_is_an_event_and_is_counted(
    stage: Stage, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    stage.node("n1")
    stage.group("g", 3)
    for number in range(3):
        stage.pod(f"g-{number}", "g")
    stage.trouble = lambda ticket: error if ticket.purpose == CallType.BIND else None
    stage.settle(5)
    for number in range(3):
        (event,) = failed(stage, f"g-{number}")
        assert event["message"] == f"g-{number} could not be bound to n1: {error}"
        assert event["count"] >= 2
        assert stage.message(f"g-{number}") == event["message"]
    assert sum(stage.scheduler.counters.failures.values()) >= 6
    assert sum("could not be bound" in record.message for record in caplog.records) == 1
    stage.trouble = None
    stage.settle(10)
    assert len(stage.placed) == 3


def test_what_is_no_longer_true_is_not_said(stage: Stage) -> None:
    """There is more to say than the budget allows; by the time, the pods have their places."""
    stage.node("n1", pods="300", cpu="1")
    for number in range(200):
        stage.pod(f"p{number:03}", cpu="10m", nodeSelector={"kubernetes.io/os": "linux"})
    stage.settle(0.5)
    stage.node("n2", pods="300", cpu="100")
    stage.server.ok(
        "PATCH", "/api/v1/nodes/n2", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}, media=MERGE
    )
    stage.tickets.clear()
    stage.settle(30)
    assert len(stage.placed) == 200
    bound: set[str] = set()
    for ticket in stage.tickets:
        if ticket.purpose == CallType.BIND:
            bound.add(getattr(ticket.change, "name", ""))
        elif _is_condition(ticket):
            assert getattr(ticket.change, "name", "") not in bound, "a bound pod is said to wait"


MERGE = "application/merge-patch+json"


def _is_condition(ticket: Ticket) -> bool:
    change = ticket.change
    return isinstance(change, Patch) and change.resource == PODS and change.subresource == "status"
