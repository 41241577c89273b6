"""A user of Paddle on podium, on both servers: a job grows and ends, three share, bad ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compat.client import Server, eventually

Document = dict[str, Any]

EXAMPLES = Path(__file__).parents[2] / "examples" / "paddle"
PATIENCE = 120.0


def path(name: str = "", ns: str = "default") -> str:
    return f"/apis/paddlepaddle.org/v1/namespaces/{ns}/trainingjobs/{name}".rstrip("/")


def status(server: Server, name: str) -> Document:
    found: Document = server.get(path(name)).get("status") or {}
    return found


def in_phase(server: Server, name: str, phase: str) -> Document:
    def look() -> Document | None:
        now = status(server, name)
        return now if now.get("phase") == phase else None

    try:
        return eventually(look, f"{name} is {phase}", PATIENCE)
    except AssertionError as late:
        reported = server.kubectl("get", "tj,rs,jobs,pods", "-o", "wide", check=False)
        raise AssertionError(f"{late}\n{status(server, name)}\n{reported.out}") from None


@pytest.mark.timeout(400)
def test_the_example_grows_to_ten_and_ends(server: Server) -> None:
    server.kubectl("apply", "-f", str(EXAMPLES / "01-elastic.yaml"))
    most = eventually(lambda: status(server, "example").get("running") == 10 or None, "ten trainers run", PATIENCE)
    assert most
    shown = server.kubectl("get", "tj", "example").out
    assert "running" in shown
    done = in_phase(server, "example", "succeeded")
    assert done["succeeded"] >= 1

    def stopped() -> bool | None:
        sets = server.get("/apis/apps/v1/namespaces/default/replicasets")["items"]
        mine = [each["spec"]["replicas"] for each in sets if each["metadata"]["name"].startswith("example-")]
        return mine == [0, 0] or None

    assert eventually(stopped, "master and pservers are stopped", PATIENCE)


@pytest.mark.timeout(600)
def test_three_jobs_share_and_reach_their_ends(server: Server) -> None:
    server.kubectl("apply", "-f", str(EXAMPLES / "02-three-jobs.yaml"))
    for name in ("first", "second", "third"):
        in_phase(server, name, "succeeded")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"trainer": {"min-instance": 5, "max-instance": 2}}, "spec.trainer.min-instance"),
        ({"pserver": {"min-instance": 5, "max-instance": 2}}, "spec.pserver.min-instance"),
        ({"fault_tolerant": False}, "spec.fault_tolerant"),
        ({"trainer": {"min-instance": -1, "max-instance": 2}}, "spec.trainer.min-instance"),
        ({"pserver": {"min-instance": -1}}, "spec.pserver.min-instance"),
        ({"priority": "Urgent"}, "spec.priority"),
        ({"priority": -1}, "spec.priority"),
    ],
)
def test_bad_jobs_are_refused_by_the_server(server: Server, change: Document, field: str) -> None:
    """Without a webhook: the definition says so."""
    document = yaml.safe_load((EXAMPLES / "01-elastic.yaml").read_text())
    document["metadata"]["name"] = "bad"
    document["spec"] |= change
    answer = server.http("POST", path(), document)
    assert answer.status == 422, answer
    assert field in [each["field"] for each in answer.json["details"]["causes"]], answer.json["message"]


def test_a_job_with_gpus_and_no_cpu_is_refused_or_fails(server: Server) -> None:
    """What amounts are worth no definition can say: without a webhook the job fails, with the same words."""
    document = yaml.safe_load((EXAMPLES / "01-elastic.yaml").read_text())
    document["metadata"]["name"] = "gpus"
    document["spec"]["trainer"]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    answer = server.http("POST", path(), document)
    field = "spec.trainer.resources.requests.cpu"
    if answer.status == 422:
        assert field in [each["field"] for each in answer.json["details"]["causes"]]
    else:
        assert field in in_phase(server, "gpus", "failed")["reason"]
        server.http("DELETE", path("gpus"))


@pytest.mark.timeout(300)
def test_all_trainers_of_a_failed_job_are_stopped(server: Server) -> None:
    """Also when one has succeeded.  The server's own Job controller then leaves running pods alone, and gives no
    other answer to a parallelism of none."""
    document = yaml.safe_load((EXAMPLES / "01-elastic.yaml").read_text())
    document["metadata"] = {"name": "mixed", "annotations": {"podium.dev/run-seconds": "1000"}}
    document["spec"] |= {"fault_tolerant": False, "pserver": {"min-instance": 0, "max-instance": 0}}
    document["spec"]["trainer"] |= {"min-instance": 3, "max-instance": 3}
    server.create(path(), document)
    eventually(lambda: status(server, "mixed").get("running") == 3 or None, "three trainers run", PATIENCE)

    def trainers() -> list[str]:
        pods = server.get("/api/v1/namespaces/default/pods", labelSelector="paddle-job=mixed")["items"]
        return [each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running"]

    def end(pod: str, phase: str) -> None:
        server.merge(f"/api/v1/namespaces/default/pods/{pod}/status", {"status": {"phase": phase}})

    one, two, _ = trainers()
    end(one, "Succeeded")
    eventually(lambda: status(server, "mixed").get("succeeded") == 1 or None, "one has succeeded", PATIENCE)
    end(two, "Failed")
    in_phase(server, "mixed", "failed")
    assert eventually(lambda: not trainers() or None, "the third is stopped", PATIENCE)
