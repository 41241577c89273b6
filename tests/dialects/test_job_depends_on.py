"""Tasks that wait for others: the gang counts who has started, grows with the rest, and nobody waits for ever."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.volcano.names import PODGROUPS
from podium.kube import job_members
from podium.kube.changes import Patch
from podium.kube.resources import NAMESPACES
from podium.kube.times import format_time
from podium.kube.wire import Metadata, Namespace
from tests.dialects.job_stage import NOW, Stage, job_document, task, template
from tests.dialects.test_job_stories import Story, on

Document = dict[str, Any]


def after(*names: str, **more: Any) -> Document:
    return {"name": list(names), **more}


@pytest.fixture
def story() -> Story:
    return Story(4)


def the_group(story: Story) -> Document:
    (group,) = story.objects(PODGROUPS)
    return group


# --- gangs that grow ---------------------------------------------------------------------------------------


def test_a_gang_of_all_pods_does_not_wait_for_those_that_wait_for_it(story: Story) -> None:
    """Nothing is said about minimums, so all four pods are needed, and two of them are made later."""
    story.start(task("first", 2), task("second", 2, dependsOn=after("first")))
    assert story.living() == ["first-0", "first-1", "second-0", "second-1"]
    assert (story.phase, story.count("minAvailable")) == ("Running", 4)
    spec = the_group(story)["spec"]
    assert (spec["minMember"], spec["minTaskMember"]) == (4, {"first": 2, "second": 2})
    assert spec["minResources"]["cpu"] == "4"


def test_the_group_counts_who_has_started(story: Story) -> None:
    slow = template(nodeSelector={"comes": "later"})
    story.start({"name": "first", "replicas": 1, "template": slow}, task("second", 3, dependsOn=after("first")))
    spec = the_group(story)["spec"]
    assert (spec["minMember"], spec["minTaskMember"], spec["minResources"]["cpu"]) == (1, {"first": 1}, "1")
    assert story.phase == "Pending"
    (made,) = (each["message"] for each in story.events() if each["reason"] == "SuccessfulCreate")
    assert made.endswith("task second waits for 1 pods of task first, and 0 are up")


def test_steps_follow_steps_that_have_ended(story: Story) -> None:
    story.start(task("a"), task("b", 2, dependsOn=after("a")), task("c", dependsOn=after("b")))
    assert story.living() == ["a-0", "b-0", "b-1", "c-0"], "running is enough"
    for name in ("a-0", "b-0", "b-1", "c-0"):
        story.ended(name)
    assert story.phase == "Completed"


def test_the_second_step_starts_as_a_whole_or_not_at_all(story: Story) -> None:
    """There is room for four pods of the second step, and none for the fifth: none of them starts."""
    large = template()
    large["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "600"}}
    second = {"name": "second", "replicas": 5, "template": large, "dependsOn": after("first")}
    story.start(task("first"), second)
    story.pass_seconds(20)
    assert (story.count("running"), story.count("pending")) == (1, 5)
    assert the_group(story)["spec"]["minMember"] == 6


def test_a_group_that_grows_is_not_unknown(story: Story) -> None:
    """Between the group's new size and its new pods nothing has failed: a policy about that must not act."""
    phases = set()
    tasks = (task("first"), task("second", 2, dependsOn=after("first")))
    story.apply(job_document(*tasks, policies=[on("Unknown", "AbortJob")]))
    for _ in range(40):
        story.pass_seconds(0.25)
        phases |= {each["status"].get("phase", "") for each in story.objects(PODGROUPS) if "status" in each}
    assert story.phase == "Running"
    assert phases <= {"", "Pending", "Inqueue", "Running"}


@pytest.mark.parametrize(
    ("least", "wanted"),
    [(6, 2), (2, 2), (1, 1), (0, 2)],  # 0 stands for the sum of the tasks' minimums
)
def test_how_many_of_the_first_step_must_start(least: int, wanted: int) -> None:
    tasks = (task("a", 4, minAvailable=2), task("b", 2, minAvailable=1, dependsOn=after("a")))
    stage = Stage(*tasks, phase="Pending", minAvailable=least)
    stage.group("Inqueue")
    (patch,) = stage.look().of(Patch, PODGROUPS)
    assert patch.patch["spec"]["minMember"] == wanted


