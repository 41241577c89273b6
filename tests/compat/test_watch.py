"""Watching: from a version, from now, through a selector, with bookmarks, and from too long ago."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.compat import cluster
from tests.compat.client import Document, Server, summary
from tests.controlplane.server import ControlPlane


def secrets(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/secrets" + (f"/{name}" if name else "")


def secret(name: str, **labels: str) -> Document:
    return {"metadata": {"name": name, "labels": labels}}


def version(document: Document) -> str:
    return str(document["metadata"]["resourceVersion"])


def test_events_from_a_version_in_order(server: Server, ns: str) -> None:
    start = version(server.get(secrets(ns)))
    made = server.create(secrets(ns), secret("a"))
    changed = server.merge(secrets(ns, "a"), {"metadata": {"labels": {"x": "y"}}})
    server.http("DELETE", secrets(ns, "a")).expect(200)
    with server.watch(secrets(ns), resourceVersion=start) as watch:
        events = watch.until(lambda event: event["type"] == "DELETED")
    assert summary(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert events[0]["object"] == {**made, "kind": "Secret", "apiVersion": "v1"}
    assert events[1]["object"] == changed
    versions = [int(version(event["object"])) for event in events]
    assert versions == sorted(set(versions)), "a deletion has a version of its own"
    with server.watch(secrets(ns), resourceVersion=versions[1]) as watch:
        assert summary([watch.next() or {}]) == [("DELETED", "a")]


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=str)
def test_a_watch_without_a_version_begins_with_what_is_there(
    server: Server, ns: str, query: dict[str, str]
) -> None:
    for name in ("a", "b"):
        server.create(secrets(ns), secret(name))
    with server.watch(secrets(ns), **query) as watch:
        events = [watch.next(), watch.next()]
        server.create(secrets(ns), secret("c"))
        events.append(watch.next())
    assert sorted(summary([event or {} for event in events])) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


def test_a_selector_turns_changes_into_additions_and_deletions(server: Server, ns: str) -> None:
    start = version(server.get(secrets(ns)))
    with server.watch(secrets(ns), resourceVersion=start, labelSelector="on=yes") as watch:
        server.create(secrets(ns), secret("out"))
        server.create(secrets(ns), secret("in", on="yes"))
        server.merge(secrets(ns, "out"), {"metadata": {"labels": {"on": "yes"}}})
        server.merge(secrets(ns, "in"), {"metadata": {"labels": {"more": "1"}}})
        left = server.merge(secrets(ns, "in"), {"metadata": {"labels": {"on": "no"}}})
        server.merge(secrets(ns, "in"), {"metadata": {"labels": {"more": "2"}}})
        server.http("DELETE", secrets(ns, "in")).expect(200)
        server.http("DELETE", secrets(ns, "out")).expect(200)
        events = watch.until(
            lambda event: (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "out")
        )
    assert summary(events) == [
        ("ADDED", "in"),
        ("ADDED", "out"),
        ("MODIFIED", "in"),
        ("DELETED", "in"),
        ("DELETED", "out"),
    ]
    # Who leaves a selection is shown as it was when it still belonged, at the version of the change.
    assert events[3]["object"]["metadata"]["labels"]["on"] == "yes"
    assert version(events[3]["object"]) == version(left)


def test_one_object_by_name(server: Server, ns: str) -> None:
    for name in ("a", "b"):
        server.create(secrets(ns), secret(name))
    with server.watch(secrets(ns), fieldSelector="metadata.name=b") as watch:
        assert summary([watch.next() or {}]) == [("ADDED", "b")]
        server.merge(secrets(ns, "a"), {"metadata": {"labels": {"x": "y"}}})
        server.merge(secrets(ns, "b"), {"metadata": {"labels": {"x": "y"}}})
        assert summary([watch.next() or {}]) == [("MODIFIED", "b")]


def test_a_watch_of_all_namespaces(server: Server, ns: str) -> None:
    start = version(server.get("/api/v1/secrets", limit=1))
    with server.watch("/api/v1/secrets", resourceVersion=start) as watch:
        server.create(secrets(ns), secret("a"))
        events = watch.until(lambda event: event["object"]["metadata"]["namespace"] == ns)
    assert summary(events)[-1] == ("ADDED", "a")


def test_a_watch_ends_when_its_time_is_up(server: Server, ns: str) -> None:
    start = version(server.get(secrets(ns)))
    began = time.monotonic()
    with server.watch(secrets(ns), resourceVersion=start, timeoutSeconds=1) as watch:
        assert watch.next() is None
    assert 0.5 < time.monotonic() - began < 10


def test_bookmarks_tell_how_far_the_watch_has_come(server: Server, ns: str) -> None:
    start = version(server.get(secrets(ns)))
    with server.watch(secrets(ns), resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=3) as watch:
        made = server.create(secrets(ns), secret("a"))
        events = watch.until(lambda event: event["type"] == "BOOKMARK")
    bookmark = events[-1]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("Secret", "v1")
    assert int(version(bookmark)) >= int(version(made))


def test_initial_events_end_with_a_marked_bookmark(server: Server, ns: str) -> None:
    for name in ("a", "b"):
        server.create(secrets(ns), secret(name))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with server.watch(secrets(ns), **query) as watch:
        events = watch.until(lambda event: event["type"] == "BOOKMARK")
    assert sorted(summary(events[:-1])) == [("ADDED", "a"), ("ADDED", "b")]
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    "query",
    [
        {"watch": "1", "sendInitialEvents": "true"},
        {"sendInitialEvents": "true"},
        {"watch": "1", "resourceVersion": "5", "resourceVersionMatch": "Exact"},
    ],
    ids=["events without a match", "events for a list", "exactly"],
)
def test_wishes_that_make_no_sense(server: Server, ns: str, query: dict[str, str]) -> None:
    answer = server.http("GET", secrets(ns), query=query)
    assert (answer.status, answer.reason) == (422, "Invalid")


def test_a_watch_as_tables_names_its_columns_once(server: Server, ns: str) -> None:
    for name in ("a", "b"):
        server.create(secrets(ns), secret(name))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    query = {"watch": "1", "timeoutSeconds": "1"}
    answer = server.http("GET", secrets(ns), query=query, headers={"Accept": accept})
    events = [json.loads(line) for line in answer.body.splitlines()]
    assert [event["object"]["kind"] for event in events] == ["Table", "Table"]
    assert len(events[0]["object"]["columnDefinitions"]) == 4
    assert events[1]["object"]["columnDefinitions"] is None


def test_many_watchers_see_the_same_history(server: Server, ns: str) -> None:
    start = version(server.get(secrets(ns)))
    for index in range(20):
        server.create(secrets(ns), secret(f"s{index:02}"))
    expected = [("ADDED", f"s{index:02}") for index in range(20)]
    for _ in range(5):
        with server.watch(secrets(ns), resourceVersion=start) as watch:
            last = watch.until(lambda event: event["object"]["metadata"]["name"] == "s19")
        assert summary(last) == expected


def test_a_watch_from_before_the_history_begins_is_told_to_list_again(server: Server, tmp_path: Path) -> None:
    """A server keeps recent changes only, and none from before its start: the client gets 410 and lists anew."""

    def old_version(running: Server) -> str:
        old = version(running.create(secrets("default"), secret("first")))
        running.create(secrets("default"), secret("second"))
        running.create(secrets("default"), secret("third"))
        return old

    def expired(running: Server, old: str) -> None:
        answer = running.http("GET", secrets("default"), query={"watch": "1", "resourceVersion": old})
        status = answer.json["object"] if answer.status == 200 else answer.json
        assert (status["code"], status["reason"]) == (410, "Expired")
        assert status["message"].startswith("too old resource version: ")
        if answer.status == 200:
            assert answer.json["type"] == "ERROR"

    if server.kind == "real":
        with ControlPlane(tmp_path / "plane") as plane:
            running = Server("real", plane.kubeconfig, plane.url, plane.token, plane.ca, tmp_path)
            old = old_version(running)
            plane.restart()
            expired(running, old)
    else:
        with cluster.embedded(tmp_path) as running:
            old = old_version(running)
        with cluster.embedded(tmp_path) as running:
            expired(running, old)
