"""Groups for pods that name none: what they look like, and that the scheduler and they get along."""

from __future__ import annotations

from typing import Any

import pytest

from podium.dialects.volcano.groups import GROUP_MIN_MEMBER, topology_of
from podium.dialects.volcano.job.names import BUDGETS
from podium.dialects.volcano.names import GROUP_NAME, PODGROUPS
from podium.dialects.volcano.podgroup_controller import PodGroupController
from podium.embedded.nodes.shapes import Shape
from podium.kube.cache import Cache
from podium.kube.changes import Create, Read
from podium.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    DEPLOYMENTS,
    JOBS,
    NAMESPACES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Resource,
)
from podium.kube.wire import Metadata, OwnerReference, Pod, PodSpec
from tests.dialects.job_stage import job_document, task
from tests.dialects.virtual import Virtual
from tests.embedded.cluster import everything

Document = dict[str, Any]

PYTORCHJOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
LEADERWORKERSETS = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
QUEUE = "scheduling.volcano.sh/queue-name"


def template(annotations: Document | None = None, labels: Document | None = None, **spec: Any) -> Document:
    resources = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    container = {"name": "main", "image": "app:1", "resources": resources}
    return {
        "metadata": {"labels": {"app": "a", **(labels or {})}, "annotations": annotations or {}},
        "spec": {"schedulerName": "volcano", "containers": [container], **spec},
    }


def pod(cluster: Virtual, name: str, annotations: Document | None = None, **spec: Any) -> Document:
    made = template(annotations, **spec)
    return cluster.make(PODS, name, metadata=made["metadata"], spec=made["spec"])


def groups(cluster: Virtual) -> list[Document]:
    return cluster.objects(PODGROUPS)


def selecting(replicas: int, annotations: Document | None = None) -> Document:
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template(annotations)}


def placed(cluster: Virtual) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.objects(PODS) if each["spec"].get("nodeName")]


class TestLonePods:
    def test_have_a_group_of_their_own(self) -> None:
        cluster = Virtual()
        cluster.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}})
        marks = {QUEUE: "q", "volcano.sh/preemptable": "true", "volcano.sh/jdb-max-unavailable": "1", "mine": "x"}
        made = pod(cluster, "lone", marks)
        cluster.pass_seconds(5)
        (group,) = groups(cluster)
        name = f"podgroup-{made['metadata']['uid']}"
        assert group["metadata"]["name"] == name
        (owner,) = group["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "lone", True)
        assert group["metadata"]["annotations"] == {
            "volcano.sh/preemptable": "true",
            "volcano.sh/jdb-max-unavailable": "1",
        }
        assert group["spec"] == {
            "minMember": 1,
            "queue": "q",
            "minResources": {
                "count/pods": "1",
                "cpu": "2",
                "limits.memory": "1Gi",
                "memory": "1Gi",
                "pods": "1",
                "requests.cpu": "2",
                "requests.memory": "1Gi",
            },
        }
        assert cluster.get(PODS, "lone")["metadata"]["annotations"][GROUP_NAME] == name
        assert cluster.status("lone")["phase"] == "Running"
        assert group["status"]["phase"] == "Running"

    def test_end_and_are_deleted_with_their_group(self) -> None:
        cluster = Virtual()
        pod(cluster, "lone", {"podium.dev/run-seconds": "3"}, restartPolicy="Never")
        cluster.pass_seconds(10)
        assert cluster.status("lone")["phase"] == "Succeeded"
        assert groups(cluster)[0]["status"]["phase"] == "Completed"
        cluster.delete("lone")
        cluster.pass_seconds(5)
        assert groups(cluster) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"spec": {"schedulerName": "default-scheduler"}},
            {"metadata": {"annotations": {GROUP_NAME: "mine"}}},
            {"metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": "theirs"}}},
        ],
        ids=["another scheduler", "a group of its own", "a group of another API"],
    )
    def test_others_are_left_alone(self, change: Document) -> None:
        cluster = Virtual()
        made = template()
        metadata = {**made["metadata"], **change.get("metadata", {})}
        cluster.make(PODS, "other", metadata=metadata, spec={**made["spec"], **change.get("spec", {})})
        cluster.pass_seconds(2)
        assert groups(cluster) == []


