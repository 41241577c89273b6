"""Jobs from their first pod to their last condition."""

from __future__ import annotations

from typing import Any

import pytest

from podium.embedded.controllers.job_indexes import Indexes
from podium.kube.resources import JOBS, PODS
from tests.embedded.cluster import Cluster, Document, template_of, without_kubelets

INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def bare() -> Cluster:
    """Without kubelets: the test ends the pods."""
    return Cluster(without_kubelets, nodes=0)


def ended(cluster: Cluster, name: str = "job") -> tuple[str, str]:
    conditions = cluster.conditions(JOBS, name)
    for kind in ("Complete", "Failed"):
        if kind in conditions:
            return kind, conditions[kind]["reason"]
    return "", ""


def indexes(pods: list[Document]) -> list[int]:
    return sorted(int(pod["metadata"]["annotations"][INDEX]) for pod in pods)


def test_completions_are_reached_with_at_most_parallelism_pods_at_a_time(cluster: Cluster) -> None:
    cluster.job(completions=5, parallelism=2)
    cluster.settle()
    assert len(cluster.running()) == 2
    status = cluster.status_of(JOBS, "job")
    assert (status["active"], status["ready"], status["terminating"]) == (2, 2, 0)
    cluster.pass_seconds(5)
    assert cluster.status_of(JOBS, "job")["succeeded"] == 2
    cluster.pass_seconds(20)
    assert ended(cluster) == ("Complete", "CompletionsReached")
    status = cluster.status_of(JOBS, "job")
    assert status["succeeded"] == 5
    assert "active" not in status
    assert status["uncountedTerminatedPods"] == {}
    assert status["completionTime"] == "2027-01-15T08:00:15Z"
    assert status["startTime"] == "2027-01-15T08:00:00Z"
    assert {"SuccessfulCreate", "Completed"} <= cluster.reasons()


def test_pods_carry_owner_finalizer_and_a_name_of_the_known_style(cluster: Cluster) -> None:
    job = cluster.job(run=None)
    cluster.settle()
    (pod,) = cluster.pods()
    metadata = pod["metadata"]
    assert metadata["name"].startswith("job-")
    assert len(metadata["name"]) == len("job-12345")
    assert metadata["generateName"] == "job-"
    assert metadata["finalizers"] == [TRACKING]
    (owner,) = metadata["ownerReferences"]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "job",
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert metadata["labels"]["batch.kubernetes.io/job-name"] == "job"


def test_finished_pods_are_let_go(cluster: Cluster) -> None:
    cluster.job(completions=2, parallelism=2)
    cluster.pass_seconds(10)
    assert not any(pod["metadata"].get("finalizers") for pod in cluster.pods())


def test_a_job_without_completions_ends_when_one_pod_succeeds_and_the_rest_has_finished(bare: Cluster) -> None:
    bare.job(parallelism=3)
    bare.settle()
    first, second, third = bare.names(PODS)
    bare.end_pod(first)
    bare.settle()
    assert len(bare.running()) == 2
    assert ended(bare) == ("", "")
    bare.end_pod(second, 1)
    bare.settle()
    assert len(bare.names(PODS)) == 3, "no successor once one has succeeded"
    bare.end_pod(third)
    bare.settle()
    assert ended(bare) == ("Complete", "CompletionsReached")
    assert bare.status_of(JOBS, "job")["succeeded"] == 2


def test_no_completions_wanted_is_complete_at_once(cluster: Cluster) -> None:
    cluster.job(completions=0)
    cluster.settle()
    assert ended(cluster) == ("Complete", "CompletionsReached")
    assert cluster.names(PODS) == []


# --- failures ------------------------------------------------------------------------------------------------


def test_failures_are_retried_after_ten_seconds_then_twenty_and_so_on(cluster: Cluster) -> None:
    cluster.job(run=0.0, code=1, backoffLimit=3)
    cluster.settle()
    made: list[int] = []
    for _ in range(80):
        made.append(len(cluster.names(PODS)))
        cluster.pass_seconds(1)
    assert [second for second in range(1, 80) if made[second] > made[second - 1]] == [10, 30, 70]
    assert ended(cluster) == ("Failed", "BackoffLimitExceeded")
    assert cluster.status_of(JOBS, "job")["failed"] == 4
    assert cluster.conditions(JOBS, "job")["Failed"]["message"] == "Job has reached the specified backoff limit"
    assert cluster.conditions(JOBS, "job")["FailureTarget"]["status"] == "True"
    assert "completionTime" not in cluster.status_of(JOBS, "job")


