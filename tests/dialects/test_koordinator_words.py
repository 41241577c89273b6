"""What members of Koordinator's gangs are told: where a value stands that is wrong, and for whom they wait."""

from __future__ import annotations

import pytest

from podium.core.model.model import Gang
from podium.dialects.koordinator.names import (
    COMMUNITY_POD_GROUP,
    GROUPS,
    GROUPS_TOO,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    POD_GROUP_MATCH_POLICY,
    POD_GROUP_MIN,
    POD_GROUP_NAME,
    TOTAL_NUMBER,
    WAITING_TIME,
)
from tests.dialects.koordinator_stage import NON_STRICT, Stage, groups

G = "gang.scheduling.koordinator.sh"


def told(stage: Stage, *words: str) -> bool:
    """Whether an event has all of these words."""
    return any(all(word in each for word in words) for each in stage.events())


def known(stage: Stage, name: str) -> Gang:
    gang = stage.model(name)
    assert gang is not None
    return gang


# --- for whom they wait ------------------------------------------------------------------------------------------


def test_members_that_hold_places_have_an_event_that_says_so() -> None:
    stage = Stage("a", "b")
    stage.gang("g", 3, said=NON_STRICT)
    stage.pass_seconds(2)
    assert "held on a for gang default/g: 2 of 3" in stage.events("WaitingForGang")
    assert stage.said("g-0") == "held on a for gang default/g: 2 of 3"


def test_a_gang_that_is_whole_says_for_whom_it_waits() -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/g", "other/h", "default/gone")
    stage.gang("g", 2, said=both)
    stage.gang("h", 1, 2, said=both, namespace="other")
    stage.pass_seconds(2)
    assert stage.said("g-0") == "held on a for gang default/g: 2 of 2"
    assert told(
        stage, "held on a", "starts together with other/h (1 of 2 members), default/gone (no such gang)", GROUPS
    )


def test_of_few_of_a_large_gang_there_is_an_event() -> None:
    stage = Stage("a", cpu=20)
    stage.gang("g", 21, said=NON_STRICT)
    stage.pass_seconds(5)
    assert len(stage.held("g")) == 20
    assert len(stage.events("WaitingForGang")) <= 5


def test_who_is_tied_to_a_gang_that_timed_out_is_not_told_that_it_held_places() -> None:
    stage = Stage("a", "b", "c")
    both = groups("default/g", "default/h")
    stage.gang("g", 2, said={**both, WAITING_TIME: "5s"})
    stage.gang("h", 1, 2, said=both)
    stage.pass_seconds(8)
    assert stage.marked() == 3
    assert "gang default/h has timed out: places were held" in stage.said("h-0")
    assert f"kubectl annotate pod ... {G}/timeout-" in stage.said("h-0")


# --- where it is said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_group", [False, True])
def test_who_needs_more_members_than_there_are_is_told_where_that_stands(by_group: bool) -> None:
    stage = Stage("a", "b", "c")
    if by_group:
        stage.group("few", 5)
        stage.labelled("few", 2)
    else:
        stage.gang("few", 2, 5)
    stage.gang("fine", 1)
    stage.pass_seconds(2)
    field = "spec.minMember of its PodGroup" if by_group else f"metadata.annotations[{MIN_AVAILABLE}]"
    assert stage.said("few-0") == f"the gang needs 5 members and has 2 ({field})"
    assert told(stage, "needs 5 members", field)
    assert stage.bound("fine") == 1


@pytest.mark.parametrize("key", [GROUPS, GROUPS_TOO])
@pytest.mark.parametrize("entry", ["default/gone", "gone", "other/ gone"])
def test_a_list_that_names_no_gang_is_told_with_key_and_value(key: str, entry: str) -> None:
    stage = Stage("a", "b")
    stage.gang("g", 1, said={key: f'["default/g", "{entry}"]'})
    stage.gang("fine", 1)
    stage.pass_seconds(2)
    assert (stage.bound("g"), stage.bound("fine")) == (0, 1)
    assert told(stage, entry, key), stage.events()


def test_a_circle_and_a_gang_that_names_itself_are_no_errors() -> None:
    stage = Stage("a", "b", "c")
    stage.gang("g", 1, said=groups("default/g"))
    stage.gang("one", 1, said=groups("default/two"))
    stage.gang("two", 1, said=groups("default/one"))
    stage.pass_seconds(2)
    assert stage.bound() == 3
    assert stage.events("InvalidSpec") == []


