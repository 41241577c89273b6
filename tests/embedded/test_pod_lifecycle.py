"""The life of a simulated pod, rule by rule, in virtual time on the embedded API."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.embedded.nodes.containers import Clock
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.lifecycle import Place, Step, advance
from podium.kube.resources import PODS
from podium.kube.times import format_time, parse_time
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Pod
from tests.embedded.server import Document
from tests.embedded.world import World, condition


@pytest.fixture
def world() -> World:
    found = World()
    found.node()
    return found


def container(status: Document, name: str = "main") -> Document:
    lists = (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ()))
    (found,) = [each for each in lists if each["name"] == name]
    return dict(found)


def script(**orders: Any) -> dict[str, str]:
    return {f"podium.dev/{key.replace('_', '-')}": str(value) for key, value in orders.items()}


# --- start -------------------------------------------------------------------------------------------------


def test_a_bound_pod_runs(world: World) -> None:
    world.pod()
    world.settle()
    status = world.status()
    assert status["phase"] == "Running"
    assert status["startTime"] == format_time(world.now)
    assert status["podIP"].startswith("10.128.0.")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"] == "172.16.0.2"
    assert status["hostIPs"] == [{"ip": "172.16.0.2"}]
    main = container(status)
    assert main["state"] == {"running": {"startedAt": format_time(world.now)}}
    assert main["ready"]
    assert main["started"]
    assert main["restartCount"] == 0
    assert main["lastState"] == {}
    assert main["image"] == "app:1"
    assert main["imageID"].startswith("app:1@sha256:")
    assert main["containerID"].startswith("podium://")
    for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled"):
        assert condition(status, kind)["status"] == "True"
    assert [event["reason"] for event in world.events()] == ["Started"]


def test_a_pod_without_a_node_is_left_alone(world: World) -> None:
    world.pod(node="")
    world.settle()
    assert world.status() == {"phase": "Pending", "qosClass": "BestEffort"}


def test_what_the_scheduler_said_stays(world: World) -> None:
    world.pod(node="")
    world.settle()
    binding = {"target": {"kind": "Node", "name": "node-0"}, "apiVersion": "v1", "kind": "Binding"}
    world.create(PODS.path("default", "pod", "binding"), binding)
    scheduled = condition(world.status(), "PodScheduled")
    world.pass_seconds(5)
    assert condition(world.status(), "PodScheduled") == scheduled


def test_running_costs_one_write_and_no_timer(world: World) -> None:
    world.pod()
    world.settle()
    assert len([change for change in world.writes if change.resource == PODS]) == 1
    assert world.manager.next_wake(world.now) is None


def test_a_slow_start_shows_the_containers_being_created() -> None:
    world = World(lambda: simulated_kubelets(start_seconds=2.5))
    world.node()
    world.pod(initContainers=[{"name": "fetch", "image": "fetch"}])
    world.pod("plain")
    world.settle()
    status = world.status()
    assert status["phase"] == "Pending"
    assert container(status)["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert container(world.status("plain"))["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert condition(status, "Initialized")["reason"] == "ContainersNotInitialized"
    assert condition(status, "PodReadyToStartContainers")["status"] == "False"
    assert condition(status, "Ready")["message"] == "containers with unready status: [main]"
    assert "podIP" not in status
    world.pass_seconds(2.4)
    assert world.status()["phase"] == "Pending"
    world.restart()
    world.pass_seconds(0.2)
    assert world.status()["phase"] == "Running"
    assert world.status()["podIP"] != world.status("plain")["podIP"]


def test_init_containers_finish_and_sidecars_stay(world: World) -> None:
    init: list[Document] = [
        {"name": "fetch", "image": "fetch"},
        {"name": "proxy", "image": "proxy", "restartPolicy": "Always"},
    ]
    world.pod(initContainers=init, annotations=script(run_seconds=10), restartPolicy="Never")
    world.settle()
    status = world.status()
    assert container(status, "fetch")["state"]["terminated"]["reason"] == "Completed"
    assert container(status, "fetch")["ready"]
    assert "running" in container(status, "proxy")["state"]
    assert condition(status, "Ready")["status"] == "True"
    world.pass_seconds(10)
    status = world.status()
    assert status["phase"] == "Succeeded"
    assert container(status, "proxy")["state"]["terminated"]["exitCode"] == 0


def test_readiness_gates_are_others_to_open(world: World) -> None:
    world.pod(readinessGates=[{"conditionType": "example.com/balanced"}])
    world.settle()
    status = world.status()
    assert status["phase"] == "Running"
    assert condition(status, "ContainersReady")["status"] == "True"
    assert condition(status, "Ready")["status"] == "False"
    assert condition(status, "Ready")["reason"] == "ReadinessGatesNotReady"

    def set_gate(value: str) -> None:
        gate = {"type": "example.com/balanced", "status": value}
        world.patch(PODS, "pod", {"status": {"conditions": [gate]}}, "status", STRATEGIC_PATCH)
        world.settle()

    set_gate("True")
    ready = condition(world.status(), "Ready")
    assert ready["status"] == "True"
    assert "reason" not in ready
    assert "message" not in ready
    set_gate("False")
    assert condition(world.status(), "Ready")["status"] == "False"


# --- the end -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "phase", "reason", "ready_reason"),
    [(0, "Succeeded", "Completed", "PodCompleted"), (3, "Failed", "Error", "PodFailed")],
)
def test_a_run_ends_with_its_code(world: World, code: int, phase: str, reason: str, ready_reason: str) -> None:
    begin = world.now
    world.pod(annotations=script(run_seconds=30, exit_code=code), restartPolicy="Never")
    world.pass_seconds(29.9)
    assert world.status()["phase"] == "Running"
    world.pass_seconds(0.1)
    status = world.status()
    assert status["phase"] == phase
    ended = container(status)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, reason)
    assert ended["startedAt"] == format_time(begin)
    assert ended["finishedAt"] == format_time(begin + 30)
    assert ended["containerID"] == container(status)["containerID"]
    assert condition(status, "Ready")["reason"] == ready_reason
    assert not container(status)["ready"]
    assert world.manager.next_wake(world.now) is None


def test_run_time_is_exact_though_the_wire_keeps_whole_seconds(world: World) -> None:
    world.pass_seconds(0.75)
    world.pod(annotations=script(run_seconds="1.5"), restartPolicy="Never")
    world.pass_seconds(1.4)
    assert world.status()["phase"] == "Running"
    world.pass_seconds(0.1)
    assert world.status()["phase"] == "Succeeded"


def test_an_exit_code_on_a_running_pod_ends_it_now(world: World) -> None:
    world.pod(restartPolicy="Never")
    world.pass_seconds(100)
    assert world.status()["phase"] == "Running"
    world.annotate(PODS, "pod", exit_code="7")
    world.settle()
    status = world.status()
    assert status["phase"] == "Failed"
    assert container(status)["state"]["terminated"]["exitCode"] == 7
    assert container(status)["state"]["terminated"]["finishedAt"] == format_time(world.now)


def test_a_run_time_may_be_given_and_changed_on_the_way(world: World) -> None:
    world.pod(restartPolicy="Never")
    world.pass_seconds(20)
    world.annotate(PODS, "pod", run_seconds="60")
    world.pass_seconds(20)
    world.annotate(PODS, "pod", run_seconds="50", exit_code="2")
    world.pass_seconds(9)
    assert world.status()["phase"] == "Running"
    world.pass_seconds(1)
    assert world.status()["phase"] == "Failed"


def test_a_run_time_may_be_taken_back(world: World) -> None:
    world.pod(annotations=script(run_seconds=10))
    world.pass_seconds(5)
    world.annotate(PODS, "pod", run_seconds=None)
    world.pass_seconds(100)
    assert world.status()["phase"] == "Running"
    assert container(world.status())["restartCount"] == 0


def test_a_run_time_in_the_past_ends_the_run_then(world: World) -> None:
    begin = world.now
    world.pod(restartPolicy="Never")
    world.pass_seconds(100)
    world.annotate(PODS, "pod", run_seconds="40")
    world.settle()
    assert container(world.status())["state"]["terminated"]["finishedAt"] == format_time(begin + 40)


def test_no_run_time_at_all_is_still_seen_running(world: World) -> None:
    world.pod(annotations=script(run_seconds=0), restartPolicy="Never")
    world.settle()
    phases = [change.patch["status"].get("phase") for change in world.writes if change.resource == PODS]  # type: ignore[union-attr]
    assert phases == ["Running", "Succeeded"]


@pytest.mark.parametrize("value", ["", "soon", "-1", "1e3", "inf", "nan", "1_0", "٣", "9" * 40])
def test_an_unreadable_run_time_is_told_and_ignored(world: World, value: str) -> None:
    world.pod(annotations=script(run_seconds=value, exit_code=1), restartPolicy="Never")
    world.pass_seconds(1000)
    status = world.status()
    assert status["phase"] == "Running"
    reported = condition(status, "podium.dev/AnnotationsRead")
    assert reported["status"] == "False"
    assert "metadata.annotations[podium.dev/run-seconds]" in reported["message"]
    world.annotate(PODS, "pod", run_seconds="2000")
    world.settle()
    reported = condition(world.status(), "podium.dev/AnnotationsRead")
    assert reported["status"] == "True"
    assert "message" not in reported


@pytest.mark.parametrize("value", ["", "256", "-1", "one", "1.0", "0x1"])
def test_an_unreadable_exit_code_ends_nothing(world: World, value: str) -> None:
    world.pod(annotations=script(exit_code=value), restartPolicy="Never")
    world.pass_seconds(10)
    assert world.status()["phase"] == "Running"
    assert condition(world.status(), "podium.dev/AnnotationsRead")["status"] == "False"


def test_a_pod_is_over_when_all_its_containers_are(world: World) -> None:
    two: list[Document] = [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]
    world.pod(containers=two, annotations=script(run_seconds=5, exit_code=1), restartPolicy="Never")
    world.settle()
    assert container(world.status(), "a")["containerID"] != container(world.status(), "b")["containerID"]
    world.pass_seconds(5)
    assert world.status()["phase"] == "Failed"


# --- restarts ----------------------------------------------------------------------------------------------


def starts(world: World, seconds: int) -> list[int]:
    """At which seconds from now a run begins."""
    begin, found = world.now, []
    restarts = container(world.status())["restartCount"]
    for second in range(1, seconds + 1):
        world.pass_seconds(1)
        main = container(world.status())
        if main["restartCount"] != restarts:
            restarts = main["restartCount"]
            found.append(int(parse_time(main["state"]["running"]["startedAt"]) - begin))
            assert second == found[-1]
    return found


def test_what_crashes_again_and_again_is_held_back_longer_each_time(world: World) -> None:
    world.pod(annotations=script(run_seconds=1, exit_code=1))
    world.settle()
    waits = (0, 10, 20, 40, 80, 160, 300, 300)
    expected, at = [], 0
    for wait in waits:
        at += 1 + wait
        expected.append(at)
    assert starts(world, expected[-1]) == expected
    assert container(world.status())["restartCount"] == len(waits)
    reasons = [event["reason"] for event in world.events()]
    assert "BackOff" in reasons


def test_held_back_it_says_so(world: World) -> None:
    world.pod(annotations=script(run_seconds=5, exit_code=1))
    world.pass_seconds(5)
    first = container(world.status())
    assert first["restartCount"] == 1
    assert first["lastState"]["terminated"]["exitCode"] == 1
    world.pass_seconds(5)
    status = world.status()
    held = container(status)
    assert status["phase"] == "Running"
    assert held["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert held["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=main pod=pod_")
    assert held["restartCount"] == 1
    assert held["lastState"]["terminated"]["containerID"] == first["containerID"]
    assert condition(status, "Ready")["reason"] == "ContainersNotReady"
    world.pass_seconds(10)
    again = container(world.status())
    assert again["restartCount"] == 2
    assert again["containerID"] != first["containerID"]
    assert again["lastState"]["terminated"]["containerID"] == first["containerID"]
    assert condition(world.status(), "Ready")["status"] == "True"


def test_a_healthy_run_is_forgiven(world: World) -> None:
    world.pod(annotations=script(run_seconds=1, exit_code=1))
    world.pass_seconds(1 + 1 + 10 + 1 + 20)  # the next wait would be 40
    assert container(world.status())["restartCount"] == 3
    world.annotate(PODS, "pod", run_seconds="600")
    world.pass_seconds(600)
    assert container(world.status())["restartCount"] == 4
    world.annotate(PODS, "pod", run_seconds="1")
    assert starts(world, 12) == [11]


def test_on_failure_only_failures_start_again(world: World) -> None:
    world.pod(annotations=script(run_seconds=10, exit_code=1), restartPolicy="OnFailure")
    world.pass_seconds(10)
    assert container(world.status())["restartCount"] == 1
    world.annotate(PODS, "pod", exit_code="0")
    world.pass_seconds(10)
    status = world.status()
    assert status["phase"] == "Succeeded"
    assert container(status)["restartCount"] == 1


def test_always_means_also_after_success(world: World) -> None:
    world.pod(annotations=script(run_seconds=10))
    world.pass_seconds(10)
    main = container(world.status())
    assert main["restartCount"] == 1
    assert main["lastState"]["terminated"]["reason"] == "Completed"


# --- the deadline ------------------------------------------------------------------------------------------


def test_the_deadline_ends_it(world: World) -> None:
    world.pod(activeDeadlineSeconds=20)
    world.pass_seconds(19)
    assert world.status()["phase"] == "Running"
    world.pass_seconds(1)
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert container(status)["state"]["terminated"]["exitCode"] == 143


def test_the_deadline_ends_a_wait(world: World) -> None:
    world.pod(activeDeadlineSeconds=15, annotations=script(run_seconds=4, exit_code=0))
    world.pass_seconds(15)
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert condition(status, "Ready")["reason"] == "PodFailed"


@pytest.mark.parametrize(("run", "phase"), [(10, "Succeeded"), (30, "Failed")])
def test_what_ended_in_time_while_nobody_looked_ended_well(world: World, run: int, phase: str) -> None:
    world.pod(activeDeadlineSeconds=20, annotations=script(run_seconds=run), restartPolicy="Never")
    world.settle()
    world.now += 100
    world.restart()
    world.settle()
    status = world.status()
    assert status["phase"] == phase
    assert status.get("reason") == (None if phase == "Succeeded" else "DeadlineExceeded")


# --- deletion ----------------------------------------------------------------------------------------------


def test_a_deleted_pod_stops_at_once_and_goes(world: World) -> None:
    world.pod()
    world.settle()
    world.writes.clear()
    world.delete("pod")
    world.settle()
    assert not world.exists("pod")
    written, deleted = world.writes
    status = written.patch["status"]  # type: ignore[union-attr]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert deleted.grace == 0  # type: ignore[union-attr]
    assert deleted.uid  # type: ignore[union-attr]


def test_a_container_may_take_its_time_to_obey(world: World) -> None:
    world.pod(annotations=script(termination_seconds=10), finalizers=["example.com/hold"])
    world.settle()
    begin = world.now
    world.delete("pod")
    world.pass_seconds(9)
    assert "running" in container(world.status())["state"]
    world.pass_seconds(1)
    ended = container(world.status())["state"]["terminated"]
    assert (ended["exitCode"], ended["finishedAt"]) == (143, format_time(begin + 10))


def test_who_does_not_obey_in_time_is_killed(world: World) -> None:
    world.pod(
        annotations=script(termination_seconds=100),
        finalizers=["example.com/hold"],
        terminationGracePeriodSeconds=20,
    )
    world.settle()
    world.delete("pod")
    world.pass_seconds(19)
    assert world.status()["phase"] == "Running"
    world.pass_seconds(1)
    assert container(world.status())["state"]["terminated"]["exitCode"] == 137
    assert world.status()["phase"] == "Failed"


def test_a_hook_that_sleeps_comes_before_the_signal(world: World) -> None:
    hook = {"preStop": {"sleep": {"seconds": 7}}}
    world.pod(containers=[{"name": "main", "image": "app:1", "lifecycle": hook}])
    world.settle()
    world.delete("pod")
    world.pass_seconds(6)
    assert "running" in container(world.status())["state"]
    world.pass_seconds(1)
    assert not world.exists("pod")


@pytest.mark.parametrize(("own", "given", "stays"), [(0, 60, 60), (30, 45, 15), (None, 31, 1), (30, 30, 0)])
def test_a_longer_grace_period_than_its_own_is_used(world: World, own: int | None, given: int, stays: int) -> None:
    world.pod(terminationGracePeriodSeconds=own)
    world.settle()
    world.delete("pod", grace=given)
    if stays:
        world.pass_seconds(stays - 1)
        assert world.get(PODS, "pod")["metadata"]["generation"] == 2
        assert "running" in container(world.status())["state"]
    world.pass_seconds(1)
    assert not world.exists("pod")


def test_a_second_delete_can_hurry(world: World) -> None:
    world.pod(annotations=script(termination_seconds=100))
    world.settle()
    world.delete("pod")
    world.pass_seconds(5)
    assert world.exists("pod")
    world.delete("pod", grace=1)
    world.pass_seconds(1)
    assert not world.exists("pod")


def test_it_may_end_by_itself_before_it_is_killed(world: World) -> None:
    world.pod(annotations=script(termination_seconds=20, run_seconds=10), finalizers=["example.com/hold"])
    world.pass_seconds(5)
    world.delete("pod")
    world.pass_seconds(5)
    assert world.status()["phase"] == "Succeeded"
    assert container(world.status())["restartCount"] == 0


def test_finalizers_hold_the_pod_and_nobody_insists(world: World) -> None:
    world.pod(finalizers=["example.com/hold"])
    world.settle()
    world.delete("pod")
    world.settle()
    assert world.status()["phase"] == "Failed"
    writes = len(world.writes)
    world.pass_seconds(1000)
    assert len(world.writes) == writes
    world.patch(PODS, "pod", {"metadata": {"finalizers": None}})
    world.settle()
    assert not world.exists("pod")


@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_a_delete_that_stopped_half_way_is_finished(phase: str) -> None:
    """A real server marks a pod of grace 0 and takes it out in a second write, unless the client died between."""
    deleted = {"deletionTimestamp": format_time(100.0), "deletionGracePeriodSeconds": 0}
    document: Document = {
        "metadata": {"name": "pod", "namespace": "default", "uid": "u", **deleted},
        "spec": {"nodeName": "node-0", "containers": [{"name": "main"}]},
        "status": {"phase": phase, "startTime": format_time(90.0)},
    }

    def step(now: float) -> Step:
        return advance(msgspec.convert(document, Pod), Place("10.0.0.1", "10.0.0.2"), Clock(now, 0.0))

    at = step(100.0).again_at
    assert not step(100.0).remove
    assert at is not None
    assert step(at).remove
    document["metadata"]["finalizers"] = ["example.com/hold"]
    assert not step(at).remove
    assert step(at).again_at is None


def test_a_finished_pod_goes_when_deleted(world: World) -> None:
    world.pod(annotations=script(run_seconds=1), restartPolicy="Never")
    world.pass_seconds(2)
    world.delete("pod")
    world.settle()
    assert not world.exists("pod")


def test_a_pod_deleted_before_it_started_fails_and_goes(world: World) -> None:
    world.pod(finalizers=["example.com/hold"], annotations=script(termination_seconds=20))
    world.delete("pod")
    world.settle()
    status = world.status()
    assert status["phase"] == "Failed"
    assert container(status)["state"]["terminated"]["reason"] == "ContainerStatusUnknown"


def test_a_pod_deleted_while_held_back_is_what_it_last_was(world: World) -> None:
    world.pod(annotations=script(run_seconds=1, exit_code=9), finalizers=["example.com/hold"])
    world.pass_seconds(5)
    assert "waiting" in container(world.status())["state"]
    world.delete("pod")
    world.settle()
    status = world.status()
    assert status["phase"] == "Failed"
    assert container(status)["state"]["terminated"]["exitCode"] == 9