def test_the_delay_ends_at_ten_minutes(cluster: Cluster) -> None:
    cluster.job(run=0.0, code=1, backoffLimit=20)
    cluster.pass_seconds(10 + 20 + 40 + 80 + 160 + 320 + 600 + 5)
    before = len(cluster.names(PODS))
    cluster.pass_seconds(600)
    assert len(cluster.names(PODS)) == before + 1


def test_a_success_forgets_earlier_failures(bare: Cluster) -> None:
    bare.job(completions=3, parallelism=1, backoffLimit=5)
    bare.settle()
    for code in (1, 1, 0):
        (pod,) = bare.running()
        bare.end_pod(pod["metadata"]["name"], code)
        bare.pass_seconds(60)
    (pod,) = bare.running()
    bare.end_pod(pod["metadata"]["name"], 1)
    bare.pass_seconds(9)
    assert bare.running() == []
    bare.pass_seconds(2)
    assert len(bare.running()) == 1


def test_backoff_limit_zero_fails_with_the_first_pod_and_stops_the_others(bare: Cluster) -> None:
    bare.job(parallelism=3, completions=3, backoffLimit=0)
    bare.settle()
    bare.end_pod(bare.names(PODS)[0], 1)
    bare.settle()
    assert ended(bare) == ("Failed", "BackoffLimitExceeded")
    # Never bound to a node, they need no time to end; those that ran count as failed with the first.
    assert len(bare.names(PODS)) == 1
    assert bare.status_of(JOBS, "job")["failed"] == 3


def test_the_failed_condition_waits_for_terminating_pods(cluster: Cluster) -> None:
    template = template_of({}, restartPolicy="Never", terminationGracePeriodSeconds=30)
    template["metadata"]["annotations"] = {"podium.dev/termination-seconds": "20"}
    cluster.make(JOBS, "job", spec={"template": template, "activeDeadlineSeconds": 10})
    cluster.pass_seconds(11)
    conditions = cluster.conditions(JOBS, "job")
    assert conditions["FailureTarget"]["reason"] == "DeadlineExceeded"
    assert "Failed" not in conditions
    status = cluster.status_of(JOBS, "job")
    assert status["terminating"] == 1
    assert "active" not in status
    cluster.pass_seconds(25)
    assert ended(cluster) == ("Failed", "DeadlineExceeded")
    assert cluster.status_of(JOBS, "job")["terminating"] == 0


def test_restarts_in_place_count_against_the_limit(cluster: Cluster) -> None:
    cluster.job(run=1.0, code=1, policy="OnFailure", backoffLimit=3)
    cluster.pass_seconds(300)
    assert ended(cluster) == ("Failed", "BackoffLimitExceeded")
    assert cluster.running() == []


def test_the_deadline_is_kept_even_if_nothing_happens(cluster: Cluster) -> None:
    cluster.job(run=None, activeDeadlineSeconds=100)
    cluster.pass_seconds(99)
    assert ended(cluster) == ("", "")
    cluster.pass_seconds(2)
    assert ended(cluster) == ("Failed", "DeadlineExceeded")
    assert cluster.conditions(JOBS, "job")["Failed"]["message"] == "Job was active longer than specified deadline"
    assert cluster.names(PODS) == []


def test_pods_deleted_by_users_are_replaced_under_another_name(cluster: Cluster) -> None:
    cluster.job(run=None, parallelism=2, completions=2)
    cluster.settle()
    victim = cluster.names(PODS)[0]
    cluster.delete(victim)
    cluster.pass_seconds(60)
    names = cluster.names(PODS)
    assert len(names) == 2
    assert victim not in names
    assert cluster.status_of(JOBS, "job")["failed"] == 1


