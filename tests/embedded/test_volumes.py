"""Volume claims and Services: from the object a user writes to what it is bound to."""

from __future__ import annotations

from typing import Any

import pytest

from podium.kube.resources import (
    ENDPOINTS,
    ENDPOINTSLICES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    SERVICES,
    STORAGECLASSES,
)
from tests.embedded.cluster import Cluster, Document, template_of, without_kubelets

SELECTED_NODE = "volume.kubernetes.io/selected-node"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(without_kubelets, nodes=2)


def storage_class(cluster: Cluster, name: str, mode: str = "Immediate", **more: Any) -> None:
    content = {"provisioner": "example.com/disk", "volumeBindingMode": mode, **more}
    cluster.make(STORAGECLASSES, name, **content)


def claim(
    cluster: Cluster, name: str = "data", size: str = "1Gi", metadata: Document | None = None, **spec: Any
) -> str:
    """Makes a claim and tells its phase."""
    content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    cluster.make(PERSISTENTVOLUMECLAIMS, name, metadata=metadata or {}, spec=content)
    cluster.settle()
    return phase(cluster, name)


def phase(cluster: Cluster, name: str = "data") -> str:
    return str(cluster.status_of(PERSISTENTVOLUMECLAIMS, name).get("phase"))


def volume(cluster: Cluster, name: str, size: str = "1Gi", **spec: Any) -> None:
    content = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "manual",
        **spec,
    }
    cluster.make(PERSISTENTVOLUMES, name, spec=content)
    cluster.settle()


def volume_phase(cluster: Cluster, name: str) -> str:
    return str(cluster.status_of(PERSISTENTVOLUMES, name).get("phase"))


def bound_to(cluster: Cluster, name: str = "data") -> str:
    return str(cluster.get(PERSISTENTVOLUMECLAIMS, name)["spec"].get("volumeName", ""))


