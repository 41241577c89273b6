"""Jobs that nobody knew beforehand: each is counted once, under the name and the queue that its users gave it."""

from __future__ import annotations

from pathlib import Path

from podium.runtime.configuration import default_profiles
from podium.sim.figures import GanttJob
from podium.sim.following import Play
from podium.sim.runs import Question, Trace, run
from podium.sim.scenario import play, read_scenario

QUEUE = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: red}}"


def vcjob(name: str, replicas: int, gpus: int) -> str:
    resources = f"{{limits: {{nvidia.com/gpu: {gpus}}}}}"
    return f"""
  - apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {{name: {name}}}
    spec:
      minAvailable: {replicas}
      queue: red
      schedulerName: volcano
      tasks:
      - name: worker
        replicas: {replicas}
        template:
          metadata: {{annotations: {{podium.dev/run-seconds: "100"}}}}
          spec: {{restartPolicy: Never, containers: [{{name: m, image: i, resources: {resources}}}]}}
"""


def played(path: Path, text: str) -> Play:
    file = path / "scenario.yaml"
    file.write_text(text)
    return play(read_scenario(file), file, dict.fromkeys(("podium", "volcano"), default_profiles()["podium"]))


def job(result: Play, name: str) -> GanttJob:
    return next(job for job in result.figures.gantt.jobs if job.name == name)


def test_a_job_that_never_gets_its_pods_is_one_that_waits(tmp_path: Path) -> None:
    text = "nodes: [{gpus: 8}]\nevents:\n- at: 0\n  apply:\n  - " + QUEUE + vcjob("small", 2, 4)
    text += "- at: 20\n  apply:" + vcjob("large", 3, 8)
    found = played(tmp_path, text)
    figures = found.figures
    assert (figures.jobs, figures.finished, figures.unfinished) == (2, 1, 1)
    assert {(queue.name, queue.jobs, queue.finished) for queue in figures.queues} == {("red", 2, 1)}
    large = job(found, "large")
    assert (large.pods, large.gpus, large.arrival, large.started, large.ended) == (3, 24, 20, -1, -1)
    # It waits from its arrival to the end, in the curve as well.
    waiting = figures.series.jobs_waiting
    assert sum(waiting) / len(waiting) * figures.makespan_seconds > 79
    # Eight GPUs are asked for and given out until the small one ends.
    assert figures.allocation_percent.gpu is not None
    assert figures.allocation_percent.gpu > 99.9


def test_a_job_is_asked_for_while_it_waits_for_its_pods(tmp_path: Path) -> None:
    """The second job's pods are not made before there is room for them, and it wants that room all the time."""
    text = "nodes: [{gpus: 8, count: 2}]\nevents:\n- at: 0\n  apply:\n  - " + QUEUE + vcjob("first", 1, 8)
    text += "- at: 20\n  apply:" + vcjob("second", 2, 8)
    found = played(tmp_path, text)
    second = job(found, "second")
    assert (second.queue, second.pods, round(second.started), round(second.ended)) == ("red", 2, 100, 200)
    # Eight GPUs until 20, then all sixteen are wanted; 8 are in use until 100, then 16.
    assert found.figures.allocation_percent.gpu is not None
    assert abs(found.figures.allocation_percent.gpu - 100 * (8 * 100 + 16 * 100) / (8 * 20 + 16 * 180)) < 0.1


def test_jobs_of_no_queue_say_so(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {containers: [{name: m, image: i}]}}"
    file.write_text(f"nodes: [{{gpus: 8}}]\nevents:\n- at: 0\n  apply:\n  - {pod}\n  - {QUEUE}{vcjob('v', 1, 1)}")
    profile = default_profiles()["podium"]
    summary = run(Question(trace=Trace.SCENARIO, pods=file), profile).summary
    assert [(queue["name"], queue["weight"]) for queue in summary["queues"]] == [("", None), ("red", 1)]
    assert repr(summary["gpus"]) == "8"