def test_with_replacement_policy_failed_a_terminating_pod_keeps_its_place(cluster: Cluster) -> None:
    template = template_of({}, restartPolicy="Never", terminationGracePeriodSeconds=60)
    template["metadata"]["annotations"] = {"podium.dev/termination-seconds": "30"}
    cluster.make(JOBS, "job", spec={"template": template, "podReplacementPolicy": "Failed"})
    cluster.settle()
    (name,) = cluster.names(PODS)
    cluster.delete(name)
    cluster.pass_seconds(20)
    assert cluster.names(PODS) == [name]
    assert cluster.status_of(JOBS, "job")["terminating"] == 1
    cluster.pass_seconds(40)
    assert len(cluster.running()) == 1
    assert cluster.status_of(JOBS, "job")["failed"] == 1


# --- suspend, scale, delete ------------------------------------------------------------------------------------


def test_suspend_takes_the_pods_back_uncounted_and_resume_starts_the_clock_anew(cluster: Cluster) -> None:
    cluster.job(run=None, parallelism=3, completions=3, activeDeadlineSeconds=100)
    cluster.pass_seconds(50)
    cluster.spec(JOBS, "job", suspend=True)
    cluster.pass_seconds(200)
    status = cluster.status_of(JOBS, "job")
    assert cluster.names(PODS) == []
    assert "startTime" not in status
    assert "failed" not in status
    suspended = cluster.conditions(JOBS, "job")["Suspended"]
    assert (suspended["status"], suspended["reason"]) == ("True", "JobSuspended")
    cluster.spec(JOBS, "job", suspend=False)
    cluster.pass_seconds(99)
    assert len(cluster.running()) == 3
    resumed = cluster.conditions(JOBS, "job")["Suspended"]
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")
    assert ended(cluster) == ("", "")
    cluster.pass_seconds(2)
    assert ended(cluster) == ("Failed", "DeadlineExceeded")
    assert {"Suspended", "Resumed", "DeadlineExceeded"} <= cluster.reasons()


def test_a_job_created_suspended_starts_nothing(cluster: Cluster) -> None:
    cluster.job(suspend=True)
    cluster.pass_seconds(10)
    assert cluster.names(PODS) == []
    assert "startTime" not in cluster.status_of(JOBS, "job")


def test_parallelism_can_change_at_run_time(cluster: Cluster) -> None:
    cluster.job(run=None, parallelism=4, completions=10)
    cluster.settle()
    cluster.spec(JOBS, "job", parallelism=1)
    cluster.pass_seconds(40)
    assert len(cluster.names(PODS)) == 1
    assert "failed" not in cluster.status_of(JOBS, "job")
    cluster.spec(JOBS, "job", parallelism=6)
    cluster.settle()
    assert len(cluster.running()) == 6
    cluster.spec(JOBS, "job", parallelism=0)
    cluster.pass_seconds(40)
    assert cluster.names(PODS) == []


def test_time_to_live_removes_the_job_and_its_pods(cluster: Cluster) -> None:
    cluster.job(ttlSecondsAfterFinished=30)
    cluster.pass_seconds(34)
    assert cluster.has(JOBS, "job")
    cluster.pass_seconds(2)
    assert not cluster.has(JOBS, "job")
    assert cluster.names(PODS) == []


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deleting_a_job_deletes_its_pods(cluster: Cluster, propagation: str) -> None:
    cluster.job(run=None, parallelism=2, completions=2)
    cluster.settle()
    cluster.remove(JOBS, "job", propagation)
    cluster.pass_seconds(60)
    assert not cluster.has(JOBS, "job")
    assert cluster.names(PODS) == []


def test_orphaned_pods_lose_finalizer_and_owner_and_live_on(cluster: Cluster) -> None:
    cluster.job(run=None)
    cluster.settle()
    cluster.remove(JOBS, "job", "Orphan")
    cluster.pass_seconds(10)
    assert not cluster.has(JOBS, "job")
    (pod,) = cluster.pods()
    assert "ownerReferences" not in pod["metadata"]
    assert not pod["metadata"].get("finalizers")


