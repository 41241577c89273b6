"""What a pod takes of its node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.kube.pod_resources import amounts, pod_requests
from podium.kube.wire import PodSpec, PodStatus


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


# --- resizing in place -------------------------------------------------------------------------------------


def resized(asked: str, has: str, granted: str, reason: str = "", **more: Any) -> dict[str, int]:
    """What a pod takes whose spec asks, whose container has, and whose node has granted so much CPU."""
    spec = msgspec.convert({"containers": [container(asked)], **more}, PodSpec)
    seen = {"name": "c", "resources": {"requests": {"cpu": has}}, "allocatedResources": {"cpu": granted}}
    status: dict[str, Any] = {"containerStatuses": [seen]}
    if reason:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return pod_requests(spec, msgspec.convert(status, PodStatus))


def test_a_pod_that_is_being_resized_holds_the_largest_of_all() -> None:
    assert resized("1", "1", "1") == {"cpu": 1000}
    assert resized("3", "1", "2") == {"cpu": 3000}, "it will grow"
    assert resized("1", "1", "2") == {"cpu": 2000}, "it shrinks, and the node has not let go yet"
    assert resized("1", "2", "1") == {"cpu": 2000}, "nor has the container"
    assert resized("3", "1", "1", "Deferred") == {"cpu": 3000}
    assert resized("3", "1", "1", "Infeasible") == {"cpu": 1000}, "it will never get it here"
    assert resized("3", "1", "2", overhead={"cpu": "100m"}) == {"cpu": 3100}


def test_the_pod_as_a_whole_is_resized_alike() -> None:
    spec = msgspec.convert(
        {"containers": [container("1")], "resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}, PodSpec
    )
    assert pod_requests(spec, PodStatus()) == {"cpu": 4000, "memory": 2**30}
    status = msgspec.convert(
        {"resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"memory": "2Gi"}}, PodStatus
    )
    assert pod_requests(spec, status) == {"cpu": 5000, "memory": 2**31}
