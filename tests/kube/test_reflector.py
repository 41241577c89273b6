"""Each rule of the reflector, without IO: what it asks for, and what it tells."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import ApiError, TransportError
from podium.kube.deltas import Added, Deleted, Modified, Undecodable
from podium.kube.list_watch import Reader
from podium.kube.reflector import HOPES, Ask, Follow, Pause, Reflector
from podium.kube.resources import NODES, PODS
from podium.kube.transport import Request
from podium.kube.wire import Node, Pod
from tests.kube.fake_store import FakeStore, Replay, bookmark_line, encoded, error_line


def pod(name: str, version: int, uid: str = "", **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "d", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **rest}


def listing(version: int, *items: Any, more: str = "") -> bytes:
    return encoded({"metadata": {"resourceVersion": str(version), "continue": more}, "items": items})


def event(type: str, document: Any) -> bytes:
    return encoded({"type": type, "object": document})


def status(code: int, reason: str = "", message: str = "", **details: Any) -> bytes:
    return encoded({"kind": "Status", "code": code, "reason": reason, "message": message, "details": details})


def asked(reflector: Reflector[Any], now: float = 0.0) -> Request:
    step = reflector.next(now)
    assert isinstance(step, Ask), step
    return step.request


def followed(reflector: Reflector[Any], now: float = 0.0) -> Request:
    step = reflector.next(now)
    assert isinstance(step, Follow), step
    return step.request


def paused(reflector: Reflector[Any], now: float) -> float:
    """The seconds that the reflector wants to wait."""
    step = reflector.next(now)
    assert isinstance(step, Pause), step
    return step.until - now


def following(*items: Any, version: int = 100, **options: Any) -> tuple[Reflector[Pod], Replay]:
    """A reflector that has listed and opened its watch at time 0."""
    reflector = Reflector(PODS, Pod, **options)
    replay = Replay()
    asked(reflector)
    replay(reflector.page(200, listing(version, *items), 0.0))
    followed(reflector)
    reflector.opened(0.0)
    replay.told.clear()
    return reflector, replay


# --- listing -----------------------------------------------------------------------------------------------


def test_the_requests_it_makes() -> None:
    reflector = Reflector(PODS, Pod)
    request = asked(reflector)
    assert (request.method, request.path) == ("GET", "/api/v1/pods")
    assert request.query == (("limit", "500"),)
    reflector.page(200, listing(7), 0.0)
    watch = followed(reflector)
    assert watch.query[:3] == (
        ("watch", "true"),
        ("resourceVersion", "7"),
        ("allowWatchBookmarks", "true"),
    )
    assert asked(Reflector(NODES, Node)).path == "/api/v1/nodes"


def test_watches_last_five_to_ten_minutes_and_not_all_alike() -> None:
    seconds = set()
    for seed in range(50):
        reflector, _ = following(seed=seed)
        seconds.add(int(followed(reflector).param("timeoutSeconds")))
    assert min(seconds) >= 300
    assert max(seconds) <= 600
    assert len(seconds) > 20
    again, _ = following(seed=3)
    same, _ = following(seed=3)
    assert followed(again) == followed(same)


def test_pages_are_told_in_one_batch_when_the_last_is_there() -> None:
    reflector = Reflector(PODS, Pod, page_size=2)
    assert asked(reflector).query == (("limit", "2"),)
    assert reflector.page(200, listing(50, pod("a", 1), pod("b", 2), more="tok"), 0.0) == []
    assert not reflector.synced
    assert asked(reflector).query == (("limit", "2"), ("continue", "tok"))
    deltas = reflector.page(200, listing(50, pod("c", 3)), 0.0)
    assert [type(delta) for delta in deltas] == [Added] * 3
    assert reflector.synced
    assert reflector.version == "50"
    assert reflector.counters.lists == 1
    assert reflector.counters.relists == 0


def test_the_next_page_is_known_from_the_head_of_the_one_before() -> None:
    reflector = Reflector(PODS, Pod, page_size=2)
    first = listing(50, pod("a", 1), pod("b", 2), more="tok")
    expected = reflector.next_page(first)
    reflector.page(200, first, 0.0)
    assert expected == asked(reflector)
    assert reflector.next_page(listing(50, pod("c", 3))) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no list",
        b'{"items":[],"metadata":{"continue":"later"}}',  # a server that puts it behind is read in turn
        b'{"metadata":{"continue":7},"items":[]}',
        b'{"metadata":{"annotations":"' + b"x" * 5000 + b'","continue":"far"},"items":[]}',
    ],
)
def test_a_head_that_tells_nothing_promises_no_page(body: bytes) -> None:
    assert Reflector(PODS, Pod).next_page(body) is None


def test_an_empty_list_is_synced_even_with_null_items() -> None:
    reflector = Reflector(PODS, Pod)
    assert reflector.page(200, encoded({"metadata": {"resourceVersion": "1"}, "items": None}), 0.0) == []
    assert reflector.synced


def test_a_410_between_pages_asks_for_everything_at_once() -> None:
    reflector = Reflector(PODS, Pod, page_size=1)
    reflector.page(200, listing(50, pod("a", 1), more="tok"), 0.0)
    reflector.page(410, status(410, "Expired"), 0.0)
    assert asked(reflector).query == ()
    (added,) = reflector.page(200, listing(60, pod("b", 55)), 0.0)
    assert isinstance(added, Added)
    assert [obj.name for obj in reflector.objects] == ["b"]
    followed(reflector)
    reflector.line(error_line(410, "Expired"), 0.0)
    assert asked(reflector).query == (("limit", "1"),)


def test_a_failure_between_pages_goes_on_with_the_same_page() -> None:
    reflector = Reflector(PODS, Pod, page_size=1)
    reflector.page(200, listing(50, pod("a", 1), more="tok"), 0.0)
    reflector.closed(TransportError("reset"), 0.0)
    assert asked(reflector, 10.0).param("continue") == "tok"
    reflector.page(500, b"oops", 10.0)
    assert asked(reflector, 30.0).param("continue") == "tok"
    assert len(reflector.page(200, listing(50, pod("b", 2)), 30.0)) == 2


def test_a_list_that_cannot_be_read_is_a_failure() -> None:
    reflector = Reflector(PODS, Pod)
    reflector.page(200, b"<html>", 0.0)
    assert paused(reflector, 0.0) > 0
    assert not reflector.synced
    assert "cannot be read" in reflector.trouble
    assert reflector.counters.errors == 1


# --- watching ----------------------------------------------------------------------------------------------


def test_events_are_told_by_what_is_known_not_by_their_type() -> None:
    reflector, _ = following(pod("a", 1))
    assert isinstance(reflector.line(event("ADDED", pod("a", 101)), 1.0)[0], Modified)
    assert isinstance(reflector.line(event("MODIFIED", pod("b", 102)), 1.0)[0], Added)
    (deleted,) = reflector.line(event("DELETED", pod("a", 103)), 1.0)
    assert isinstance(deleted, Deleted)
    assert deleted.obj is not None
    assert deleted.obj.metadata.resource_version == "103"
    assert reflector.line(event("DELETED", pod("z", 104)), 1.0) == []
    assert [obj.name for obj in reflector.objects] == ["b"]
    assert reflector.version == "104"


def test_bookmarks_move_the_version() -> None:
    reflector, _ = following()
    assert reflector.line(bookmark_line(150), 60.0) == []
    reflector.line(bookmark_line(140), 61.0)
    reflector.closed(None, 400.0)
    assert followed(reflector, 400.0).param("resourceVersion") == "150"
    assert reflector.counters.watches == 2
    assert reflector.counters.lists == 1


def test_a_bookmark_that_does_not_fit_the_struct_is_still_a_bookmark() -> None:
    reflector, _ = following()
    line = event("BOOKMARK", {"metadata": {"resourceVersion": "109", "name": 7}, "spec": "none"})
    assert reflector.line(line, 0.0) == []
    assert reflector.version == "109"


@pytest.mark.parametrize("version", [5, 99, 100])
def test_replayed_events_are_ignored(version: int) -> None:
    reflector, _ = following(pod("a", 50))
    assert reflector.line(event("MODIFIED", pod("a", version)), 1.0) == []
    assert reflector.line(event("ADDED", pod("gone", version)), 1.0) == []
    assert [obj.name for obj in reflector.objects] == ["a"]
    assert reflector.counters.replays == 2


def test_a_replayed_deletion_does_not_hit_a_namesake() -> None:
    reflector, _ = following(pod("a", 50))
    reflector.line(event("DELETED", pod("a", 101, "uid-1")), 1.0)
    reflector.line(event("ADDED", pod("a", 102, "uid-2")), 1.0)
    assert reflector.line(event("DELETED", pod("a", 101, "uid-1")), 1.0) == []
    assert [obj.uid for obj in reflector.objects] == ["uid-2"]


def test_a_deletion_with_the_objects_last_version_counts() -> None:
    reflector, _ = following(pod("a", 50), pod("b", 60))
    reflector.line(event("MODIFIED", pod("b", 110)), 1.0)
    assert isinstance(reflector.line(event("DELETED", pod("a", 50)), 1.0)[0], Deleted)


def test_another_uid_under_a_known_name_is_a_deletion_and_a_creation() -> None:
    reflector, _ = following(pod("a", 50, "old"))
    deleted, added = reflector.line(event("MODIFIED", pod("a", 101, "new")), 1.0)
    assert isinstance(deleted, Deleted)
    assert deleted.obj is not None
    assert deleted.obj.uid == "old"
    assert isinstance(added, Added)
    assert added.obj.uid == "new"


def test_versions_that_are_no_numbers_are_compared_for_equality() -> None:
    reflector, _ = following()
    odd = pod("a", 0)
    odd["metadata"]["resourceVersion"] = "x7"
    assert len(reflector.line(event("ADDED", odd), 1.0)) == 1
    assert reflector.line(event("ADDED", odd), 1.0) == []
    assert reflector.version == "x7"


def test_unknown_event_types_and_empty_lines_are_skipped() -> None:
    reflector, _ = following()
    assert reflector.line(b"", 1.0) == []
    assert reflector.line(b"\r", 1.0) == []
    assert reflector.line(event("SOMETHING", {"metadata": {}}), 1.0) == []
    assert reflector.following


def test_a_line_that_is_no_json_ends_the_watch_and_resumes_it_later() -> None:
    reflector, _ = following(pod("a", 50))
    assert reflector.line(b'{"type":"ADD', 1.0) == []
    assert not reflector.following
    delay = paused(reflector, 1.0)
    assert followed(reflector, 1.0 + delay).param("resourceVersion") == "100"


def test_lines_after_the_end_are_nobodys() -> None:
    reflector, _ = following()
    reflector.line(error_line(410, "Expired"), 1.0)
    assert reflector.line(event("ADDED", pod("a", 101)), 1.0) == []
    reflector.closed(None, 1.0)
    assert asked(reflector, 1.0)


# --- relisting ---------------------------------------------------------------------------------------------

UNUSABLE = {
    "ERROR 410": lambda r: r.line(error_line(410, "Expired", "too old resource version: 1 (2)"), 10.0),
    "ERROR 410 Gone": lambda r: r.line(error_line(410, "Gone"), 10.0),
    "ERROR with another code": lambda r: r.line(error_line(500, "Expired"), 10.0),
    "HTTP 410": lambda r: r.closed(ApiError(410, "Expired", "too old"), 10.0),
    "ERROR too large": lambda r: r.line(
        error_line(504, "Timeout", "Too large resource version: 9, current: 1"), 10.0
    ),
    "HTTP too large": lambda r: r.closed(
        ApiError(504, "Timeout", "", {"causes": [{"reason": "ResourceVersionTooLarge"}]}), 10.0
    ),
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_an_unusable_version_means_a_new_list_and_the_difference(how: str) -> None:
    """The watch correctness test: what vanished in the gap is told, what stayed the same is not."""
    reflector, replay = following(pod("a", 1), pod("b", 2), pod("c", 3), pod("d", 4, "old"))
    UNUSABLE[how](reflector)
    assert not reflector.following
    assert asked(reflector, 10.0).query == (("limit", "500"),)
    replay(
        reflector.page(200, listing(200, pod("b", 2), pod("c", 150), pod("d", 160, "new"), pod("e", 170)), 10.0)
    )
    assert sorted(replay.told) == ["+ d", "+ e", "- a", "- d", "~ c"]
    assert replay.told[0] == "- a"
    assert followed(reflector, 10.0).param("resourceVersion") == "200"
    assert reflector.counters.relists == 1


def test_410_again_and_again_is_not_a_hot_loop() -> None:
    reflector, _ = following()
    now, lists = 0.0, 0
    while now < 60.0:
        step = reflector.next(now)
        if isinstance(step, Pause):
            now = step.until
        elif isinstance(step, Ask):
            lists += 1
            reflector.page(200, listing(200), now)
        else:
            reflector.line(error_line(410, "Expired"), now)
    assert 3 <= lists <= 12


# --- failures ----------------------------------------------------------------------------------------------


def test_failures_wait_longer_each_time_and_health_is_rewarded() -> None:
    reflector, _ = following(seed=1)
    now = 0.0
    for nominal in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0):
        reflector.closed(TransportError("refused"), now)
        delay = paused(reflector, now)
        assert nominal * 0.5 <= delay <= nominal * 1.5
        now += delay
        assert followed(reflector, now).param("resourceVersion") == "100"
    now += 121.0
    reflector.closed(TransportError("reset"), now)
    assert paused(reflector, now) <= 1.2


def test_a_watch_that_ended_in_good_order_is_reopened_at_once() -> None:
    reflector, _ = following()
    reflector.closed(None, 300.0)
    followed(reflector, 300.0)
    assert reflector.counters.errors == 0


@pytest.mark.parametrize("lines", [0, 1])
def test_watches_that_end_at_once_are_not_a_hot_loop(lines: int) -> None:
    reflector, _ = following()
    now, watches = 0.0, 0
    while now < 60.0:
        step = reflector.next(now)
        if isinstance(step, Pause):
            now = step.until
            continue
        watches += 1
        for _ in range(lines):
            reflector.line(bookmark_line(100), now)
        reflector.closed(None, now)
    assert watches <= 12


def test_a_watch_that_ends_at_once_is_a_failure_if_it_said_nothing() -> None:
    reflector, _ = following()
    reflector.closed(None, 0.5)
    assert reflector.counters.errors == 1
    reflector, _ = following()
    reflector.line(bookmark_line(100), 0.5)
    reflector.closed(None, 0.5)
    assert reflector.counters.errors == 0
    reflector, _ = following()
    reflector.line(bookmark_line(100), 0.5)
    reflector.closed(TransportError("reset"), 300.0)
    assert reflector.counters.errors == 1


def test_a_refused_watch_with_a_hint_waits_as_long_as_told() -> None:
    reflector, _ = following()
    for _ in range(10):
        reflector.closed(ApiError(429, "TooManyRequests", "later", {"retryAfterSeconds": 4}), 10.0)
        assert 4.0 <= paused(reflector, 10.0) <= 6.0
        reflector.poke()
        followed(reflector, 20.0)
    assert reflector.trouble == "later"


def test_a_stalled_watch_is_reopened_at_once() -> None:
    reflector, _ = following(stall=42.0)
    step = reflector.next(0.0)
    assert isinstance(step, Follow)
    assert step.stall == 42.0
    reflector.stalled(42.0)
    assert not reflector.following
    assert followed(reflector, 42.0).param("resourceVersion") == "100"
    assert reflector.counters.stalls == 1
    assert reflector.counters.errors == 0


def test_trouble_is_told_until_it_is_over() -> None:
    reflector, _ = following()
    reflector.closed(TransportError("reset"), 1.0)
    assert reflector.trouble == "reset"
    followed(reflector, 5.0)
    assert reflector.trouble == "reset"
    reflector.opened(5.0)
    assert reflector.trouble == ""


# --- kinds that are not there ------------------------------------------------------------------------------


def test_an_absent_kind_is_empty_and_synced_and_asked_for_again() -> None:
    reflector = Reflector(PODS, Pod)
    assert reflector.page(404, b"404 page not found", 0.0) == []
    assert reflector.synced
    assert reflector.absent
    assert paused(reflector, 0.0) == 30.0
    asked(reflector, 30.0)
    assert len(reflector.page(200, listing(5, pod("a", 1)), 30.0)) == 1
    assert not reflector.absent
    assert reflector.trouble == ""
    assert reflector.counters.errors == 0


def test_after_a_poke_it_looks_every_second_for_a_while() -> None:
    reflector = Reflector(PODS, Pod)
    reflector.page(404, b"", 0.0)
    reflector.poke()
    pauses = []
    for _ in range(HOPES + 2):
        asked(reflector, 100.0)
        reflector.page(404, b"", 100.0)
        pauses.append(paused(reflector, 100.0))
        reflector._wake_at = 100.0
    assert pauses == [1.0] * HOPES + [30.0] * 2


def test_an_error_without_a_code_is_a_failure_of_the_server() -> None:
    reflector, _ = following()
    reflector.line(encoded({"type": "ERROR", "object": {"kind": "Status", "message": "broken"}}), 0.0)
    assert reflector.counters.errors == 1
    event = Reader(Pod).event(encoded({"type": "ERROR", "object": {"kind": "Status", "message": "broken"}}))
    assert isinstance(event, ApiError)
    assert event.code == 500


def test_a_poke_looks_again_at_once() -> None:
    reflector = Reflector(PODS, Pod)
    reflector.page(404, b"", 0.0)
    reflector.poke()
    asked(reflector, 0.0)


def test_a_poke_does_not_shorten_a_back_off() -> None:
    reflector = Reflector(PODS, Pod)
    reflector.page(500, b"", 0.0)
    reflector.poke()
    assert paused(reflector, 0.0) > 0


def test_a_kind_that_disappears_takes_its_objects_along() -> None:
    reflector, replay = following(pod("a", 1), pod("b", 2))
    reflector.closed(ApiError(404, "NotFound", "gone"), 10.0)
    asked(reflector, 10.0)
    replay(reflector.page(404, status(404, "NotFound"), 10.0))
    assert sorted(replay.told) == ["- a", "- b"]
    assert reflector.absent
    assert paused(reflector, 10.0) == 30.0


def test_a_forbidden_kind_is_synced_and_flagged() -> None:
    reflector = Reflector(PODS, Pod)
    assert reflector.page(403, status(403, "Forbidden", "no"), 0.0) == []
    assert reflector.synced
    assert reflector.forbidden
    assert len(reflector.objects) == 0
    assert reflector.trouble == "no"
    assert paused(reflector, 0.0) == 30.0
    reflector.poke()
    asked(reflector, 0.0)
    reflector.page(200, listing(5), 0.0)
    assert not reflector.forbidden


def test_what_was_known_survives_being_forbidden() -> None:
    reflector, replay = following(pod("a", 1))
    reflector.closed(ApiError(403, "Forbidden", "no"), 10.0)
    assert reflector.forbidden
    now = 10.0
    for _ in range(HOPES):  # a server that has just started may refuse for a moment
        assert paused(reflector, now) == 1.0
        now += 1.0
        assert reflector.page(403, status(403, "Forbidden", "no"), now) == []
    assert paused(reflector, now) == 30.0
    assert [obj.name for obj in reflector.objects] == ["a"]
    replay(reflector.page(200, listing(300), now + 30.0))
    assert replay.told == ["- a"]


# --- objects that do not fit -------------------------------------------------------------------------------


def test_an_object_that_does_not_fit_is_told_and_hides_nobody() -> None:
    reflector = Reflector(PODS, Pod)
    bad = pod("bad", 2, spec={"nodeName": 7})
    deltas = reflector.page(200, listing(100, pod("a", 1), bad, pod("c", 3)), 0.0)
    assert [type(delta).__name__ for delta in deltas] == ["Added", "Undecodable", "Added"]
    reported = deltas[1]
    assert isinstance(reported, Undecodable)
    assert reported.key == ("d", "bad")
    assert "$.spec.nodeName" in reported.error
    assert b'"nodeName":7' in reported.raw
    assert sorted(obj.name for obj in reflector.objects) == ["a", "c"]


def test_the_life_of_an_object_that_is_sometimes_readable() -> None:
    reflector, replay = following(pod("a", 1))
    broken: dict[str, Any] = {"nodeName": 7}
    for line in (
        event("MODIFIED", pod("a", 101, spec=broken)),
        event("MODIFIED", pod("a", 102, spec=broken)),
        event("MODIFIED", pod("a", 103)),
        event("MODIFIED", pod("a", 104, spec=broken)),
        event("DELETED", pod("a", 105, spec=broken)),
        event("ADDED", pod("b", 106)),
        event("DELETED", pod("b", 107, spec=broken)),
    ):
        replay(reflector.line(line, 1.0))
    assert replay.told == ["? a", "? a", "+ a", "? a", "- a", "+ b", "- b"]
    assert reflector.version == "107"


def test_relisting_tells_an_unreadable_object_only_when_it_changed() -> None:
    reflector, replay = following(pod("a", 1, spec={"nodeName": 7}), pod("b", 2, spec={"nodeName": 7}))
    reflector.line(error_line(410, "Expired"), 10.0)
    asked(reflector, 10.0)
    replay(reflector.page(200, listing(200, pod("a", 1, spec={"nodeName": 7})), 10.0))
    assert replay.told == ["- b"]


@pytest.mark.parametrize("document", [7, [], {}, {"metadata": None}, {"metadata": {"name": 7}}, {"metadata": "x"}])
def test_garbage_without_a_name_is_told_but_not_kept(document: Any) -> None:
    reflector, _ = following()
    (reported,) = reflector.line(event("ADDED", document), 1.0)
    assert isinstance(reported, Undecodable)
    assert reported.key == ("", "")
    assert reflector.following
    assert len(reflector.objects) == 0


def test_the_fake_store_behaves_as_the_tests_of_histories_need_it() -> None:
    store = FakeStore()
    store.put("a")
    store.put("b")
    first = asked(Reflector(PODS, Pod, page_size=1))
    code, body = store.page(first)
    assert code == 200
    assert b'"continue":"102:1"' in body
    store.compact()
    assert store.page(Request("GET", "/", (("continue", "102:1"),)))[0] == 410


# --- servers that are behind -------------------------------------------------------------------------------------


def relisting() -> tuple[Reflector[Pod], Replay]:
    """A reflector that has come to version 120, and has to list anew."""
    reflector, replay = following(pod("old", 90), version=100)
    replay(reflector.line(event("ADDED", pod("new", 120)), 1.0))
    reflector.line(error_line(410, "Expired"), 2.0)
    return reflector, replay


def test_a_list_that_is_older_than_what_was_seen_is_refused() -> None:
    reflector, replay = relisting()
    asked(reflector, 2.0)
    assert reflector.page(200, listing(110, pod("old", 90)), 2.0) == []
    assert "behind" in reflector.trouble
    assert reflector.version == "120"
    assert paused(reflector, 2.0) > 0
    asked(reflector, 40.0)
    replay(reflector.page(200, listing(130, pod("new", 120)), 40.0))
    assert {each.name for each in reflector.objects} == {"new"}
    assert reflector.trouble == ""


def test_a_server_that_stays_behind_was_restored() -> None:
    reflector, _ = relisting()
    now = 2.0
    for _ in range(50):
        asked(reflector, now)
        if reflector.page(200, listing(110, pod("old", 90)), now):
            break
        now += paused(reflector, now)
    assert {each.name for each in reflector.objects} == {"old"}
    assert 100 < now < 200