def test_jobs_managed_by_somebody_else_are_left_alone(cluster: Cluster) -> None:
    cluster.job(managedBy="example.com/queue")
    cluster.pass_seconds(10)
    assert cluster.names(PODS) == []
    assert cluster.status_of(JOBS, "job") == {}


def test_at_rest_nothing_is_written(cluster: Cluster) -> None:
    cluster.job(run=None, parallelism=2)
    cluster.settle()
    before = len(cluster.writes)
    cluster.pass_seconds(3600)
    assert cluster.writes[before:] == []


def test_a_large_job_starts_in_portions(bare: Cluster) -> None:
    bare.job(parallelism=700, completions=700)
    bare.pass_seconds(1)
    assert len(bare.names(PODS)) == 700
    assert bare.status_of(JOBS, "job")["active"] == 700


# --- indexed jobs ----------------------------------------------------------------------------------------------


def indexed(cluster: Cluster, **spec: Any) -> None:
    cluster.job(completionMode="Indexed", **spec)
    cluster.settle()


def finish(cluster: Cluster, index: int, code: int = 0) -> None:
    """Ends the running pod of an index."""
    for pod in cluster.running():
        if indexes([pod]) == [index]:
            cluster.end_pod(pod["metadata"]["name"], code)
            cluster.settle()
            return
    raise AssertionError(f"no pod of index {index}")


