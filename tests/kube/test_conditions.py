from __future__ import annotations

from podium.kube.conditions import owner_reference, set_condition
from podium.kube.resources import JOBS
from podium.kube.wire import Metadata, Object

AT_0 = "1970-01-01T00:00:00Z"
AT_9 = "1970-01-01T00:00:09Z"


def test_a_new_condition_is_appended_and_the_given_list_is_left_alone() -> None:
    before = [{"type": "Ready", "status": "True"}]
    after = set_condition(before, "Disk", "False", "Full", "no room", 0)
    assert after == [
        {"type": "Ready", "status": "True"},
        {"type": "Disk", "status": "False", "lastTransitionTime": AT_0, "reason": "Full", "message": "no room"},
    ]
    assert len(before) == 1


def test_nothing_new_gives_the_same_list_object() -> None:
    conditions = set_condition([], "Ready", "True", "", "", 0)
    assert set_condition(conditions, "Ready", "True", "", "", 9) is conditions


def test_a_new_message_is_no_transition() -> None:
    conditions = set_condition([], "Ready", "False", "Why", "one", 0)
    (changed,) = set_condition(conditions, "Ready", "False", "Why", "two", 9)
    assert changed["lastTransitionTime"] == AT_0
    assert changed["message"] == "two"


def test_a_new_status_is_a_transition_and_keeps_foreign_keys_and_the_position() -> None:
    conditions = [
        {"type": "A", "status": "True", "lastHeartbeatTime": "t", "reason": "R", "lastTransitionTime": AT_0},
        {"type": "B", "status": "True"},
    ]
    first, second = set_condition(conditions, "A", "False", "", "gone", 9)
    assert first == {
        "type": "A",
        "status": "False",
        "lastHeartbeatTime": "t",
        "lastTransitionTime": AT_9,
        "message": "gone",
    }
    assert second is conditions[1]


def test_a_missing_transition_time_is_filled_in() -> None:
    (changed,) = set_condition([{"type": "A", "status": "True"}], "A", "True", "R", "", 9)
    assert changed["lastTransitionTime"] == AT_9


def test_owner_references_of_documents_and_views_agree() -> None:
    document = {"metadata": {"name": "j", "uid": "u"}}
    view = Object(Metadata(name="j", uid="u"))
    expected = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "j",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert owner_reference(document, JOBS) == owner_reference(view, JOBS) == expected
    plain = owner_reference(view, JOBS, controller=False, block=False)
    assert plain == {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
