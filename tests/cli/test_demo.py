"""`podium demo`, and how progress is read and shown."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from podium.cli.examples import example_documents
from podium.cli.progress import Display, Picture, PodRow, Workload, describe
from podium.dialects.dialect import State
from podium.dialects.volcano.job.names import JOBS as VOLCANO_JOBS
from podium.errors import UsageError
from podium.kube.resources import CONFIGMAPS, DEPLOYMENTS, JOBS
from tests.cli.running import podium


def test_the_demo_runs_to_its_end_and_says_what_ran(tmp_path: Path) -> None:
    result = podium("demo", timeout=90, env={"PODIUM_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    assert "job/train: 8 of 8 tasks succeeded, 0 running" in result.stdout
    assert "deployment/serve: 3 of 3 replicas available" in result.stdout
    assert "job/pytorch: Completed" in result.stdout
    assert result.stdout.count("Succeeded") >= 8
    assert "node-00" in result.stdout
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


def test_without_a_terminal_each_change_is_a_line() -> None:
    output = io.StringIO()
    display = Display(Console(file=output, width=80))
    going = Picture((Workload("job/a", State.GOING, "0 of 1"),), ())
    done = Picture(
        (Workload("job/a", State.DONE, "1 of 1"),), (PodRow("job/a", "a-x", "node-000", "Succeeded", 2.0),)
    )
    with display:
        for picture in (going, going, done, done):
            display.show(picture)
    assert output.getvalue() == "job/a: 0 of 1\njob/a: 1 of 1\n"
    display.summarise(done)
    assert "a-x" in output.getvalue()
    assert "2s" in output.getvalue()
