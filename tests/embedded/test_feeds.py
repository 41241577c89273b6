"""Watches that share what they read: whoever reads when and how much, each is told everything in order."""

from __future__ import annotations

from functools import partial

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from podium.embedded.feeds import Watch
from podium.embedded.store import Record
from podium.kube.resources import CONFIGMAPS, Resource
from podium.kube.transport import MERGE_PATCH, Request
from tests.embedded.server import Server, config_map

MAPS = CONFIGMAPS.path("default")
EVERYWHERE = CONFIGMAPS.path()

# What each of a few watchers asks for.
ASKED: list[tuple[str, dict[str, str]]] = [
    (MAPS, {}),
    (MAPS, {}),
    (EVERYWHERE, {}),
    (EVERYWHERE, {}),
    (MAPS, {"labelSelector": "n"}),
]
READS = st.tuples(st.integers(0, len(ASKED) - 1), st.sampled_from([1, 500, 1 << 18]))
STEPS = st.lists(st.one_of(st.sampled_from(["default", "kube-system"]), READS, READS), max_size=60)


@given(STEPS)
def test_every_watcher_is_told_everything_whoever_reads_beside_it(steps: list[str | tuple[int, int]]) -> None:
    server = Server()
    for namespace in ("default", "kube-system"):
        server.create(CONFIGMAPS, config_map("a"), namespace)
    start = str(server.store.version)
    watchers = [server.watch(path, resourceVersion=start, **more) for path, more in ASKED]
    written: list[tuple[str, str]] = []
    reported: list[list[tuple[str, str]]] = [[] for _ in watchers]

    def read(index: int, limit: int) -> bool:
        events = watchers[index].events(limit)
        for event in events:
            metadata = event["object"]["metadata"]
            reported[index].append((metadata["namespace"], metadata["labels"]["n"]))
        return bool(events)

    for step in steps:
        if isinstance(step, str):
            change = {"metadata": {"labels": {"n": str(len(written))}}}
            server.ok("PATCH", CONFIGMAPS.path(step, "a"), change, media=MERGE_PATCH)
            written.append((step, str(len(written))))
        else:
            read(*step)
    for index, (path, _) in enumerate(ASKED):
        while read(index, 700):
            pass
        wanted = [write for write in written if path == EVERYWHERE or write[0] == "default"]
        assert reported[index] == wanted


class SlowLog:
    """A log whose writes are on the disk when the test says so."""

    keeps = True

    def __init__(self) -> None:
        self.last = 0

    def append(self, resource: Resource, record: Record, deleted: bool) -> int:
        self.last += 1
        return self.last


@given(st.lists(st.one_of(st.sampled_from(["write", "elsewhere", "commit"]), st.integers(0, 3)), max_size=60))
def test_watchers_outside_are_shown_what_is_durable_and_woken_when_there_is_more(steps: list[str | int]) -> None:
    log = SlowLog()
    server = Server(log=log)
    server.create(CONFIGMAPS, config_map("a"))
    server.store.made_durable(log.last)
    start = str(server.store.version)
    feeds = [server.api.handle(request(start, more)) for more in ((), (), (("labelSelector", "n"),), ())]
    reported: list[list[int]] = [[] for _ in feeds]
    ready = [False] * len(feeds)
    for index, feed in enumerate(feeds):
        assert isinstance(feed, Watch)
        if index < 3:  # the last one is within the process
            feed.hold_back()
        feed.on_ready(partial(ready.__setitem__, index, True))

    def read(index: int) -> None:
        feed = feeds[index]
        assert isinstance(feed, Watch)
        ready[index] = False
        lines = feed.take().splitlines()
        reported[index] += [
            int(msgspec.json.decode(line)["object"]["metadata"]["resourceVersion"]) for line in lines
        ]
        limit = server.store.durable if index < 3 else server.store.version
        assert all(version <= limit for version in reported[index])

    written: list[int] = []
    committed = log.last
    for number, step in enumerate(steps):
        if step == "commit":
            committed = min(log.last, committed + 2)  # a part of what there is
            server.store.made_durable(committed)
        elif isinstance(step, str):
            namespace = "default" if step == "write" else "kube-system"
            change = {"metadata": {"name": f"c{number}", "labels": {"n": ""}}}
            made = server.create(CONFIGMAPS, change, namespace)
            if namespace == "default":
                written.append(int(made["metadata"]["resourceVersion"]))
        else:
            read(step)
    server.store.made_durable(log.last)
    for index in range(len(feeds)):
        if ready[index]:  # who is not woken must have everything
            read(index)
        assert reported[index] == written


def request(version: str, more: tuple[tuple[str, str], ...]) -> Request:
    return Request("GET", MAPS, (("watch", "true"), ("resourceVersion", version), *more))


def test_watchers_at_the_same_position_are_given_the_same_bytes() -> None:
    server = Server()
    start = str(server.store.version)
    one, two = (server.watch(MAPS, resourceVersion=start) for _ in range(2))
    other = server.watch(EVERYWHERE, resourceVersion=start)
    for name in ("a", "b"):
        server.create(CONFIGMAPS, config_map(name))
    first = one.feed.take()
    assert two.feed.take() is first
    assert other.feed.take() == first
    server.create(CONFIGMAPS, config_map("c"))
    assert one.told() == two.told() == other.told() == [("ADDED", "c")]


def test_what_was_read_before_the_history_was_cut_is_not_told_to_those_who_missed_it() -> None:
    server = Server()
    start = str(server.store.version)
    one, two = (server.watch(MAPS, resourceVersion=start) for _ in range(2))
    server.create(CONFIGMAPS, config_map("a"))
    assert one.told() == [("ADDED", "a")]
    bucket = server.store.bucket(CONFIGMAPS)
    bucket.trimmed += len(bucket.history)
    bucket.history.clear()
    assert two.events()[0]["object"]["code"] == 410
    assert two.feed.finished
