"""Virtual time: jobs start and end when they should, faults happen, and the same input gives the same history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.core.profiles.profile import Profile, read_profile
from podium.embedded.nodes.shapes import Shape
from podium.errors import UsageError
from podium.runtime.configuration import default_profiles
from podium.sim.following import Play
from podium.sim.jobs import Job
from podium.sim.replay import QueueShape, Replay, replay
from podium.sim.scenario import play, read_scenario
from podium.sim.statistics import evenness, spread

PODIUM = default_profiles()["podium"]
VOLCANO = default_profiles()["volcano"]


def run(jobs: list[Job], nodes: int = 1, profile: Profile = VOLCANO, **more: Any) -> Replay:
    return replay(jobs, [Shape(count=nodes, gpus=8)], profile, **more)


def times(result: Replay) -> dict[str, tuple[float, float]]:
    return {each.name: (each.started, each.ended) for each in result.results}


def test_jobs_wait_for_room_and_run_their_time() -> None:
    result = run([Job("a", 0, 100, gpus=8), Job("b", 10, 50, gpus=4), Job("c", 20, 30, gpus=4)])
    found = times(result)
    assert found["a"] == pytest.approx((0, 100), abs=0.1)
    assert found["b"] == pytest.approx((100, 150), abs=0.1)
    assert found["c"] == pytest.approx((100, 130), abs=0.1)
    assert (result.figures.finished, result.figures.unfinished, result.figures.evictions) == (3, 0, 0)
    assert result.figures.makespan_seconds == pytest.approx(150, abs=0.1)
    # 8 GPUs for 100 s, 8 for 30 s and 4 for 20 s, of 8 for 150 s
    assert result.figures.utilisation_percent.gpu == pytest.approx(100 * 1120 / 1200, abs=0.1)
    assert result.figures.wait_seconds.max == pytest.approx(90, abs=0.1)


def test_a_gang_starts_as_a_whole() -> None:
    result = run([Job("small", 0, 100, gpus=1), Job("gang", 1, 10, pods=2, gpus=8)], nodes=2)
    assert times(result)["gang"] == pytest.approx((100, 110), abs=0.1)


def test_what_never_fits_does_not_hold_up_time() -> None:
    result = run([Job("huge", 0, 10, gpus=16), Job("a", 5, 10, gpus=8)])
    assert (result.figures.finished, result.figures.unfinished) == (1, 1)
    assert times(result)["huge"] == (-1.0, -1.0)


def test_queues_of_other_weights_wait_otherwise() -> None:
    jobs = [
        Job(f"{queue}-{number}", number, 100, gpus=4, queue=queue)
        for number in range(6)
        for queue in ("red", "blue")
    ]

    def waits(red: int, blue: int) -> float:
        result = run(jobs, queues=[QueueShape("red", red), QueueShape("blue", blue)])
        return sum(each.started - each.arrival for each in result.results if each.queue == "red")

    assert waits(3, 1) < waits(1, 3)


def test_a_queue_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="job a names the queue 'red', which is not there"):
        run([Job("a", 0, 1, gpus=1, queue="red")])


def test_a_preempted_job_begins_again() -> None:
    preempting = read_profile(
        {
            "actions": "allocate, preempt",
            "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}]}],
        }
    )
    jobs = [Job("low", 0, 100, gpus=8), Job("high", 10, 20, gpus=8, priority=100)]
    result = run(jobs, profile=preempting)
    found = times(result)
    assert (result.figures.finished, result.figures.evictions) == (2, 1)
    assert found["high"] == pytest.approx((10, 30), abs=5)
    assert found["low"][1] == pytest.approx(found["high"][1] + 100, abs=5)


def test_the_same_jobs_give_the_same_history() -> None:
    jobs = [
        Job(f"j-{number}", 7.5 * number, 40 + 13 * (number % 5), pods=1 + number % 3, gpus=4)
        for number in range(40)
    ]
    first, second = run(jobs, 3), run(jobs, 3)
    assert first == second
    assert first.trace_hash != run(jobs, 4).trace_hash


# --- scenarios ---------------------------------------------------------------------------------------------------

SCENARIO = """
nodes:
- {name: gpu, count: 2, gpus: 4}
events:
- at: 0
  apply:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: j}
    spec:
      completions: 2
      parallelism: 2
      template:
        metadata: {annotations: {podium.dev/run-seconds: "60"}}
        spec:
          restartPolicy: Never
          containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 4}}}]
