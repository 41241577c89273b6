"""Koordinator's gangs as pods and PodGroups describe them: every key, where it may stand, and bad values."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.facts import GangFacts
from podium.core.model.model import MatchPolicy, Mode
from podium.dialects.dialect import Gathering, Reading
from podium.dialects.koordinator.gangs import gathered, read_groups
from podium.dialects.koordinator.marks import MARKS, gang_name
from podium.dialects.koordinator.options import Defaults
from podium.dialects.koordinator.types import PodGroup
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.wire import Pod

G = "gang.scheduling.koordinator.sh"
P = "pod-group.scheduling.sigs.k8s.io"


def pod(labels: dict[str, str] | None = None, priority: int | None = None, **annotations: Any) -> Pod:
    """Keys of annotations are told without their prefix."""
    said = {f"{G}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": "p", "namespace": "ns", "uid": "p", "labels": labels or {}, "annotations": said}
    return msgspec.convert({"metadata": metadata, "spec": {"priority": priority}}, Pod)


def _one(key: str, value: str) -> dict[str, Any]:
    return {key: value}


def group(minimum: int = 2, timeout: int | None = None, **annotations: str) -> PodGroup:
    said = {f"{G}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": "gang", "namespace": "ns", "uid": "g", "annotations": said}
    spec: dict[str, Any] = {"minMember": minimum, "scheduleTimeoutSeconds": timeout}
    return msgspec.convert({"metadata": metadata, "spec": spec}, PodGroup)


def read(speaker: Pod | None, of: PodGroup | None = None, defaults: Defaults | None = None) -> Reading:
    kind = gathered(lambda: defaults or Defaults())
    return kind.read(Gathering("ns", "gang", of, speaker), Priorities())


def facts(speaker: Pod | None, of: PodGroup | None = None, defaults: Defaults | None = None) -> GangFacts:
    found = read(speaker, of, defaults).facts
    assert found is not None
    return found


def complaints(reading: Reading) -> list[str]:
    return [str(refusal) for _, refusal in reading.complaints]


# --- which gang a pod is in --------------------------------------------------------------------------------------


@pytest.mark.case("C01", "both")
def test_a_pod_that_names_no_gang_is_in_none() -> None:
    assert gang_name(pod({"test": "gang"}, name="")) == ""
    assert MARKS.memberships(pod({"test": "gang"})) == ()


@pytest.mark.parametrize(
    ("labels", "annotations", "name"),
    [
        ({P: "one"}, {}, "one"),
        ({"scheduling.x-k8s.io/pod-group": "one"}, {}, "one"),
        ({f"{P}/name": "one"}, {}, "one"),
        ({}, {f"{P}/name": "one"}, "one"),
        ({}, {P: "one"}, "one"),
        ({}, {f"{G}/name": "one"}, "one"),
        ({P: "one", f"{P}/name": "two"}, {f"{G}/name": "three"}, "one"),
        ({f"{P}/name": "two"}, {f"{G}/name": "three"}, "two"),
        ({P: ""}, {f"{G}/name": "three"}, "three"),
    ],
)
def test_the_gang_is_named_by(labels: dict[str, str], annotations: dict[str, str], name: str) -> None:
    made = msgspec.convert({"metadata": {"namespace": "ns", "labels": labels, "annotations": annotations}}, Pod)
    assert gang_name(made) == name
    (membership,) = MARKS.memberships(made)
    assert membership.gang == f"koordinator/ns/{name}"
    assert membership.group == f"ns/{name}"


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-3", -3), ("0x10", 16), ("010", 8), ("09", 0), ("", None), ("x", 0), ("99999999999", 0)],
)
def test_the_order_within_equal_priority(text: str, number: int | None) -> None:
    assert MARKS.sub_priority(pod({"koordinator.sh/priority": text})) == number


# --- annotations -------------------------------------------------------------------------------------------------


def test_a_gang_of_annotations() -> None:
    found = facts(pod(name="gang", min_available="5", waiting_time="1h5m", mode="NonStrict", priority=7))
    assert (found.minimum, found.waiting_time, found.mode, found.fail_fast) == (5, 3900.0, Mode.NON_STRICT, False)
    assert (found.match, found.together, found.priority) == (MatchPolicy.ONCE_SATISFIED, (), 7)
    assert found.attributes["total-number"] == "5"
    usual = facts(pod(name="gang", min_available="5"))
    assert (usual.mode, usual.fail_fast, usual.waiting_time) == (Mode.STRICT, True, 600.0)


def test_what_is_not_said_is_as_the_profile_says() -> None:
    usual = Defaults(60.0, Mode.NON_STRICT, MatchPolicy.ONLY_WAITING)
    found = facts(pod(name="gang", min_available="5"), defaults=usual)
    assert (found.waiting_time, found.mode, found.match) == (60.0, Mode.NON_STRICT, MatchPolicy.ONLY_WAITING)


@pytest.mark.parametrize(
    ("said", "total"), [("7", "7"), ("5", "5"), ("4", "5"), ("0", "5"), ("x", "5"), ("-1", "5")]
)
def test_the_total_is_the_minimum_at_least(said: str, total: str) -> None:
    assert facts(pod(name="gang", min_available="5", total_number=said)).attributes["total-number"] == total


@pytest.mark.case("C16", "both")
@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ('["nsA/gangA","nsB/gangB"]', ("nsA/gangA", "nsB/gangB")),
        ('["nsA/gangA"]', ("nsA/gangA",)),
        ("[]", ()),
        ("", None),
        ("not-json", None),
        ('{"key":"value"}', None),
        ("[1]", None),
    ],
)
def test_lists_of_gangs(text: str, parsed: tuple[str, ...] | None) -> None:
    assert read_groups(text) == parsed


@pytest.mark.parametrize("key", ["groups", "gang_groups"])
def test_gangs_that_start_together(key: str) -> None:
    named = facts(pod(name="gang", min_available="1", **_one(key, '["ns/gang", "other/gang-b"]')))
    assert named.together == ("koordinator/other/gang-b",), "itself is not waited for"
    assert facts(pod(name="gang", min_available="1", groups="")).together == ()


@pytest.mark.case("C18", "head")
@pytest.mark.parametrize(
    ("labels", "annotations", "minimum"),
    [
        ({}, {}, None),
        ({f"{P}/min-available": "3"}, {}, 3),
        ({f"{P}/min-available": "x"}, {f"{G}/min-available": "5"}, None),
        ({}, {f"{G}/min-available": "5"}, 5),
        ({f"{P}/min-available": "3"}, {f"{G}/min-available": "5"}, 3),
        ({}, {f"{P}/min-available": "4"}, 4),
        ({}, {f"{G}/min-available": "0"}, 0),
        ({}, {f"{G}/min-available": "99999999999"}, None),
    ],
)
def test_the_minimum(labels: dict[str, str], annotations: dict[str, str], minimum: int | None) -> None:
    metadata = {
        "name": "p",
        "namespace": "ns",
        "labels": labels,
        "annotations": {f"{G}/name": "gang", **annotations},
    }
    reading = read(msgspec.convert({"metadata": metadata}, Pod))
    assert (reading.facts.minimum if reading.facts is not None else None) == minimum
    if minimum is None:
        assert "min-available" in str(reading.fault)


# --- bad values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mode", "strict"),
        ("waiting_time", "abc"),
        ("waiting_time", "-5s"),
        ("waiting_time", "600"),
        ("groups", "a,b"),
        ("groups", "[a,b]"),
        ("match_policy", "sometimes"),
        ("total_number", "many"),
    ],
)
def test_a_bad_value_is_told_with_its_key_and_read_as_if_it_were_not_there(key: str, value: str) -> None:
    reading = read(pod(name="gang", min_available="2", **_one(key, value)))
    assert reading.facts == facts(pod(name="gang", min_available="2"))
    assert reading.fault is None
    (said,) = complaints(reading)
    assert f"metadata.annotations[{G}/{key.replace('_', '-')}]" in said
    assert value in said


@pytest.mark.parametrize("key", ["mode", "waiting_time", "groups", "match_policy", "total_number"])
def test_an_empty_value_is_none_and_nothing_to_complain_of(key: str) -> None:
    assert complaints(read(pod(name="gang", min_available="2", **_one(key, "")))) == []


def test_a_minimum_below_nothing_is_none_and_told() -> None:
    reading = read(pod(name="gang", min_available="-1"))
    assert reading.facts is not None
    assert reading.facts.minimum == 0
    assert "-1" in complaints(reading)[0]


def test_a_name_that_is_none_is_a_fault() -> None:
    kind = gathered(Defaults)
    reading = kind.read(
        Gathering("ns", "Not_A_Name", None, pod(name="Not_A_Name", min_available="1")), Priorities()
    )
    assert "Not_A_Name" in str(reading.fault)
    assert "RFC 1123" in str(reading.fault)


# --- PodGroups ---------------------------------------------------------------------------------------------------


@pytest.mark.case("C08", "both")
def test_a_gang_of_a_group() -> None:
    found = facts(None, group(2, 300, mode="NonStrict", groups='["default/gangA","default/gangB"]'))
    assert (found.minimum, found.waiting_time, found.mode) == (2, 300.0, Mode.NON_STRICT)
    assert (found.attributes["total-number"], found.attributes["from"]) == ("2", "GangFromPodGroupCrd")
    assert found.together == ("koordinator/default/gangA", "koordinator/default/gangB")
    itself = group(2, 300, groups='["default/gangA","default/gangB"]')
    reading = gathered(Defaults).read(Gathering("default", "gangA", itself, None), Priorities())
    assert reading.facts is not None
    assert reading.facts.together == ("koordinator/default/gangB",), "it does not wait for itself"


@pytest.mark.parametrize(("seconds", "wait"), [(None, 600.0), (0, 600.0), (-1, 600.0), (5, 5.0)])
def test_the_time_of_a_group(seconds: int | None, wait: float) -> None:
    assert facts(None, group(2, seconds)).waiting_time == wait


def test_annotations_override_the_group_field_by_field() -> None:
    made = group(2, 300, mode="NonStrict", match_policy="only-waiting")
    labelled = pod({P: "gang"}, min_available="3", mode="Strict")
    found = facts(labelled, made)
    assert (found.minimum, found.mode, found.waiting_time) == (3, Mode.STRICT, 300.0)
    assert found.match is MatchPolicy.ONLY_WAITING
    assert facts(pod({P: "gang"}, waiting_time="7s"), made).waiting_time == 7.0


def test_pods_wait_for_the_group_that_their_label_names() -> None:
    reading = read(pod({P: "gang"}, min_available="3"))
    assert reading.facts is None
    assert "PodGroup ns/gang of Koordinator does not exist" in str(reading.fault)
    assert "podium crds" in str(reading.fault)


def test_a_group_that_was_made_for_its_pods_says_nothing_of_its_own() -> None:
    made = msgspec.structs.replace(group(9, 9), metadata=msgspec.structs.replace(
        group().metadata, annotations={"PodGroupFromPodAnnotation": "true"}
    ))  # fmt: skip
    found = facts(pod(name="gang", min_available="2"), made)
    assert (found.minimum, found.waiting_time) == (2, 600.0)


def test_what_a_group_needs_at_least() -> None:
    made = group(2)
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, min_resources={"cpu": "5"}))
    assert facts(None, made).least_resources == {"cpu": 5000}


@pytest.mark.case("C17", "both")
def test_a_group_is_known_by_its_gangs_in_order() -> None:
    from podium.dialects.koordinator.pages import page
    from tests.core.world import World

    world = World()
    ids = ["koordinator/nsC/gangC", "koordinator/nsA/gangA", "koordinator/nsB/gangB"]
    for id in ids:
        namespace, name = id.split("/")[1:]
        world.cluster.put_gang(GangFacts(id, namespace, name, "q", together=tuple(set(ids) - {id})))
    served = page("/gang/nsB/gangB", world.cluster.gangs)
    assert served is not None
    assert served["gangGroupInfo"]["gangGroupId"] == "nsA/gangA,nsB/gangB,nsC/gangC"
