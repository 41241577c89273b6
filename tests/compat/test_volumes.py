"""Claims and volumes that an administrator made: they find each other, and a claim in use is kept."""

from __future__ import annotations

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import pod

CLASS = "stories-static"


def volume(name: str, size: str, **spec: object) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        },
    }


def claim(name: str, size: str, storage_class: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
        },
    }


def test_a_claim_takes_the_smallest_volume_that_is_large_enough(server: Server, ns: str) -> None:
    own = f"{CLASS}-{ns}"
    volumes = [volume(f"{ns}-{size.lower()}", size, storageClassName=own) for size in ("1Gi", "5Gi", "9Gi")]
    server.kubectl("apply", "-f", "-", input=volumes)
    server.kubectl("apply", "-n", ns, "-f", "-", input=claim("c", "2Gi", own))
    server.kubectl("wait", "-n", ns, "--for=jsonpath={.status.phase}=Bound", "pvc/c", "--timeout=30s")
    head, row = server.kubectl("get", "pvc", "c", "-n", ns).lines
    columns = "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE"
    assert " ".join(head.split()) == columns
    assert row.split()[:6] == ["c", "Bound", f"{ns}-5gi", "5Gi", "RWO", own]
    taken = server.kubectl("get", "pv", f"{ns}-5gi", "--no-headers").lines[0].split()
    assert taken[4:6] == ["Bound", f"{ns}/c"]
    server.kubectl("delete", "pvc", "c", "-n", ns, "--timeout=30s")
    server.kubectl("wait", "--for=jsonpath={.status.phase}=Released", f"pv/{ns}-5gi", "--timeout=30s")
    server.kubectl("delete", "pv", *[f"{ns}-{size}" for size in ("1gi", "5gi", "9gi")], "--timeout=30s")


def test_a_claim_that_finds_nothing_waits(server: Server, ns: str) -> None:
    server.kubectl("apply", "-n", ns, "-f", "-", input=claim("c", "2Gi", f"{CLASS}-none"))
    eventually(
        lambda: server.kubectl("get", "pvc", "c", "-n", ns, "--no-headers").lines[0].split()[1] == "Pending",
        "a phase",
    )


def test_a_claim_in_use_is_kept_until_its_pod_is_gone(server: Server, ns: str) -> None:
    own = f"{CLASS}-{ns}"
    server.kubectl("apply", "-f", "-", input=volume(f"{ns}-1gi", "1Gi", storageClassName=own))
    body = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    server.kubectl("apply", "-n", ns, "-f", "-", input=[claim("c", "1Gi", own), body])
    server.kubectl("wait", "-n", ns, "--for=condition=Ready", "pod/p", "--timeout=30s")
    found = server.get(f"/api/v1/namespaces/{ns}/persistentvolumeclaims/c")
    assert found["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    server.kubectl("delete", "pvc", "c", "-n", ns, "--wait=false")
    assert server.http("GET", f"/api/v1/namespaces/{ns}/persistentvolumeclaims/c").status == 200
    server.kubectl("delete", "pod", "p", "-n", ns, "--timeout=30s")
    server.kubectl("wait", "-n", ns, "--for=delete", "pvc/c", "--timeout=30s")
    server.kubectl("delete", "pv", f"{ns}-1gi", "--timeout=30s")
