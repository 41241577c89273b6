"""Volumes that wait for a pod: the scheduler chooses node and volume together, a volume controller binds them."""

from __future__ import annotations

from tests.compat.client import Document, Server
from tests.compat.objects import pod
from tests.compat.test_volumes import claim, volume

HOST = "kubernetes.io/hostname"


def waiting_class(name: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def local_volume(name: str, node: str, storage_class: str, size: str = "1Gi") -> Document:
    expression = {"key": HOST, "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return volume(name, size, storageClassName=storage_class, nodeAffinity=affinity)


def mounting(name: str, *claims: str) -> Document:
    return pod(name, volumes=[{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims])


def test_a_pod_goes_where_its_volume_is(server: Server, ns: str) -> None:
    own = f"local-{ns}"
    volumes = [
        local_volume(f"{ns}-large", "node-002", own, "9Gi"),
        local_volume(f"{ns}-small", "node-002", own, "2Gi"),
        local_volume(f"{ns}-tiny", "node-001", own, "1Gi"),
    ]
    server.kubectl("apply", "-f", "-", input=[waiting_class(own), *volumes])
    server.kubectl("apply", "-n", ns, "-f", "-", input=[claim("c", "2Gi", own), mounting("p", "c")])
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=60s")
    found = server.get(f"/api/v1/namespaces/{ns}/pods/p")
    assert found["spec"]["nodeName"] == "node-002"
    bound = server.get(f"/api/v1/namespaces/{ns}/persistentvolumeclaims/c")
    assert (bound["status"]["phase"], bound["spec"]["volumeName"]) == ("Bound", f"{ns}-small")
    taken = server.get(f"/api/v1/persistentvolumes/{ns}-small")
    assert taken["status"]["phase"] == "Bound"
    assert taken["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    assert taken["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"


def test_pods_with_a_claim_each_get_a_volume_each(server: Server, ns: str) -> None:
    own = f"local-{ns}"
    nodes = ["node-000", "node-001", "node-003"]
    volumes = [local_volume(f"{ns}-{node}", node, own) for node in nodes]
    claims = [claim(f"c{index}", "1Gi", own) for index in range(3)]
    pods = [mounting(f"p{index}", f"c{index}") for index in range(3)]
    server.kubectl("apply", "-f", "-", input=[waiting_class(own), *volumes])
    server.kubectl("apply", "-n", ns, "-f", "-", input=[*claims, *pods])
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p0", "pod/p1", "pod/p2", "--timeout=60s")
    found = server.get(f"/api/v1/namespaces/{ns}/pods")["items"]
    assert sorted(each["spec"]["nodeName"] for each in found) == nodes
    server.kubectl("apply", "-n", ns, "-f", "-", input=[claim("c3", "1Gi", own), mounting("p3", "c3")])
    path = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    server.kubectl("wait", "-n", ns, path, "pod/p3", "--timeout=60s")
    server.kubectl("apply", "-f", "-", input=local_volume(f"{ns}-late", "node-002", own))
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p3", "--timeout=60s")