class TestOwners:
    def test_all_pods_of_one_owner_are_one_group(self) -> None:
        cluster = Virtual()
        cluster.make(
            JOBS,
            "work",
            metadata={"annotations": {GROUP_MIN_MEMBER: "3", "volcano.sh/sla-waiting-time": "1h", "other": "x"}},
            spec={"parallelism": 3, "completions": 3, "template": template(restartPolicy="Never")},
        )
        cluster.settle()
        (group,) = groups(cluster)
        job = cluster.get(JOBS, "work")
        assert group["metadata"]["name"] == f"podgroup-{job['metadata']['uid']}"
        assert group["metadata"]["ownerReferences"][0]["kind"] == "Job"
        assert group["metadata"]["annotations"] == {"volcano.sh/sla-waiting-time": "1h"}
        assert (group["spec"]["minMember"], group["spec"]["minResources"]["cpu"]) == (3, "6")
        assert group["status"]["phase"] == "Running"
        assert len(placed(cluster)) == 3

    def test_a_gang_without_room_for_all_starts_none(self) -> None:
        cluster = Virtual(nodes=0)
        cluster.node("small", Shape(cpu="5", memory="64Gi"))
        cluster.make(
            REPLICASETS, "web", metadata={"annotations": {GROUP_MIN_MEMBER: "3"}}, spec=selecting(replicas=3)
        )
        cluster.pass_seconds(5)
        assert placed(cluster) == []
        cluster.node("another", Shape(cpu="5", memory="64Gi"), 1)
        cluster.pass_seconds(5)
        assert len(placed(cluster)) == 3

    def test_an_owner_scaled_to_nothing_has_no_group_and_another_one_when_it_grows(self) -> None:
        cluster = Virtual()
        cluster.make(STATEFULSETS, "db", spec={"serviceName": "db", **selecting(replicas=2)})
        cluster.pass_seconds(5)
        assert len(groups(cluster)) == 1
        cluster.spec(STATEFULSETS, "db", replicas=0)
        cluster.pass_seconds(60)
        assert groups(cluster) == []
        cluster.spec(STATEFULSETS, "db", replicas=1)
        cluster.pass_seconds(5)
        assert len(groups(cluster)) == 1
        assert cluster.status("db-0")["phase"] == "Running"

    def test_a_change_of_the_owner_reaches_the_group(self) -> None:
        cluster = Virtual()
        cluster.make(DEPLOYMENTS, "web", spec=selecting(replicas=2))
        cluster.pass_seconds(5)
        name = cluster.names(REPLICASETS)[0]
        marks = {GROUP_MIN_MEMBER: "2", "volcano.sh/sla-waiting-time": "1h"}
        cluster.patch(REPLICASETS, name, {"metadata": {"annotations": marks}})
        cluster.pass_seconds(5)
        (group,) = groups(cluster)
        assert (group["spec"]["minMember"], group["spec"]["minResources"]["cpu"]) == (2, "4")
        assert group["metadata"]["annotations"] == {"volcano.sh/sla-waiting-time": "1h"}
        assert group["status"]["phase"] == "Running"

    @pytest.mark.parametrize("text", ["many", "-1", ""])
    def test_a_minimum_that_is_none_counts_as_one(self, text: str) -> None:
        cluster = Virtual()
        cluster.make(REPLICASETS, "web", metadata={"annotations": {GROUP_MIN_MEMBER: text}}, spec=selecting(1))
        cluster.settle()
        assert groups(cluster)[0]["spec"]["minMember"] == 1

    def test_a_pods_own_annotation_goes_before_its_owners(self) -> None:
        cluster = Virtual()
        marks = {"annotations": {GROUP_MIN_MEMBER: "5"}}
        cluster.make(REPLICASETS, "web", metadata=marks, spec=selecting(2, {GROUP_MIN_MEMBER: "2"}))
        cluster.settle()
        assert groups(cluster)[0]["spec"]["minMember"] == 2


@pytest.mark.parametrize("admission", [True, False])
def test_a_namespace_has_a_queue_for_those_that_name_none(admission: bool) -> None:
    cluster = Virtual(admission=admission)
    cluster.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}})
    cluster.patch(NAMESPACES, "default", {"metadata": {"annotations": {QUEUE: "q"}}})
    cluster.settle()
    pod(cluster, "lone")
    cluster.apply(job_document(task("main")))
    cluster.pass_seconds(5)
    assert [each["spec"]["queue"] for each in groups(cluster)] == ["q", "q"]


