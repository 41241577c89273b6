"""ReplicaSets, Deployments and StatefulSets."""

from __future__ import annotations

from typing import Any

import pytest

from podium.kube.resources import (
    CONTROLLERREVISIONS,
    DEPLOYMENTS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
)
from tests.embedded.cluster import Cluster, Document, template_of

WEB = {"app": "web"}
REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=3)


def name_of(document: Document) -> str:
    return str(document["metadata"]["name"])


# --- ReplicaSets -------------------------------------------------------------------------------------------------


def replicas(cluster: Cluster, count: int = 3, **spec: Any) -> None:
    selector = {"matchLabels": WEB}
    cluster.make(
        REPLICASETS, "web", spec={"replicas": count, "selector": selector, "template": template_of(WEB), **spec}
    )
    cluster.settle()


def test_a_replicaset_keeps_its_number_and_says_so(cluster: Cluster) -> None:
    replicas(cluster)
    assert cluster.status_of(REPLICASETS, "web") == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    victim = cluster.names(PODS)[0]
    assert victim.startswith("web-")
    cluster.delete(victim)
    cluster.pass_seconds(60)
    assert len(cluster.running()) == 3
    assert victim not in cluster.names(PODS)


def test_finished_pods_are_replaced(cluster: Cluster) -> None:
    replicas(cluster, 1)
    cluster.end_pod(cluster.names(PODS)[0], 1)
    cluster.settle()
    assert len(cluster.running()) == 1
    assert cluster.status_of(REPLICASETS, "web")["replicas"] == 1


def test_scaling_down_gives_up_what_loses_the_least(cluster: Cluster) -> None:
    replicas(cluster, 4)
    unready, cheap, kept, other = cluster.names(PODS)
    cluster.patch(PODS, cheap, {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}})
    waiting = {"type": "Ready", "status": "False"}
    cluster.pod_status(unready, conditions=[waiting])
    cluster.spec(REPLICASETS, "web", replicas=3)
    cluster.turn()
    gone = {name_of(pod) for pod in cluster.pods() if "deletionTimestamp" in pod["metadata"]}
    assert gone <= {unready}
    cluster.spec(REPLICASETS, "web", replicas=2)
    cluster.pass_seconds(60)
    assert cluster.names(PODS) == sorted([kept, other])


def test_crowded_nodes_are_thinned_first() -> None:
    cluster = Cluster(nodes=2)
    replicas(cluster, 1)
    (lonely,) = cluster.names(PODS)
    first = cluster.get(PODS, lonely)["spec"]["nodeName"]
    other = "node-1" if first == "node-0" else "node-0"
    for number in range(2):
        pod = template_of(WEB)
        cluster.make(PODS, f"guest-{number}", metadata={"labels": WEB}, spec={**pod["spec"], "nodeName": other})
        cluster.spec(REPLICASETS, "web", replicas=2 + number)
        cluster.settle()
    cluster.pass_seconds(100)
    cluster.spec(REPLICASETS, "web", replicas=2)
    cluster.pass_seconds(60)
    nodes = {pod["spec"]["nodeName"] for pod in cluster.running()}
    assert nodes == {first, other}


def test_orphans_are_adopted_and_pods_that_no_longer_match_released(cluster: Cluster) -> None:
    cluster.make(PODS, "stray", metadata={"labels": WEB}, spec=template_of(WEB)["spec"])
    replicas(cluster, 2)
    names = cluster.names(PODS)
    assert len(names) == 2
    assert "stray" in names
    assert cluster.get(PODS, "stray")["metadata"]["ownerReferences"][0]["name"] == "web"
    cluster.patch(PODS, "stray", {"metadata": {"labels": {"app": "debug"}}})
    cluster.settle()
    assert "ownerReferences" not in cluster.get(PODS, "stray")["metadata"]
    assert len(cluster.running()) == 3


def test_availability_needs_time_when_asked_for(cluster: Cluster) -> None:
    replicas(cluster, 2, minReadySeconds=30)
    status = cluster.status_of(REPLICASETS, "web")
    assert status["readyReplicas"] == 2
    assert "availableReplicas" not in status
    cluster.pass_seconds(31)
    assert cluster.status_of(REPLICASETS, "web")["availableReplicas"] == 2


