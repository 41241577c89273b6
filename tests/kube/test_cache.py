"""The cache and its indexes, compared with what a plain search finds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from podium.kube.cache import Cache, key_of
from podium.kube.resources import PERSISTENTVOLUMES, PODS
from podium.kube.selectors import EVERYTHING, NOTHING, parse_labels
from podium.kube.wire import (
    ClaimSource,
    Metadata,
    Object,
    ObjectReference,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    Volume,
)

NAMES = st.sampled_from(["a", "b", "c", "d"])
NAMESPACES = st.sampled_from(["one", "two"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    name, namespace = draw(NAMES), draw(NAMESPACES)
    owners = draw(st.lists(st.sampled_from(["u1", "u2"]), unique=True))
    claims = draw(st.lists(st.sampled_from(["c1", "c2"]), unique=True))
    return Pod(
        metadata=Metadata(
            name=name,
            namespace=namespace,
            uid=f"{namespace}-{name}",
            resource_version=str(draw(st.integers(1, 9))),
            labels=draw(LABELS),
            owner_references=[OwnerReference(kind="Job", name="j", uid=uid) for uid in owners],
        ),
        spec=PodSpec(
            node_name=draw(st.sampled_from(["", "n1", "n2"])),
            volumes=[Volume(name=claim, persistent_volume_claim=ClaimSource(claim)) for claim in claims],
        ),
    )


STEPS = st.lists(st.one_of(pods(), st.tuples(NAMESPACES, NAMES), st.just("select")), max_size=40)


@given(STEPS)
def test_indexes_agree_with_a_search(steps: list[Pod | tuple[str, str] | str]) -> None:
    cache = Cache()
    present: dict[tuple[str, str], Pod] = {}
    for step in steps:
        if isinstance(step, Pod):
            key = step.namespace, step.name
            old = present.get(key)
            if old is None or int(old.metadata.resource_version) < int(step.metadata.resource_version):
                present[key] = step
            cache.apply(PODS, step)
        elif isinstance(step, tuple):
            present.pop(step, None)
            cache.remove(PODS, step)
        for text in ("app=x", "app=x,tier=y", "tier in (x,y)", "!app"):
            match = parse_labels(text)
            for namespace in ("one", "two"):
                found = [pod.name for pod in cache.select(PODS, namespace, match)]
                assert found == sorted(
                    n for (ns, n), pod in present.items() if ns == namespace and match(pod.labels)
                )
    for node in ("n1", "n2"):
        assert {pod.uid for pod in cache.pods_on(node)} == {
            pod.uid for pod in present.values() if pod.spec.node_name == node
        }
    for uid in ("u1", "u2"):
        assert {pod.uid for _, pod in cache.owned_by(uid)} == {
            pod.uid
            for pod in present.values()
            if uid in {owner.uid for owner in pod.metadata.owner_references or ()}
        }
        within = {pod.uid for _, pod in cache.owned_by(uid, PODS, "one")}
        assert within == {pod.uid for _, pod in cache.owned_by(uid) if pod.namespace == "one"}
    for namespace in ("one", "two"):
        assert cache.holds(PODS, namespace) == any(ns == namespace for ns, _ in present)
        assert {pod.uid for pod in cache.pods_using((namespace, "c1"))} == {
            pod.uid
            for pod in present.values()
            if pod.namespace == namespace and "c1" in {volume.name for volume in pod.spec.volumes or ()}
        }
    assert cache.count(PODS) == len(present)
    for key in list(present):
        cache.remove(PODS, key)
    assert not any((cache._by_owner, cache._by_node, cache._by_namespace, cache._by_claim, cache._by_label))


def test_everything_and_nothing_can_be_selected() -> None:
    cache = Cache()
    cache.apply(PODS, Pod(metadata=Metadata(name="a", namespace="one", resource_version="1")))
    assert [pod.name for pod in cache.select(PODS, "one", EVERYTHING)] == ["a"]
    assert list(cache.select(PODS, "one", NOTHING)) == []


def volume(version: int, reference: ObjectReference | None = None) -> PersistentVolume:
    return PersistentVolume(
        metadata=Metadata(name="v", resource_version=str(version)),
        spec=PersistentVolumeSpec(storage_class_name="fast", claim_ref=reference),
    )


def test_volumes_are_unclaimed_until_a_uid_stands_in_their_reference() -> None:
    cache = Cache()
    cache.apply(PERSISTENTVOLUMES, volume(1))
    cache.apply(PERSISTENTVOLUMES, volume(2, ObjectReference(name="c", namespace="one")))
    assert [each.name for each in cache.unclaimed_volumes("fast")] == ["v"]
    cache.apply(PERSISTENTVOLUMES, volume(3, ObjectReference(name="c", namespace="one", uid="u")))
    assert list(cache.unclaimed_volumes("fast")) == []


def test_graves_are_remembered_but_not_for_ever() -> None:
    cache = Cache()
    for number in range(60_000):
        cache.tombstone(str(number))
    assert cache.is_tombstone("59999")
    assert not cache.is_tombstone("0")


def test_dropping_a_resource_forgets_that_it_was_listed() -> None:
    cache = Cache()
    cache.apply(PODS, Pod(metadata=Metadata(name="a", namespace="one", resource_version="1")))
    cache.set_synced(PODS)
    assert cache.resource("", "v1", "pods") == PODS
    cache.drop(PODS)
    assert not cache.synced(PODS)
    assert cache.count(PODS) == 0


def test_what_is_told_twice_is_kept_as_it_was_told_last() -> None:
    """Two caches behind one watch then hold one object between them, whoever wrote it."""
    cache = Cache()
    answer, watched = (Pod(metadata=Metadata(name="a", namespace="one", resource_version="7")) for _ in range(2))
    cache.apply(PODS, answer)
    assert cache.knows(PODS, watched)
    assert cache.apply(PODS, watched) is watched
    assert cache.get(PODS, "one", "a") is watched


def team_of(obj: Object) -> Iterable[str]:
    return [(obj.metadata.labels or {}).get("team", "")]


def test_what_is_asked_for_by_a_facet_is_what_a_search_would_find() -> None:
    """Before and after the index is made, through changes and deletions, in the order of arrival."""
    dice, cache, version = random.Random(7), Cache(), itertools.count(1)
    for step in range(400):
        name, team = f"p{dice.randrange(12)}", dice.choice("abc")
        if dice.random() < 0.2:
            cache.remove(PODS, ("one", name))
        else:
            meta = Metadata(name, "one", resource_version=str(next(version)), labels={"team": team})
            cache.apply(PODS, Pod(metadata=meta))
        if step > 20:
            asked = list(cache.having(PODS, team_of, team))
            assert sorted(asked, key=key_of) == sorted(
                (each for each in cache.all(PODS) if team in team_of(each)), key=key_of
            )
    cache.drop(PODS)
    assert not any(list(cache.having(PODS, team_of, team)) for team in "abc")