def served(cluster: Virtual, resource: Resource) -> None:
    """Lets the server have an operator's kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    cluster.make(
        CUSTOMRESOURCEDEFINITIONS,
        f"{resource.plural}.{resource.group}",
        spec={
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind},
            "versions": [{"name": resource.version, "served": True, "storage": True, "schema": schema}],
        },
    )
    cluster.serve(resource)


def controlled_by(owner: Document, resource: Resource) -> Document:
    reference = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {"ownerReferences": [reference]}


def test_the_jobs_of_a_jobset_are_one_group() -> None:
    cluster = Virtual()
    served(cluster, JOBSETS)
    marks = {"annotations": {GROUP_MIN_MEMBER: "3"}, "labels": {QUEUE: "default"}}
    owner = cluster.make(JOBSETS, "llm", metadata=marks)
    labels = {"jobset.sigs.k8s.io/jobset-name": "llm", "jobset.sigs.k8s.io/jobset-uid": owner["metadata"]["uid"]}
    for name, count in (("llm-driver-0", 1), ("llm-worker-0", 2)):
        made = template(labels=labels, restartPolicy="Never")
        spec = {"parallelism": count, "completions": count, "template": made}
        cluster.make(JOBS, name, metadata=controlled_by(owner, JOBSETS), spec=spec)
        cluster.pass_seconds(5)
        assert len(placed(cluster)) == (0 if name.startswith("llm-driver") else 3)
    (group,) = groups(cluster)
    assert group["metadata"]["name"] == f"podgroup-{owner['metadata']['uid']}"
    assert [each["kind"] for each in group["metadata"]["ownerReferences"]] == ["JobSet"]
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (3, "default")


def test_each_leader_and_its_workers_are_one_group() -> None:
    cluster = Virtual()
    served(cluster, LEADERWORKERSETS)
    owner = cluster.make(LEADERWORKERSETS, "serve", metadata={"annotations": {GROUP_MIN_MEMBER: "3"}})
    for index in range(2):
        labels = {
            "leaderworkerset.sigs.k8s.io/name": "serve",
            "leaderworkerset.sigs.k8s.io/group-index": str(index),
            "leaderworkerset.sigs.k8s.io/group-key": f"key{index}",
        }
        made = template(labels={**labels, "role": "leader"})
        metadata = {**made["metadata"], **controlled_by(owner, LEADERWORKERSETS)}
        leader = cluster.make(PODS, f"serve-{index}", metadata=metadata, spec=made["spec"])
        cluster.pass_seconds(2)
        assert f"serve-{index}" not in placed(cluster), "its workers are not there yet"
        workers = {
            "replicas": 2,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 1},
            "serviceName": "serve",
            "selector": {"matchLabels": labels},
            "template": template(labels=labels),
        }
        cluster.make(STATEFULSETS, f"serve-{index}", metadata=controlled_by(leader, PODS), spec=workers)
        cluster.pass_seconds(5)
    assert placed(cluster) == [f"serve-{index}{end}" for index in range(2) for end in ("", "-1", "-2")]
    found = {each["metadata"]["name"]: each for each in groups(cluster)}
    assert sorted(found) == ["podgroup-key0", "podgroup-key1"]
    assert found["podgroup-key0"]["spec"]["minMember"] == 3
    assert found["podgroup-key0"]["metadata"]["ownerReferences"][0]["name"] == "serve-0"


def test_workers_are_told_by_their_labels() -> None:
    """Whoever controls them, and whichever comes first."""
    cluster = Virtual()
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "serve",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/group-key": "key",
    }
    made = template(labels=labels)
    for name in ("serve-0-1", "serve-0", "serve-0-2"):
        cluster.make(PODS, name, metadata=made["metadata"], spec=made["spec"])
    cluster.pass_seconds(2)
    assert [each["metadata"]["name"] for each in groups(cluster)] == ["podgroup-key"]
    assert {each["metadata"]["annotations"][GROUP_NAME] for each in cluster.objects(PODS)} == {"podgroup-key"}


def test_pods_of_an_operator_are_one_group() -> None:
    """The operator's object is read where its kind is served, and its pods are grouped where it is not."""
    cluster = Virtual()
    served(cluster, PYTORCHJOBS)
    owner = cluster.make(PYTORCHJOBS, "bert", metadata={"annotations": {GROUP_MIN_MEMBER: "2"}})
    for name in ("bert-master-0", "bert-worker-0"):
        made = template()
        metadata = {**made["metadata"], **controlled_by(owner, PYTORCHJOBS)}
        cluster.make(PODS, name, metadata=metadata, spec=made["spec"])
        cluster.pass_seconds(2)
        assert len(placed(cluster)) == (0 if name.startswith("bert-master") else 2)
    (group,) = groups(cluster)
    assert group["spec"]["minMember"] == 2
    assert group["metadata"]["ownerReferences"][0]["kind"] == "PyTorchJob"


def test_when_nothing_changes_nothing_is_written() -> None:
    cluster = Virtual()
    cluster.make(REPLICASETS, "web", spec=selecting(2, {"volcano.sh/network-topology-mode": "soft"}))
    cluster.pass_seconds(5)
    cluster.restart()
    before = len(cluster.writes)
    cluster.pass_seconds(5)
    written = [each for each in cluster.writes[before:] if each.resource in (PODGROUPS, PODS)]
    assert written == []