def test_an_immediate_class_is_provisioned_at_once(cluster: Cluster) -> None:
    storage_class(cluster, "fast", reclaimPolicy="Delete")
    assert claim(cluster, storageClassName="fast") == "Bound"
    made = cluster.get(PERSISTENTVOLUMECLAIMS, "data")
    name = f"pvc-{made['metadata']['uid']}"
    assert bound_to(cluster) == name
    assert made["status"]["capacity"] == {"storage": "1Gi"}
    assert made["status"]["accessModes"] == ["ReadWriteOnce"]
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert made["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    found = cluster.get(PERSISTENTVOLUMES, name)
    assert found["spec"]["claimRef"]["uid"] == made["metadata"]["uid"]
    assert found["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert found["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert volume_phase(cluster, name) == "Bound"
    before = len(cluster.writes)
    cluster.pass_seconds(600)
    assert cluster.writes[before:] == []


def test_deleting_the_claim_deletes_or_keeps_the_volume(cluster: Cluster) -> None:
    storage_class(cluster, "fast", reclaimPolicy="Delete")
    storage_class(cluster, "careful", reclaimPolicy="Retain")
    claim(cluster, "one", storageClassName="fast")
    claim(cluster, "two", storageClassName="careful")
    kept = bound_to(cluster, "two")
    for name in ("one", "two"):
        cluster.remove(PERSISTENTVOLUMECLAIMS, name)
    cluster.settle()
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == []
    assert cluster.names(PERSISTENTVOLUMES) == [kept]
    assert volume_phase(cluster, kept) == "Released"


def test_a_used_claim_stays_until_its_pod_is_gone(cluster: Cluster) -> None:
    storage_class(cluster, "fast")
    claim(cluster, storageClassName="fast")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.pod("user", "node-0", volumes=volumes)
    cluster.settle()
    cluster.remove(PERSISTENTVOLUMECLAIMS, "data")
    cluster.settle()
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == ["data"]
    cluster.delete("user", grace=0)
    cluster.settle()
    assert cluster.names(PERSISTENTVOLUMECLAIMS) == []
    assert cluster.names(PERSISTENTVOLUMES) == []


def test_a_waiting_class_waits_for_a_node_and_provisions_within_its_reach(cluster: Cluster) -> None:
    for number, zone in enumerate("ab"):
        cluster.patch(NODES, f"node-{number}", {"metadata": {"labels": {ZONE: zone}}})
    storage_class(cluster, "local", "WaitForFirstConsumer")
    assert claim(cluster, storageClassName="local") == "Pending"
    assert cluster.names(PERSISTENTVOLUMES) == []
    assert "WaitForFirstConsumer" in cluster.reasons()
    cluster.patch(PERSISTENTVOLUMECLAIMS, "data", {"metadata": {"annotations": {SELECTED_NODE: "node-1"}}})
    cluster.settle()
    assert phase(cluster) == "Bound"
    affinity = cluster.get(PERSISTENTVOLUMES, bound_to(cluster))["spec"]["nodeAffinity"]
    (term,) = affinity["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ZONE, "operator": "In", "values": ["b"]}]


def test_a_node_outside_of_the_allowed_topologies_is_handed_back(cluster: Cluster) -> None:
    cluster.patch(NODES, "node-0", {"metadata": {"labels": {ZONE: "a"}}})
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    storage_class(cluster, "zonal", "WaitForFirstConsumer", allowedTopologies=topologies)
    claim(cluster, storageClassName="zonal", metadata={"annotations": {SELECTED_NODE: "node-0"}})
    assert phase(cluster) == "Pending"
    assert SELECTED_NODE not in (cluster.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"].get("annotations") or {})
    cluster.patch(NODES, "node-1", {"metadata": {"labels": {ZONE: "c"}}})
    cluster.patch(PERSISTENTVOLUMECLAIMS, "data", {"metadata": {"annotations": {SELECTED_NODE: "node-1"}}})
    cluster.settle()
    assert phase(cluster) == "Bound"


def test_an_immediate_class_allows_all_of_its_topologies(cluster: Cluster) -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]
    storage_class(cluster, "zonal", allowedTopologies=topologies)
    claim(cluster, storageClassName="zonal")
    affinity = cluster.get(PERSISTENTVOLUMES, bound_to(cluster))["spec"]["nodeAffinity"]
    (term,) = affinity["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["b", "c"]


def test_a_claim_without_a_class_takes_the_default(cluster: Cluster) -> None:
    assert claim(cluster) == "Pending"
    assert cluster.get(PERSISTENTVOLUMECLAIMS, "data")["spec"]["storageClassName"] == "standard"


def test_the_smallest_volume_that_fits_is_taken(cluster: Cluster) -> None:
    volume(cluster, "big", "100Gi")
    volume(cluster, "small", "500Mi")
    volume(cluster, "right", "2Gi")
    volume(cluster, "readonly", "1Gi", accessModes=["ReadOnlyMany"])
    volume(cluster, "block", "1Gi", volumeMode="Block")
    assert volume_phase(cluster, "right") == "Available"
    assert claim(cluster, storageClassName="manual") == "Bound"
    assert bound_to(cluster) == "right"
    assert volume_phase(cluster, "right") == "Bound"
    assert claim(cluster, "next", storageClassName="manual") == "Bound"
    assert bound_to(cluster, "next") == "big"
    assert claim(cluster, "last", storageClassName="manual") == "Pending"
    volume(cluster, "late", "5Gi")
    assert phase(cluster, "last") == "Bound"


def test_a_selector_chooses_among_volumes(cluster: Cluster) -> None:
    volume(cluster, "plain")
    cluster.make(
        PERSISTENTVOLUMES,
        "gold",
        metadata={"labels": {"tier": "gold"}},
        spec={
            "capacity": {"storage": "9Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
            "storageClassName": "manual",
        },
    )
    claim(cluster, storageClassName="manual", selector={"matchLabels": {"tier": "gold"}})
    assert bound_to(cluster) == "gold"


def test_a_volume_that_names_its_claim_is_kept_for_it(cluster: Cluster) -> None:
    volume(cluster, "promised", "9Gi", claimRef={"namespace": "default", "name": "mine"})
    volume(cluster, "free", "1Gi")
    assert volume_phase(cluster, "promised") == "Available"
    claim(cluster, "other", storageClassName="manual")
    assert bound_to(cluster, "other") == "free"
    claim(cluster, "mine", storageClassName="manual")
    assert bound_to(cluster, "mine") == "promised"
    assert cluster.get(PERSISTENTVOLUMES, "promised")["spec"]["claimRef"]["uid"]


def test_a_claim_that_names_its_volume_gets_it(cluster: Cluster) -> None:
    volume(cluster, "small", "1Gi")
    volume(cluster, "wanted", "9Gi")
    assert claim(cluster, storageClassName="manual", volumeName="wanted") == "Bound"
    assert claim(cluster, "late", storageClassName="manual", volumeName="unborn") == "Pending"
    volume(cluster, "unborn")
    assert phase(cluster, "late") == "Bound"


def test_a_claim_whose_volume_vanished_is_lost(cluster: Cluster) -> None:
    volume(cluster, "v")
    claim(cluster, storageClassName="manual")
    cluster.remove(PERSISTENTVOLUMES, "v")
    cluster.settle()
    assert cluster.names(PERSISTENTVOLUMES) == ["v"], "a bound volume is protected"
    cluster.patch(PERSISTENTVOLUMES, "v", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert cluster.names(PERSISTENTVOLUMES) == []
    assert phase(cluster) == "Lost"


def test_no_provisioner_means_none(cluster: Cluster) -> None:
    cluster.make(STORAGECLASSES, "none", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="Immediate")
    assert claim(cluster, storageClassName="none") == "Pending"
    assert claim(cluster, "unknown", storageClassName="no-such-class") == "Pending"
    storage_class(cluster, "no-such-class")
    cluster.settle()
    assert phase(cluster, "unknown") == "Bound"


def test_two_claims_never_share_a_volume(cluster: Cluster) -> None:
    for name in ("one", "two"):
        content = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        cluster.make(PERSISTENTVOLUMECLAIMS, name, spec={**content, "storageClassName": "manual"})
    volume(cluster, "only")
    cluster.pass_seconds(10)
    assert sorted(phase(cluster, name) for name in ("one", "two")) == ["Bound", "Pending"]


# --- Services ----------------------------------------------------------------------------------------------------

WEB = {"app": "web"}


def serve(cluster: Cluster, **spec: Any) -> None:
    cluster.make(SERVICES, "web", spec={"selector": WEB, "ports": [{"port": 80, "targetPort": "http"}], **spec})
    cluster.settle()


def endpoint_pod(cluster: Cluster, name: str, address: str, ready: bool = True) -> None:
    spec = template_of(WEB, nodeName="node-0")["spec"]
    spec["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    cluster.make(PODS, name, metadata={"labels": WEB}, spec=spec)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    cluster.pod_status(name, phase="Running", podIP=address, podIPs=[{"ip": address}], conditions=[condition])
    cluster.settle()


def test_a_service_leads_to_its_pods(cluster: Cluster) -> None:
    serve(cluster)
    endpoint_pod(cluster, "a", "10.0.0.1")
    endpoint_pod(cluster, "b", "10.0.0.2", ready=False)
    (found,) = [each for each in cluster.objects(ENDPOINTSLICES) if each["metadata"]["name"].startswith("web-")]
    assert found["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
    assert found["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    reported = {each["addresses"][0]: each["conditions"]["ready"] for each in found["endpoints"]}
    assert reported == {"10.0.0.1": True, "10.0.0.2": False}
    (subset,) = cluster.get(ENDPOINTS, "web")["subsets"]
    assert [each["ip"] for each in subset["addresses"]] == ["10.0.0.1"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.0.0.2"]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
    before = len(cluster.writes)
    cluster.pass_seconds(60)
    assert cluster.writes[before:] == []


def test_endpoints_follow_pods_and_go_with_the_service(cluster: Cluster) -> None:
    serve(cluster)
    endpoint_pod(cluster, "a", "10.0.0.1")
    cluster.delete("a", grace=0)
    cluster.settle()
    assert not cluster.get(ENDPOINTS, "web").get("subsets")
    cluster.remove(SERVICES, "web")
    cluster.settle()
    assert "web" not in cluster.names(ENDPOINTS)
    assert not any(name.startswith("web-") for name in cluster.names(ENDPOINTSLICES))


def test_a_service_without_a_selector_is_left_alone(cluster: Cluster) -> None:
    serve(cluster, selector=None)
    assert "web" not in cluster.names(ENDPOINTS)
