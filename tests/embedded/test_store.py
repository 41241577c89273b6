"""The store: versions, order, and a history that can be read from any kept position."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.embedded import store as store_module
from podium.embedded.log import MemoryLog
from podium.embedded.store import Store
from podium.kube.resources import CONFIGMAPS, PODS


def document(name: str, namespace: str = "default", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, **more}


def test_every_write_gets_the_next_version_whatever_its_resource() -> None:
    store = Store(MemoryLog())
    first = store.put(CONFIGMAPS, document("a"), None)
    second = store.put(PODS, document("b"), None)
    third = store.put(CONFIGMAPS, document("a", data={"x": "1"}), first)
    assert [first.version, second.version, third.version] == [2, 3, 4]
    assert third.document()["metadata"]["resourceVersion"] == "4"
    assert third.id == first.id != second.id


def test_scan_is_ordered_and_keeps_to_its_namespace() -> None:
    store = Store(MemoryLog())
    for namespace, name in (("b", "x"), ("a", "z"), ("a-b", "q"), ("a", "y")):
        store.put(CONFIGMAPS, document(name, namespace), None)
    assert [r.key for r in store.scan(CONFIGMAPS)] == [("a", "y"), ("a", "z"), ("a-b", "q"), ("b", "x")]
    assert [r.name for r in store.scan(CONFIGMAPS, "a")] == ["y", "z"]
    assert [r.key for r in store.scan(CONFIGMAPS, after=("a", "z"))] == [("a-b", "q"), ("b", "x")]
    assert [r.name for r in store.scan(CONFIGMAPS, "a", after=("a", "y"))] == ["z"]


def test_a_trimmed_history_knows_what_it_no_longer_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "HISTORY_BYTES", 2000)
    monkeypatch.setattr(store_module, "HISTORY_ENTRIES", 8)
    store = Store(MemoryLog())
    for index in range(200):
        store.put(CONFIGMAPS, document(f"c{index}"), None)
    bucket = store.bucket(CONFIGMAPS)
    assert len(bucket.history) < 40
    assert bucket.position_after(bucket.oldest - 1) is None
    assert bucket.position_after(bucket.oldest) == bucket.trimmed
    assert bucket.history[0].version == bucket.oldest + 1
    assert bucket.position_after(store.version) == bucket.end
    assert bucket.end == 200


def kept(store: Store) -> int:
    """The bytes that are there because of the history alone."""
    bucket = store.bucket(CONFIGMAPS)
    live = {id(record.data) for record in bucket.objects.values()}
    found = {}
    for write in bucket.history:
        for record in (write.old, write.new):
            if record is not None and id(record.data) not in live:
                found[id(record.data)] = len(record.data)
    return sum(found.values())


def test_a_history_of_large_objects_is_bounded_in_bytes() -> None:
    store = Store(MemoryLog())
    large = "x" * 900_000
    record = store.put(CONFIGMAPS, document("large", data={"text": large}), None)
    for number in range(300):
        record = store.put(CONFIGMAPS, document("large", data={"text": large, "n": str(number)}), record)
        assert kept(store) <= store_module.HISTORY_BYTES
    bucket = store.bucket(CONFIGMAPS)
    assert kept(store) > store_module.HISTORY_BYTES // 3
    assert bucket.position_after(bucket.oldest) == bucket.trimmed
    assert bucket.end == 301


def test_what_large_objects_were_before_counts_as_well() -> None:
    """Each object is changed once: what history keeps is what they were."""
    store = Store(MemoryLog())
    large = "x" * 900_000
    records = [store.put(CONFIGMAPS, document(f"c{n}", data={"text": large}), None) for n in range(100)]
    for record in records:
        store.remove(CONFIGMAPS, record, record.document())
        assert kept(store) <= store_module.HISTORY_BYTES


def test_a_history_of_small_changes_is_bounded_in_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "HISTORY_ENTRIES", 1000)
    store = Store(MemoryLog())
    record = store.put(CONFIGMAPS, document("c"), None)
    for number in range(5000):
        record = store.put(CONFIGMAPS, document("c", data={"n": str(number)}), record)
    assert 500 <= len(store.bucket(CONFIGMAPS).history) <= 1000


def test_watches_of_an_earlier_life_are_too_old() -> None:
    store = Store(MemoryLog(), first_version=500)
    assert store.bucket(CONFIGMAPS).position_after(499) is None
    assert store.bucket(CONFIGMAPS).position_after(500) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60), st.data())
def test_the_state_as_of_any_version_can_be_reconstructed(
    writes: list[tuple[int, bool]], data: st.DataObject
) -> None:
    store = Store(MemoryLog())
    states: dict[int, dict[Any, int]] = {store.version: {}}
    for number, remove in writes:
        name = f"c{number}"
        old = store.get(CONFIGMAPS, "default", name)
        if remove and old is not None:
            store.remove(CONFIGMAPS, old, old.document())
        elif not remove:
            store.put(CONFIGMAPS, document(name), old)
        states[store.version] = {r.key: r.version for r in store.scan(CONFIGMAPS)}
    version = data.draw(st.sampled_from(sorted(states)))
    then = store.bucket(CONFIGMAPS).as_of(version)
    assert then is not None
    state = {r.key: r.version for r in store.scan(CONFIGMAPS)}
    for key, record in then.items():
        if record is None:
            state.pop(key, None)
        else:
            state[key] = record.version
    assert state == states[version]
