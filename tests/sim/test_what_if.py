"""What if a scenario had more nodes, or queues other weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.cli.main import run as podium

SCENARIO = """
nodes:
- {name: small, count: 1, cpu: 4}
- {name: gpu, count: 2, gpus: 8}
seed: 7
events:
- at: 0
  apply:
  - {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: red}, spec: {weight: 1}}
  - {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: blue}, spec: {weight: 1}}
- at: 1
  apply: [PODS]
"""


def pod(name: str, queue: str, seconds: int) -> str:
    container = {"name": "m", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 4}}}
    annotations = {"podium.dev/run-seconds": str(seconds), "scheduling.volcano.sh/queue-name": queue}
    spec = {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]}
    metadata = {"name": name, "annotations": annotations}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    return written(tmp_path, 0)


def written(path: Path, differ: int) -> str:
    """24 pods of four GPUs in two queues, of 100 seconds; each is so much longer than the one before."""
    pods = ", ".join(
        pod(f"{queue}-{number}", queue, 100 + differ * number) for number in range(12) for queue in ("red", "blue")
    )
    file = path / "scenario.yaml"
    file.write_text(SCENARIO.replace("PODS", pods))
    return str(file)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[dict[str, Any]], str]:
    assert podium(["sim", "compare", "--trace", "scenario", *arguments, "-o", "json"]) == 0
    output = capsys.readouterr()
    runs: list[dict[str, Any]] = json.loads(output.out)["runs"]
    return runs, output.err


def test_more_nodes(scenario: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """4 pods at a time on two nodes, 8 on four, 24 on twelve."""
    more = tmp_path / "more.yaml"
    more.write_text("[{name: more, count: 10, gpus: 8}]\n")
    runs, _ = asked(capsys, "--pods", scenario, "--nodes", "0", "--nodes", "2", "--nodes", str(more))
    assert [run["run"] for run in runs] == ["0 more nodes", "2 more nodes", "more.yaml"]
    assert [run["nodes"] for run in runs] == [3, 5, 13]
    assert [run["gpus"] for run in runs] == [16, 32, 96]
    assert [round(run["makespan_seconds"]) for run in runs] == [601, 301, 101]
    assert [run["seed"] for run in runs] == [7, 7, 7]


def test_other_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Pods that all end at once would leave both queues with nothing to compare them by.
    scenario = written(tmp_path, 17)
    queues = ("--queue", "red=3,blue=1", "--queue", "red=1,blue=3")
    runs, reported = asked(capsys, "--pods", scenario, "--profile", "volcano", *queues)
    assert reported == ""
    waits = [{queue["name"]: queue["wait_seconds"]["mean"] for queue in run["queues"]} for run in runs]
    assert waits[0]["red"] < waits[0]["blue"]
    assert waits[1]["red"] > waits[1]["blue"]
    weights = [{queue["name"]: queue["weight"] for queue in run["queues"]} for run in runs]
    assert weights == [{"blue": 1, "red": 3}, {"blue": 3, "red": 1}]


def test_weights_that_nobody_looks_at(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs, reported = asked(
        capsys, "--pods", scenario, "--profile", "podium", "--queue", "red=3", "--queue", "red=1"
    )
    assert runs[0]["trace_hash"] == runs[1]["trace_hash"]
    assert "the profile podium has no plugin proportion: the weights of --queue change nothing in it" in reported


def test_the_seed_that_is_told(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs, _ = asked(capsys, "--pods", scenario, "--seed", "11")
    assert runs[0]["seed"] == 11
