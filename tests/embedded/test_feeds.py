"""Watches that share what they read: whoever reads when and how much, each is told everything in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podium.kube.resources import CONFIGMAPS
from podium.kube.transport import MERGE_PATCH
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
    told: list[list[tuple[str, str]]] = [[] for _ in watchers]

    def read(index: int, limit: int) -> bool:
        events = watchers[index].events(limit)
        for event in events:
            metadata = event["object"]["metadata"]
            told[index].append((metadata["namespace"], metadata["labels"]["n"]))
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
        assert told[index] == wanted


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