def test_scaling_to_zero_and_back(cluster: Cluster) -> None:
    replicas(cluster, 3)
    cluster.spec(REPLICASETS, "web", replicas=0)
    cluster.pass_seconds(40)
    assert cluster.names(PODS) == []
    assert cluster.status_of(REPLICASETS, "web")["replicas"] == 0
    cluster.spec(REPLICASETS, "web", replicas=1)
    cluster.settle()
    assert len(cluster.running()) == 1


# --- Deployments -------------------------------------------------------------------------------------------------


def deploy(cluster: Cluster, count: int = 4, image: str = "app:1", **spec: Any) -> None:
    template = template_of(WEB, image=image)
    content = {"replicas": count, "selector": {"matchLabels": WEB}, "template": template, **spec}
    cluster.make(DEPLOYMENTS, "web", spec=content)
    cluster.settle()


def set_image(cluster: Cluster, image: str) -> None:
    cluster.spec(DEPLOYMENTS, "web", template={"spec": {"containers": [{"name": "main", "image": image}]}})


def sizes(cluster: Cluster) -> dict[str, int]:
    """Wanted sizes by image."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
        for each in cluster.objects(REPLICASETS)
    }


def test_a_deployment_makes_its_replicaset_and_becomes_available(cluster: Cluster) -> None:
    deploy(cluster)
    (made,) = cluster.objects(REPLICASETS)
    mark = made["metadata"]["labels"]["pod-template-hash"]
    assert name_of(made) == f"web-{mark}"
    assert made["spec"]["selector"]["matchLabels"] == {**WEB, "pod-template-hash": mark}
    assert made["metadata"]["annotations"][REVISION] == "1"
    assert cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "1"
    assert all(name_of(pod).startswith(f"web-{mark}-") for pod in cluster.pods())
    status = cluster.status_of(DEPLOYMENTS, "web")
    numbers = {key: value for key, value in status.items() if key != "conditions"}
    assert numbers == {
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    conditions = cluster.conditions(DEPLOYMENTS, "web")
    assert conditions["Available"]["reason"] == "MinimumReplicasAvailable"
    assert conditions["Available"]["message"] == "Deployment has minimum availability."
    assert conditions["Progressing"]["reason"] == "NewReplicaSetAvailable"
    assert conditions["Progressing"]["message"] == f'ReplicaSet "{name_of(made)}" has successfully progressed.'
    assert "ScalingReplicaSet" in cluster.reasons()


def test_a_rolling_update_keeps_within_surge_and_unavailability(cluster: Cluster) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    deploy(cluster, 8, strategy=rolling)
    set_image(cluster, "app:2")
    for _ in range(400):
        if not cluster.turn():
            break
        running = cluster.running()
        assert len(running) <= 8 + 2
        ready = [
            pod
            for pod in running
            if any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
        ]
        assert len(ready) >= 8 - 2
    cluster.pass_seconds(60)
    assert sizes(cluster) == {"app:1": 0, "app:2": 8}
    assert cluster.get(DEPLOYMENTS, "web")["metadata"]["annotations"][REVISION] == "2"
    assert cluster.status_of(DEPLOYMENTS, "web")["updatedReplicas"] == 8


def test_a_version_that_never_gets_ready_stops_the_rollout_and_times_out(cluster: Cluster) -> None:
    deploy(cluster, 4, progressDeadlineSeconds=60)
    template = template_of(WEB, image="app:2", nodeSelector={"disk": "none-such"})
    cluster.spec(DEPLOYMENTS, "web", template=template)
    cluster.pass_seconds(50)
    assert sizes(cluster) == {"app:1": 3, "app:2": 2}
    progressing = cluster.conditions(DEPLOYMENTS, "web")["Progressing"]
    assert (progressing["status"], progressing["reason"]) == ("True", "ReplicaSetUpdated")
    cluster.pass_seconds(30)
    progressing = cluster.conditions(DEPLOYMENTS, "web")["Progressing"]
    assert (progressing["status"], progressing["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert progressing["message"].endswith("has timed out progressing.")
    assert cluster.conditions(DEPLOYMENTS, "web")["Available"]["status"] == "True"


def test_scaling_after_the_rollout_has_no_deadline(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Its last progress may be long ago; pods that find no room are no reason to look again and again."""
    deploy(cluster, 4, progressDeadlineSeconds=60)
    cluster.pass_seconds(100)
    cluster.spec(DEPLOYMENTS, "web", replicas=1000)
    cluster.pass_seconds(100)
    status = cluster.status_of(DEPLOYMENTS, "web")
    assert status["replicas"] == 1000 > status["availableReplicas"]
    progressing = cluster.conditions(DEPLOYMENTS, "web")["Progressing"]
    assert (progressing["status"], progressing["reason"]) == ("True", "NewReplicaSetAvailable")
    wake = cluster.manager.next_wake(cluster.now)
    assert wake is None or wake > cluster.now
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_undo_finds_the_old_replicaset_and_raises_its_revision(cluster: Cluster) -> None:
    deploy(cluster)
    set_image(cluster, "app:2")
    cluster.pass_seconds(60)
    set_image(cluster, "app:1")
    cluster.pass_seconds(60)
    assert sizes(cluster) == {"app:1": 4, "app:2": 0}
    by_image = {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["metadata"]["annotations"]
        for each in cluster.objects(REPLICASETS)
    }
    assert by_image["app:1"][REVISION] == "3"
    assert by_image["app:1"]["deployment.kubernetes.io/revision-history"] == "1"
    assert by_image["app:2"][REVISION] == "2"


