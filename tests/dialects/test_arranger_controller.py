"""One look of the controller at a TYJob: every edge of its table, and what is made and taken away on the way."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.arranger.names import INDEX, JOB, RESTARTS, ROLE, SET, TYJOBS
from podium.dialects.arranger.state import TABLE, Sign, Standing, next_stage
from podium.kube.changes import Create, Delete, Patch
from podium.kube.resources import PODS
from tests.dialects.arranger_stage import ADDRESS, NOW, OWNER, UID, Stage, template

TWO = {"w": (2, template())}


# --- the table ---------------------------------------------------------------------------------------------------

# How a job stands that shows a sign, and no other that counts in the stage.
SIGNS: dict[Sign, dict[str, Any]] = {
    Sign.INVALID: {"invalid": "spec.priority: Invalid value: 11: must be from 1 to 10"},
    Sign.TERMINATING: {"terminating": True},
    Sign.LEADER_SUCCEEDED: {"leader_succeeded": True},
    Sign.IMAGE_ERROR: {"image_error": "the leader's container main has no image: ErrImagePull"},
    Sign.LEADER_EXHAUSTED: {"leader_restarts": 4},
    Sign.WORKERS_EXHAUSTED: {"exhausted": ("w",)},
    Sign.GIVEN_UP: {"schedule_state": "ScheduledFailed", "given_up": "it is given up: no node matches"},
    Sign.PODS_LOST: {"lost": 1},
    Sign.PLACED: {"schedule_state": "ScheduledPartly", "leader_placed": True},
    Sign.ENOUGH_READY: {"leader_up": True, "ready": 1, "hopeful": 1},
}
EDGES = [(stage, sign, to) for stage, row in TABLE.items() for sign, to in row.items()]


@pytest.mark.parametrize(("stage", "sign", "to"), EDGES, ids=[f"{s}-{e.name}-{t}" for s, e, t in EDGES])
def test_an_edge(stage: str, sign: Sign, to: str) -> None:
    standing = Standing(**{"restart_limit": 3, "total": 2, "minimum": 1, **SIGNS[sign]})
    found, reason, message = next_stage(stage, standing)
    assert (found, reason) == (to, sign.value)
    assert message


@pytest.mark.parametrize("stage", TABLE)
def test_what_a_stage_does_not_list_leads_nowhere(stage: str) -> None:
    for sign in set(Sign) - TABLE[stage].keys():
        standing = Standing(**{"restart_limit": 3, "total": 2, "minimum": 1, **SIGNS[sign]})
        assert next_stage(stage, standing) == ("", "", ""), sign


def test_ends_come_before_what_goes_on() -> None:
    every = {key: value for sign in Sign if sign is not Sign.GIVEN_UP for key, value in SIGNS[sign].items()}
    assert next_stage("Pending", Standing(**every))[1] == Sign.INVALID.value
    assert next_stage("Running", Standing(**every))[1] == Sign.TERMINATING.value


# --- pending -----------------------------------------------------------------------------------------------------


def test_without_places_nothing_is_made() -> None:
    seen = Stage("Pending", "Unscheduled").look()
    assert (seen.stage, seen.created, seen.deleted) == ("Pending", [], [])


@pytest.mark.parametrize("state", ["ScheduledSucceed", "ScheduledPartly"])
def test_with_places_the_leader_alone_is_made(state: str) -> None:
    seen = Stage("Pending", state, {"leader": "n2", "w-0": "n1"}, workers=TWO).look()
    assert seen.stage == "Starting"
    assert seen.created == ["leader"]
    (leader,) = seen.documents
    assert leader["spec"]["schedulerName"] == "arranger"
    assert "nodeName" not in leader["spec"]
    assert leader["metadata"]["labels"] == {JOB: "j", ROLE: "leader"}
    kinds = [type(each) for each in seen.outcome.changes]
    assert kinds.index(Create) < kinds.index(Patch), "a job whose leader is missing later was started once"


def test_what_cannot_be_scheduled_fails() -> None:
    seen = Stage("Pending", "ScheduledFailed").look()
    assert (seen.stage, seen.created) == ("Failed", [])


def test_a_job_that_is_given_up_says_why_itself() -> None:
    condition = {"type": "Scheduled", "status": "False", "reason": "GivenUp", "message": "it is given up: no room"}
    seen = Stage("Pending", "ScheduledFailed", status={"conditions": [condition]}).look()
    assert (seen.stage, seen.status["message"]) == ("Failed", "it is given up: no room")


def test_a_job_that_waits_for_a_node_has_not_failed_yet() -> None:
    condition = {"type": "Scheduled", "status": "False", "reason": "NeverFits", "message": "no node is so large"}
    assert Stage("Pending", "ScheduledFailed", status={"conditions": [condition]}).look().stage == "Pending"


def test_a_bad_job_that_got_in_fails_with_the_sentence() -> None:
    seen = Stage("", "", priority=11).look()
    assert seen.stage == "Failed"
    assert seen.status["message"] == "spec.priority: Invalid value: 11: must be from 1 to 10"
    assert [note.reason for note in seen.outcome.notes] == ["Failed"]


def test_a_job_that_is_ended_before_it_runs_has_succeeded_without_pods() -> None:
    seen = Stage("Pending", "ScheduledSucceed", {"leader": "n1", "w-0": "n1"}, terminating=True).look()
    assert (seen.stage, seen.created) == ("Succeeded", [])


def test_a_leader_that_was_made_before_a_crash_is_not_made_again() -> None:
    stage = Stage("Pending", "ScheduledSucceed", {"leader": "n1", "w-0": "n1"})
    stage.pod("leader", "Pending")
    seen = stage.look()
    assert (seen.stage, seen.created) == ("Starting", [])
    assert seen.status["restarts"] == 0


def test_a_pod_of_somebody_else_has_the_leaders_name() -> None:
    stage = Stage("Pending", "ScheduledSucceed", {"leader": "n1", "w-0": "n1"})
    stage.pod("leader", owner={**OWNER, "uid": "other"})
    seen = stage.look()
    assert (seen.stage, seen.created) == ("Pending", [])
    assert seen.outcome.again_at == NOW + 10
    assert "another owner" in seen.outcome.notes[0].message


# --- starting and running ----------------------------------------------------------------------------------------


def test_workers_wait_for_the_leaders_address() -> None:
    stage = Stage("Starting", "ScheduledSucceed", {"leader": "n1", "w-0": "n1", "w-1": "n2"}, workers=TWO)
    stage.pod("leader", "Pending")
    assert stage.look().created == []
    stage.pod("leader", ip=ADDRESS)
    seen = stage.look()
    assert seen.created == ["w-0", "w-1"]
    assert seen.status["leaderAddress"] == ADDRESS
    worker = seen.documents[0]
    assert worker["spec"]["containers"][0]["env"] == [{"name": "LEADER_ADDRESS", "value": ADDRESS}]
    assert worker["metadata"]["labels"] == {JOB: "j", ROLE: "worker", SET: "w", INDEX: "0"}


def test_only_workers_with_places_are_made() -> None:
    stage = Stage("Starting", "ScheduledPartly", {"leader": "n1", "w-1": "n1"}, workers={"w": (3, template())})
    stage.pod("leader", ip=ADDRESS)
    assert stage.look().created == ["w-1"]


def test_it_starts_until_enough_workers_are_ready() -> None:
    places = {"leader": "n1", "w-0": "n1", "w-1": "n1", "w-2": "n1"}
    stage = Stage("Starting", places=places, workers={"w": (3, template())}, minWorkersNum=2).running("w-0")
    stage.pod("w-1", "Pending", ready=False)
    stage.pod("w-2", "Pending", ready=False)
    seen = stage.look()
    assert (seen.stage, seen.status["readyWorkers"]) == ("Starting", 1)
    stage.pod("w-1", address=ADDRESS)
    seen = stage.look()
    assert (seen.stage, seen.status["readyWorkers"], seen.status["ready"]) == ("Running", 2, "2/3")


def test_a_worker_that_got_its_place_later_is_made_while_it_runs() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1", "w-1": "n2"}, workers=TWO).running("w-0")
    seen = stage.look()
    assert (seen.stage, seen.created) == ("Running", ["w-1"])


def test_with_the_leader_the_job_succeeds() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1"})
    stage.pod("leader", "Succeeded")
    stage.pod("w-0")
    seen = stage.look()
    assert (seen.stage, seen.status["reason"]) == ("Succeeded", "LeaderSucceeded")


def test_a_job_that_is_asked_to_end_has_succeeded() -> None:
    assert Stage(places={"leader": "n1", "w-0": "n1"}, terminating=True).running("w-0").look().stage == "Succeeded"


@pytest.mark.parametrize(("restarts", "stage"), [(3, "Running"), (4, "Failed")])
@pytest.mark.parametrize("known", [True, False])
def test_the_leaders_restarts_have_a_limit(restarts: int, stage: str, known: bool) -> None:
    scene = Stage(places={"leader": "n1", "w-0": "n1"}, status={"restarts": restarts if known else 0})
    scene.pod("leader", ip=ADDRESS, restarts=0 if known else restarts)
    scene.pod("w-0", address=ADDRESS)
    assert scene.look().stage == stage


def test_a_failed_leader_is_made_again_and_counts() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1"})
    stage.pod("leader", "Failed", before=1)
    stage.pod("w-0", address=ADDRESS)
    seen = stage.look()
    assert (seen.stage, seen.deleted, seen.created) == ("Running", ["leader"], [])
    kinds = [type(each) for each in seen.outcome.changes]
    assert kinds.index(Patch) < kinds.index(Delete), "what it was is written before it goes"
    gone = Stage(places={"leader": "n1", "w-0": "n1"}, status={"restarts": 1})
    gone.pod("w-0", address=ADDRESS)
    (leader,) = gone.look().documents
    assert leader["metadata"]["annotations"][RESTARTS] == "2"


def test_a_leader_that_fails_once_too_often_fails_the_job() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1"}, restartLimit=1)
    stage.pod("leader", "Failed", before=1)
    seen = stage.look()
    assert (seen.stage, seen.status["reason"]) == ("Failed", Sign.LEADER_EXHAUSTED.value)


def test_with_another_address_the_workers_are_made_again() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1", "w-1": "n1"}, workers=TWO)
    stage.pod("leader", ip="10.0.0.9")
    stage.pod("w-0", address=ADDRESS)
    stage.pod("w-1", "Succeeded", address=ADDRESS)
    seen = stage.look()
    assert seen.deleted == ["w-0"], "what has done its work need not know"
    assert seen.status["workerSets"][0].get("restarts", 0) == 0


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
@pytest.mark.parametrize("at", ["Pending", "Starting", "Running"])
def test_a_leader_without_its_image_fails_the_job(at: str, reason: str) -> None:
    stage = Stage(at, places={"leader": "n1", "w-0": "n1"})
    stage.pod("leader", "Pending", waiting=reason)
    seen = stage.look()
    assert seen.stage == "Failed"
    assert reason in seen.status["message"]


# --- worker sets -------------------------------------------------------------------------------------------------


def test_a_failed_worker_is_counted_once_and_made_again() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1", "w-1": "n1"}, workers=TWO).running("w-0")
    uid = stage.pod("w-1", "Failed", address=ADDRESS)
    seen = stage.look()
    (written,) = seen.status["workerSets"]
    assert written == {"name": "w", "ready": 1, "restarts": 1, "replaced": 1, "replacing": [uid]}
    assert seen.deleted == ["w-1"]
    assert [each.resource_version for each in seen.of(Patch, TYJOBS)] != [""], "counted from what it is"


def test_a_counted_worker_is_not_counted_again() -> None:
    """The controller was killed before it could delete the pod."""
    stage = Stage(places={"leader": "n1", "w-0": "n1"})
    stage.pod("leader", ip=ADDRESS)
    uid = stage.pod("w-0", "Failed", address=ADDRESS)
    known = {"name": "w", "ready": 0, "restarts": 1, "replaced": 1, "replacing": [uid]}
    again = Stage(places={"leader": "n1", "w-0": "n1"}, status={"workerSets": [known]})
    for _, pod in stage.cache.owned_by(UID):
        again.cache.apply(PODS, pod)
    seen = again.look()
    assert seen.deleted == ["w-0"]
    assert seen.status["workerSets"] == [known]


def test_what_a_failed_worker_was_started_before_counts_too() -> None:
    """Its container was started again twice; then the pod itself has failed."""
    places = {"leader": "n1", "w-0": "n1", "w-1": "n1"}
    stage = Stage(places=places, workers=TWO, status={"workerSets": [{"name": "w", "restarts": 2}]}).running("w-0")
    stage.pod("w-1", "Failed", address=ADDRESS, restarts=2)
    (written,) = stage.look().status["workerSets"]
    assert (written["restarts"], written["replaced"]) == (3, 3)
    over = Stage(places=places, workers=TWO, minWorkersNum=2, restartLimit=2).running("w-0")
    over.pod("w-1", "Failed", address=ADDRESS, restarts=2)
    assert over.look().status["reason"] == Sign.WORKERS_EXHAUSTED.value


def test_what_a_failed_leader_was_started_before_counts_though_nobody_looked() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1"}, restartLimit=2)
    stage.pod("leader", "Failed", restarts=2)
    seen = stage.look()
    assert (seen.stage, seen.status["reason"]) == ("Failed", Sign.LEADER_EXHAUSTED.value)


def test_a_worker_set_beyond_its_limit_fails_the_job_when_too_few_are_left() -> None:
    known = {"workerSets": [{"name": "w", "restarts": 3, "replaced": 3}]}
    stage = Stage(places={"leader": "n1", "w-0": "n1"}, status=known)
    stage.pod("leader", ip=ADDRESS)
    stage.pod("w-0", "Failed", address=ADDRESS)
    seen = stage.look()
    assert (seen.stage, seen.status["reason"]) == ("Failed", Sign.WORKERS_EXHAUSTED.value)


def test_a_worker_set_beyond_its_limit_is_left_when_others_are_enough() -> None:
    known = {"workerSets": [{"name": "a", "restarts": 3, "replaced": 3}]}
    sets = {"a": (1, template()), "b": (1, template())}
    stage = Stage(places={"leader": "n1", "a-0": "n1", "b-0": "n1"}, workers=sets, status=known).running("b-0")
    stage.pod("a-0", "Failed", address=ADDRESS)
    seen = stage.look()
    assert (seen.stage, seen.deleted, seen.created) == ("Running", [], [])


def test_workers_that_fail_while_the_leader_is_away_did_nothing_wrong() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1"}, restartLimit=0, status={"restarts": 0})
    stage.pod("leader", "Failed", before=0)
    stage.pod("w-0", "Failed", address=ADDRESS)
    assert "WorkerSet" not in stage.look().status["reason"]


# --- lost nodes --------------------------------------------------------------------------------------------------


def test_a_lost_leader_leads_to_new_places() -> None:
    stage = Stage("Running", "Unscheduled", {"w-0": "n2"}).node("n1", ready=False).node("n2")
    stage.pod("leader", ip=ADDRESS, node="n1")
    stage.pod("w-0", address=ADDRESS, node="n2")
    seen = stage.look()
    assert (seen.stage, seen.deleted) == ("Rescheduling", ["leader", "w-0"])
    first, second = seen.of(Delete)
    assert (first.name, first.grace) == ("j-leader", 0), "nobody is there to end it in order"
    assert second.grace is None, "the worker cannot find the next leader, and may hold the room that it needs"
    assert seen.status["leaderAddress"] is None


def test_places_are_the_schedulers_to_drop() -> None:
    """Until then the pods stay where they are: the node may come back, and the job goes on."""
    placed = {"leader": "n1", "w-0": "n1"}
    seen = Stage("Running", places=placed).node("n1", ready=False).running("w-0").look()
    assert (seen.stage, seen.deleted, seen.status["restarts"]) == ("Rescheduling", [], 0)
    again = Stage("Rescheduling", places=placed).node("n1", ready=False).running("w-0").look()
    assert (again.stage, again.deleted) == ("Rescheduling", [])
    back = Stage("Rescheduling", places=placed).node("n1").running("w-0").look()
    assert (back.stage, back.created, back.status["restarts"]) == ("Starting", [], 0)


def test_a_node_that_is_away_for_a_moment_is_no_restart() -> None:
    stage = Stage("Running", places={"leader": "n1", "w-0": "n1"}, restartLimit=0).node("n1", ready=False)
    assert stage.running("w-0").look().stage == "Rescheduling"


@pytest.mark.parametrize(("ready", "stage"), [(1, "Rescheduling"), (2, "Running")])
def test_lost_workers_count_from_the_minimum_on(ready: int, stage: str) -> None:
    """Their node is gone, and another one is there."""
    places = {"leader": "n2", **{f"w-{index}": "n2" if index < ready else "n1" for index in range(3)}}
    scene = Stage("Running", places=places, workers={"w": (3, template())}, minWorkersNum=2).node("n2")
    scene.pod("leader", ip=ADDRESS, node="n2")
    for index in range(3):
        scene.pod(f"w-{index}", address=ADDRESS, node=places[f"w-{index}"])
    seen = scene.look()
    assert (seen.stage, seen.deleted) == (stage, [])


def test_a_leader_that_went_with_its_node_unseen_is_lost_too() -> None:
    """The pod was collected with the node while no controller looked."""
    stage = Stage("Running", "Unscheduled", {"w-0": "n2"}).node("n2")
    stage.pod("w-0", address=ADDRESS, node="n2")
    seen = stage.look()
    assert (seen.stage, seen.created) == ("Rescheduling", [])


def test_a_leader_that_waits_without_a_place_is_lost_too() -> None:
    """It was made again for a place that was then dropped: its workers may hold the room that it needs."""
    stage = Stage("Running", "Unscheduled", {"w-0": "n2"}).node("n2")
    stage.pod("leader", "Pending", ready=False, node="")
    stage.pod("w-0", address=ADDRESS, node="n2")
    seen = stage.look()
    assert (seen.stage, seen.created, seen.deleted) == ("Rescheduling", [], ["w-0"])
    found = Stage("Rescheduling", "ScheduledPartly", {"leader": "n2"}).node("n2")
    found.pod("leader", "Pending", ready=False, node="")
    assert (found.look().stage, found.look().created) == ("Starting", [])


def test_a_job_that_is_given_up_while_it_looks_for_new_places_fails() -> None:
    assert Stage("Rescheduling", "ScheduledFailed").node("n1").look().stage == "Failed"


def test_a_lost_worker_beyond_the_minimum_is_made_elsewhere_while_it_runs() -> None:
    stage = Stage("Running", "ScheduledPartly", {"leader": "n2", "w-0": "n2"}, workers=TWO)
    stage.node("n2").running("w-0", node="n2")
    stage.pod("w-1", address=ADDRESS, node="n1")  # whose node is gone
    seen = stage.look()
    assert (seen.stage, seen.deleted) == ("Running", ["w-1"])


def test_with_new_places_it_starts_again() -> None:
    places = {"leader": "n2", "w-0": "n2"}
    stage = Stage("Rescheduling", places=places, status={"restarts": 1}).node("n1", ready=False)
    seen = stage.look()
    assert (seen.stage, seen.created) == ("Starting", ["leader"])
    assert seen.documents[0]["metadata"]["annotations"][RESTARTS] == "2"


def test_it_waits_until_the_lost_pods_are_gone() -> None:
    stage = Stage("Rescheduling", places={"leader": "n2"}).node("n1", ready=False)
    stage.pod("leader", ip=ADDRESS, node="n2")
    stage.pod("w-0", node="n1", address=ADDRESS)
    seen = stage.look()
    assert (seen.stage, seen.deleted) == ("Rescheduling", ["w-0"])


# --- the end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clean", "deleted"),
    [("All", ["leader", "w-0", "w-1"]), ("Running", ["w-0"]), ("None", [])],
)
def test_pods_are_cleaned_by_policy(clean: str, deleted: list[str]) -> None:
    stage = Stage("Succeeded", workers=TWO, cleanPodPolicy=clean)
    stage.pod("leader", "Succeeded")
    stage.pod("w-0")
    stage.pod("w-1", "Failed")
    seen = stage.look()
    assert (seen.stage, seen.deleted, seen.created) == ("Succeeded", deleted, [])


# --- changes of the job ------------------------------------------------------------------------------------------


def test_workers_beyond_counts_are_taken_away() -> None:
    places = {"leader": "n1", "w-0": "n1"}
    stage = Stage(places=places, status={"totalWorkers": 2}).running("w-0", "w-1")
    seen = stage.look()
    assert seen.deleted == ["w-1"]
    assert (seen.status["totalWorkers"], seen.status["ready"]) == (1, "1/1")


def test_scaling_changes_the_counts_of_the_only_set() -> None:
    stage = Stage(places={"leader": "n1", "w-0": "n1", "w-1": "n1"}, workers=TWO, minWorkersNum=2, replicas=1)
    (patch,) = stage.look().of(Patch, TYJOBS)
    assert patch.patch["spec"]["workerSets"][0]["counts"] == 1
    assert patch.patch["spec"]["minWorkersNum"] == 1
    assert "2" in patch.patch["metadata"]["annotations"].values()


def test_counts_that_were_changed_are_the_scale() -> None:
    stage = Stage(workers=TWO, replicas=1, status={"totalWorkers": 1})
    (patch,) = stage.look().of(Patch, TYJOBS)
    assert patch.patch["spec"] == {"replicas": 2}


def test_a_job_that_was_made_wrong_is_held_until_it_is_mended() -> None:
    seen = Stage(places={"leader": "n1", "w-0": "n1"}, priority=11).running("w-0").look()
    assert (seen.created, seen.deleted) == ([], [])
    assert "until this is mended" in seen.status["message"]
    mended = Stage(places={"leader": "n1", "w-0": "n1"}, status={"reason": "InvalidSpec", "message": "x"})
    assert mended.running("w-0").look().status["reason"] is None


# --- pods --------------------------------------------------------------------------------------------------------


def test_volumes_of_the_job_are_those_of_every_pod() -> None:
    own = template(volumes=[{"name": "own", "emptyDir": {}}, {"name": "data", "emptyDir": {"medium": "Memory"}}])
    shared = [{"name": "data", "emptyDir": {}}, {"name": "replay", "emptyDir": {}}]
    stage = Stage("Pending", places={"leader": "n1", "w-0": "n1"}, leader=own, volumes=shared)
    (leader,) = stage.look().documents
    assert [each["name"] for each in leader["spec"]["volumes"]] == ["own", "data", "replay"]
    assert leader["spec"]["volumes"][1]["emptyDir"] == {"medium": "Memory"}, "the template's own goes first"
    assert leader["spec"]["restartPolicy"] == "OnFailure"
