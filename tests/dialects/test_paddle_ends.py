"""How TrainingJobs end, trainer by trainer, and what they hold until then."""

from __future__ import annotations

from podium.dialects.paddle.names import TRAININGJOBS
from podium.embedded.nodes.shapes import Shape
from podium.kube.pod_script import RUN_SECONDS
from podium.kube.resources import JOBS, NODES, REPLICASETS
from tests.dialects.test_paddle import Stage

LONG = {RUN_SECONDS: "1000"}


def _names(stage: Stage, role: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in stage.running() if f"-{role}-" in pod["metadata"]["name"]]


def test_a_job_whose_first_trainer_is_done_holds_no_more_than_what_runs() -> None:
    """Its Job makes no more pods: more room is of no use to it, and that of the trainer is another job's."""
    stage = Stage(4)
    stage.submit("first", (1, 9), annotations=LONG, freezingWindow=0)
    stage.pass_seconds(6)
    assert stage.stands("first")["wanted"] == 3
    stage.end_pod(_names(stage, "trainer")[0])
    stage.settle()
    stage.node("more", Shape(cpu="2"), 9)
    stage.settle()
    stage.pass_seconds(12)
    status = stage.stands("first")
    assert (status["phase"], status["wanted"], status["running"], status["succeeded"]) == ("running", 3, 2, 1)
    assert len(status["places"]) <= 3, "the master's, and two"
    stage.restart()
    stage.settle()
    stage.pass_seconds(6)
    assert len(stage.stands("first")["places"]) <= 3
    stage.submit("second", (2, 2), 1000)
    stage.pass_seconds(6)
    assert len(stage.trainers("second")) == 2
    for name in [each for each in _names(stage, "trainer") if each.startswith("first")]:
        stage.end_pod(name)
    stage.settle()
    assert stage.stands("first")["phase"] == "succeeded"


def test_trainers_that_are_lost_after_the_first_is_done_hold_nothing() -> None:
    """Neither where they were nor anywhere else: they are not made again."""
    stage = Stage(4, 4)
    stage.submit("first", (1, 6), annotations=LONG, freezingWindow=0)
    stage.pass_seconds(10)
    assert stage.stands("first")["wanted"] == 6
    one, two, *_ = _names(stage, "trainer")
    stage.end_pod(one)
    stage.settle()
    stage.pass_seconds(5)
    stage.end_pod(two, 1)
    stage.settle()
    stage.remove(NODES, "node-1")
    stage.settle()
    stage.pass_seconds(400)
    stage.node("more", Shape(cpu="4"), 9)
    stage.settle()
    stage.pass_seconds(20)
    left = len(_names(stage, "trainer"))
    assert 0 < left <= 4
    assert len(stage.stands("first")["places"]) <= 1 + left
    stage.submit("second", (3, 3), 1000)
    stage.pass_seconds(6)
    assert len(stage.trainers("second")) == 3


def test_a_job_whose_first_trainer_is_done_does_not_give_way() -> None:
    """Its Job would leave alone what runs."""
    stage = Stage(4)
    stage.submit("first", (1, 3), annotations=LONG, freezingWindow=0)
    stage.pass_seconds(6)
    stage.end_pod(_names(stage, "trainer")[0])
    stage.settle()
    stage.submit("second", (3, 3), 1000)
    stage.pass_seconds(30)
    assert stage.stands("first")["wanted"] == 3
    assert len(stage.trainers("first")) == 2
    assert not stage.stands("second").get("wanted")


def test_all_trainers_of_a_failed_job_are_stopped() -> None:
    """Also when one has succeeded: its Job no longer listens to another parallelism."""
    stage = Stage(8)
    stage.submit("job", (3, 3), fault_tolerant=False, pservers=1, annotations=LONG)
    stage.pass_seconds(6)
    one, two, _ = _names(stage, "trainer")
    stage.end_pod(one)
    stage.settle()
    assert stage.stands("job")["phase"] == "running"
    stage.end_pod(two, 1)
    stage.settle()
    stage.pass_seconds(2)
    assert stage.stands("job")["phase"] == "failed"
    assert not stage.running()
    assert stage.objects(JOBS)[0]["spec"]["suspend"]


def test_master_and_pservers_stay_until_the_last_trainer_is_done() -> None:
    stage = Stage(8)
    stage.submit("job", (2, 2), pservers=2, annotations=LONG)
    stage.pass_seconds(6)
    one, two = _names(stage, "trainer")
    stage.end_pod(one)
    stage.settle()
    assert (len(_names(stage, "master")), len(_names(stage, "pserver"))) == (1, 2)
    stage.end_pod(two)
    stage.settle()
    assert [each["spec"]["replicas"] for each in stage.objects(REPLICASETS)] == [0, 0]
    assert stage.stands("job")["phase"] == "succeeded"


def test_one_failed_trainer_of_a_job_that_tolerates_faults_comes_again() -> None:
    stage = Stage(8)
    stage.submit("job", (2, 3), annotations=LONG)
    stage.pass_seconds(6)
    stage.end_pod(_names(stage, "trainer")[0], 1)
    stage.settle()
    stage.pass_seconds(60)
    status = stage.stands("job")
    assert (status["phase"], status["running"], status["failed"], status["wanted"]) == ("running", 3, 1, 3)


def test_a_job_that_is_deleted_and_made_again_at_once() -> None:
    stage = Stage(4)
    stage.submit("job", (2, 3), 10_000)
    stage.pass_seconds(6)
    stage.remove(TRAININGJOBS, "job")
    stage.submit("job", (1, 2), 10_000)
    stage.pass_seconds(40)
    status = stage.stands("job")
    assert (status["phase"], status["wanted"], status["running"]) == ("running", 2, 2)
    assert len(stage.running()) == 3


def test_a_least_that_is_raised_takes_no_more_places_than_it_needs() -> None:
    stage = Stage(6)
    stage.submit("other", (2, 2), 10_000)
    stage.submit("job", (1, 1), 10_000)
    stage.pass_seconds(6)
    stage.patch(TRAININGJOBS, "job", {"spec": {"trainer": {"min-instance": 2, "max-instance": 2}}})
    stage.settle()
    stage.pass_seconds(6)
    status = stage.stands("job")
    assert (status["wanted"], status["running"], len(status["places"])) == (2, 2, 3)


def test_a_trainer_job_that_others_change_or_delete_is_put_right() -> None:
    stage = Stage(8)
    stage.submit("job", (1, 3), 10_000)
    stage.pass_seconds(6)
    stage.spec(JOBS, "job-trainer", parallelism=7)
    stage.settle()
    assert stage.objects(JOBS)[0]["spec"]["parallelism"] == 3
    stage.remove(JOBS, "job-trainer")
    stage.settle()
    stage.pass_seconds(6)
    assert len(stage.trainers("job")) == 3
