"""What answers mean to the scheduler: refusals, doubts, and news that overtake them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from podium.core.model.model import HOLDING, State
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import GROUP_NAME, PODGROUPS
from podium.engine.dispatcher import CallType
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.errors import ApiError, TransportError
from podium.kube.controller import Ticket
from podium.kube.resources import NODES, PODS
from podium.kube.status import error_from_body, too_many_requests
from podium.kube.transport import MERGE_PATCH
from podium.kube.wire import Pod
from tests.engine.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def failing(purpose: CallType, error: Exception, times: int = 1_000_000) -> Callable[[Ticket], Exception | None]:
    """The first so many requests of an errand fail."""
    left = [times]

    def trouble(ticket: Ticket) -> Exception | None:
        if ticket.purpose != purpose or not left[0]:
            return None
        left[0] -= 1
        return error

    return trouble


def pressed(stage: Stage) -> None:
    """Two pods run on a full node, and one that is more important has just come."""
    for name, value in (("low", 10), ("high", 1000)):
        stage.priority_class(name, value)
    stage.node("n1", cpu="2")
    for name in ("a", "b"):
        stage.pod(name, priorityClassName="low")
    stage.settle()
    for name in ("a", "b"):
        stage.run_pod(name)
    stage.pod("pressing", priorityClassName="high")


def leaving(stage: Stage) -> list[str]:
    return [name for name in ("a", "b") if "deletionTimestamp" in stage.get(PODS, name)["metadata"]]


def test_a_server_that_asks_for_a_pause_gets_it(stage: Stage) -> None:
    stage.node("n1")
    stage.trouble = failing(CallType.BIND, too_many_requests("slow down", 20), times=1)
    stage.pod("p")
    began = stage.server.now
    stage.settle(19)
    assert stage.sent(CallType.BIND) == 1
    stage.settle(21)
    assert stage.placed == {"p": "n1"}
    assert stage.server.now >= began + 20


def test_a_pause_may_stand_in_the_header_alone() -> None:
    error = error_from_body(429, b"Too many requests, please try again later.", "7")
    assert (error.code, error.details) == (429, {"retryAfterSeconds": 7})
    assert error_from_body(429, b"", "Wed, 21 Oct 2026 07:28:00 GMT").details == {}


def test_a_question_that_is_not_answered_is_not_asked_in_a_hot_loop(stage: Stage) -> None:
    stage.node("n1")
    stage.trouble = lambda ticket: TransportError("away") if ticket.purpose in ("bind", "ask") else None
    stage.pod("p")
    stage.settle(60)
    assert 3 <= stage.sent(CallType.ASK) <= 9
    stage.trouble = None
    stage.settle(60)
    assert stage.placed == {"p": "n1"}


@pytest.mark.parametrize(
    "error",
    [
        too_many_requests("storage is (re)initializing", 1),
        ApiError(403, "Forbidden", "the roles are not known yet"),
        ApiError(401, "Unauthorized", "the token is not known yet"),
        ApiError(503, "ServiceUnavailable", "it starts"),
    ],
    ids=lambda error: error.reason,
)
def test_a_question_that_is_refused_says_nothing_of_the_pod(stage: Stage, error: ApiError) -> None:
    """As by a server that has just started.  Who takes that for a pod that is gone never looks at it again."""
    stage.node("n1")
    lost, refused = failing(CallType.BIND, TransportError("away"), 1), failing(CallType.ASK, error, 3)
    stage.trouble = lambda ticket: lost(ticket) or refused(ticket)
    stage.pod("p")
    stage.settle(60)
    assert stage.sent(CallType.ASK) == 4
    assert stage.placed == {"p": "n1"}


def test_the_rest_after_a_doubt_is_that_of_the_gang_the_pod_is_in_by_then(stage: Stage) -> None:
    """The pod was put into a group while it was asked about: the answer tells of both."""

    def trouble(ticket: Ticket) -> Exception | None:
        if ticket.purpose == CallType.ASK:
            marks = {"metadata": {"annotations": {GROUP_NAME: "g"}}}
            stage.server.ok("PATCH", PODS.path("default", "p"), marks, media=MERGE_PATCH)
        return TransportError("away") if ticket.purpose == CallType.BIND else None

    stage.node("n1")
    stage.group("g", 1)
    stage.settle()
    stage.trouble = trouble
    stage.pod("p")
    stage.settle(0.5)
    assert (stage.sent(CallType.BIND), stage.sent(CallType.ASK)) == (1, 1)
    stage.trouble = None
    stage.settle()
    assert stage.placed == {"p": "n1"}


def test_a_pod_that_is_said_to_be_gone_is_gone_altogether(stage: Stage) -> None:
    """The watch has not come that far, and what it has told is no longer believed."""

    def trouble(ticket: Ticket) -> Exception | None:
        if ticket.purpose == CallType.ASK:
            stage.server.ok("DELETE", PODS.path("default", "p"), {"gracePeriodSeconds": 0})
        return TransportError("away") if ticket.purpose == CallType.BIND else None

    stage.node("n1")
    stage.trouble = trouble
    stage.pod("p")
    stage.tell()
    while not stage.sent(CallType.ASK):
        for ticket in stage.machine.run(stage.server.now):
            stage.carry_out(ticket)
    while not stage.scheduler.settled:
        stage.machine.run(stage.server.now)
    assert not stage.world.cluster.tasks
    assert not stage.world.assumed
    assert list(stage.world.cache.all(PODS)) == []
    stage.settle()
    assert stage.sent(CallType.BIND) == 1


def test_old_news_do_not_take_back_a_bind_that_was_confirmed(stage: Stage) -> None:
    """The watch is behind: it tells of the pod as it was, which is then read again for another reason."""
    stage.node("n1", cpu="1")
    stage.group("g", 1)
    stage.pod("p", "g")
    world, uid = stage.world, stage.get(PODS, "p")["metadata"]["uid"]
    while not stage.placed:
        stage.tell()
        for ticket in stage.machine.run(stage.server.now):
            stage.carry_out(ticket)
    while not stage.scheduler.settled:
        stage.machine.run(stage.server.now)
    assert world.cluster.tasks[uid].state is State.BOUND
    known = world.cache.find(PODS, Pod, ("default", "p"))
    assert known is not None
    assert not known.spec.node_name
    stage.scheduler.observe(PODS, known)
    (group,) = world.cache.all(PODGROUPS)
    world.forget(PODGROUPS, group)
    world.settle()
    assert world.cluster.tasks[uid].state in HOLDING
    stage.settle()
    assert not world.assumed


def test_an_answer_that_news_have_overtaken_is_not_believed(stage: Stage) -> None:
    """The pod was read while it was bound; by the time of the answer the watch has told of its end."""
    stage.node("n1", cpu="1")
    stage.pod("p")
    stage.settle()
    world, uid = stage.world, stage.get(PODS, "p")["metadata"]["uid"]
    read = world.cache.find(PODS, Pod, ("default", "p"))
    assert read is not None
    ended = msgspec.structs.replace(read.metadata, resource_version="999999")
    world.observe(PODS, msgspec.structs.replace(read, metadata=ended, status=_succeeded(read)))
    world.reread(read)
    assert world.cluster.tasks[uid].state is State.SUCCEEDED


def _succeeded(pod: Pod) -> object:
    return msgspec.structs.replace(pod.status, phase="Succeeded")


def test_who_was_told_to_go_stays_a_victim_whatever_is_seen_of_him(stage: Stage) -> None:
    """The mark that says why comes back by the watch before the pod is deleted: nobody else goes for that."""
    pressed(stage)
    stage.trouble = failing(CallType.EVICT, TransportError("away"), times=4)
    stage.settle(30)
    assert len(leaving(stage)) == 1
    assert len({ticket.key for ticket in stage.tickets if ticket.purpose == CallType.EVICT}) == 1


def test_who_may_not_be_evicted_is_left_alone_and_another_one_goes(stage: Stage) -> None:
    pressed(stage)
    first: list[str] = []

    def forbidden(ticket: Ticket) -> Exception | None:
        if ticket.purpose != CallType.EVICT:
            return None
        first[:] = first or [ticket.key[1]]
        return ApiError(403, "Forbidden", "no") if ticket.key[1] == first[0] else None

    stage.trouble = forbidden
    stage.settle(60)
    assert len(leaving(stage)) == 1
    assert stage.get(PODS, leaving(stage)[0])["metadata"]["uid"] != first[0]
    assert stage.world.cluster.tasks[first[0]].state is State.RUNNING
    assert sum(ticket.key[1] == first[0] for ticket in stage.tickets if ticket.purpose == "evict") <= 7


def test_a_promise_ends_when_what_it_waits_for_does_not_come(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.node("n2", cpu="1")
    stage.pod("a", cpu="2")
    stage.settle()
    stage.run_pod("a")
    stage.server.ok("DELETE", PODS.path("default", "a"))
    stage.pod("b", cpu="2")
    stage.settle()
    assert stage.get(PODS, "b")["status"]["nominatedNodeName"] == "n1"
    stage.server.ok("DELETE", NODES.path("", "n1"))
    stage.settle(40)
    assert "nominatedNodeName" not in stage.get(PODS, "b")["status"]


def test_nobody_turns_in_circles_while_something_is_not_listed(stage: Stage) -> None:
    stage.group("g", 1)
    stage.pod("p", "g")
    stage.settle()
    world = World(DIALECTS)
    scheduler = Scheduler(world, {})
    for record in stage.server.store.scan(PODS):
        scheduler.observe(PODS, msgspec.json.decode(record.data, type=Pod))
    scheduler.synced(PODS)
    assert scheduler.run(stage.server.now) == []
    wake = scheduler.next_wake(stage.server.now)
    assert wake is None or wake > stage.server.now


def test_a_pod_that_joins_a_group_takes_its_rest_along(stage: Stage) -> None:
    stage.node("n1")
    stage.trouble = failing(CallType.BIND, ApiError(409, "Conflict", "no"), times=1)
    stage.pod("p")
    stage.settle(0.1)
    assert stage.sent(CallType.BIND) == 1
    stage.group("g", 1)
    patch = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}
    stage.server.ok("PATCH", PODS.path("default", "p"), patch, media="application/merge-patch+json")
    stage.settle(0.5)
    assert stage.sent(CallType.BIND) == 1
    stage.settle(5)
    assert stage.placed == {"p": "n1"}