# --- what cannot start -------------------------------------------------------------------------------------


def test_a_job_whose_rest_can_never_start_has_failed() -> None:
    stage = Stage(task("a", 2), task("b", dependsOn=after("a")), minAvailable=1)
    stage.group()
    stage.pod("a-0", "Failed", code=1)
    stage.pod("a-1", "Succeeded")
    seen = stage.look()
    assert seen.phase == "Failed"
    reported = "task b waits for 2 pods of task a, and 1 are up: all pods have ended"
    assert seen.status["state"]["message"] == reported


def test_one_of_which_a_pod_still_runs_has_not() -> None:
    stage = Stage(task("a", 2), task("b", dependsOn=after("a")), minAvailable=1)
    stage.group()
    stage.pod("a-0", "Failed", code=1)
    stage.pod("a-1")
    assert stage.look().phase == ""


def test_a_policy_that_waits_goes_before_the_end() -> None:
    """All pods have failed, and a policy will restart the Job in a minute: it is not over yet."""
    stage = Stage(task("a", 2), policies=[on("PodFailed", "RestartJob", timeout="60s")])
    stage.group()
    stage.pod("a-0", "Failed", code=1)
    stage.pod("a-1", "Failed", code=1)
    assert stage.look().phase == ""
    assert stage.look(now=NOW + 61).phase == "Restarting"


def test_pods_of_a_task_that_has_begun_come_back_whatever_it_waited_for() -> None:
    stage = Stage(
        task("a"), task("b", 2, dependsOn=after("a")), status={"taskStatusCount": {"b": {"phase": {"Running": 1}}}}
    )
    stage.group()
    stage.pod("a-0", "Pending")
    stage.pod("b-0")
    assert stage.look().created == ["b-1"]


# --- many pods ---------------------------------------------------------------------------------------------


def test_the_pods_of_the_gang_are_made_first() -> None:
    stage = Stage(task("a", 3, minAvailable=1), task("b", 2, minAvailable=1), phase="Pending", minAvailable=2)
    stage.group("Inqueue")
    assert stage.look().created == ["a-0", "b-0", "a-1", "a-2", "b-1"]


def test_no_more_pods_are_made_than_find_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the replicas, so many wait beyond the gang; a pod with a node makes room for the next."""
    monkeypatch.setattr(job_members, "MOST_WAITING", 2)
    stage = Stage(task("a", 1000, minAvailable=3), phase="Pending", minAvailable=3)
    stage.group("Inqueue")
    assert stage.look().created == ["a-0", "a-1", "a-2"]
    for index in range(3):
        stage.pod(f"a-{index}", "Pending")
    assert stage.look().created == []
    for index in range(3):
        stage.pod(f"a-{index}", node="n")
    assert stage.look().created == ["a-3", "a-4"]


def test_nothing_is_made_in_a_namespace_that_goes() -> None:
    stage = Stage(task("a", 2))
    stage.group("Running")
    stage.gone("a-0")
    assert stage.look().created == ["a-0", "a-1"]
    going = Metadata("default", uid="ns", resource_version="1", deletion_timestamp=format_time(NOW))
    stage.cache.apply(NAMESPACES, Namespace(going))
    assert not stage.look().outcome.changes


@pytest.mark.parametrize(
    ("recorded", "phase", "wanted"),
    [
        (2, "Running", {"minAvailable": 2, "tasks": 5}),  # `kubectl scale`
        (5, "Running", {"replicas": 2}),  # the task was changed
        (0, "Running", {"minAvailable": 2, "tasks": 5}),  # scaled, after Volcano's definition was replaced
        (0, "", {"replicas": 2}),  # a new Job that contradicts itself
    ],
)
def test_which_of_two_numbers_has_moved(recorded: int, phase: str, wanted: Document) -> None:
    stage = Stage(task("a", 2), phase=phase, minAvailable=2, replicas=5, status={"replicas": recorded})
    (patch,) = stage.look().outcome.changes
    assert isinstance(patch, Patch)
    found = {**patch.patch["spec"]}
    if "tasks" in found:
        found["tasks"] = found["tasks"][0]["replicas"]
    assert found == wanted
