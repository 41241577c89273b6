"""Nodes that fail, come back or disappear, and disruption budgets: what happens to the pods."""

from __future__ import annotations

from typing import Any

import pytest

from podium.embedded.controllers.nodelifecycle import tolerated_until, tolerates
from podium.kube.changes import Create, request_of
from podium.kube.resources import DEPLOYMENTS, JOBS, NODES, PODDISRUPTIONBUDGETS, PODS
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Metadata, Pod, PodSpec, Taint, Toleration
from tests.embedded.cluster import Cluster, Document, template_of, without_kubelets

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
TRACKING = "batch.kubernetes.io/job-tracking"
WEB = {"app": "web"}


@pytest.fixture
def cluster() -> Cluster:
    """Without kubelets, so that the test alone says how nodes and pods are."""
    return Cluster(without_kubelets)


def set_ready(cluster: Cluster, status: str, node: str = "node-0") -> None:
    condition = {"type": "Ready", "status": status, "reason": "Test"}
    cluster.patch(NODES, node, {"status": {"conditions": [condition]}}, "status", STRATEGIC_PATCH)
    cluster.settle()


def taints(cluster: Cluster, node: str = "node-0") -> set[tuple[str, str]]:
    found = cluster.get(NODES, node)["spec"].get("taints") or []
    return {(each["key"], each["effect"]) for each in found}


def run_pod(cluster: Cluster, name: str = "pod", node: str = "node-0", **spec: Any) -> None:
    cluster.pod(name, node, **spec)
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"},
    ]
    cluster.pod_status(name, phase="Running", conditions=conditions)
    cluster.settle()


def pod_condition(cluster: Cluster, name: str, kind: str) -> Document:
    found: list[Document] = cluster.status(name).get("conditions") or []
    return next((each for each in found if each["type"] == kind), {})


FOR_EVER = [{"operator": "Exists"}]


