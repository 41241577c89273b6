"""Every cell of phase and action: which pods go, what is counted, which phase follows."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.volcano.job.state import TABLE
from podium.dialects.volcano.job.types import ACTIONS, PHASES
from tests.dialects.job_stage import Stage, task

TARGETED = ("RestartTask", "RestartPod", "RestartPartition")
ALL_ACTIONS = (*ACTIONS, "SyncJob", "EnqueueJob")

# Of task `a` one pod runs, one failed and one succeeded; the pod of `b` waits.
LIVE = {"a-0", "b-0"}
EVERY = {"a-0", "a-1", "a-2", "b-0"}
OF_TASK = {"a-0", "a-1", "a-2"}
OF_PART = {"a-0", "a-1"}
FAILED_ONE = {"a-1"}

RESTART = (EVERY, 1, 1, "Restarting")  # pods that go, version and retries that are added, the phase entered
RESUME = (LIVE, 1, 1, "Restarting")
STAYS = (LIVE, 0, 0, "")
RUNS_ON: tuple[set[str], int, int, str] = (set(), 0, 0, "")

_ACTIVE = {
    "RestartJob": RESTART,
    "RestartTask": (OF_TASK, 0, 1, "Restarting"),
    "RestartPod": (FAILED_ONE, 0, 1, "Restarting"),
    "RestartPartition": (OF_PART, 0, 1, "Restarting"),
    "AbortJob": (LIVE, 1, 0, "Aborting"),
    "TerminateJob": (LIVE, 1, 0, "Terminating"),
    "CompleteJob": (LIVE, 1, 0, "Completing"),
    "ResumeJob": RUNS_ON,
    "SyncJob": RUNS_ON,
    "EnqueueJob": RUNS_ON,
}
_KILLS_AGAIN = (EVERY, 1, 0, "Restarting")  # the same phase, by another action

EXPECTED: dict[str, dict[str, tuple[set[str], int, int, str]]] = {
    "Pending": _ACTIVE,
    "Running": _ACTIVE,
    "Restarting": {
        **dict.fromkeys(("RestartJob", "AbortJob", "TerminateJob", "CompleteJob", "ResumeJob"), _KILLS_AGAIN),
        "RestartTask": (OF_TASK, 0, 0, ""),
        "RestartPod": (FAILED_ONE, 0, 0, ""),
        "RestartPartition": (OF_PART, 0, 0, ""),
        "SyncJob": (set(), 0, 0, "Pending"),
        "EnqueueJob": (set(), 0, 0, "Pending"),
    },
    **{phase: dict.fromkeys(ALL_ACTIONS, STAYS) | {"ResumeJob": RESUME} for phase in ("Aborting", "Aborted")},
    **{
        phase: dict.fromkeys(ALL_ACTIONS, STAYS)
        for phase in ("Completing", "Completed", "Terminating", "Terminated", "Failed")
    },
}


def scene(phase: str, action: str) -> Stage:
    policies = [{"event": "PodFailed", "action": action}] if action in TARGETED else []
    parts = {"totalPartitions": 2, "partitionSize": 2}
    more: dict[str, Any] = {"reason": "RestartTask"} if phase == "Restarting" else {}
    stage = Stage(
        # Its last place is empty, so that the Job cannot be over.
        task("a", 4, minAvailable=2, partitionPolicy=parts, policies=policies),
        task("b"),
        phase=phase,
        maxRetry=5,
        minAvailable=4,
        status={"taskStatusCount": {}},
        **more,
    )
    stage.group()
    stage.pod("a-0")
    stage.pod("a-1", "Failed", code=1)
    stage.pod("a-2", "Succeeded")
    stage.pod("b-0", "Pending")
    if action not in TARGETED and action != "SyncJob":
        stage.command(action)
    return stage


@pytest.mark.parametrize("action", ALL_ACTIONS)
@pytest.mark.parametrize("phase", PHASES)
def test_every_cell(phase: str, action: str) -> None:
    gone, version, retries, entered = EXPECTED[phase][action]
    seen = scene(phase, action).look()
    assert seen.deleted == gone
    assert (seen.status.get("version") or 0) == version
    assert (seen.status.get("retryCount") or 0) == retries
    assert seen.phase == entered
    ended = phase not in ("Pending", "Running", "Restarting")
    assert seen.group_deleted == (bool(version) or ended)
    asked = action not in TARGETED and action != "SyncJob"
    assert seen.commands_deleted == asked


def test_the_table_has_every_phase() -> None:
    assert set(TABLE) == set(PHASES) == set(EXPECTED)


def test_a_new_job_is_pending() -> None:
    stage = Stage(task("a", 2), phase="")
    seen = stage.look()
    assert seen.phase == "Pending"
    assert [each["status"] for each in seen.status["conditions"]] == ["Pending"]


# --- the end of phases by themselves -----------------------------------------------------------------------


def pods(stage: Stage, name: str, *phases: str) -> Stage:
    for index, phase in enumerate(phases):
        stage.pod(f"{name}-{index}", phase)
    return stage


R, P, S, F = "Running", "Pending", "Succeeded", "Failed"


@pytest.mark.parametrize(
    ("phase", "spec", "phases", "entered"),
    [
        ("Pending", {}, (R, R, P), ""),
        ("Pending", {}, (R, S, F), "Running"),
        ("Pending", {"minAvailable": 2}, (R, R, P), "Running"),
        ("Running", {}, (R, R, P), "Pending"),
        ("Running", {"minAvailable": 2}, (R, R, P), ""),
        ("Running", {"minAvailable": 2}, (R, P, P), "Pending"),
        ("Running", {}, (S, S, S), "Completed"),
        ("Running", {}, (S, S, F), "Failed"),
        ("Running", {"minAvailable": 2}, (S, S, F), "Completed"),
        ("Running", {"minAvailable": 2}, (S, F, F), "Failed"),
        ("Running", {"minSuccess": 1}, (S, R, R), "Completed"),
        ("Running", {"minSuccess": 2}, (S, R, R), ""),
        ("Running", {"minSuccess": 2, "minAvailable": 1}, (S, F, F), "Failed"),
        ("Completing", {}, (S, S, F), "Completed"),
        ("Aborting", {}, (S, S, S), "Aborted"),
        ("Terminating", {}, (F, F, F), "Terminated"),
        ("Terminating", {}, (F, F, R), ""),
    ],
)
def test_phases_end(phase: str, spec: dict[str, Any], phases: tuple[str, ...], entered: str) -> None:
    stage = pods(Stage(task("a", 3), phase=phase, **spec), "a", *phases)
    stage.group()
    assert stage.look().phase == entered


def test_a_task_needs_its_own_successes() -> None:
    """Four of five pods succeeded, which the Job as a whole asks for; but task b has none."""
    stage = Stage(task("a", 4, minAvailable=3), task("b", 1, minAvailable=1), phase=R, minAvailable=4)
    stage.group()
    pods(stage, "a", S, S, S, S)
    pods(stage, "b", F)
    seen = stage.look()
    assert seen.phase == "Failed"
    assert "task b" in seen.status["state"]["message"]


def test_a_job_without_pods_does_not_end() -> None:
    stage = Stage(task("a", 0), phase="Running")
    stage.group()
    assert stage.look().phase == ""


@pytest.mark.parametrize(("terminating", "entered"), [(1, "Restarting"), (0, "Pending")])
def test_a_restart_waits_until_enough_pods_are_gone(terminating: int, entered: str) -> None:
    status = {"version": 1, "retryCount": 1}
    stage = Stage(task("a", 3), phase="Restarting", reason="RestartJob", status=status)
    for index in range(terminating):
        stage.pod(f"a-{index}", deleting=True)
    assert (stage.look().phase or "Restarting") == entered


def test_a_restart_goes_through_its_queue_again() -> None:
    """As long as the old group is there, the Job does not go on."""
    stage = Stage(task("a", 3), phase="Restarting", reason="RestartJob", status={"version": 1, "retryCount": 1})
    stage.group()
    seen = stage.look()
    assert seen.group_deleted
    assert seen.phase == ""


def test_the_last_try_ends_as_failed_and_leaves_its_pods() -> None:
    policy = [{"event": "PodFailed", "action": "RestartJob"}]
    stage = Stage(task("a", 2), policies=policy, maxRetry=2, status={"retryCount": 1})
    stage.group()
    pods(stage, "a", R, F)
    seen = stage.look()
    assert (seen.phase, seen.status["retryCount"], seen.deleted) == ("Restarting", 2, {"a-0"})

    stage = Stage(
        task("a", 2), phase="Restarting", reason="RestartJob", maxRetry=2, status={"retryCount": 2, "version": 1}
    )
    pods(stage, "a", R, F)
    seen = stage.look()
    assert (seen.phase, seen.deleted) == ("Failed", {"a-0"})


def test_a_restart_that_was_interrupted_goes_on() -> None:
    """The status was written and the controller ended: the pods of the older version still go, all of them."""
    stage = Stage(task("a", 2), phase="Restarting", reason="RestartJob", status={"version": 1, "retryCount": 1})
    pods(stage, "a", R, F)
    seen = stage.look()
    assert seen.deleted == {"a-0", "a-1"}
    assert seen.phase == ""


def test_what_a_resumed_job_had_done_stays() -> None:
    stage = Stage(task("a", 2), phase="Restarting", reason="ResumeJob", status={"version": 2, "retryCount": 1})
    pods(stage, "a", S, R)
    assert stage.look().deleted == {"a-1"}


def test_only_one_order_at_a_time_and_none_for_an_earlier_job() -> None:
    stage = Stage(task("a"), phase="Running")
    stage.group()
    stage.pod("a-0")
    stage.command("AbortJob", name="one")
    stage.command("ResumeJob", name="two")
    stage.command("TerminateJob", uid="another", name="old")
    seen = stage.look()
    assert seen.phase == "Aborting"
    assert seen.commands_deleted == 2