# --- bad values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        (MODE, "strict"),
        (MODE, "nonstrict"),
        (GROUPS, "a,b"),
        (GROUPS, '{"a": "b"}'),
        (GROUPS_TOO, "[a]"),
        (MATCH_POLICY, "sometimes"),
        (POD_GROUP_MATCH_POLICY, "always"),
        (TOTAL_NUMBER, "five"),
        (WAITING_TIME, "600"),
        (WAITING_TIME, "-1s"),
        (WAITING_TIME, "abc"),
    ],
)
def test_a_bad_value_has_an_event_and_the_gang_starts_as_without_it(by_group: bool, key: str, value: str) -> None:
    stage = Stage("a", "b", "c", "d")
    if by_group:
        stage.group("bad", 2, {key: value})
        stage.labelled("bad", 2)
    else:
        stage.gang("bad", 2, said={key: value})
    stage.gang("fine", 2)
    stage.pass_seconds(3)
    assert (stage.bound("bad"), stage.bound("fine")) == (2, 2)
    if not by_group or key != WAITING_TIME:  # which is read on pods alone
        assert told(stage, f"metadata.annotations[{key}]", repr(value)), stage.events()


@pytest.mark.parametrize("text", ["0", "0s", ""])
def test_no_time_at_all_is_the_usual_time(text: str) -> None:
    stage = Stage("a")
    stage.gang("g", 2, said={WAITING_TIME: text})
    stage.pass_seconds(1)
    assert known(stage, "g").waiting_time == 600.0
    assert stage.events("InvalidSpec") == []


@pytest.mark.parametrize(
    ("place", "value", "starts"),
    [
        ("annotations", "-1", True),
        ("annotations", "x", False),
        ("annotations", "1", True),
        ("labels", "x", False),
        ("labels", "2.0", False),
        ("labels", "1", True),
    ],
)
def test_the_light_keys_with_bad_values(place: str, value: str, starts: bool) -> None:
    stage = Stage("a", "b", "c")
    marks = {POD_GROUP_NAME: "bad", POD_GROUP_MIN: value}
    stage.pod("bad", **{place: marks})  # type: ignore[arg-type]
    stage.gang("fine", 2)
    stage.pass_seconds(2)
    assert (stage.bound("bad"), stage.bound("fine")) == (starts, 2)
    if value != "1":
        assert told(stage, f"metadata.{place}[{POD_GROUP_MIN}]", value), stage.events()


@pytest.mark.parametrize("name", ["Not_A_Name", "a/b", "-a", "x" * 254])
def test_a_name_that_is_none_is_refused_and_the_pod_does_not_run_alone(name: str) -> None:
    stage = Stage("a", "b", "c")
    stage.pod("bad", {NAME: name, MIN_AVAILABLE: "1"})
    stage.gang("fine", 2)
    stage.pass_seconds(2)
    assert (stage.bound("bad"), stage.bound("fine")) == (0, 2)
    assert told(stage, f"metadata.annotations[{NAME}]", name[:50])


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("labels", POD_GROUP),
        ("labels", COMMUNITY_POD_GROUP),
        ("labels", POD_GROUP_NAME),
        ("annotations", POD_GROUP),
        ("annotations", POD_GROUP_NAME),
        ("annotations", NAME),
    ],
)
def test_a_name_that_is_none_is_told_where_it_stands(place: str, key: str) -> None:
    stage = Stage("a")
    stage.pod("bad", **{place: {key: "Not_A_Name", MIN_AVAILABLE: "1"}})  # type: ignore[arg-type]
    stage.pass_seconds(2)
    assert stage.bound() == 0
    assert stage.said("bad").startswith(f"metadata.{place}[{key}]: 'Not_A_Name' is no name: a lowercase RFC 1123")
    assert told(stage, f"metadata.{place}[{key}]", "Not_A_Name")


def test_a_group_with_a_minimum_below_nothing_has_an_event() -> None:
    stage = Stage("a")
    stage.group("g", -1)
    stage.labelled("g", 1)
    stage.pass_seconds(2)
    assert stage.bound("g") == 1
    assert "spec.minMember: -1 is read as 0" in stage.events("InvalidSpec")


def test_of_a_long_list_the_first_are_named() -> None:
    stage = Stage("a")
    stage.gang("g", 1, said=groups(*(f"default/x{number:03}" for number in range(500))))
    stage.pass_seconds(2)
    assert stage.said("g-0") == "held on a for gang default/g: 1 of 1"
    assert told(stage, "default/x000 (no such gang)", "10 more", "which cannot start yet")
    assert told(stage, "default/x009 (no such gang), 490 more, which cannot start yet")