@pytest.mark.parametrize(("status", "key"), [("False", NOT_READY), ("Unknown", UNREACHABLE)])
def test_conditions_become_taints_and_go_with_them(cluster: Cluster, status: str, key: str) -> None:
    cluster.patch(NODES, "node-0", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    set_ready(cluster, status)
    assert taints(cluster) == {("mine", "NoSchedule"), (key, "NoSchedule"), (key, "NoExecute")}
    set_ready(cluster, "True")
    assert taints(cluster) == {("mine", "NoSchedule")}


def test_cordoning_taints(cluster: Cluster) -> None:
    cluster.spec(NODES, "node-0", unschedulable=True)
    cluster.settle()
    assert taints(cluster) == {("node.kubernetes.io/unschedulable", "NoSchedule")}
    cluster.spec(NODES, "node-0", unschedulable=None)
    cluster.settle()
    assert taints(cluster) == set()


def test_pressure_taints(cluster: Cluster) -> None:
    condition = {"type": "DiskPressure", "status": "True"}
    cluster.patch(NODES, "node-0", {"status": {"conditions": [condition]}}, "status", STRATEGIC_PATCH)
    cluster.settle()
    assert ("node.kubernetes.io/disk-pressure", "NoSchedule") in taints(cluster)


def test_pods_of_an_unreachable_node_are_marked_not_ready_and_leave_when_their_time_is_up(
    cluster: Cluster,
) -> None:
    tolerations = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    run_pod(cluster, "patient", tolerations=tolerations)
    run_pod(cluster, "eternal", tolerations=FOR_EVER)
    set_ready(cluster, "Unknown")
    assert pod_condition(cluster, "patient", "Ready")["status"] == "False"
    cluster.pass_seconds(298)
    assert "deletionTimestamp" not in cluster.get(PODS, "patient")["metadata"]
    cluster.pass_seconds(3)
    assert "deletionTimestamp" in cluster.get(PODS, "patient")["metadata"]
    target = pod_condition(cluster, "patient", "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "DeletionByTaintManager")
    assert "deletionTimestamp" not in cluster.get(PODS, "eternal")["metadata"]


def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: Cluster) -> None:
    run_pod(cluster)
    set_ready(cluster, "Unknown")
    cluster.pass_seconds(200)
    set_ready(cluster, "True")
    cluster.pass_seconds(600)
    assert "deletionTimestamp" not in cluster.get(PODS, "pod")["metadata"]


def test_a_users_no_execute_taint_evicts_at_once(cluster: Cluster) -> None:
    run_pod(cluster)
    run_pod(cluster, "other", tolerations=[{"key": "drain", "operator": "Equal", "value": "now"}])
    run_pod(cluster, "done")
    cluster.end_pod("done")
    taint = {"key": "drain", "value": "now", "effect": "NoExecute"}
    cluster.patch(NODES, "node-0", {"spec": {"taints": [taint]}})
    cluster.settle()
    leaving = {pod["metadata"]["name"] for pod in cluster.pods() if "deletionTimestamp" in pod["metadata"]}
    assert leaving == {"pod"}


def test_out_of_service_removes_terminating_pods_without_the_node(cluster: Cluster) -> None:
    run_pod(cluster)
    cluster.delete("pod")
    cluster.patch(
        NODES,
        "node-0",
        {"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}},
    )
    cluster.settle()
    assert not cluster.exists("pod")


def test_pods_of_a_deleted_node_fail_and_go(cluster: Cluster) -> None:
    cluster.job(run=None)
    cluster.settle()
    (name,) = cluster.names(PODS)
    cluster.patch(PODS, name, {"metadata": {"finalizers": [TRACKING, "example.com/look"]}})
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-0"}}
    cluster.request(request_of(Create(PODS, "default", binding, name=name, subresource="binding")))
    cluster.pod_status(name, phase="Running")
    cluster.settle()
    cluster.remove(NODES, "node-0")
    cluster.pass_seconds(10)
    assert "deletionTimestamp" not in cluster.get(PODS, name)["metadata"], "the node may just not be seen yet"
    cluster.pass_seconds(40)
    assert cluster.status(name)["phase"] == "Failed"
    assert pod_condition(cluster, name, "DisruptionTarget")["reason"] == "DeletionByPodGC"
    assert "deletionTimestamp" in cluster.get(PODS, name)["metadata"]
    assert cluster.status_of(JOBS, "job")["failed"] == 1


def test_a_job_survives_the_loss_of_a_node() -> None:
    cluster = Cluster(nodes=2)
    cluster.job(run=100, parallelism=4, completions=4)
    cluster.pass_seconds(20)
    lost = cluster.running()[0]["spec"]["nodeName"]
    cluster.annotate(NODES, lost, fail="true")
    cluster.pass_seconds(1000)
    cluster.annotate(NODES, lost, fail=None)
    cluster.pass_seconds(1000)
    assert "Complete" in cluster.conditions(JOBS, "job")
    assert cluster.status_of(JOBS, "job")["succeeded"] == 4


# --- tolerations by themselves -----------------------------------------------------------------------------------

DRAIN = Taint(key="drain", effect="NoExecute", value="v", time_added="2027-01-15T08:00:00Z")
ADDED = 1_800_000_000.0


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="drain", operator="Exists"), True),
        (Toleration(key="drain", value="v"), True),
        (Toleration(key="drain", value="w"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="drain", operator="Exists", effect="NoSchedule"), False),
        (Toleration(key="drain", operator="Exists", effect="NoExecute"), True),
        (Toleration(value="v"), False),
    ],
)
def test_tolerations(toleration: Toleration, fits: bool) -> None:
    assert tolerates(toleration, DRAIN) is fits


