"""Random histories: whatever is cut, repeated, forgotten or refused, the mirror ends up equal to the store."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import ApiError, TransportError
from podium.kube.deltas import Undecodable
from podium.kube.reflector import Ask, Follow, Pause, Reflector
from podium.kube.resources import PODS
from podium.kube.wire import Pod
from tests.kube.fake_store import FakeStore, Replay, bookmark_line, error_line, versions

NAMES = st.sampled_from("abc")
WRITES = st.tuples(st.sampled_from(["put", "put", "break", "delete", "delete"]), NAMES)

# What goes wrong, or simply happens, when the reflector takes its next step.
FATES = st.sampled_from(
    ["fine"] * 6
    + ["repeated"] * 3
    + ["expired", "compacted"] * 2
    + ["lost", "refused", "garbled", "unauthorised", "forbidden", "absent", "cut"]
)
ROUNDS = st.lists(st.tuples(st.lists(WRITES, max_size=4), FATES), min_size=3, max_size=25)


class Story:
    """One reflector, one store, and a clock that moves when the reflector waits."""

    def __init__(self, page_size: int, seed: int) -> None:
        self.store = FakeStore()
        self.reflector = Reflector(PODS, Pod, page_size=page_size, seed=seed)
        self.replay = Replay()
        self.now = 0.0
        self.sent: list[bytes] = []

    def write(self, what: str, name: str) -> None:
        if what == "put":
            self.store.put(name)
        elif what == "break":
            self.store.put(name, spec={"nodeName": 7})
        else:
            self.store.delete(name)

    def step(self, fate: str) -> None:
        step = self.reflector.next(self.now)
        if isinstance(step, Pause):
            self.now = step.until
            step = self.reflector.next(self.now)
        assert not isinstance(step, Pause)
        if fate == "compacted":
            self.store.compact()
        if isinstance(step, Ask):
            self._list(step, fate)
        else:
            self._watch(step, fate)
        self.validate()

    def _list(self, step: Ask, fate: str) -> None:
        refusals = {"refused": 500, "unauthorised": 401, "forbidden": 403, "absent": 404, "expired": 410}
        if fate == "lost":
            self.reflector.closed(TransportError("lost"), self.now)
        elif fate == "garbled":
            self.replay(self.reflector.page(200, b'{"metadata"', self.now))
        elif fate in refusals:
            self.replay(self.reflector.page(refusals[fate], b"no", self.now))
        else:
            self.replay(self.reflector.page(*self.store.page(step.request), self.now))

    def _watch(self, step: Follow, fate: str) -> None:
        refusals = {"refused": 500, "unauthorised": 401, "forbidden": 403, "absent": 404}
        if fate in refusals:
            self.reflector.closed(ApiError(refusals[fate], "", "no"), self.now)
            return
        self.reflector.opened(self.now)
        lines = self.store.watch(step.request)
        if fate == "expired":
            lines = [error_line(410, "Expired")]
        elif fate == "cut":
            lines = lines[: len(lines) // 2]
        elif fate == "repeated":
            lines = [*self.sent[-3:], *lines, *reversed(self.sent[-3:] + lines)]
        elif fate == "garbled":
            lines = [*lines[: len(lines) // 2], b'{"type":']
        for line in lines:
            self.replay(self.reflector.line(line, self.now))
            self.sent.append(line)
            if not self.reflector.following:
                return
        if fate == "fine":
            self.replay(self.reflector.line(bookmark_line(self.store.version), self.now))
        self.now += 5.0
        self.reflector.closed(TransportError("cut") if fate in ("cut", "lost") else None, self.now)

    def settle(self) -> None:
        """Nothing goes wrong any more: until the reflector has caught up."""
        for _ in range(100):
            self.step("fine")
            if self.reflector.version == str(self.store.version) and not self.reflector.trouble:
                return
        raise AssertionError("the reflector does not settle")

    def validate(self) -> None:
        """At any time the deltas alone give the mirror's content."""
        assert self.replay.state == {
            obj.name: (obj.uid, obj.metadata.resource_version) for obj in self.reflector.objects
        }
        assert len(self.reflector.objects) == len(self.replay.state) + len(self.replay.unreadable)


@settings(max_examples=300, deadline=None)
@given(ROUNDS, st.integers(min_value=1, max_value=3), st.integers(min_value=0, max_value=1000))
def test_the_mirror_ends_up_equal_to_the_store(
    rounds: list[tuple[list[tuple[str, str]], str]], page_size: int, seed: int
) -> None:
    story = Story(page_size, seed)
    for writes, fate in rounds:
        for write in writes:
            story.write(*write)
        story.step(fate)
    story.settle()
    readable = {name: document for name, document in story.store.objects.items() if "spec" not in document}
    assert story.replay.state == versions(readable)
    assert story.replay.unreadable == set(story.store.objects) - set(readable)
    for name, document in story.store.objects.items():
        assert isinstance(story.reflector.objects.get(("d", name)), Undecodable) == ("spec" in document)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(WRITES, st.booleans()), max_size=40))
def test_an_undisturbed_watch_tells_every_change_once(writes: list[tuple[tuple[str, str], bool]]) -> None:
    story = Story(page_size=500, seed=0)
    story.settle()
    for write, look in writes:
        story.write(*write)
        if look:
            story.settle()
    story.settle()
    assert len(story.replay.told) == len(story.store.history)
    assert story.reflector.counters.lists == 1
    assert story.reflector.counters.errors == 0
