"""The pod that all measurements use: a training worker of about 3 KB as a server stores it."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def pod(name: str, *, node: str = "", gated: bool = False) -> Document:
    """A pod of a gang: resources, environment, volumes and tolerations as such pods have them.

    A gated one is left alone by schedulers: then the server is measured, and not what they write about the pod.
    """
    spec: Document = {
        "restartPolicy": "Never",
        "priority": 0,
        "containers": [
            {
                "name": "worker",
                "image": "registry.example/team/trainer:2026.11",
                "command": ["python", "-m", "trainer", "--epochs", "90", "--batch", "256"],
                "env": [{"name": f"TRAINER_OPTION_{number}", "value": f"value-{number}"} for number in range(12)],
                "ports": [{"name": "collective", "containerPort": 23456, "protocol": "TCP"}],
                "resources": {
                    "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                    "limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                },
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": True},
                    {"name": "scratch", "mountPath": "/scratch"},
                ],
            }
        ],
        "volumes": [
            {"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "10Gi"}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "100Gi"}},
        ],
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        ],
    }
    if node:
        spec["nodeName"] = node
    if gated:
        spec["schedulingGates"] = [{"name": "podium.dev/benchmark"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "trainer", "team": "vision", "job": "resnet", "role": "worker"},
            "annotations": {
                "scheduling.k8s.io/group-name": "resnet-gang",
                "example.com/comment": "what people and tools leave behind on a pod " * 12,
            },
        },
        "spec": spec,
    }
