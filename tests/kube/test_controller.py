"""The machine that runs controllers: waves, turns, timers, back-off, and what it takes for known."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ApiError, TransportError
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Delete, Patch, Read, Replace, request_of
from podium.kube.controller import NOTHING, Mapper, Note, Outcome, Ticket, Universal
from podium.kube.manager import LAST_BACKOFF, Manager
from podium.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, Resource
from podium.kube.wire import Metadata, Object, Pod

Reconcile = Callable[[Key, Cache, float], Outcome]


def itself(obj: Object, cache: Cache) -> Iterable[Key]:
    return (key_of(obj),)


class Probe:
    """A controller that notes what it is asked and answers what the test says."""

    def __init__(self, name: str = "probe", watches: dict[Resource, Mapper] | None = None) -> None:
        self.name = name
        self.watches = watches or {PODS: itself}
        self.asked: list[tuple[Key, float]] = []
        self.answer: Reconcile = lambda key, cache, now: NOTHING

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        self.asked.append((key, now))
        return self.answer(key, cache, now)


class Everywhere(Probe):
    """A controller of every resource."""

    def serve(self, resource: Resource) -> None:
        self.watches[resource] = itself

    def withdraw(self, resource: Resource) -> None:
        self.watches.pop(resource, None)


def obj(name: str, version: int = 1, uid: str = "") -> Object:
    metadata = Metadata(name=name, namespace="ns", uid=uid or f"uid-{name}", resource_version=str(version))
    return Object(metadata=metadata)


def manager_of(*controllers: Probe) -> Manager:
    manager = Manager(controllers)
    for resource in manager.resources:
        manager.synced(resource)
    return manager


def create(name: str, resource: Resource = PODS) -> Create:
    return Create(resource, "ns", {"metadata": {"name": name}})


def delete(name: str) -> Delete:
    return Delete(PODS, "ns", name, uid=f"uid-{name}")


def once(*changes: Change) -> Reconcile:
    """These changes the first time, nothing afterwards."""
    left = [Outcome(changes)]
    return lambda key, cache, now: left.pop() if left else NOTHING


def names(tickets: list[Ticket]) -> list[str]:
    found = []
    for ticket in tickets:
        change = ticket.change
        found.append(change.document["metadata"]["name"] if isinstance(change, Create) else change.name)
    return found


def refused(code: int, reason: str) -> ApiError:
    return ApiError(code, reason, reason)


# --- events and syncing ------------------------------------------------------------------------------------------


def test_nothing_is_decided_before_everything_was_listed() -> None:
    probe = Probe(watches={PODS: itself, NODES: itself})
    manager = Manager([probe])
    manager.observe(PODS, obj("a"))
    manager.synced(PODS)
    assert manager.run(0.0) == []
    assert probe.asked == []
    assert manager.next_wake(0.0) is None
    manager.synced(NODES)
    assert manager.next_wake(5.0) == 5.0
    manager.run(5.0)
    assert probe.asked == [(("ns", "a"), 5.0)]


def test_a_controller_of_everything_does_not_wait_for_everything() -> None:
    probe = Everywhere(watches={PODS: itself})
    assert isinstance(probe, Universal)
    manager = Manager([probe])
    manager.serve(SECRETS)
    assert manager.resources == {PODS, SECRETS}
    manager.observe(SECRETS, obj("s"))
    manager.run(0.0)
    assert probe.asked == [(("ns", "s"), 0.0)]
    manager.withdraw(SECRETS)
    assert manager.resources == {PODS}
    assert manager.cache.get(SECRETS, "ns", "s") is None
    assert not manager.cache.synced(SECRETS)


def test_stale_events_are_passed_over() -> None:
    probe = Probe()
    manager = manager_of(probe)
    manager.observe(PODS, obj("a", 5))
    manager.run(0.0)
    manager.observe(PODS, obj("a", 4))
    assert manager.next_wake(0.0) is None


def test_a_late_delete_does_not_take_the_successor() -> None:
    manager = manager_of(Probe())
    manager.observe(PODS, obj("a", 5, uid="new"))
    manager.forget(PODS, obj("a", 4, uid="old"))
    assert manager.cache.get(PODS, "ns", "a") is not None


def test_an_answer_does_not_bring_back_what_is_gone() -> None:
    probe = Probe()
    probe.answer = once(Patch(PODS, "ns", "a", {}, uid="uid-a"))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a", 1))
    (ticket,) = manager.run(0.0)
    manager.forget(PODS, obj("a", 3))
    manager.done(ticket, obj("a", 2), None, 0.0)
    assert manager.cache.get(PODS, "ns", "a") is None


# --- waves -------------------------------------------------------------------------------------------------------


def test_alike_changes_go_together_and_different_ones_in_turn() -> None:
    probe = Probe()
    status = Patch(PODS, "ns", "a", {"status": {}}, subresource="status")
    probe.answer = once(status, create("x"), create("y"), create("c", CONFIGMAPS), delete("u"), delete("v"))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    reported: list[list[str]] = []
    while tickets := manager.run(0.0):
        reported.append(names(tickets))
        assert manager.in_flight == len(tickets)
        for ticket in tickets:
            assert manager.run(0.0) == [], "nothing more before all of the wave is answered"
            manager.done(ticket, None, None, 0.0)
    assert reported == [["a"], ["x", "y"], ["c"], ["u", "v"]]


def test_two_changes_of_one_object_never_go_together() -> None:
    probe = Probe()
    probe.answer = once(Patch(PODS, "ns", "a", {"x": 1}), Patch(PODS, "ns", "a", {"x": 2}))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (first,) = manager.run(0.0)
    manager.done(first, None, None, 0.0)
    (second,) = manager.run(0.0)
    assert isinstance(second.change, Patch)
    assert second.change.patch == {"x": 2}


def test_a_failure_drops_what_was_to_follow_and_is_tried_again_ever_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    probe = Probe()
    probe.answer = lambda key, cache, now: Outcome((create("x"), delete("y")))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    now = 0.0
    delays = []
    with caplog.at_level(logging.WARNING):
        for _ in range(13):
            (ticket,) = manager.run(now)
            assert names([ticket]) == ["x"]
            manager.done(ticket, None, refused(403, "Forbidden"), now)
            wake = manager.next_wake(now)
            assert wake is not None
            delays.append(round(wake - now, 3))
            now = wake
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert delays[-1] == LAST_BACKOFF
    assert "Forbidden" in caplog.text


def test_a_success_ends_the_back_off() -> None:
    probe = Probe()
    probe.answer = lambda key, cache, now: Outcome((create("x"),))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    for error in (refused(500, "InternalError"), None, TransportError("reset")):
        (ticket,) = manager.run(100.0)
        manager.done(ticket, None, error, 100.0)
        if error is not None:
            assert manager.next_wake(100.0) == pytest.approx(100.1)
        manager.observe(PODS, obj("a", manager.cache.count(PODS) + int(error is None) + 2))
    assert len(probe.asked) == 3


# The name belongs to another object now.
ANOTHER = ApiError(422, "Invalid", "", {"causes": [{"field": "spec"}, {"field": "metadata.uid"}]})


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (create("x"), refused(409, "AlreadyExists")),
        (delete("x"), refused(404, "NotFound")),
        (delete("x"), refused(409, "Conflict")),
        (Patch(PODS, "ns", "x", {}), refused(404, "NotFound")),
        (Patch(PODS, "ns", "x", {}, uid="u"), ANOTHER),
    ],
)
def test_what_is_so_already_counts_as_done_and_is_looked_at_again(change: Change, error: ApiError) -> None:
    probe = Probe()
    probe.answer = once(change, create("after", CONFIGMAPS))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, error, 0.0)
    (following,) = manager.run(0.0)
    assert names([following]) == ["after"]
    manager.done(following, None, None, 0.0)
    assert manager.next_wake(0.0) == pytest.approx(0.1), "the cache does not show it yet"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (create("x"), refused(404, "NotFound")),
        (Delete(PODS, "ns", "x"), refused(409, "Conflict")),
        (Patch(PODS, "ns", "x", {}), ANOTHER),  # it did not say whom it is about
        (Patch(PODS, "ns", "x", {}, uid="u"), ApiError(422, "Invalid", "", {"causes": [{"field": "spec"}]})),
        (Patch(PODS, "ns", "x", {}, uid="u"), ApiError(422, "Invalid", "")),
        (Patch(PODS, "ns", "x", {}), refused(409, "AlreadyExists")),
        (delete("x"), TransportError("NotFound")),
    ],
)
def test_what_is_not_so_is_a_failure(change: Change, error: Exception) -> None:
    probe = Probe()
    probe.answer = once(change, create("after", CONFIGMAPS))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, error, 0.0)
    assert manager.run(0.0) == []


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (refused(409, "Conflict"), False),
        (ApiError(403, "Forbidden", "", {"causes": [{"reason": "NamespaceTerminating"}]}), False),
        (ApiError(403, "Forbidden", "", {"causes": [{"reason": "Other"}]}), True),
        (refused(422, "Invalid"), True),
    ],
)
def test_refusals_that_come_with_the_job_are_not_logged(
    error: ApiError, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    probe = Probe()
    probe.answer = once(Patch(PODS, "ns", "x", {}))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, error, 0.0)
    assert bool(caplog.records) == logged


def test_a_create_in_a_missing_namespace_is_a_failure() -> None:
    probe = Probe()
    probe.answer = once(create("x"), create("after", CONFIGMAPS))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, refused(404, "NotFound"), 0.0)
    assert manager.run(0.0) == []


def test_a_controller_sees_its_own_writes_and_is_asked_again_after_them() -> None:
    probe = Probe(watches={PODS: lambda obj, cache: (("ns", "owner"),)})
    seen: list[int] = []

    def answer(key: Key, cache: Cache, now: float) -> Outcome:
        seen.append(cache.count(PODS))
        return Outcome((create(f"p{len(seen)}"),)) if len(seen) < 3 else NOTHING

    probe.answer = answer
    manager = manager_of(probe)
    manager.observe(PODS, obj("p0"))
    while tickets := manager.run(0.0):
        for ticket in tickets:
            manager.done(ticket, obj(names([ticket])[0], len(seen) + 1), None, 0.0)
    assert seen == [1, 2, 3]


def test_answers_of_subresources_are_not_the_object() -> None:
    probe = Probe(watches={PODS: itself, NAMESPACES: itself})
    finalize = Replace(NAMESPACES, "", "x", {}, subresource="finalize")
    probe.answer = once(Create(PODS, "ns", {}, name="a", subresource="binding"), finalize)
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    while tickets := manager.run(0.0):
        for ticket in tickets:
            manager.done(ticket, obj("strange", 9), None, 0.0)
    assert manager.cache.get(PODS, "ns", "strange") is None
    assert manager.cache.get(NAMESPACES, "ns", "strange") is None


# --- questions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error", "gone"),
    [
        (obj("o", 7, uid="wanted"), None, False),
        (obj("o", 7, uid="another"), None, True),
        (None, refused(404, "NotFound"), True),
        (None, refused(500, "InternalError"), False),
        (None, TransportError("timed out"), False),
    ],
)
def test_a_question_settles_whether_an_object_exists(
    answer: Object | None, error: Exception | None, gone: bool
) -> None:
    probe = Probe()
    probe.answer = once(Read(CONFIGMAPS, "ns", "o", "wanted"))
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, answer, error, 0.0)
    assert manager.cache.is_tombstone("wanted") is gone
    assert (manager.cache.get(CONFIGMAPS, "ns", "o") is not None) is (answer is not None)
    manager.run(1.0)
    assert len(probe.asked) == 2, "whoever asked hears the answer"


def test_changes_become_requests() -> None:
    assert request_of(Read(PODS, "ns", "a", "u")).method == "GET"
    assert request_of(Read(PODS, "ns", "a", "u")).path == "/api/v1/namespaces/ns/pods/a"
    put = request_of(Replace(NAMESPACES, "", "x", {"a": 1}, subresource="finalize"))
    assert (put.method, put.path, put.body) == ("PUT", "/api/v1/namespaces/x/finalize", b'{"a":1}')
    assert request_of(Delete(PODS, "ns", "")).path == "/api/v1/namespaces/ns/pods"


# --- timers and turns --------------------------------------------------------------------------------------------


def test_each_look_replaces_the_timer_of_its_key() -> None:
    probe = Probe()
    times = iter([50.0, 20.0, 30.0, None])
    probe.answer = lambda key, cache, now: Outcome(again_at=next(times))
    manager = manager_of(probe)
    for version in range(1, 4):
        manager.observe(PODS, obj("a", version))
        manager.run(0.0)
    assert manager.next_wake(0.0) == 30.0
    assert manager.run(29.0) == []
    assert len(probe.asked) == 3
    manager.run(30.0)
    assert len(probe.asked) == 4
    assert manager.next_wake(30.0) is None


@pytest.mark.parametrize("late", [0.0, 5.0, 600.0])
def test_a_time_that_has_passed_is_not_at_once_for_ever(late: float, caplog: pytest.LogCaptureFixture) -> None:
    """The same question at the same time has the same answer: without a pause nobody else would have a turn."""
    probe = Probe()
    probe.answer = lambda key, cache, now: Outcome(again_at=now - late)
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    now = 1000.0
    for _ in range(20):
        manager.run(now)
        wake = manager.next_wake(now)
        assert wake is not None
        assert wake > now
        now = wake
    assert now > 1000.0 + 5 * LAST_BACKOFF
    assert [each.levelname for each in caplog.records] == ["ERROR"], "it is said once"
    probe.answer = lambda key, cache, now: Outcome(again_at=now + 1)
    manager.run(now)
    assert manager.next_wake(now) == now + 1, "a time to come counts as it is"


def test_a_write_that_changes_nothing_is_not_made_for_ever() -> None:
    probe = Probe()
    probe.answer = lambda key, cache, now: Outcome((delete("a"),), again_at=now)
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    for ticket in manager.run(0.0):
        manager.done(ticket, None, None, 0.0)
    assert manager.run(0.0) == []
    wake = manager.next_wake(0.0)
    assert wake is not None
    assert wake > 0.0


def test_a_timer_that_falls_into_a_flight_is_heard_after_it() -> None:
    probe = Probe()
    outcomes = iter([Outcome((create("x"),), again_at=10.0), NOTHING])
    probe.answer = lambda key, cache, now: next(outcomes)
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    assert manager.run(15.0) == []
    manager.done(ticket, None, None, 16.0)
    manager.run(16.0)
    assert [now for _, now in probe.asked] == [0.0, 16.0]


def test_a_costly_key_is_left_in_peace_for_a_while_but_not_forgotten() -> None:
    probe = Probe()
    probe.answer = lambda key, cache, now: Outcome(rest=1.0)
    manager = manager_of(probe)
    manager.observe(PODS, obj("a", 1))
    manager.run(0.0)
    for version in range(2, 9):
        manager.observe(PODS, obj("a", version))
        manager.run(0.1 * version)
    assert [now for _, now in probe.asked] == [0.0]
    assert manager.next_wake(0.9) == 1.0
    manager.run(1.0)
    assert [now for _, now in probe.asked] == [0.0, 1.0]
    assert manager.next_wake(1.0) is None


def test_a_pod_that_changes_its_labels_concerns_whom_it_leaves() -> None:
    probe = Probe(watches={PODS: lambda obj, cache: (("ns", obj.labels.get("app", "")),)})
    manager = manager_of(probe)
    for version, app in ((1, "one"), (2, "one"), (3, "two")):
        metadata = Metadata(name="p", namespace="ns", resource_version=str(version), labels={"app": app})
        manager.observe(PODS, Pod(metadata=metadata))
        manager.run(float(version))
    assert probe.asked == [(("ns", "one"), 1.0), (("ns", "one"), 2.0), (("ns", "two"), 3.0), (("ns", "one"), 3.0)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 1000)), min_size=1, max_size=60))
def test_timers_take_no_more_room_than_there_are_keys(looks: list[tuple[int, int]]) -> None:
    probe = Probe()
    manager = manager_of(probe)
    wanted: dict[Key, float] = {}
    for version, (key, at) in enumerate(looks * 40, start=1):
        due = float(at)
        probe.answer = lambda key, cache, now, due=due: Outcome(again_at=due)  # type: ignore[misc]
        manager.observe(PODS, obj(f"p{key}", version))
        manager.run(0.0)
        wanted["ns", f"p{key}"] = due
    assert manager.next_wake(0.0) == min(wanted.values())
    assert len(manager._heap) <= 1024 + 1


def test_controllers_take_turns() -> None:
    busy, quiet = Probe("busy"), Probe("quiet")
    manager = manager_of(busy, quiet)
    for number in range(50):
        manager.observe(PODS, obj(f"p{number}"))
    manager.run(0.0, budget=10)
    assert (len(busy.asked), len(quiet.asked)) == (5, 5)
    assert manager.next_wake(0.0) == 0.0


def test_a_bug_on_one_object_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    probe = Probe()

    def answer(key: Key, cache: Cache, now: float) -> Outcome:
        if key == ("ns", "bad"):
            raise RuntimeError("a bug")
        return Outcome((create("x"),))

    probe.answer = answer
    manager = manager_of(probe)
    manager.observe(PODS, obj("bad"))
    manager.observe(PODS, obj("good"))
    assert len(manager.run(0.0)) == 1
    assert "a bug" in caplog.text


# --- events for users --------------------------------------------------------------------------------------------


def test_notes_are_told_when_the_changes_are_made_and_nobody_waits_for_them() -> None:
    probe = Probe()
    note = Note(PODS, obj("a"), "SuccessfulCreate", "Created pod: x")
    probe.answer = lambda key, cache, now: Outcome((create("x"),), notes=(note,)) if not now else NOTHING
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, None, 1.0)
    assert manager.next_wake(1.0) == 1.0
    (reported,) = manager.run(1.0)
    assert reported.change.resource == EVENTS
    assert isinstance(reported.change, Create)
    assert reported.change.document["reason"] == "SuccessfulCreate"
    manager.done(reported, None, refused(403, "Forbidden"), 1.0)
    assert manager.next_wake(1.0) is None


def test_nothing_is_told_of_what_failed() -> None:
    probe = Probe()
    note = Note(PODS, obj("a"), "SuccessfulCreate", "Created pod: x")
    probe.answer = lambda key, cache, now: Outcome((create("x"),), notes=(note,)) if not now else NOTHING
    manager = manager_of(probe)
    manager.observe(PODS, obj("a"))
    (ticket,) = manager.run(0.0)
    manager.done(ticket, None, refused(403, "Forbidden"), 0.0)
    assert manager.run(1.0) == []


class Unhurried(Probe):
    """A controller that writes for people."""

    writes_a_second = 2.0


def test_a_paced_controller_writes_so_much_a_second_over_all_its_keys() -> None:
    paced, other = Unhurried(), Probe("other")
    paced.answer = lambda key, cache, now: Outcome((create(f"of-{key[1]}"),))
    manager = manager_of(paced, other)
    for number in range(5):
        manager.observe(PODS, obj(f"p{number}"))
    assert len(manager.run(100.0)) == 2  # what a second has
    assert len(other.asked) == 5  # nobody else is held up
    assert manager.next_wake(100.0) == 100.5
    assert manager.run(100.4) == []
    assert len(manager.run(100.5)) == 1
    assert manager.next_wake(100.5) == 101.0
    assert len(manager.run(110.0)) == 2  # no more than that is saved up
    assert [key[1] for key, _ in paced.asked] == [f"p{number}" for number in range(5)]
    assert manager.next_wake(110.0) is None


def test_what_a_paced_controller_looks_at_without_a_write_is_free() -> None:
    paced = Unhurried()
    manager = manager_of(paced)
    for number in range(50):
        manager.observe(PODS, obj(f"p{number}"))
    manager.run(100.0)
    assert len(paced.asked) == 50
    assert manager.next_wake(100.0) is None


def test_a_paced_controller_that_is_not_synced_wakes_nobody() -> None:
    paced = Unhurried(watches={PODS: itself, NODES: itself})
    paced.answer = lambda key, cache, now: Outcome((create(f"of-{key[1]}"), create(f"and-{key[1]}")))
    manager = Manager([paced])
    manager.synced(PODS)
    manager.observe(PODS, obj("a"))
    manager.observe(PODS, obj("b"))
    assert manager.run(100.0) == []
    assert manager.next_wake(100.0) is None
    manager.synced(NODES)
    assert len(manager.run(100.0)) == 2
    assert manager.next_wake(100.0) == 100.5
