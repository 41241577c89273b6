"""What happens to a Job, and which of its policies answers it."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.volcano.job.names import ANSWERED_GENERATION, EVICTED_AT, JOBS, OUT_OF_SYNC
from podium.dialects.volcano.types import PodGroupCondition
from podium.kube.changes import Create, Patch, Read
from podium.kube.resources import PODS
from podium.kube.times import format_time
from tests.dialects.job_stage import NOW, Seen, Stage, task

ABORT = "AbortJob"


def counted(**running: int) -> dict[str, Any]:
    """A status that has counted so many running pods of each task."""
    return {"taskStatusCount": {name: {"phase": {"Running": count}} for name, count in running.items()}}


def stage(*policies: dict[str, Any], replicas: int = 2, **more: Any) -> Stage:
    found = Stage(task("a", replicas), policies=list(policies), status=counted(a=replicas), **more)
    found.group()
    return found


def on(event: str, action: str = ABORT, **more: Any) -> dict[str, Any]:
    return {"event": event, "action": action, **more}


# --- events ------------------------------------------------------------------------------------------------


def test_a_failed_pod() -> None:
    scene = stage(on("PodFailed"))
    scene.pod("a-0")
    scene.pod("a-1", "Failed", code=3)
    seen = scene.look()
    assert seen.phase == "Aborting"
    assert seen.status["state"]["reason"] == ABORT
    assert seen.status["state"]["message"] == "pod job-a-1 failed with exit code 3"


@pytest.mark.parametrize(("code", "phase"), [(3, "Terminating"), (4, "Aborting"), (5, "")])
def test_exit_codes(code: int, phase: str) -> None:
    scene = stage({"exitCode": 3, "action": "TerminateJob"}, {"exitCode": 4, "action": ABORT})
    scene.pod("a-0")
    scene.pod("a-1", "Failed", code=code)
    assert scene.look().phase == phase


def test_a_failed_pod_of_an_earlier_version_is_no_news() -> None:
    scene = Stage(task("a", 2), policies=[on("PodFailed")], status={**counted(a=2), "version": 1})
    scene.group()
    scene.pod("a-0", version=1)
    scene.pod("a-1", "Failed", version=0)
    assert scene.look().phase == ""


def test_a_pod_that_is_gone_was_evicted() -> None:
    scene = stage(on("PodEvicted"))
    scene.pod("a-0")
    scene.gone("a-1")
    assert scene.look().phase == "Aborting"


def test_a_pod_that_was_never_seen_is_asked_for() -> None:
    """After a start the list of pods may be older than that of Jobs."""
    scene = stage(on("PodEvicted"))
    scene.pod("a-0")
    (question,) = scene.look().outcome.changes
    assert isinstance(question, Read)
    assert question.name == "job-a-1"
    scene.cache.tombstone(question.uid)  # it is not there
    assert scene.look().phase == "Aborting"


def test_a_pod_that_somebody_deletes_is_evicted_already() -> None:
    scene = stage(on("PodEvicted"))
    scene.pod("a-0")
    scene.pod("a-1", deleting=True)
    assert scene.look().phase == "Aborting"


def test_what_the_controller_takes_away_is_not_evicted() -> None:
    """The status is written before pods go, so it does not count them."""
    scene = Stage(task("a", 1), policies=[on("PodEvicted")], status=counted(a=1))
    scene.group()
    scene.pod("a-0")
    scene.pod("a-1", deleting=True)
    assert scene.look().phase == ""


def test_a_pod_that_was_told_to_go_goes() -> None:
    scene = Stage(task("a", 2), policies=[on("PodEvicted")], status=counted(a=1))
    scene.group()
    scene.pod("a-0")
    scene.pod("a-1", marks={OUT_OF_SYNC: "true"})
    seen = scene.look()
    assert (seen.phase, seen.deleted) == ("", {"a-1"})


def test_a_task_that_is_done() -> None:
    scene = stage(on("TaskCompleted", "CompleteJob"))
    scene.pod("a-0", "Succeeded")
    scene.pod("a-1")
    assert scene.look().phase == ""
    scene.pod("a-1", "Succeeded")
    assert scene.look().phase == "Completing"


@pytest.mark.parametrize(("limit", "restarts", "phase"), [(0, 3, "Aborting"), (4, 3, ""), (-1, 9, "")])
def test_a_task_whose_containers_are_restarted_too_often(limit: int, restarts: int, phase: str) -> None:
    scene = Stage(task("a", 2, maxRetry=limit), policies=[on("TaskFailed")], status=counted(a=2))
    scene.group()
    scene.pod("a-0", restarts=1)
    scene.pod("a-1", restarts=restarts - 1)
    assert scene.look().phase == phase


def test_a_group_of_which_the_rest_does_not_fit() -> None:
    scene = stage(on("Unknown"))
    scene.pod("a-0")
    scene.pod("a-1")
    scene.group("Unknown")
    assert scene.look().phase == "Aborting"


def test_nothing_says_which_task_to_restart() -> None:
    scene = stage(on("Unknown", "RestartTask"))
    scene.pod("a-0")
    scene.pod("a-1")
    scene.group("Unknown", conditions=[PodGroupCondition("Unschedulable", "True")])
    assert scene.look().phase == ""


def test_a_changed_job() -> None:
    policies = [on("JobUpdated", "RestartJob")]
    known = {ANSWERED_GENERATION: "0"}
    scene = Stage(task("a"), task("b"), policies=policies, annotations=known, status=counted(a=1, b=1))
    scene.group()
    scene.pod("a-0")
    scene.pod("b-0")
    seen = scene.look()
    assert seen.phase == "Restarting"
    assert _answered(seen) == ["1"]


def test_a_job_is_not_changed_by_being_seen_first() -> None:
    scene = Stage(task("a"), task("b"), policies=[on("JobUpdated", "RestartJob")], phase="Pending")
    seen = scene.look()
    assert (seen.phase, _answered(seen)) == ("", ["1"])


def _answered(seen: Seen) -> list[str]:
    patches = [each.patch.get("metadata", {}) for each in seen.of(Patch, JOBS)]
    return [each["annotations"][ANSWERED_GENERATION] for each in patches if "annotations" in each]


# --- which policy ------------------------------------------------------------------------------------------


def test_a_tasks_policies_go_first() -> None:
    own = [on("PodFailed", "TerminateJob")]
    scene = Stage(task("a", policies=own), task("b"), policies=[on("*")], status=counted(a=1, b=1))
    scene.group()
    scene.pod("a-0", "Failed")
    scene.pod("b-0")
    assert scene.look().phase == "Terminating"


def test_anything() -> None:
    scene = stage(on("*"))
    scene.pod("a-0")
    scene.pod("a-1", "Failed")
    assert scene.look().phase == "Aborting"


def test_several_events_in_one_policy() -> None:
    scene = stage({"events": ["PodEvicted", "PodFailed"], "action": ABORT})
    scene.pod("a-0")
    scene.gone("a-1")
    assert scene.look().phase == "Aborting"


def test_what_happened_first_is_answered_first() -> None:
    policies = [on("PodFailed", "TerminateJob"), on("TaskCompleted", "CompleteJob")]
    scene = Stage(task("a"), task("b"), policies=policies, status=counted(a=1, b=1))
    scene.group()
    scene.pod("a-0", "Failed", ended=NOW - 5)
    scene.pod("b-0", "Succeeded", ended=NOW - 10)
    assert scene.look().phase == "Completing"


# --- policies that wait ------------------------------------------------------------------------------------


def test_a_failed_pod_is_given_time() -> None:
    scene = stage(on("PodFailed", timeout="30s"))
    scene.pod("a-0")
    scene.pod("a-1", "Failed", ended=NOW - 10)
    seen = scene.look()
    assert (seen.phase, seen.again_at) == ("", NOW + 20)
    assert scene.look(NOW + 20).phase == "Aborting"


def test_a_pod_that_waits_is_a_matter_of_time_only() -> None:
    scene = stage(on("PodPending"))
    scene.pod("a-0")
    scene.pod("a-1", "Pending")
    assert scene.look().outcome.again_at is None

    scene = stage(on("PodPending", timeout="2m"), phase="Pending")
    scene.pod("a-0")
    scene.pod("a-1", "Pending")  # for a minute now
    seen = scene.look()
    assert (seen.phase, seen.again_at) == ("", NOW + 60)
    assert scene.look(NOW + 60).phase == "Aborting"
    scene.pod("a-1", "Running")
    assert scene.look(NOW + 60).phase == "Running"


def test_a_lost_pod_that_comes_back_in_time_is_forgiven() -> None:
    scene = stage(on("PodEvicted", timeout="30s"))
    scene.pod("a-0")
    scene.gone("a-1")
    seen = scene.look()
    # The one that takes its place carries word of the loss, and is made before the loss is counted.
    first = seen.outcome.changes[0]
    assert isinstance(first, Create)
    assert first.resource == PODS
    assert first.document["metadata"]["annotations"][EVICTED_AT] == format_time(NOW)
    assert seen.again_at == NOW + 30

    scene = stage(on("PodEvicted", timeout="30s"), replicas=1)
    scene.pod("a-0", "Pending", marks={EVICTED_AT: format_time(NOW)})
    assert scene.look(NOW + 29).again_at == NOW + 30
    assert scene.look(NOW + 30).phase == "Aborting"
    scene.pod("a-0", "Running", marks={EVICTED_AT: format_time(NOW)})
    assert scene.look(NOW + 30).phase == ""


# --- restarts of a part ------------------------------------------------------------------------------------


def test_a_lost_pod_restarts_its_task_even_if_the_controller_ends_in_between() -> None:
    """The loss stays to be seen in the status until the other pods of the task have been taken away."""
    policies = [on("PodEvicted", "RestartTask")]
    scene = Stage(task("a", 3), task("b"), policies=policies, status=counted(a=3, b=1))
    scene.group()
    for name in ("a-0", "a-1", "b-0"):
        scene.pod(name)
    scene.gone("a-2")
    seen = scene.look()
    assert (seen.phase, seen.deleted) == ("Restarting", {"a-0", "a-1"})
    assert seen.status["taskStatusCount"]["a"] == {"phase": {"Running": 3}}

    status = {**counted(a=3, b=1), "retryCount": 1}
    scene = Stage(
        task("a", 3), task("b"), policies=policies, phase="Restarting", reason="RestartTask", status=status
    )
    scene.group()
    for name in ("a-0", "a-1", "b-0"):
        scene.pod(name)
    scene.gone("a-2")
    seen = scene.look()
    assert (seen.phase, seen.deleted, seen.status.get("retryCount")) == ("", {"a-0", "a-1"}, 1)
    scene.pod("a-0", deleting=True)
    scene.pod("a-1", deleting=True)
    seen = scene.look()
    assert (seen.phase, seen.deleted) == ("", set())
    assert seen.status["taskStatusCount"]["a"] is None