def test_the_shortest_toleration_decides() -> None:
    def until(*seconds: int | None) -> float | None:
        tolerations = [Toleration(operator="Exists", toleration_seconds=each) for each in seconds]
        pod = Pod(metadata=Metadata(name="p"), spec=PodSpec(tolerations=tolerations))
        return tolerated_until(pod, [DRAIN], ADDED + 5)

    assert until() == ADDED + 5
    assert until(None) is None
    assert until(None, 60) == ADDED + 60
    assert until(60, 20) == ADDED + 20
    assert until(-1) == ADDED + 5


# --- disruption budgets ------------------------------------------------------------------------------------------


def budget(cluster: Cluster, **spec: Any) -> Document:
    cluster.make(PODDISRUPTIONBUDGETS, "web", spec={"selector": {"matchLabels": WEB}, **spec})
    cluster.settle()
    return numbers(cluster)


def numbers(cluster: Cluster) -> Document:
    status = cluster.status_of(PODDISRUPTIONBUDGETS, "web")
    keys = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return {key: status[key] for key in keys}


@pytest.fixture
def web() -> Cluster:
    """A cluster with five web pods of a Deployment, all ready."""
    cluster = Cluster(nodes=2)
    content = {"replicas": 5, "selector": {"matchLabels": WEB}, "template": template_of(WEB)}
    cluster.make(DEPLOYMENTS, "web", spec=content)
    cluster.settle()
    return cluster


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 3}, 3, 2),
        ({"minAvailable": "50%"}, 3, 2),
        ({"minAvailable": "100%"}, 5, 0),
        ({"maxUnavailable": 1}, 4, 1),
        ({"maxUnavailable": "30%"}, 3, 2),
        ({"maxUnavailable": 9}, 0, 5),
    ],
)
def test_what_a_budget_allows(web: Cluster, spec: Document, desired: int, allowed: int) -> None:
    assert budget(web, **spec) == {
        "expectedPods": 5,
        "desiredHealthy": desired,
        "currentHealthy": 5,
        "disruptionsAllowed": allowed,
    }
    condition = web.conditions(PODDISRUPTIONBUDGETS, "web")["DisruptionAllowed"]
    assert condition["reason"] == ("SufficientPods" if allowed else "InsufficientPods")
    assert condition["status"] == ("True" if allowed else "False")


def test_a_budget_follows_pods_and_scale(web: Cluster) -> None:
    budget(web, maxUnavailable="40%")
    web.spec(DEPLOYMENTS, "web", replicas=10)
    web.settle()
    assert numbers(web)["desiredHealthy"] == 6
    assert numbers(web)["disruptionsAllowed"] == 4


def test_a_budget_without_pods_allows_nothing(cluster: Cluster) -> None:
    assert budget(cluster, minAvailable=0)["disruptionsAllowed"] == 0


def test_an_eviction_that_came_to_nothing_expires(web: Cluster) -> None:
    budget(web, minAvailable=3)
    name = web.names(PODS)[0]
    at = "2027-01-15T08:00:00Z"
    web.patch(PODDISRUPTIONBUDGETS, "web", {"status": {"disruptedPods": {name: at, "gone": at}}}, "status")
    web.settle()
    assert numbers(web)["currentHealthy"] == 4
    assert web.status_of(PODDISRUPTIONBUDGETS, "web")["disruptedPods"] == {name: at}
    web.pass_seconds(121)
    assert numbers(web)["currentHealthy"] == 5
    assert not web.status_of(PODDISRUPTIONBUDGETS, "web").get("disruptedPods")


def test_a_share_of_pods_without_a_known_controller_allows_nothing(cluster: Cluster) -> None:
    template = template_of(WEB, restartPolicy="Never")
    cluster.make(JOBS, "batch", spec={"template": template})
    cluster.settle()
    budget_document = {"selector": {"matchLabels": WEB}, "maxUnavailable": 1}
    cluster.make(PODDISRUPTIONBUDGETS, "web", spec=budget_document)
    cluster.settle()
    condition = cluster.conditions(PODDISRUPTIONBUDGETS, "web")["DisruptionAllowed"]
    assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
    assert condition["message"].startswith("found no controllers for pod")
