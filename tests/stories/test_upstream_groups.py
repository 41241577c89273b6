"""The gangs of Kubernetes 1.36, on its own API server with the features on: PodGroups, and Jobs that get one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.compat.client import Document, Server, eventually
from tests.controlplane.fixtures import ensure_real
from tests.stories.clusters import bare, podium_run

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
WORKLOADS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
FEATURES = "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,WorkloadWithJob=true"
SEVERAL = 3  # nodes
SCHEDULER = "podium"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    ensure_real(request.config)
    directory = tmp_path_factory.mktemp("gates")
    flags = (f"--feature-gates={FEATURES}", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
    with (
        bare(directory, SEVERAL, flags, (f"--feature-gates={FEATURES}",)) as server,
        podium_run(server, directory),
    ):
        for name, value in (("low", 1), ("urgent", 1000)):
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            server.create(CLASSES, {**kind, "metadata": {"name": name}, "value": value})
        yield server


@pytest.fixture(autouse=True)
def clean(server: Server) -> Iterator[None]:
    yield
    server.kubectl("delete", "jobs,pods,workloads,podgroups", "--all", "--grace-period=0", "--force")
    eventually(lambda: not server.get(PODS)["items"], "the pods are gone")
    eventually(lambda: not server.get(GROUPS)["items"], "the groups are gone")


def whole_node(server: Server) -> str:
    """A pod that asks for so much has a node to itself."""
    return str(int(server.get(NODES)["items"][0]["status"]["allocatable"]["cpu"]) - 1)


def group(name: str, least: int, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}, **spec},
    }


def pod_spec(cpu: str, **spec: Any) -> Document:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {"schedulerName": SCHEDULER, "containers": [container], "restartPolicy": "Never", **spec}


def pods(server: Server, name: str, count: int, cpu: str, **spec: Any) -> None:
    for index in range(count):
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{index}"},
            "spec": pod_spec(cpu, **spec),
        }
        server.create(PODS, document)


def bound(server: Server, name: str) -> int:
    items = server.get(PODS)["items"]
    return sum(1 for each in items if each["metadata"]["name"].startswith(name) and each["spec"].get("nodeName"))


def condition(server: Server, name: str, type: str = "PodGroupScheduled") -> Document:
    found = server.get(f"{GROUPS}/{name}").get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == type), {})


def test_a_group_waits_says_why_and_is_bound_together(server: Server) -> None:
    cpu = whole_node(server)
    server.create(GROUPS, group("g", SEVERAL))
    pods(server, "g", SEVERAL - 1, cpu, schedulingGroup={"podGroupName": "g"})
    eventually(lambda: condition(server, "g").get("status") == "False", "the group says that it waits")
    assert condition(server, "g")["reason"] == "Unschedulable"
    assert f"{SEVERAL} members" in condition(server, "g")["message"]
    assert bound(server, "g-") == 0
    pods(server, "late", 1, cpu, schedulingGroup={"podGroupName": "g"})
    eventually(lambda: condition(server, "g").get("status") == "True", "the group is scheduled")
    assert bound(server, "") == SEVERAL
    row = server.kubectl("get", "podgroups.v1alpha2.scheduling.k8s.io", "g", "--no-headers").out
    assert "Scheduled" in row


def test_pods_of_a_basic_group_start_one_by_one(server: Server) -> None:
    cpu = whole_node(server)
    basic = group("b", 1)
    basic["spec"]["schedulingPolicy"] = {"basic": {}}
    server.create(GROUPS, basic)
    pods(server, "b", SEVERAL + 1, cpu, schedulingGroup={"podGroupName": "b"})
    eventually(lambda: bound(server, "b-") == SEVERAL, "as many as there is room for")


def test_pods_wait_for_their_group(server: Server) -> None:
    cpu = whole_node(server)

    def said() -> str:
        found = server.get(f"{PODS}/late-0").get("status", {}).get("conditions", [])
        return next((str(each["message"]) for each in found if each["type"] == "PodScheduled"), "")

    pods(server, "late", SEVERAL, cpu, schedulingGroup={"podGroupName": "late"})
    eventually(lambda: "default/late of Kubernetes does not exist" in said(), "they say what is missing")
    server.create(GROUPS, group("late", SEVERAL + 1))
    eventually(lambda: f"needs {SEVERAL + 1} members" in said(), "then how many are")
    assert bound(server, "late-") == 0


@pytest.mark.parametrize(("mode", "left"), [("PodGroup", 0), ("Pod", SEVERAL - 1)])
def test_as_a_victim_a_group_goes_as_its_mode_says(server: Server, mode: str, left: int) -> None:
    """One node is needed.  As one victim all go; else what the group has beyond its minimum."""
    cpu = whole_node(server)
    server.create(GROUPS, group("low", SEVERAL - 1, disruptionMode=mode, priorityClassName="low"))
    pods(server, "low", SEVERAL, cpu, schedulingGroup={"podGroupName": "low"}, priorityClassName="low")
    eventually(lambda: bound(server, "low-") == SEVERAL, "the group has its places")
    pods(server, "urgent", 1, cpu, priorityClassName="urgent")
    eventually(lambda: bound(server, "urgent-") == 1, "the urgent pod has a place")
    eventually(lambda: bound(server, "low-") == left, f"{left} of the group are left")
    disrupted = condition(server, "low", "DisruptionTarget")
    assert disrupted.get("reason", "") == ("PreemptionByScheduler" if mode == "PodGroup" else "")


def test_a_job_gets_its_workload_and_group_from_the_server_and_starts_as_a_gang(server: Server) -> None:
    cpu = whole_node(server)
    pods(server, "other", 1, cpu)
    eventually(lambda: bound(server, "other-") == 1, "somebody is there first")
    spec = {
        "parallelism": SEVERAL,
        "completions": SEVERAL,
        "completionMode": "Indexed",
        "template": {"metadata": {"annotations": {"podium.dev/run-seconds": "1"}}, "spec": pod_spec(cpu)},
    }
    server.create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec})
    eventually(lambda: server.get(WORKLOADS)["items"], "the server has made a Workload")
    eventually(lambda: server.get(GROUPS)["items"], "and a PodGroup of it")
    name = server.get(GROUPS)["items"][0]["metadata"]["name"]
    eventually(lambda: condition(server, name).get("status") == "False", "the group says that it waits")
    assert bound(server, "train-") == 0, "two would fit, three are needed"
    server.kubectl("delete", "pod", "other-0", "--grace-period=0", "--force")

    def complete() -> bool:
        conditions = server.get(f"{JOBS}/train")["status"].get("conditions", [])
        return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)

    eventually(complete, "the Job is complete")