def test_each_index_gets_its_pod_and_is_told_its_number(cluster: Cluster) -> None:
    indexed(cluster, completions=3, parallelism=3)
    pods = cluster.pods()
    assert indexes(pods) == [0, 1, 2]
    for pod in pods:
        index = pod["metadata"]["annotations"][INDEX]
        assert pod["metadata"]["labels"][INDEX] == index
        assert pod["metadata"]["name"].startswith(f"job-{index}-")
        assert pod["spec"]["hostname"] == f"job-{index}"
        (variable,) = pod["spec"]["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    cluster.pass_seconds(6)
    status = cluster.status_of(JOBS, "job")
    assert status["completedIndexes"] == "0-2"
    assert status["succeeded"] == 3


def test_completed_indexes_are_written_compressed(bare: Cluster) -> None:
    indexed(bare, completions=8, parallelism=8)
    for index in (1, 3, 4, 6, 7):
        finish(bare, index)
    assert bare.status_of(JOBS, "job")["completedIndexes"] == "1,3,4,6,7"
    finish(bare, 5)
    assert bare.status_of(JOBS, "job")["completedIndexes"] == "1,3-7"


def test_a_failed_index_is_tried_again_by_its_own_number(bare: Cluster) -> None:
    indexed(bare, completions=3, parallelism=3)
    finish(bare, 1, code=1)
    bare.pass_seconds(11)
    assert indexes(bare.running()) == [0, 1, 2]


def test_duplicate_and_foreign_indexes_are_taken_back(bare: Cluster) -> None:
    indexed(bare, completions=2, parallelism=2)
    pod = bare.pods()[0]
    copy = {**pod["metadata"], "name": "job-copy"}
    for field in ("uid", "resourceVersion", "creationTimestamp", "generateName", "managedFields"):
        copy.pop(field, None)
    bare.make(PODS, "job-copy", metadata=copy, spec={"containers": [{"name": "main", "image": "app:1"}]})
    bare.settle()
    assert indexes(bare.running()) == [0, 1]
    assert len(bare.names(PODS)) == 2


def test_backoff_limit_per_index_fails_indexes_one_by_one(bare: Cluster) -> None:
    indexed(bare, completions=3, parallelism=3, backoffLimitPerIndex=1)
    finish(bare, 0)
    finish(bare, 1, code=1)
    assert indexes(bare.running()) == [2], "index 1 backs off"
    bare.pass_seconds(11)
    retried = next(pod for pod in bare.running() if indexes([pod]) == [1])
    assert retried["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    finish(bare, 1, code=1)
    assert bare.status_of(JOBS, "job")["failedIndexes"] == "1"
    assert ended(bare) == ("", "")
    finish(bare, 2)
    assert ended(bare) == ("Failed", "FailedIndexes")
    status = bare.status_of(JOBS, "job")
    assert (status["completedIndexes"], status["failedIndexes"], status["failed"]) == ("0,2", "1", 2)


def test_too_many_failed_indexes_end_the_job(bare: Cluster) -> None:
    indexed(bare, completions=4, parallelism=4, backoffLimitPerIndex=0, maxFailedIndexes=1)
    finish(bare, 0, code=1)
    assert ended(bare) == ("", "")
    finish(bare, 1, code=1)
    assert ended(bare) == ("Failed", "MaxFailedIndexesExceeded")
    assert bare.running() == []


def test_a_success_policy_ends_the_job_early(bare: Cluster) -> None:
    policy = {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]}
    indexed(bare, completions=5, parallelism=5, successPolicy=policy)
    finish(bare, 1)
    finish(bare, 0)
    assert ended(bare) == ("", "")
    finish(bare, 3)
    assert ended(bare) == ("Complete", "SuccessPolicy")
    conditions = bare.conditions(JOBS, "job")
    assert conditions["SuccessCriteriaMet"]["message"] == "Matched rules at index 0"
    assert bare.running() == []
    assert "failed" not in bare.status_of(JOBS, "job"), "pods stopped by success did not fail"


# --- pod failure policy ------------------------------------------------------------------------------------------


def policy(action: str, **rule: Any) -> Document:
    return {"rules": [{"action": action, **rule}]}


EXIT_42: Document = {"onExitCodes": {"operator": "In", "values": [42]}}


def test_fail_job_names_pod_container_and_rule(bare: Cluster) -> None:
    bare.job(parallelism=2, completions=2, podFailurePolicy=policy("FailJob", **EXIT_42))
    bare.settle()
    name = bare.names(PODS)[0]
    bare.end_pod(name, 42)
    bare.settle()
    assert ended(bare) == ("Failed", "PodFailurePolicy")
    assert bare.conditions(JOBS, "job")["Failed"]["message"] == (
        f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    )


def test_ignored_failures_do_not_count(bare: Cluster) -> None:
    disrupted = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    bare.job(backoffLimit=0, podFailurePolicy=policy("Ignore", **disrupted))
    bare.settle()
    (name,) = bare.names(PODS)
    bare.pod_status(name, conditions=[{"type": "DisruptionTarget", "status": "True"}])
    bare.end_pod(name, 137)
    bare.pass_seconds(11)
    assert ended(bare) == ("", "")
    assert "failed" not in bare.status_of(JOBS, "job")
    assert len(bare.running()) == 1


def test_a_rule_that_does_not_match_leaves_the_usual_counting(bare: Cluster) -> None:
    bare.job(backoffLimit=0, podFailurePolicy=policy("Ignore", **EXIT_42))
    bare.settle()
    bare.end_pod(bare.names(PODS)[0], 1)
    bare.settle()
    assert ended(bare) == ("Failed", "BackoffLimitExceeded")


def test_fail_index_does_not_wait_for_the_limit_of_the_index(bare: Cluster) -> None:
    indexed(
        bare,
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=5,
        podFailurePolicy=policy("FailIndex", **EXIT_42),
    )
    finish(bare, 0, code=42)
    assert bare.status_of(JOBS, "job")["failedIndexes"] == "0"
    finish(bare, 1)
    assert ended(bare) == ("Failed", "FailedIndexes")


# --- the index sets themselves -----------------------------------------------------------------------------------


def test_index_sets_read_write_and_compare() -> None:
    some = Indexes.parse("1,3-5,7", 100)
    assert str(some) == "1,3-5,7"
    assert len(some) == 5
    assert [index for index in range(9) if index in some] == [1, 3, 4, 5, 7]
    assert str(some | Indexes.of([2, 6])) == "1-7"
    assert some.missing(10, 3) == [0, 2, 6]
    assert some.missing(10, 99) == [0, 2, 6, 8, 9]
    assert Indexes().missing(3, 99) == [0, 1, 2]
    assert some.overlap(Indexes.parse("0-3,5,7-9", 100)) == 4
    assert str(Indexes.parse("0-9", 4)) == "0-3"
    assert str(Indexes.parse("x,1-,2", 4)) == "2"