"""


def played(tmp_path: Path, more: str = "") -> Play:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO + more)
    return play(read_scenario(path), path, {"default-scheduler": PODIUM})


def test_a_scenario_plays_to_its_end(tmp_path: Path) -> None:
    result = played(tmp_path)
    assert {pod.node for pod in result.pods} == {"gpu-000", "gpu-001"}
    assert [pod.phase for pod in result.pods] == ["Succeeded", "Succeeded"]
    assert [pod.ended - pod.started for pod in result.pods] == [pytest.approx(60, abs=0.1)] * 2
    assert result == played(tmp_path)


def test_what_starts_again_for_ever_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A pod of the usual restart policy never ends; others that do are waited for, however long they run."""
    pods = """
- at: 0
  apply:
  - apiVersion: v1
    kind: Pod
    metadata: {name: again, annotations: {podium.dev/run-seconds: "10"}}
    spec: {containers: [{name: m, image: i}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: once, annotations: {podium.dev/run-seconds: "20000"}}
    spec: {restartPolicy: Never, containers: [{name: m, image: i}]}
"""
    phases = {pod.name: pod.phase for pod in played(tmp_path, pods).pods}
    assert (phases["again"], phases["once"]) == ("Running", "Succeeded")


def test_a_restart_of_the_scheduler_loses_nothing(tmp_path: Path) -> None:
    result = played(tmp_path, "- {at: 30, restart: true}\n")
    assert [pod.phase for pod in result.pods] == ["Succeeded", "Succeeded"]
    assert len(result.pods) == 2


def test_a_job_waits_from_its_own_arrival(tmp_path: Path) -> None:
    """Volcano's Jobs get their pods when there is room for them: they have been waiting before."""
    example = Path(__file__).parents[2] / "examples" / "sim" / "scenario.yaml"
    result = play(read_scenario(example), example, {"volcano": VOLCANO})
    assert [(job.arrival, round(job.started)) for job in result.figures.gantt.jobs] == [(0, 0), (60, 600)]
    assert result.figures.wait_seconds.max == pytest.approx(540, abs=1)


def test_a_node_that_falls_silent_keeps_its_pods_until_it_is_back(tmp_path: Path) -> None:
    result = played(tmp_path, "- {at: 30, fail: gpu-001}\n- {at: 200, recover: gpu-001}\n")
    ends = {pod.node: pod.ended for pod in result.pods if not pod.gone and pod.phase == "Succeeded"}
    assert ends["gpu-000"] == pytest.approx(60, abs=0.1)
    assert ends["gpu-001"] >= 200


def test_binds_that_fail_and_take_their_time(tmp_path: Path) -> None:
    slow = played(tmp_path, "- {at: 0, binds: {seconds: 2}}\n")
    assert [pod.bound for pod in slow.pods] == [pytest.approx(2, abs=0.5)] * 2
    failing = "- {at: 0, binds: {fail: 0.6, lose: 0.3, seconds: 0.5}}\n- {at: 100, binds: {}}\n"
    bad = played(tmp_path, failing)
    assert [pod.phase for pod in bad.pods] == ["Succeeded", "Succeeded"]
    assert bad == played(tmp_path, failing)
    assert bad.trace_hash != slow.trace_hash
    restarted = played(tmp_path, "- {at: 0, binds: {seconds: 3}}\n- {at: 1, restart: true}\n")
    assert [pod.phase for pod in restarted.pods] == ["Succeeded", "Succeeded"]


# --- figures -----------------------------------------------------------------------------------------------------


def test_figures() -> None:
    assert spread([]).max is None
    found = spread([float(value) for value in range(1, 101)])
    assert (found.mean, found.p50, found.p95, found.p99, found.max) == (50.5, 50, 95, 99, 100)
    assert evenness([3, 3, 3]) == 1
    assert evenness([1, 0, 0, 0]) == 0.25
