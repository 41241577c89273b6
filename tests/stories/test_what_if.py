"""`podium sim --from-cluster`: questions to a copy of a running cluster, which itself is only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import podium
from tests.compat.client import Server, eventually
from tests.controlplane.fixtures import ensure_real
from tests.stories import clusters

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {name}}}
spec:
  schedulerName: volcano
  minAvailable: 2
  queue: {queue}
  tasks:
  - name: worker
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: app
          resources: {{requests: {{cpu: "{cpu}"}}, limits: {{cpu: "{cpu}"}}}}
"""
QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: red}
spec: {weight: 1}
"""


KINDS = (
    "nodes",
    "pods",
    "queues.scheduling.volcano.sh",
    "podgroups.scheduling.volcano.sh",
    "jobs.batch.volcano.sh",
)


@pytest.fixture(params=["embedded", "real"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if request.param == "real":
        ensure_real(request.config)
    with getattr(clusters, request.param)(tmp_path) as server:
        yield server


def listed(server: Server, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(server.kubectl("get", kind, "-A", "-o", "json").out)["items"]
    return found


def state(server: Server) -> dict[str, Any]:
    """Everything that a question could have changed, by identity and version."""
    found = {}
    for kind in KINDS:
        for item in listed(server, kind):
            found[item["metadata"]["uid"]] = (item.get("spec"), item["metadata"].get("annotations"))
    return found


def asked(server: Server, command: str, *more: str) -> Any:
    arguments = ("sim", command, "--from-cluster", "--kubeconfig", str(server.kubeconfig), *more, "-o", "json")
    done = podium(*arguments, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(300)
def test_what_if(cluster: Server) -> None:
    node = listed(cluster, "nodes")
    cpu = int(node[0]["status"]["allocatable"]["cpu"]) * 3 // 4
    many = len(node)
    cluster.kubectl("apply", "-f", "-", input=QUEUE)
    jobs = [f"job-{number}" for number in range(many)]
    for name in jobs:  # each takes two nodes, so that half of them wait
        cluster.kubectl("apply", "-f", "-", input=JOB.format(name=name, queue="red", cpu=cpu))

    def half_runs() -> bool:
        phases = [pod["status"].get("phase") for pod in listed(cluster, "pods")]
        return phases.count("Running") == many

    eventually(half_runs, "half of the jobs run", 60)
    before = state(cluster)
    now = asked(cluster, "run", "--assume-seconds", "600")
    assert (now["trace"], now["nodes"], now["jobs"], now["finished"]) == ("cluster", many, many, many)
    assert now["makespan_seconds"] == pytest.approx(1200, abs=60)
    running = [each for each in now["details"] if each["started"] == 0]
    assert len(running) == many
    assert [queue["name"] for queue in now["queues"]] == ["red"]
    runs = asked(
        cluster, "compare", "--assume-seconds", "600", "--nodes", "0", "--nodes", str(many), "--queue", "red=5"
    )["runs"]
    assert [run["nodes"] for run in runs] == [many, 2 * many]
    assert runs[0]["makespan_seconds"] == now["makespan_seconds"] or runs[0]["makespan_seconds"] > 600
    assert runs[1]["makespan_seconds"] == pytest.approx(600, abs=60)
    assert runs[1]["wait_seconds"]["max"] < 10 < runs[0]["wait_seconds"]["max"]
    assert runs[0]["queues"][0]["weight"] == 5
    assert state(cluster) == before