def test_restart_replaces_all_pods(cluster: Cluster) -> None:
    deploy(cluster)
    before = set(cluster.names(PODS))
    stamp = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2027-01-15T08:00:00Z"}}}
    cluster.spec(DEPLOYMENTS, "web", template=stamp)
    cluster.pass_seconds(60)
    assert len(cluster.running()) == 4
    assert not before & set(cluster.names(PODS))


def test_recreate_waits_until_the_old_pods_are_gone(cluster: Cluster) -> None:
    template = template_of(WEB, terminationGracePeriodSeconds=30)
    template["metadata"]["annotations"] = {"podium.dev/termination-seconds": "20"}
    content = {"replicas": 2, "selector": {"matchLabels": WEB}, "strategy": {"type": "Recreate"}}
    cluster.make(DEPLOYMENTS, "web", spec={**content, "template": template})
    cluster.settle()
    set_image(cluster, "app:2")
    cluster.pass_seconds(10)
    assert sizes(cluster) == {"app:1": 0}
    assert len(cluster.names(PODS)) == 2
    cluster.pass_seconds(30)
    assert sizes(cluster) == {"app:1": 0, "app:2": 2}
    assert len(cluster.running()) == 2


def test_history_is_cut_to_its_limit(cluster: Cluster) -> None:
    deploy(cluster, 1, revisionHistoryLimit=2)
    for version in range(2, 7):
        set_image(cluster, f"app:{version}")
        cluster.pass_seconds(60)
    assert sizes(cluster) == {"app:4": 0, "app:5": 0, "app:6": 1}


def test_a_paused_deployment_scales_but_does_not_roll(cluster: Cluster) -> None:
    deploy(cluster)
    cluster.spec(DEPLOYMENTS, "web", paused=True)
    set_image(cluster, "app:2")
    cluster.pass_seconds(60)
    assert sizes(cluster) == {"app:1": 4}
    assert cluster.conditions(DEPLOYMENTS, "web")["Progressing"]["reason"] == "DeploymentPaused"
    cluster.spec(DEPLOYMENTS, "web", replicas=6)
    cluster.settle()
    assert sizes(cluster) == {"app:1": 6}
    cluster.spec(DEPLOYMENTS, "web", paused=False)
    cluster.pass_seconds(60)
    assert sizes(cluster) == {"app:1": 0, "app:2": 6}


def test_scaling_in_the_middle_of_a_rollout_keeps_the_proportions(cluster: Cluster) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 2}}
    deploy(cluster, 10, strategy=rolling)
    cluster.spec(DEPLOYMENTS, "web", template=template_of(WEB, image="app:2", nodeSelector={"disk": "none-such"}))
    cluster.pass_seconds(10)
    assert sizes(cluster) == {"app:1": 8, "app:2": 4}
    cluster.spec(DEPLOYMENTS, "web", replicas=20)
    cluster.pass_seconds(10)
    after = sizes(cluster)
    assert sum(after.values()) == 22
    assert after["app:1"] == 15
    assert cluster.status_of(DEPLOYMENTS, "web")["observedGeneration"] == 3


