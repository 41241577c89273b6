"""`podium demo`, and how progress is read and shown."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from podium.cli import demo
from podium.cli.chronicle import Chronicle
from podium.cli.display import Display
from podium.cli.examples import example_documents
from podium.cli.progress import Picture, PodRow, Workload, describe
from podium.cli.story import story
from podium.dialects.dialect import State
from podium.dialects.volcano.job.names import JOBS as VOLCANO_JOBS
from podium.errors import UsageError
from podium.kube.resources import CONFIGMAPS, DEPLOYMENTS, JOBS
from tests.cli.running import podium


def test_the_story_runs_to_its_end_and_says_what_became_of_each(tmp_path: Path) -> None:
    result = podium("demo", timeout=170, env={"PODIUM_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    assert "job/llm: Completed, 4 of 4 pods succeeded" in result.stdout
    sweep = result.stdout.rpartition("job/sweep")[2]
    assert "for others" in " ".join(sweep.split())
    assert "to try next:" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_examples_run_to_their_end(tmp_path: Path) -> None:
    result = podium(
        "demo", "--examples", timeout=170, env={"PODIUM_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    assert "job/train: 8 of 8 tasks succeeded, 0 running" in result.stdout
    assert "deployment/serve: 3 of 3 replicas available" in result.stdout
    assert "job/pytorch: Completed" in result.stdout
    assert "node-00" in result.stdout or "nodes" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_does_not_end_in_time_says_so() -> None:
    result = podium("demo", "--timeout", "0.1", timeout=60)
    assert result.returncode == 3
    assert "within 0.1 seconds" in result.stderr


def test_every_example_is_yaml_with_a_name() -> None:
    for document in example_documents("kubernetes"):
        assert document["metadata"]["name"]
        assert yaml.safe_dump(document)
    with pytest.raises(UsageError, match="not installed"):
        example_documents("nonsense")


@pytest.mark.parametrize(
    ("phase", "state"),
    [("", State.GOING), ("Running", State.GOING), ("Completed", State.DONE), ("Terminated", State.FAILED)],
)
def test_how_a_job_of_volcano_stands(phase: str, state: State) -> None:
    job = {"spec": {"tasks": [{"replicas": 4}]}, "status": {"state": {"phase": phase}, "succeeded": 3}}
    found = describe(VOLCANO_JOBS, "job/train", job, Counter({"Running": 1}))
    assert found == Workload("job/train", state, f"{phase or 'new'}, 3 of 4 pods succeeded, 1 running")


@pytest.mark.parametrize(
    ("status", "state", "reported"),
    [
        ({}, State.GOING, "0 of 4 tasks succeeded, 2 running"),
        ({"succeeded": 3}, State.GOING, "3 of 4 tasks succeeded, 2 running"),
        ({"succeeded": 4, "conditions": [{"type": "Complete", "status": "True"}]}, State.DONE, "4 of 4"),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, State.FAILED, "0 of 4"),
        ({"conditions": [{"type": "Failed", "status": "False"}]}, State.GOING, "0 of 4"),
    ],
)
def test_how_a_job_stands(status: dict[str, object], state: State, reported: str) -> None:
    job = {"metadata": {"name": "train"}, "spec": {"completions": 4}, "status": status}
    found = describe(JOBS, "job/train", job, Counter({"Running": 2}))
    assert found.state is state
    assert reported in found.message


def test_how_a_deployment_stands() -> None:
    deployment = {
        "metadata": {"name": "serve", "generation": 2},
        "spec": {"replicas": 3},
        "status": {"availableReplicas": 3, "observedGeneration": 1},
    }
    assert describe(DEPLOYMENTS, "d", deployment, Counter()).state is State.GOING
    deployment["status"] = {"availableReplicas": 3, "observedGeneration": 2}
    assert describe(DEPLOYMENTS, "d", deployment, Counter()).state is State.DONE
    assert describe(CONFIGMAPS, "c", {"metadata": {}}, Counter()).state is State.DONE


GOING = Picture((Workload("job/a", State.GOING, "0 of 1", why="needs 8 GPUs; 0/4 nodes"),), ())
DONE = Picture(
    (Workload("job/a", State.DONE, "1 of 1"),),
    (PodRow("job/a", "a-x", "node-000", "Succeeded", 2.0, gpus=2),),
)


def test_without_a_terminal_each_change_is_a_line() -> None:
    output = io.StringIO()
    with Display({"node-000": 8}, Console(file=output, width=80)) as display:
        display.say(3.2, "something comes")
        for picture in (GOING, GOING, DONE, DONE):
            display.show(picture, 1.0)
    assert output.getvalue() == "   3 s  something comes\njob/a: 0 of 1; waits: needs 8 GPUs\njob/a: 1 of 1\n"


def test_on_a_terminal_every_gpu_is_a_cell() -> None:
    output = io.StringIO()
    running = Picture(
        (Workload("job/a", State.GOING, "0 of 1"),), (PodRow("job/a", "a-x", "node-000", "Running", None, gpus=2),)
    )
    console = Console(file=output, width=80, force_terminal=True, color_system=None)
    with Display({"node-000": 4, "node-001": 4}, console) as display:
        display.show(running, 1.0)
    assert "node-000 ■ ■ · ·" in output.getvalue()
    assert "node-001 · · · ·" in output.getvalue()


def test_everything_fits_on_a_usual_terminal() -> None:
    """24 lines of 80: those that wait are to be seen, whatever has ended."""
    output = io.StringIO()
    console = Console(file=output, width=80, height=24, force_terminal=True, color_system=None)
    why = "needs 8 nvidia.com/gpu on one node: 4 nodes match, the largest free block is 0 on vision-000"
    going = [
        Workload(f"job/going-{n}", State.GOING, "0 of 6 tasks succeeded, 4 running", why=why) for n in range(3)
    ]
    ended = [Workload(f"job/ended-{n}", State.DONE, "Completed, 4 of 4 pods succeeded") for n in range(6)]
    nodes = {f"{team}-{n:03}": 8 for team in ("vision", "speech") for n in range(4)}
    with Display(nodes, console) as display:
        for second in range(4):
            display.say(
                second, "Volcano: llm, of queue production, needs 4 whole nodes at once; research gives back"
            )
        display.show(Picture((*ended, *going), ()), 3.0)
        display.show(Picture((*ended, *going), ()), 4.0)
    last = output.getvalue().rpartition("podium demo, 4 s")[2]
    assert "speech-003 · · · · · · · ·  vision-003 · · · · · · · ·" in last
    assert "job/going-2" in last
    assert "6 ended" in last
    assert "..." not in last


def test_a_chronicle_knows_how_long_each_waited_and_why() -> None:
    chronicle = Chronicle()
    chronicle.note(GOING, 1.0)
    chronicle.note(DONE, 8.0)
    entry = chronicle.entries["job/a"]
    assert (entry.waited, entry.why, list(entry.nodes)) == (7.0, "needs 8 GPUs; 0/4 nodes", ["node-000"])
    output = io.StringIO()
    Display({}, Console(file=output, width=120)).summarise(chronicle, ["the end"])
    text = " ".join(output.getvalue().split())
    assert "✓ job/a 7 s node-000 1 of 1; waited: needs 8 GPUs the end" in text


def test_of_a_gang_the_cause_is_shown_as_well() -> None:
    output = io.StringIO()
    why = "0 of 5 members could be placed; needs 8 GPUs; 0/4 nodes are available"
    with Display({}, Console(file=output, width=120)) as display:
        display.show(Picture((Workload("job/a", State.GOING, "0 of 5", why=why),), ()), 1.0)
    assert output.getvalue() == "job/a: 0 of 5; waits: 0 of 5 members could be placed: needs 8 GPUs\n"


def test_pods_that_are_taken_are_counted() -> None:
    chronicle = Chronicle()
    there = PodRow("job/a", "a-0", "node-000", "Running", None, gpus=8)
    for pods in ((there,), (), (there,)):
        chronicle.note(Picture((Workload("job/a", State.GOING, ""),), pods), 1.0)
    assert chronicle.entries["job/a"].taken == 1

    output = io.StringIO()
    Display({}, Console(file=output, width=120)).summarise(chronicle)
    assert "gave up 1 pod for others" in output.getvalue()


def test_what_never_started_says_what_it_waited_for() -> None:
    chronicle = Chronicle()
    chronicle.note(GOING, 1.0)
    output = io.StringIO()
    Display({}, Console(file=output, width=120)).summarise(chronicle)
    assert "waited: needs 8 GPUs" in output.getvalue()


def test_what_to_try_next_can_be_typed_as_it_stands() -> None:
    assert demo._next("/clone/.venv/bin/podium")[2].startswith("  /clone/.venv/bin/podium up")
    assert demo._next(".venv/bin/podium")[2].startswith("  .venv/bin/podium up")
    assert demo._next("/usr/lib/python3/podium/cli/main.py")[2].startswith("  podium up")


def test_scenes_come_at_their_time_and_without_their_directions() -> None:
    scenes = story()
    assert [scene.at for scene in scenes] == sorted(scene.at for scene in scenes)
    assert all(scene.document["metadata"]["name"] for scene in scenes)
    assert not any("demo" in key for s in scenes for key in s.document["metadata"].get("annotations") or ())
    assert any(scene.says for scene in scenes)
