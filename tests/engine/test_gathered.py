"""Gangs that their pods describe: who speaks for one, when it is read again, whom a time-out marks."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from podium.core.model.facts import GangFacts
from podium.dialects.dialect import GatheredKind, Gathering, GroupKind, Reading
from podium.dialects.kubernetes.policies import Priorities
from podium.engine.gathered import Gathered
from podium.kube import resources as r
from podium.kube.cache import Cache
from podium.kube.changes import Patch
from podium.kube.wire import Pod

SAYS, OVER = "example.com/says", "example.com/over"


def speaks(pod: Pod) -> bool:
    return SAYS in (pod.metadata.annotations or {})


def expired(pod: Pod) -> bool:
    return OVER in (pod.metadata.annotations or {})


def read(known: Gathering, priorities: Priorities) -> Reading:
    assert known.speaker is not None
    return Reading(GangFacts(f"t/{known.namespace}/{known.name}", known.namespace, known.speaker.name, "q", 1))


KIND = GatheredKind(
    prefix="t/",
    read=read,
    speaks=speaks,
    expired=expired,
    expire=lambda pod: Patch(r.PODS, pod.namespace, pod.name, {"metadata": {"annotations": {OVER: "true"}}}),
    was_satisfied=lambda _: False,
    describes=lambda _: True,
)


GROUP = GroupKind(
    r.CONFIGMAPS,  # whatever: no object is in the cache
    id=KIND.id,
    read=lambda *_: (GangFacts("t/ns/g", "ns", "g", "q"), None),
    patch=lambda *_: None,
    gathered=KIND,
)


class Gangs:
    """Gangs of pods, and a cache as the watch fills it."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.versions = 1
        self.all = Gathered([(GROUP.resource, GROUP)], self.cache)

    def pod(self, name: str, gang: str = "g", *, created: str = "1", **said: str) -> list[str]:
        """A pod as the watch brings it; the gangs that are to be read again."""
        says = {"says": SAYS, "over": OVER}
        annotations = {says[key]: value for key, value in said.items() if key in says}
        document = {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": name,
                "resourceVersion": str(self.versions),
                "creationTimestamp": created,
                "annotations": annotations,
            },
            "spec": {"nodeName": said.get("node", "")},
        }
        self.versions += 1
        pod = msgspec.convert(document, Pod)
        self.cache.apply(r.PODS, pod)
        return self.all.put(pod, f"t/ns/{gang}")

    def speaker(self, gang: str = "g") -> str:
        reading = self.all.read(f"t/ns/{gang}", Priorities())
        assert reading is not None
        assert reading.facts is not None
        return reading.facts.name


def marked(patches: Iterable[Patch]) -> list[str]:
    return [each.name for each in patches]


def settled(gangs: Gangs, *tied: list[str]) -> dict[str, list[str]]:
    return {gang: marked(patches) for gang, patches in gangs.all.settle(tied)}


@pytest.fixture
def gangs() -> Gangs:
    return Gangs()


def test_the_oldest_pod_that_says_enough_speaks(gangs: Gangs) -> None:
    assert gangs.pod("mute", created="1") == ["t/ns/g"]
    assert gangs.speaker() == "mute"
    assert gangs.pod("late", created="3", says="yes") == ["t/ns/g"]
    assert gangs.speaker() == "late"
    assert gangs.pod("later", created="4", says="yes") == []  # nothing is read anew for who comes behind
    assert gangs.pod("early", created="2", says="yes") == ["t/ns/g"]
    assert gangs.speaker() == "early"
    assert gangs.all.drop("later") == []
    assert gangs.all.drop("early") == ["t/ns/g"]
    assert gangs.speaker() == "late"
    assert gangs.pod("late", created="3") == ["t/ns/g"]
    assert gangs.speaker() == "mute"


def test_a_pod_that_goes_to_another_gang_is_in_that_one_only(gangs: Gangs) -> None:
    gangs.pod("a")
    gangs.pod("b")
    assert gangs.pod("a", "h") == ["t/ns/g", "t/ns/h"]
    assert (gangs.speaker("g"), gangs.speaker("h")) == ("b", "a")
    assert gangs.all.drop("b") == ["t/ns/g"]
    assert gangs.all.read("t/ns/g", Priorities()) is None
    assert "t/ns/g" not in gangs.all
    assert list(gangs.all) == ["t/ns/h"]


def test_all_waiting_members_are_marked_and_each_once(gangs: Gangs) -> None:
    for name in ("a", "b"):
        gangs.pod(name)
    gangs.pod("bound", node="n1")
    assert not gangs.all.any_expired
    assert marked(gangs.all.expire("t/ns/g")) == ["a", "b"]
    assert gangs.all.expire("t/ns/g") == []  # they are on their way
    assert gangs.all.answered("a", gone=False) == "t/ns/g"
    gangs.pod("a", over="yes")
    assert gangs.all.is_marked("a")
    assert not gangs.all.is_marked("b")
    assert settled(gangs) == {}
    gangs.all.answered("b", gone=False)  # in vain, it seems: nobody has seen it
    assert settled(gangs) == {"t/ns/g": ["b"]}


def test_one_who_comes_later_gets_the_mark_and_one_from_whom_it_was_taken_does_not(gangs: Gangs) -> None:
    for name in ("a", "b"):
        gangs.pod(name, over="yes")
    assert gangs.pod("b") == ["t/ns/g"]  # a user has taken it away
    assert settled(gangs) == {}
    gangs.pod("new")
    assert settled(gangs) == {"t/ns/g": ["new"]}
    gangs.all.answered("new", gone=False)
    gangs.pod("new", over="yes")
    for name in ("a", "new"):
        gangs.pod(name)
    assert settled(gangs) == {}  # nobody shows it any longer: the gang is tried again
    assert not gangs.all.any_expired
    assert marked(gangs.all.expire("t/ns/g")) == ["a", "b", "new"]


def test_gangs_that_are_tied_are_marked_with_it(gangs: Gangs) -> None:
    gangs.pod("a", over="yes")
    gangs.pod("b", "h")
    gangs.pod("c", "i")
    tied = ["t/ns/g", "t/ns/h", "t/ns/not-there"]
    assert settled(gangs, tied) == {"t/ns/h": ["b"]}
    assert settled(gangs, tied) == {}


def test_a_pod_that_is_gone_is_not_asked_about_again(gangs: Gangs) -> None:
    gangs.pod("a", over="yes")
    gangs.pod("b")
    assert settled(gangs) == {"t/ns/g": ["b"]}
    gangs.all.answered("b", gone=True)
    assert settled(gangs) == {}
    assert gangs.all.answered("nobody", gone=True) is None