def test_a_deployment_adopts_replicasets_that_it_selects(cluster: Cluster) -> None:
    deploy(cluster)
    cluster.remove(DEPLOYMENTS, "web", "Orphan")
    cluster.pass_seconds(5)
    (orphan,) = cluster.objects(REPLICASETS)
    assert "ownerReferences" not in orphan["metadata"]
    pods = cluster.names(PODS)
    deploy(cluster)
    cluster.settle()
    (adopted,) = cluster.objects(REPLICASETS)
    assert adopted["metadata"]["uid"] == orphan["metadata"]["uid"]
    assert adopted["metadata"]["ownerReferences"][0]["kind"] == "Deployment"
    assert cluster.names(PODS) == pods


def test_deployments_at_rest_write_nothing(cluster: Cluster) -> None:
    deploy(cluster)
    before = len(cluster.writes)
    cluster.pass_seconds(3600)
    assert cluster.writes[before:] == []


# --- StatefulSets ------------------------------------------------------------------------------------------------


def stateful(cluster: Cluster, count: int = 3, **spec: Any) -> None:
    content = {
        "replicas": count,
        "serviceName": "web",
        "selector": {"matchLabels": WEB},
        "template": template_of(WEB),
        **spec,
    }
    cluster.make(STATEFULSETS, "web", spec=content)


def versions(cluster: Cluster) -> dict[str, str]:
    return {name_of(pod): pod["spec"]["containers"][0]["image"] for pod in cluster.running()}


def new_image(cluster: Cluster, image: str) -> None:
    cluster.spec(STATEFULSETS, "web", template={"spec": {"containers": [{"name": "main", "image": image}]}})


def test_pods_come_one_after_the_other_with_their_identity(cluster: Cluster) -> None:
    stateful(cluster, 3, minReadySeconds=10)
    cluster.pass_seconds(5)
    assert cluster.names(PODS) == ["web-0"]
    cluster.pass_seconds(7)
    assert cluster.names(PODS) == ["web-0", "web-1"]
    cluster.pass_seconds(30)
    assert cluster.names(PODS) == ["web-0", "web-1", "web-2"]
    pod = cluster.get(PODS, "web-1")
    labels = pod["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-1"
    assert labels["apps.kubernetes.io/pod-index"] == "1"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "web")
    (record,) = cluster.objects(CONTROLLERREVISIONS)
    assert labels["controller-revision-hash"] == name_of(record)
    assert record["revision"] == 1
    assert record["data"]["spec"]["template"]["$patch"] == "replace"
    status = cluster.status_of(STATEFULSETS, "web")
    assert status["currentRevision"] == status["updateRevision"] == name_of(record)
    assert {key: status[key] for key in ("replicas", "readyReplicas", "currentReplicas", "availableReplicas")} == {
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "availableReplicas": 3,
    }


def test_parallel_sets_start_all_at_once_and_ordinals_may_begin_elsewhere(cluster: Cluster) -> None:
    stateful(cluster, 3, podManagementPolicy="Parallel", minReadySeconds=60, ordinals={"start": 5})
    cluster.settle()
    assert cluster.names(PODS) == ["web-5", "web-6", "web-7"]


def test_scaling_down_takes_the_highest_first(cluster: Cluster) -> None:
    stateful(cluster, 4)
    cluster.settle()
    cluster.spec(STATEFULSETS, "web", replicas=2)
    seen: list[list[str]] = []
    busy = True
    while busy:
        names = cluster.names(PODS)
        if not seen or seen[-1] != names:
            seen.append(names)
        busy = cluster.turn()
    assert seen == [["web-0", "web-1", "web-2", "web-3"], ["web-0", "web-1", "web-2"], ["web-0", "web-1"]]


def test_a_deleted_or_failed_pod_comes_back_under_its_name(cluster: Cluster) -> None:
    stateful(cluster, 2)
    cluster.settle()
    before = cluster.get(PODS, "web-0")["metadata"]["uid"]
    cluster.delete("web-0")
    cluster.pass_seconds(60)
    assert cluster.get(PODS, "web-0")["metadata"]["uid"] != before
    cluster.end_pod("web-1", 1)
    cluster.pass_seconds(60)
    assert sorted(versions(cluster)) == ["web-0", "web-1"]


