"""Every example of Volcano's API comes to its end, in virtual time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.cli.examples import example_documents
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.embedded.nodes.shapes import Shape
from podium.kube.resources import CONFIGMAPS, PODS, SECRETS, SERVICES
from tests.dialects.virtual import Virtual

Document = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "examples" / "volcano"
FILES = sorted(FOLDER.glob("*.yaml"))
PATIENCE = 120


def cluster_with(file: str, nodes: int = 2) -> tuple[Virtual, str]:
    """A cluster with GPUs and the objects of an example; the name of its job."""
    cluster = Virtual(nodes=0)
    for index in range(nodes):
        cluster.node(f"node-{index}", Shape(cpu="64", memory="256Gi", gpus=8), index)
    (path,) = FOLDER.glob(f"*{file}*")
    name = ""
    for document in yaml.safe_load_all(path.read_text()):
        cluster.apply(document)
        name = document["metadata"]["name"]
    return cluster, name


def phase(cluster: Virtual, name: str) -> str:
    state: Document = cluster.get(JOBS, name).get("status", {}).get("state", {})
    return str(state.get("phase", ""))


def phases(cluster: Virtual, name: str) -> Counter[str]:
    return Counter(pod["status"]["phase"] for pod in cluster.pods(**{"volcano.sh/job-name": name}))


@pytest.mark.parametrize("file", [path.name for path in FILES])
def test_examples_come_to_their_end(file: str) -> None:
    cluster, name = cluster_with(file)
    for _ in range(PATIENCE):
        if phase(cluster, name) not in ("", "Pending", "Running", "Completing"):
            break
        cluster.pass_seconds(1)
    assert phase(cluster, name) == "Completed", cluster.get(JOBS, name)["status"]
    running = [pod for pod in cluster.running() if pod["metadata"].get("labels", {}).get("volcano.sh/job-name")]
    assert running == []


def test_there_are_enough_kinds_and_the_demo_finds_them() -> None:
    jobs = [each for each in example_documents("volcano") if each["kind"] == "Job"]
    assert len(jobs) == len(FILES) >= 8
    assert len({job["metadata"]["name"] for job in jobs}) == len(jobs)


def test_tensorflow_knows_its_cluster() -> None:
    cluster, name = cluster_with("tensorflow")
    cluster.pass_seconds(2)
    data = cluster.get(CONFIGMAPS, f"{name}-svc")["data"]
    assert data["worker.host"].split("\n") == [f"{name}-worker-{index}.{name}" for index in (0, 1)]
    container = cluster.get(PODS, f"{name}-worker-1")["spec"]["containers"][0]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["VK_TASK_INDEX"] == variables["VC_TASK_INDEX"] == "1"
    assert '"task":{"type":"worker","index":1}' in (variables["TF_CONFIG"] or "")


def test_mpi_has_keys() -> None:
    cluster, name = cluster_with("mpi")
    cluster.pass_seconds(2)
    data = cluster.get(SECRETS, f"{name}-ssh")["data"]
    assert sorted(data) == ["authorized_keys", "config", "id_rsa", "id_rsa.pub"]


def test_ray_has_a_service() -> None:
    cluster, name = cluster_with("ray")
    cluster.pass_seconds(2)
    ports = cluster.get(SERVICES, f"{name}-head-svc")["spec"]["ports"]
    assert [port["port"] for port in ports] == [6379, 8265, 10001]


def test_steps_wait_for_each_other() -> None:
    cluster, name = cluster_with("dag")
    cluster.pass_seconds(2)
    # Identities are given out in order.
    made = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.objects(PODS)}
    trained = [uid for pod, uid in made.items() if "train" in pod]
    assert made[f"{name}-fetch-0"] < min(trained)
    assert max(trained) < made[f"{name}-report-0"]


def test_an_elastic_job_begins_with_what_fits() -> None:
    cluster = Virtual(nodes=0)
    cluster.node("small", Shape(cpu="5", memory="64Gi"))
    for document in yaml.safe_load_all((FOLDER / "08-elastic.yaml").read_text()):
        cluster.apply(document)
    cluster.pass_seconds(2)
    assert phases(cluster, "elastic") == {"Running": 2, "Pending": 4}
    assert phase(cluster, "elastic") == "Running"
    cluster.pass_seconds(20)
    assert phase(cluster, "elastic") == "Completed"


def test_a_gang_that_does_not_fit_starts_nothing() -> None:
    cluster, name = cluster_with("gang", nodes=0)
    cluster.node("small", Shape(cpu="64", memory="64Gi", gpus=3))
    cluster.pass_seconds(5)
    assert phase(cluster, name) == "Pending"
    assert all(not pod["spec"].get("nodeName") for pod in cluster.objects(PODS))
    status = cluster.objects(PODGROUPS)[0]["status"]
    assert status["phase"] == "Pending"
    sentence = "it needs at least 4 nvidia.com/gpu, and the cluster has 3 in all: it can never start"
    assert sentence in status["conditions"][0]["message"]


def test_a_teams_job_counts_in_its_queue() -> None:
    cluster, _ = cluster_with("team")
    cluster.pass_seconds(2)
    assert cluster.get(QUEUES, "team")["status"]["running"] == 1
