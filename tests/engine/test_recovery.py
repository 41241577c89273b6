"""Gangs that were bound half: they are completed, and nothing is taken from them for a server's failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podium.core.model.decisions import Refuse
from podium.dialects.volcano.names import PODGROUPS
from podium.engine.backoff import MAX_BACKOFF_HALF_BOUND, Backoff
from podium.engine.dispatcher import CallType
from podium.engine.recovery import Recovery
from podium.errors import ApiError, TransportError
from podium.kube.controller import Ticket
from podium.kube.resources import NODES
from podium.reasons import FAILED, NO_NODES, refuse
from tests.engine.stage import OWNER, Stage

MEMBERS = 60


@pytest.fixture
def stage() -> Stage:
    return Stage()


def gang(stage: Stage, name: str, members: int, *owners: dict[str, Any]) -> None:
    stage.group(name, members)
    for number in range(members):
        stage.pod(f"{name}-{number}", name, owners=owners)


def failing_after(
    stage: Stage, binds: int, seconds: float, error: Exception
) -> Callable[[Ticket], Exception | None]:
    """A server that takes so many binds and then fails, and does not say how pods stand either, for a while."""
    began: list[float] = []

    def trouble(ticket: Ticket) -> Exception | None:
        if not began and stage.sent(CallType.BIND) > binds:
            began.append(stage.server.now)
        if ticket.purpose not in (CallType.BIND, CallType.ASK):
            return None
        return error if began and stage.server.now < began[0] + seconds else None

    return trouble


@pytest.mark.parametrize(
    "error",
    [
        TransportError("reset"),
        ApiError(500, "InternalError", "etcd"),
        ApiError(503, "ServiceUnavailable", "starting"),
        ApiError(429, "TooManyRequests", "slow down"),
        ApiError(409, "Conflict", "again"),
    ],
    ids=str,
)
def test_a_hiccup_of_the_server_in_the_middle_of_a_plan_costs_a_gang_nothing(
    stage: Stage, error: Exception
) -> None:
    for number in range(MEMBERS // 8 + 1):
        stage.node(f"n{number}")
    gang(stage, "g", MEMBERS)
    stage.trouble = failing_after(stage, 36, 2.0, error)
    began = stage.server.now
    stage.settle(8)
    assert len(stage.placed) == MEMBERS
    assert stage.server.now < began + 10
    assert stage.sent(CallType.EVICT) == stage.sent(CallType.MARK) == 0


@pytest.mark.parametrize("error", [TransportError("away"), ApiError(429, "TooManyRequests", "slow down")], ids=str)
def test_time_alone_takes_nothing_away(stage: Stage, error: Exception) -> None:
    """The server is away, or busy, for longer than a half-bound gang may hold places that nobody can complete."""
    for number in range(2):
        stage.node(f"n{number}")
    gang(stage, "g", 10, OWNER)
    stage.trouble = failing_after(stage, 4, 120.0, error)
    stage.settle(119)
    assert len(stage.placed) == 4
    stage.settle(40)
    assert len(stage.placed) == 10
    assert stage.sent(CallType.EVICT) == 0


def half_bound(stage: Stage, *owners: dict[str, Any]) -> None:
    """A gang of four of which two are bound, and then a node goes that the others had been given."""
    stage.node("n1", cpu="2")
    stage.node("n2", cpu="2")
    gang(stage, "g", 4, *owners)

    def trouble(ticket: Ticket) -> Exception | None:
        if ticket.purpose != CallType.BIND:
            return None
        to = ticket.change.document["target"]["name"]  # type: ignore[union-attr]
        return TransportError("away") if to == "n2" else None

    stage.trouble = trouble
    stage.settle(0.4)
    assert sorted(set(stage.placed.values())) == ["n1"]
    assert len(stage.placed) == 2
    stage.server.ok("DELETE", NODES.path("", "n2"))
    stage.trouble = None


def test_pods_that_nobody_would_create_again_are_kept_and_that_is_said(stage: Stage) -> None:
    half_bound(stage)
    stage.settle(100)
    assert stage.sent(CallType.EVICT) == stage.sent(CallType.MARK) == 0
    assert len(stage.placed) == 2
    said = "2 of 4 members are bound, and the others find no place"
    (condition,) = [each for each in stage.get(PODGROUPS, "g")["status"]["conditions"] if each["status"] == "True"]
    assert said in condition["message"]
    assert "no controller would create them again" in condition["message"]
    assert any(said in event["message"] for event in stage.events("g"))
    waiting = next(name for name in ("g-0", "g-1", "g-2", "g-3") if name not in stage.placed)
    assert said in stage.message(waiting)
    written = len(stage.tickets)
    stage.settle(300)
    assert len(stage.tickets) <= written + 12, "it is said again and again"
    stage.node("n3", cpu="2")
    stage.settle(40)
    assert len(stage.placed) == 4
    (condition,) = [each for each in stage.get(PODGROUPS, "g")["status"]["conditions"] if each["status"] == "True"]
    assert condition["type"] == "Scheduled"


def test_pods_of_a_controller_give_their_places_back_after_a_try_that_was_refused(stage: Stage) -> None:
    half_bound(stage, OWNER)
    stage.settle(25)
    assert stage.sent(CallType.EVICT) == 0
    stage.settle(100)
    assert stage.sent(CallType.EVICT) == 2
    stage.bury()
    assert not stage.placed


def test_a_server_that_refuses_the_rest_of_a_gang_is_a_refusal_as_well(stage: Stage) -> None:
    stage.node("n1")
    gang(stage, "g", 4, OWNER)

    def trouble(ticket: Ticket) -> Exception | None:
        last = getattr(ticket.change, "name", "") == "g-3"
        return ApiError(403, "Forbidden", "not this one") if ticket.purpose == "bind" and last else None

    stage.trouble = trouble
    stage.settle(20)
    assert len(stage.placed) == 3
    stage.settle(60)
    assert stage.sent(CallType.EVICT) == 3


def test_one_failure_a_plan() -> None:
    backoff = Backoff()
    for plan, seconds in (("first", 1.0), ("second", 2.0), ("third", 4.0)):
        for _ in range(300):
            backoff.leave_alone("g", 100.0, plan=plan)
        list(backoff.due(100.0 + seconds - 0.1))
        assert "g" in backoff.gangs
        list(backoff.due(100.0 + seconds))
        assert "g" not in backoff.gangs


def test_a_half_bound_gang_rests_least() -> None:
    backoff = Backoff()
    for plan in range(10):
        backoff.leave_alone("g", 0.0, plan=str(plan), half_bound=True)
    list(backoff.due(MAX_BACKOFF_HALF_BOUND))
    assert "g" not in backoff.gangs
    backoff.leave_alone("g", 100.0, 30.0, plan="asked for", half_bound=True)
    list(backoff.due(129.0))
    assert "g" in backoff.gangs, "what the server asked for is kept"


def test_a_plugin_that_fails_takes_nothing_away(stage: Stage) -> None:
    """What a plugin raises says nothing about places."""
    half_bound(stage, OWNER)
    stage.settle(5)
    recovery = Recovery(stage.world.plans)
    recovery.look(stage.world.cluster.accounts.split, {}, stage.world.cluster.gangs.get)
    (id,) = recovery.gangs
    recovery.decided([Refuse(id, refuse(FAILED, who="plugin x", error="bug"))], 0.0)
    assert not list(recovery.judge(stage.world.cluster.gangs))
    recovery.decided([Refuse(id, refuse(NO_NODES))], 0.0)
    assert [gang.id for gang, _ in recovery.judge(stage.world.cluster.gangs)] == [id]