def test_updates_go_from_the_highest_down_and_stop_at_the_partition(cluster: Cluster) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    stateful(cluster, 3, updateStrategy=rolling)
    cluster.settle()
    new_image(cluster, "app:2")
    cluster.pass_seconds(120)
    assert versions(cluster) == {"web-0": "app:1", "web-1": "app:2", "web-2": "app:2"}
    status = cluster.status_of(STATEFULSETS, "web")
    assert status["updatedReplicas"] == 2
    assert status["currentRevision"] != status["updateRevision"]
    cluster.delete("web-0")
    cluster.pass_seconds(60)
    assert versions(cluster)["web-0"] == "app:1", "below the partition a pod comes back as it was"
    cluster.spec(STATEFULSETS, "web", updateStrategy={"rollingUpdate": {"partition": 0}})
    cluster.pass_seconds(120)
    assert set(versions(cluster).values()) == {"app:2"}
    status = cluster.status_of(STATEFULSETS, "web")
    assert status["currentRevision"] == status["updateRevision"]
    assert status["currentReplicas"] == 3


def test_on_delete_updates_only_what_is_deleted(cluster: Cluster) -> None:
    stateful(cluster, 2, updateStrategy={"type": "OnDelete"})
    cluster.settle()
    new_image(cluster, "app:2")
    cluster.pass_seconds(60)
    assert set(versions(cluster).values()) == {"app:1"}
    cluster.delete("web-1")
    cluster.pass_seconds(60)
    assert versions(cluster) == {"web-0": "app:1", "web-1": "app:2"}


def test_going_back_to_an_old_template_reuses_its_revision(cluster: Cluster) -> None:
    stateful(cluster, 1)
    cluster.settle()
    new_image(cluster, "app:2")
    cluster.pass_seconds(60)
    new_image(cluster, "app:1")
    cluster.pass_seconds(60)
    records = sorted(cluster.objects(CONTROLLERREVISIONS), key=lambda each: int(each["revision"]))
    assert [record["revision"] for record in records] == [2, 3]
    assert records[-1]["data"]["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"


def test_revision_history_is_cut(cluster: Cluster) -> None:
    stateful(cluster, 1, revisionHistoryLimit=1)
    for version in range(1, 6):
        new_image(cluster, f"app:{version}")
        cluster.pass_seconds(60)
    assert sorted(each["revision"] for each in cluster.objects(CONTROLLERREVISIONS)) == [4, 5]


CLAIM: Document = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def test_claims_are_made_for_every_pod_and_outlive_it(cluster: Cluster) -> None:
    stateful(cluster, 2, volumeClaimTemplates=[CLAIM], podManagementPolicy="Parallel")
    cluster.pass_seconds(60)
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == ["data-web-0", "data-web-1"]
    volumes = cluster.get(PODS, "web-1")["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}} in volumes
    assert cluster.get(PERSISTENTVOLUMECLAIMS, "data-web-1")["metadata"]["labels"] == WEB
    cluster.spec(STATEFULSETS, "web", replicas=0)
    cluster.pass_seconds(60)
    cluster.remove(STATEFULSETS, "web")
    cluster.pass_seconds(60)
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == ["data-web-0", "data-web-1"]


def test_claims_go_with_the_set_or_with_the_pod_when_the_policy_says_so(cluster: Cluster) -> None:
    retention = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    stateful(
        cluster,
        2,
        volumeClaimTemplates=[CLAIM],
        podManagementPolicy="Parallel",
        persistentVolumeClaimRetentionPolicy=retention,
    )
    cluster.pass_seconds(60)
    cluster.spec(STATEFULSETS, "web", replicas=1)
    cluster.pass_seconds(120)
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == ["data-web-0"]
    cluster.remove(STATEFULSETS, "web")
    cluster.pass_seconds(120)
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == []
    assert cluster.names(PODS) == []


def test_statefulsets_at_rest_write_nothing(cluster: Cluster) -> None:
    stateful(cluster, 2, volumeClaimTemplates=[CLAIM])
    cluster.pass_seconds(60)
    before = len(cluster.writes)
    cluster.pass_seconds(3600)
    assert cluster.writes[before:] == []