@pytest.mark.parametrize(
    ("mode", "tier", "wanted"),
    [
        (None, None, None),
        ("soft", None, {"mode": "soft"}),
        ("SOFT", "2", {"mode": "soft", "highestTierAllowed": 2}),
        ("odd", "x", {"mode": "hard"}),
        (None, "1", {"mode": "hard", "highestTierAllowed": 1}),
    ],
)
def test_pods_say_how_far_apart_they_may_be(mode: str | None, tier: str | None, wanted: Document | None) -> None:
    marks = {"volcano.sh/network-topology-mode": mode, "volcano.sh/network-topology-highest-tier": tier}
    assert topology_of({key: value for key, value in marks.items() if value is not None}) == wanted


def test_an_owner_that_has_not_been_seen_yet_is_asked_for() -> None:
    """Pods and their owners come by different watches: a pod may be known first."""
    controller, cache = PodGroupController(), Cache()
    for resource in (PODS, PODGROUPS, NAMESPACES):
        cache.set_synced(resource)
    owner = OwnerReference("ReplicaSet", "web", "uid-web", "apps/v1", controller=True)
    metadata = Metadata("web-1", "default", "uid-1", "1", owner_references=[owner])
    cache.apply(PODS, Pod(metadata, spec=PodSpec(scheduler_name="volcano")))
    key = ("default", "owner/uid-web")
    outcome = controller.reconcile(key, cache, 10.0)  # what is listed anyway is not asked for
    assert outcome.changes == ()
    assert outcome.again_at is not None
    assert outcome.again_at > 10.0
    cache.set_synced(REPLICASETS)
    assert controller.reconcile(key, cache, 0.0).changes == (Read(REPLICASETS, "default", "web", "uid-web"),)
    cache.tombstone("uid-web")
    create, _ = controller.reconcile(key, cache, 0.0).changes
    assert isinstance(create, Create)
    assert create.document["spec"]["minMember"] == 1


def test_pods_of_another_namespace_that_name_the_owner_are_not_counted() -> None:
    controller, cache = PodGroupController(), Cache()
    for resource in (PODS, PODGROUPS, NAMESPACES, REPLICASETS):
        cache.set_synced(resource)
    cache.tombstone("uid-web")  # it says nothing of how many there are to be
    owner = OwnerReference("ReplicaSet", "web", "uid-web", "apps/v1", controller=True)
    for namespace in ("default", "strange"):
        metadata = Metadata("web-1", namespace, f"uid-{namespace}", "1", owner_references=[owner])
        cache.apply(PODS, Pod(metadata, spec=PodSpec(scheduler_name="volcano")))
    create, *marks = controller.reconcile(("default", "owner/uid-web"), cache, 0.0).changes
    assert isinstance(create, Create)
    assert [each.namespace for each in marks] == ["default"]


def test_a_group_on_its_way_is_not_complained_of() -> None:
    cluster = Virtual()
    cluster.make(DEPLOYMENTS, "web", spec=selecting(3))
    cluster.pass_seconds(10)
    assert len(placed(cluster)) == 3
    assert "FailedScheduling" not in cluster.reasons()


def test_one_that_does_not_come_is() -> None:
    cluster = Virtual(controllers=everything)
    cluster.make(REPLICASETS, "web", spec=selecting(1))
    cluster.pass_seconds(3)
    assert "FailedScheduling" not in cluster.reasons()
    cluster.pass_seconds(5)
    (reported,) = [event["message"] for event in cluster.events() if event["reason"] == "FailedScheduling"]
    assert reported.endswith("of Volcano has not been made yet")


@pytest.mark.parametrize(
    ("marks", "kept"),
    [
        ({BUDGETS[0]: "1"}, {BUDGETS[0]}),
        ({BUDGETS[1]: "1"}, {BUDGETS[1]}),
        ({BUDGETS[0]: "1", BUDGETS[1]: "1"}, {BUDGETS[0]}),
        ({BUDGETS[0]: "1", BUDGETS[1]: "1", "other": "x"}, {BUDGETS[0]}),
    ],
)
def test_of_two_budgets_the_first_counts(marks: dict[str, str], kept: set[str]) -> None:
    controller, cache = PodGroupController(), Cache()
    for resource in (PODS, PODGROUPS, NAMESPACES):
        cache.set_synced(resource)
    metadata = Metadata("p", "default", "uid-p", "1", annotations=marks)
    cache.apply(PODS, Pod(metadata, spec=PodSpec(scheduler_name="volcano")))
    create, *_ = controller.reconcile(("default", "pod/p"), cache, 0.0).changes
    assert isinstance(create, Create)
    assert set(create.document["metadata"].get("annotations", {})) & set(BUDGETS) == kept
