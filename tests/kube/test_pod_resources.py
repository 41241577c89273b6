"""What a pod takes of its node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.kube.pod_resources import amounts, pod_requests
from podium.kube.wire import PodSpec


def container(cpu: str, memory: str = "", **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu} | ({"memory": memory} if memory else {})
    return {"name": "c", "resources": {"requests": requests}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, {}),
        ({"containers": [{"name": "a"}]}, {}),
        ({"containers": [container("100m", "1Gi"), container("1")]}, {"cpu": 1100, "memory": 2**30}),
        # Init containers run alone: the larger need counts.
        ({"containers": [container("1")], "initContainers": [container("500m"), container("2")]}, {"cpu": 2000}),
        ({"containers": [container("3")], "initContainers": [container("2")]}, {"cpu": 3000}),
        # Sidecars stay beside everything that starts after them.
        ({"containers": [container("1")], "initContainers": [container("1", **SIDECAR)]}, {"cpu": 2000}),
        (
            {"containers": [container("1")], "initContainers": [container("1", **SIDECAR), container("4")]},
            {"cpu": 5000},
        ),
        (
            {"containers": [container("1")], "initContainers": [container("4"), container("1", **SIDECAR)]},
            {"cpu": 4000},
        ),
        # What the pod asks for as a whole replaces the sum; overhead comes on top.
        (
            {"containers": [container("1", "1Gi")], "resources": {"requests": {"cpu": "5"}}},
            {"cpu": 5000, "memory": 2**30},
        ),
        (
            {"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 1250, "memory": 2**20},
        ),
    ],
)
def test_effective_requests(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert pod_requests(msgspec.convert(spec, PodSpec)) == expected


def test_amounts_are_integers() -> None:
    found = amounts({"cpu": "1.5", "memory": "1Ki", "pods": 110, "nvidia.com/gpu": "8"})
    assert found == {"cpu": 1500, "memory": 1024, "pods": 110, "nvidia.com/gpu": 8}
    assert amounts(None) == {}
