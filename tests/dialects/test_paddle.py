"""TrainingJobs in virtual time: from the first plan to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.paddle.workloads import training_job
from podium.embedded.nodes.shapes import Shape
from podium.kube.changes import Create
from podium.kube.pod_script import EXIT_CODE, RUN_SECONDS, WORK_SECONDS
from podium.kube.resources import JOBS, PODS, REPLICASETS, STATEFULSETS
from tests.dialects.virtual import Virtual

Document = dict[str, Any]
EXAMPLE = Path(__file__).parents[2] / "examples" / "paddle" / "01-elastic.yaml"


class Stage(Virtual):
    """A cluster with as many nodes as a test makes."""

    def __init__(self, *cores: int) -> None:
        super().__init__(nodes=0)
        for index, each in enumerate(cores):
            self.node(f"node-{index}", Shape(cpu=str(each)), index)
        self.settle()

    def submit(self, name: str, trainers: tuple[int, int], work: float = 0, **more: Any) -> None:
        script = {WORK_SECONDS: f"{work:g}"} if work else {}
        given = {"cpu": "1", "pservers": 0, **more}
        annotations = {**script, **given.pop("annotations", {})}
        self.apply(training_job(name, trainers, annotations=annotations, **given))
        self.settle()

    def stands(self, name: str) -> Document:
        return self.status_of(TRAININGJOBS, name)

    def trainers(self, name: str) -> list[Document]:
        """Those that neither ended nor were asked to."""
        return [
            pod
            for pod in self.running()
            if pod["metadata"]["labels"].get("paddle-job") == name and pod["status"]["phase"] == "Running"
        ]


def test_the_example_grows_to_its_most_and_ends() -> None:
    stage = Stage(16)
    stage.apply(yaml.safe_load(EXAMPLE.read_text()))
    stage.settle()
    assert stage.stands("example")["wanted"] == 2
    stage.pass_seconds(8)
    assert stage.stands("example")["wanted"] == 10
    assert len(stage.trainers("example")) == 10
    status = stage.stands("example")
    assert (status["phase"], status["running"]) == ("running", 10)
    assert stage.names(REPLICASETS) == ["example-master", "example-pserver"]
    stage.pass_seconds(10)
    assert stage.stands("example")["phase"] == "succeeded"
    assert [each["spec"]["replicas"] for each in stage.objects(REPLICASETS)] == [0, 0]
    assert not stage.running()


def test_a_status_that_asks_for_more_than_the_most_makes_no_more() -> None:
    """Not for the moment either that it takes until the scheduler has written a better number."""
    stage = Stage(16)
    stage.submit("j", (1, 3), gpus=2)
    assert stage.stands("j")["conditions"][0]["reason"] == "TooLittleCpuForGpu"
    stage.patch(TRAININGJOBS, "j", {"status": {"wanted": 10_000}}, subresource="status")
    stage.settle()
    made = [each for each in stage.writes if isinstance(each, Create) and each.resource == JOBS]
    assert [each.document["spec"]["parallelism"] for each in made] == [3]


def test_sizes_even_out_and_follow_arrivals_and_ends() -> None:
    """Alone to 10; two more arrive; one ends; all reach their end."""
    stage = Stage(16)
    script = {"freezingWindow": 20, "pservers": 1}
    stage.submit("first", (2, 10), 1500, **script)
    stage.pass_seconds(30)
    assert len(stage.trainers("first")) == 10
    stage.submit("second", (2, 10), 1500, **script)
    stage.submit("third", (2, 10), 600, **script)
    sizes: set[tuple[int, ...]] = set()
    for _ in range(60):
        stage.pass_seconds(5)
        sizes.add(tuple(len(stage.trainers(name)) for name in ("first", "second", "third")))
    assert any(max(each) - min(each) <= 3 and min(each) >= 3 for each in sizes), sizes
    assert stage.stands("third")["phase"] == "succeeded"
    for _ in range(60):
        stage.pass_seconds(10)
    assert {stage.stands(name)["phase"] for name in ("first", "second", "third")} == {"succeeded"}
    assert not stage.running()


def test_a_job_that_does_not_fit_whole_creates_nothing() -> None:
    """There is room for its trainers, and none for its master."""
    stage = Stage(2)
    stage.submit("job", (2, 2))
    stage.pass_seconds(30)
    assert not stage.objects(PODS)
    assert not stage.names(REPLICASETS)
    (condition,) = stage.stands("job")["conditions"]
    assert (condition["type"], condition["status"]) == ("Scheduled", "False")
    assert "cpu" in condition["message"]
    stage.node("more", Shape(cpu="1"), 7)
    stage.settle()
    stage.pass_seconds(6)
    assert len(stage.trainers("job")) == 2
    assert stage.conditions(TRAININGJOBS, "job")["Scheduled"]["status"] == "True"


def test_a_job_without_fault_tolerance_fails_with_its_first_trainer() -> None:
    stage = Stage(8)
    script = {RUN_SECONDS: "5", EXIT_CODE: "1"}
    stage.submit("job", (2, 2), fault_tolerant=False, annotations=script, pservers=1)
    assert stage.names(REPLICASETS) == ["job-pserver"]
    stage.pass_seconds(10)
    status = stage.stands("job")
    assert status["phase"] == "failed"
    assert "tolerate" in status["reason"]
    assert not stage.running()


def test_a_job_that_tolerates_faults_fails_when_all_trainers_have() -> None:
    stage = Stage(8)
    stage.submit("job", (2, 3), annotations={RUN_SECONDS: "5", EXIT_CODE: "1"})
    stage.pass_seconds(60)
    assert stage.stands("job")["phase"] == "failed"
    assert not stage.running()


def test_a_lost_trainer_comes_again_in_its_place() -> None:
    stage = Stage(8)
    stage.submit("job", (2, 3), 1000)
    stage.pass_seconds(5)
    first = stage.trainers("job")[0]["metadata"]["name"]
    stage.remove(PODS, first)
    stage.pass_seconds(5)
    names = [pod["metadata"]["name"] for pod in stage.trainers("job")]
    assert len(names) == 3
    assert first not in names
    assert stage.stands("job")["wanted"] == 3


def test_several_etcds_are_a_set_of_their_own() -> None:
    stage = Stage(8)
    stage.submit("job", (1, 2), 100, etcd={"replicas": 3})
    stage.pass_seconds(5)
    assert stage.names(STATEFULSETS) == ["job-etcd"]
    assert sum(pod["metadata"]["name"].startswith("job-etcd-") for pod in stage.running()) == 3
    assert [each["name"] for each in stage.pods()[-1]["spec"]["containers"]] == ["trainer"]
    stage.pass_seconds(200)
    assert stage.stands("job")["phase"] == "succeeded"
    assert not stage.running()


def test_what_is_there_under_a_part_s_name_is_not_touched() -> None:
    stage = Stage(8)
    stage.job("job-trainer", run=None)
    stage.submit("job", (1, 1))
    stage.pass_seconds(5)
    assert stage.stands("job")["phase"] == "failed"
    assert "job-trainer" in stage.stands("job")["reason"]
    assert stage.names(JOBS) == ["job-trainer"]


def test_a_restart_goes_on_where_it_was() -> None:
    stage = Stage(8)
    stage.submit("a", (1, 9), 5000)
    stage.submit("b", (1, 9), 5000)
    stage.pass_seconds(150)
    before = {name: stage.stands(name) for name in "ab"}
    pods = {pod["metadata"]["name"] for pod in stage.running()}
    stage.restart()
    stage.settle()
    stage.pass_seconds(6)
    after = {name: stage.stands(name) for name in "ab"}
    assert {name: each["wanted"] for name, each in before.items()} == {
        name: each["wanted"] for name, each in after.items()
    }
    assert {pod["metadata"]["name"] for pod in stage.running()} == pods
    stage.pass_seconds(60)
    for name in "ab":
        assert stage.stands(name)["podSeconds"] > before[name]["podSeconds"] > 0


def _growth(stage: Stage) -> list[int]:
    """When a job grows for which there is more room each second."""
    stage.submit("job", (1, 99), 10_000, freezingWindow=0)
    begun, sizes = stage.now, [stage.stands("job")["wanted"]]
    for second in range(1, 17):
        stage.node(f"more-{second}", Shape(cpu="1"), 10 + second)
        stage.settle()
        stage.pass_seconds(1)
        sizes.append(stage.stands("job")["wanted"])
    assert stage.now - begun == 16
    return [second for second in range(1, 17) if sizes[second] != sizes[second - 1]]


def test_plans_are_made_every_five_seconds() -> None:
    assert _growth(Stage(2)) == [5, 10, 15]


def test_a_job_that_comes_is_started_at_once_and_grows_with_the_next_plan() -> None:
    stage = Stage(9)
    stage.submit("first", (1, 9), 10_000)
    assert stage.stands("first")["wanted"] == 1
    stage.pass_seconds(2)
    stage.submit("second", (1, 9), 10_000)
    assert {name: stage.stands(name)["wanted"] for name in ("first", "second")} == {"first": 1, "second": 1}
    stage.pass_seconds(3)
    assert {name: stage.stands(name)["wanted"] for name in ("first", "second")} == {"first": 4, "second": 4}


def test_a_job_that_asks_for_less_is_started_at_once() -> None:
    stage = Stage(4)
    stage.submit("first", (2, 2), 10_000)
    stage.pass_seconds(1)
    stage.submit("late", (2, 2), 10_000)
    assert not stage.stands("late").get("wanted")
    stage.patch(TRAININGJOBS, "late", {"spec": {"trainer": {"min-instance": 1, "max-instance": 1}}})
    stage.settle()
    assert stage.stands("late")["wanted"] == 1


def test_the_room_of_a_deleted_job_goes_to_one_that_waits_within_a_period() -> None:
    stage = Stage(4)
    stage.submit("first", (2, 2), 10_000)
    stage.pass_seconds(1)
    stage.submit("late", (2, 2), 10_000)
    assert not stage.stands("late").get("wanted")
    stage.remove(TRAININGJOBS, "first")
    stage.settle()
    stage.pass_seconds(6)
    assert stage.stands("late")["wanted"] == 2
    assert len(stage.trainers("late")) == 2


def test_bounds_that_are_moved_hold_at_once_downwards_and_with_the_next_plan_upwards() -> None:
    """Also within the window: a size out of its bounds does not wait for it."""
    stage = Stage(12)
    stage.submit("job", (1, 9), 100_000)
    stage.pass_seconds(6)
    assert stage.stands("job")["wanted"] == 9
    stage.patch(TRAININGJOBS, "job", {"spec": {"trainer": {"max-instance": 3}}})
    stage.settle()
    stage.pass_seconds(5)
    assert len(stage.trainers("job")) == 3
    stage.patch(TRAININGJOBS, "job", {"spec": {"trainer": {"min-instance": 5, "max-instance": 6}}})
    stage.settle()
    stage.pass_seconds(6)
    assert stage.stands("job")["wanted"] >= 5
    assert len(stage.trainers("job")) >= 5


def test_a_priority_that_is_raised_counts_from_the_next_plan() -> None:
    stage = Stage(8)
    for name in ("a", "b"):
        stage.submit(name, (1, 9), 100_000, freezingWindow=5)
    stage.pass_seconds(60)
    before = stage.stands("a")["wanted"]
    stage.patch(TRAININGJOBS, "a", {"spec": {"priority": "Production"}})
    stage.pass_seconds(60)
    assert stage.stands("a")["wanted"] > before
    assert stage.stands("b")["wanted"] == 1
