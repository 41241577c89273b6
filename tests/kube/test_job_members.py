"""The pods of a job in their places."""

from __future__ import annotations

import pytest

from podium.kube import job_members
from podium.kube.cache import Cache
from podium.kube.job_members import Member, Members, Role, container_restarts, controlled_pods, places, to_create
from podium.kube.resources import PODS
from podium.kube.wire import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Metadata,
    Object,
    OwnerReference,
    Pod,
    PodSpec,
    PodStatus,
)

LEADER, WORKER = Role("leader", 1, 1), Role("worker", 4, 2)


def name(role: str, index: int) -> str:
    """As a job with one leader would have it."""
    return "job-leader" if role == "leader" else f"job-{role}-{index}"


def pod(title: str, phase: str = "Running", *, node: str = "n", going: bool = False, ready: bool = True) -> Pod:
    metadata = Metadata(
        title, "default", f"uid-{title}", "1", deletion_timestamp="2026-01-01T00:00:00Z" if going else None
    )
    statuses = [ContainerStatus("main", ready=ready, restart_count=2)]
    return Pod(metadata, spec=PodSpec(node_name=node), status=PodStatus(phase=phase, container_statuses=statuses))


def member(role: str, index: int, phase: str = "Running", **given: bool) -> Member:
    version = 1 if given.pop("old", False) else 2
    return Member(pod(name(role, index), phase, **given), role, index, version)  # type: ignore[arg-type]


def test_places_of_the_gang_come_first() -> None:
    wanted = [("leader", 0), ("worker", 0), ("worker", 1), ("worker", 2), ("worker", 3)]
    assert list(places([LEADER, WORKER])) == wanted
    assert list(places([Role("a", 2, 1), Role("b", 1, 1)])) == [("a", 0), ("b", 0), ("a", 1)]
    assert list(places([Role("a", 1, 5)])) == [("a", 0)]


def test_who_is_missing_and_who_is_too_many() -> None:
    found = Members(
        [
            member("worker", 0),
            member("worker", 2, going=True),
            member("worker", 4),
            member("odd", 0),
            member("worker", -1),
        ],
        version=2,
    )
    assert found.missing("worker", 4) == [1, 2, 3]
    assert found.staying("worker") == 3
    assert {(each.role, each.index) for each in found.surplus({"worker": 4})} == {
        ("worker", 4),
        ("odd", 0),
        ("worker", -1),
    }
    assert found.of("leader") == {}


def test_counts_by_role_and_phase() -> None:
    found = Members([member("worker", 0), member("worker", 1, "Succeeded"), member("worker", 2, going=True)])
    assert found.phases() == {"worker": {"Running": 1, "Succeeded": 1}}
    assert found.phases({"uid-job-worker-0"}) == {"worker": {"Succeeded": 1}}
    assert Members([member("worker", 2, going=True)]).phases() == {}


def test_versions() -> None:
    found = Members([member("worker", 0, old=True), member("worker", 1)], version=2)
    assert [found.current(each) for each in found.all] == [False, True]


@pytest.mark.parametrize(
    ("one", "up"),
    [
        (member("worker", 0), True),
        (member("worker", 0, ready=False), False),
        (member("worker", 0, "Succeeded", ready=False), True),
        (member("worker", 0, "Pending"), False),
        (member("worker", 0, "Succeeded", going=True), False),
        (Member(pod("a"), "worker", 0, given_up=True), False),
    ],
)
def test_whom_others_may_rely_on(one: Member, up: bool) -> None:
    assert one.up is up


def test_pods_are_made_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, members = Cache(), Members([member("worker", 0)])
    cache.apply(PODS, pod("job-worker-1"))  # somebody else's
    found = to_create(members, [LEADER, WORKER], 3, name, "default", cache)
    assert found.places == [("leader", 0), ("worker", 2), ("worker", 3)]
    assert found.blocked == ["job-worker-1"]
    monkeypatch.setattr(job_members, "MOST_PODS_AT_ONCE", 1)
    assert to_create(members, [LEADER, WORKER], 3, name, "default", cache).places == [("leader", 0)]
    monkeypatch.setattr(job_members, "MOST_PODS_AT_ONCE", 500)
    # One waits already, and no more may: the gang's are made all the same.
    monkeypatch.setattr(job_members, "MOST_WAITING", 1)
    waiting = Members([Member(pod("job-worker-0", "Pending", node=""), "worker", 0)])
    assert to_create(waiting, [LEADER, WORKER], 3, name, "default", cache).places == [("leader", 0), ("worker", 2)]
    assert to_create(waiting, [LEADER, WORKER], 1, name, "default", cache).places == []


def test_whose_pods_they_are() -> None:
    cache = Cache()
    for number, (namespace, owner) in enumerate(
        [("default", "mine"), ("default", "other"), ("default", "mine"), ("strange", "mine")]
    ):
        reference = OwnerReference("Job", owner, owner, "batch/v1", controller=number != 2)
        metadata = Metadata(f"p-{number}", namespace, f"u-{number}", "1", owner_references=[reference])
        cache.apply(PODS, Pod(metadata))
    job = Object(Metadata("job", "default", "mine"))
    assert [each.name for each in controlled_pods(cache, job)] == ["p-0"], "a stranger's is not the job's"


def test_restarts_and_exit_codes() -> None:
    assert container_restarts([pod("a"), pod("b", "Pending"), pod("c", "Failed")]) == 4
    ended = ContainerState(terminated=ContainerStateTerminated(exit_code=3))
    status = PodStatus(container_statuses=[ContainerStatus("main", state=ended)])
    assert job_members.exit_code(Pod(Metadata("a"), status=status)) == 3
    assert job_members.exit_code(pod("b")) == 0
