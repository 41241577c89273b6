from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from podium.kube.changes import Create, Patch
from podium.kube.events import BURST, MEMORY_SECONDS, NORMAL, WARNING, Recorder, Regarding, regarding
from podium.kube.resources import NODES, PODS
from podium.kube.wire import Metadata, Object

POD = Regarding(PODS, "team", "worker-0", "uid-0")


def test_the_first_time_creates_a_whole_event() -> None:
    change = Recorder("podium").record(POD, WARNING, "Unschedulable", "0/4 nodes fit", 60)
    assert isinstance(change, Create)
    assert change.namespace == "team"
    document = change.document
    assert re.fullmatch(r"worker-0\.[0-9a-f]{16}", document["metadata"].pop("name"))
    assert document == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "team"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "worker-0",
            "namespace": "team",
            "uid": "uid-0",
        },
        "type": "Warning",
        "reason": "Unschedulable",
        "message": "0/4 nodes fit",
        "count": 1,
        "firstTimestamp": "1970-01-01T00:01:00Z",
        "lastTimestamp": "1970-01-01T00:01:00Z",
        "source": {"component": "podium"},
        "reportingComponent": "podium",
    }


def test_repetitions_bump_the_count_of_the_same_event() -> None:
    recorder = Recorder("podium")
    first = recorder.record(POD, NORMAL, "Waiting", "for room", 0)
    second = recorder.record(POD, NORMAL, "Waiting", "for room", 60)
    assert isinstance(first, Create)
    assert isinstance(second, Patch)
    assert second.name == first.document["metadata"]["name"]
    assert second.patch == {"count": 2, "lastTimestamp": "1970-01-01T00:01:00Z"}


def test_another_sentence_or_object_is_another_event() -> None:
    recorder = Recorder("podium")
    other = Regarding(PODS, "team", "worker-1", "uid-1")
    changes = [
        recorder.record(POD, NORMAL, "A", "m", 0),
        recorder.record(POD, NORMAL, "A", "n", 0),
        recorder.record(POD, NORMAL, "B", "m", 0),
        recorder.record(POD, WARNING, "A", "m", 0),
        recorder.record(other, NORMAL, "A", "m", 0),
    ]
    names = {change.document["metadata"]["name"] for change in changes if isinstance(change, Create)}
    assert len(names) == 5


def test_writes_are_limited_per_object_and_the_count_keeps_running() -> None:
    recorder = Recorder("podium", burst=3, seconds_per_token=100)
    written = [recorder.record(POD, NORMAL, "A", "m", float(i)) for i in range(10)]
    assert [change is not None for change in written] == [True] * 3 + [False] * 7
    assert recorder.record(Regarding(PODS, "team", "x", "y"), NORMAL, "A", "m", 10) is not None
    late = recorder.record(POD, NORMAL, "A", "m", 120)
    assert isinstance(late, Patch)
    assert late.patch["count"] == 11


def test_a_long_rest_refills_no_more_than_a_burst() -> None:
    recorder = Recorder("podium")
    for round_start in (0.0, 1e9):
        written = [recorder.record(POD, NORMAL, "A", "m", round_start) for _ in range(BURST + 5)]
        assert sum(change is not None for change in written) == BURST


def test_an_event_the_server_has_dropped_is_made_anew() -> None:
    recorder = Recorder("podium")
    recorder.record(POD, NORMAL, "A", "m", 0)
    patch = recorder.record(POD, NORMAL, "A", "m", 1)
    assert isinstance(patch, Patch)
    recorder.missing(patch)
    again = recorder.record(POD, NORMAL, "A", "m", 2)
    assert isinstance(again, Create)
    assert again.document["metadata"]["name"] != patch.name
    expired = recorder.record(POD, NORMAL, "A", "m", 3 + MEMORY_SECONDS)
    assert isinstance(expired, Create)


def test_names_are_derived() -> None:
    def named() -> str:
        change = Recorder("podium").record(POD, NORMAL, "A", "m", 7.5)
        assert isinstance(change, Create)
        return str(change.document["metadata"]["name"])

    assert named() == named()


def test_events_about_cluster_scoped_objects_live_in_default() -> None:
    node = regarding(NODES, Object(Metadata(name="n1", uid="u")))
    change = Recorder("podium").record(node, NORMAL, "A", "m", 0)
    assert isinstance(change, Create)
    assert change.namespace == change.document["metadata"]["namespace"] == "default"
    assert "namespace" not in change.document["involvedObject"]


def test_long_messages_are_shortened() -> None:
    change = Recorder("podium").record(POD, NORMAL, "A", "m" * 5000, 0)
    assert isinstance(change, Create)
    assert len(change.document["message"]) == 1024
    assert change.document["message"].endswith("...")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="/"), min_size=1, max_size=260))
def test_every_name_is_valid(name: str) -> None:
    change = Recorder("podium").record(Regarding(PODS, "d", name, "u"), NORMAL, "A", "m", 0)
    assert isinstance(change, Create)
    made = change.document["metadata"]["name"]
    assert len(made) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", made)
