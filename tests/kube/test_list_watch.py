"""What is kept of objects that are larger than anything podium reads."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest

from podium.kube.deltas import Undecodable
from podium.kube.list_watch import ROOMY, Changed, Reader, cut_annotations
from podium.kube.reflector import Reflector
from podium.kube.resources import PODS
from podium.kube.wire import Object, Pod, ReplicaSet

Document = dict[str, Any]

LARGE = 250_000
GROUP = "scheduling.k8s.io/group-name"


def document(name: str = "a", version: str = "1", **annotations: str) -> Document:
    metadata = {
        "name": name,
        "namespace": "d",
        "uid": f"uid-{name}",
        "resourceVersion": version,
        "annotations": {GROUP: "g", **annotations},
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def listing(*items: Document) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": "9"}, "items": items})


def event(item: Document, kind: str = "ADDED") -> bytes:
    return msgspec.json.encode({"type": kind, "object": item})


def lengths(obj: object) -> dict[str, int]:
    assert isinstance(obj, Object)
    return {key: len(value) for key, value in obj.annotations.items()}


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_a_watch_line(kind: str) -> None:
    found = Reader(Pod).event(event(document(note="x" * LARGE), kind))
    assert isinstance(found, Changed)
    assert lengths(found.entry) == {GROUP: 1, "note": 65}


def test_a_page() -> None:
    items = [document(f"p-{number}", note="x" * LARGE) for number in range(3)]
    page = Reader(Pod).page(listing(*items))
    assert [lengths(each) for each in page.entries] == [{GROUP: 1, "note": 65}] * 3


def test_a_page_with_one_that_does_not_fit() -> None:
    bad = {**document("bad"), "spec": {"nodeName": 7}}
    first, second = Reader(Pod).page(listing(document(note="x" * LARGE), bad)).entries
    assert lengths(first) == {GROUP: 1, "note": 65}
    assert isinstance(second, Undecodable)


def test_an_answer() -> None:
    assert lengths(Reader(Pod).one(msgspec.json.encode(document(note="x" * LARGE)))) == {GROUP: 1, "note": 65}


def test_a_page_keeps_what_is_within_the_room_on_average() -> None:
    few = [document(f"p-{number}", note="x" * 2000) for number in range(40)]
    page = Reader(Pod).page(listing(document(note="x" * 100_000), *few))
    assert lengths(page.entries[0]) == {GROUP: 1, "note": 100_000}


def test_what_is_cut_cannot_be_taken_for_what_was_written() -> None:
    found = Reader(Pod).one(msgspec.json.encode(document(note="1" * LARGE)))
    assert found.annotations["note"] == "1" * 64 + "…"


def test_the_longest_go_first_and_only_as_many_as_must() -> None:
    found = Reader(Pod).one(
        msgspec.json.encode(document(**{f"n-{size}": "x" * size for size in (36_000, 32_000, 28_000)}))
    )
    assert lengths(found) == {GROUP: 1, "n-36000": 65, "n-32000": 32_000, "n-28000": 28_000}


def test_exactly_the_room_is_kept() -> None:
    found = Reader(Pod).one(msgspec.json.encode(document(note="x" * (ROOMY - 1))))
    assert lengths(found) == {GROUP: 1, "note": ROOMY - 1}
    found = Reader(Pod).one(msgspec.json.encode(document(note="x" * ROOMY)))
    assert lengths(found) == {GROUP: 1, "note": 65}


def test_names_and_numbers_stay_however_many_there_are() -> None:
    many = {f"n-{number}": "x" * 64 for number in range(4000)}
    found = Reader(Pod).one(msgspec.json.encode(document(**many)))
    assert found.annotations == {GROUP: "g", **many}


def test_a_pod_without_annotations() -> None:
    large = {"metadata": {"name": "a"}, "spec": {"nodeName": "x" * ROOMY}}
    assert Reader(Pod).one(msgspec.json.encode(large)).annotations == {}
    cut_annotations(Pod(metadata=Reader(Pod).one(b'{"metadata":{}}').metadata))


def test_what_goes_onto_other_objects_stays_whole() -> None:
    note = document(note="x" * LARGE)
    whole = {GROUP: 1, "note": LARGE}
    reader = Reader(ReplicaSet)
    found = reader.event(event(note))
    assert isinstance(found, Changed)
    assert lengths(found.entry) == lengths(reader.page(listing(note)).entries[0]) == whole
    assert lengths(reader.one(msgspec.json.encode(note))) == whole


def test_a_mirror_of_many_is_small() -> None:
    """A fault that was met: 400 such pods cost more than all that podium has otherwise."""
    reflector = Reflector(PODS, Pod)
    reflector.page(200, listing(), 0.0)
    reflector.next(0.0)
    reflector.opened(0.0)
    tracemalloc.start()
    try:
        for version in (10, 11):  # made, and a condition written
            for number in range(100):
                reflector.line(event(document(f"p-{number}", f"{version}{number:03}", note="x" * LARGE)), 0.0)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(reflector.objects) == 100
    assert kept < 100 * 10_000
