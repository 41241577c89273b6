"""A user of Koordinator's gangs on podium: the document's examples and what becomes of them, on both servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.compat.client import Server, eventually

Document = dict[str, Any]

G = "gang.scheduling.koordinator.sh"
LABEL = "pod-group.scheduling.sigs.k8s.io"
PATIENCE = 60.0


@pytest.fixture
def spaces(server: Server, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The document's two namespaces."""
    number = abs(hash(request.node.name)) % 10_000
    names = (f"namespace-a-{number}", f"namespace-b-{number}")
    for name in names:
        server.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield names
    for name in names:
        server.http("DELETE", f"/api/v1/namespaces/{name}")


def pod(name: str, annotations: dict[str, str], labels: dict[str, str] | None = None, **spec: Any) -> Document:
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
        "spec": {"schedulerName": "koord-scheduler", "containers": [container], **spec},
    }


def create(server: Server, ns: str, documents: list[Document]) -> None:
    for document in documents:
        server.create(f"/api/v1/namespaces/{ns}/pods", document)


def bound(server: Server, ns: str) -> int:
    pods = server.get(f"/api/v1/namespaces/{ns}/pods")["items"]
    return sum(bool(each["spec"].get("nodeName")) for each in pods)


def said(server: Server, ns: str, name: str) -> Document:
    """The condition that says why a pod waits."""
    found = server.get(f"/api/v1/namespaces/{ns}/pods/{name}").get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == "PodScheduled"), {})


def role(name: str, groups: str) -> dict[str, str]:
    """The annotations of the document's jobs with two roles."""
    return {
        f"{G}/name": name,
        f"{G}/waiting-time": "3600s",
        f"{G}/min-available": "5",
        f"{G}/total-number": "5",
        f"{G}/mode": "Strict",
        f"{G}/groups": groups,
    }


def test_the_basic_example_by_a_group(server: Server, spaces: tuple[str, str]) -> None:
    ns = spaces[0]
    create(server, ns, [pod(f"a-{n}", {}, {LABEL: "gang-a"}) for n in range(4)])
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang-a", "creationTimestamp": "2022-07-11T18:26:33Z"},
        "spec": {
            "minMember": 5,
            "minResources": {"cpu": "5", "memory": "2048Mi"},
            "scheduleTimeoutSeconds": 600,
        },
    }
    server.kubectl("create", "-n", ns, "-f", "-", input=group)
    eventually(lambda: "needs 5 members" in said(server, ns, "a-0").get("message", ""), "it is told why", PATIENCE)
    create(server, ns, [pod("a-4", {}, {LABEL: "gang-a"})])
    eventually(lambda: bound(server, ns) == 5, "all five are bound", PATIENCE)
    path = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{ns}/podgroups/gang-a"
    eventually(lambda: server.get(path).get("status", {}).get("phase") == "Running", "it runs", PATIENCE)
    assert server.get(path)["status"]["scheduled"] == 5


def test_two_roles_of_one_group_start_together(server: Server, spaces: tuple[str, str]) -> None:
    a, b = spaces
    both = f'["{a}/gang-a", "{b}/gang-b"]'
    create(server, a, [pod(f"a-{n}", role("gang-a", both)) for n in range(5)])
    eventually(lambda: said(server, a, "a-0").get("reason") == "WaitingForGang", "the first one waits", PATIENCE)
    assert bound(server, a) == 0
    assert f"for gang {a}/gang-a: 5 of 5" in said(server, a, "a-0")["message"]
    create(server, b, [pod(f"b-{n}", role("gang-b", both)) for n in range(5)])
    eventually(lambda: bound(server, a) == bound(server, b) == 5, "both start", PATIENCE)


def test_two_roles_without_a_group_start_apart(server: Server, spaces: tuple[str, str]) -> None:
    a, b = spaces
    create(server, a, [pod(f"a-{n}", role("gang-a", "")) for n in range(5)])
    eventually(lambda: bound(server, a) == 5, "the first starts alone", PATIENCE)
    create(server, b, [pod(f"b-{n}", role("gang-b", "")) for n in range(5)])
    eventually(lambda: bound(server, b) == 5, "and so does the second", PATIENCE)
    path = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{a}/podgroups/gang-a"
    made = eventually(lambda: server.http("GET", path).status == 200, "it has a group that shows it", PATIENCE)
    assert made
    assert server.get(path)["metadata"]["annotations"] == {"PodGroupFromPodAnnotation": "true"}


def test_a_gang_that_is_not_whole_in_time(server: Server, spaces: tuple[str, str]) -> None:
    ns = spaces[0]
    marks = {f"{G}/name": "late", f"{G}/min-available": "3", f"{G}/mode": "NonStrict", f"{G}/waiting-time": "3s"}
    create(server, ns, [pod(f"late-{n}", marks) for n in range(2)])
    create(server, ns, [pod("late-2", marks, nodeSelector={"no": "such"})])

    def marked() -> bool:
        pods = server.get(f"/api/v1/namespaces/{ns}/pods")["items"]
        return all(each["metadata"]["annotations"].get(f"{G}/timeout") == "true" for each in pods)

    eventually(marked, "all three show that time is over", PATIENCE)
    eventually(lambda: said(server, ns, "late-0").get("reason") == "GangTimedOut", "and say what to do", PATIENCE)
    assert f"remove the annotation {G}/timeout" in said(server, ns, "late-0")["message"]
    assert bound(server, ns) == 0
    server.http("DELETE", f"/api/v1/namespaces/{ns}/pods/late-2", query={"gracePeriodSeconds": 0})
    create(server, ns, [pod("late-3", {**marks})])
    eventually(marked, "newcomers are refused, too", PATIENCE)
    server.kubectl("annotate", "pod", "--all", "-n", ns, f"{G}/timeout-")
    eventually(lambda: bound(server, ns) == 3, "then it is tried again", PATIENCE)


def test_a_number_in_an_annotation_is_refused_with_its_name(server: Server, spaces: tuple[str, str]) -> None:
    document = pod("bad", {})
    document["metadata"]["annotations"] = {f"{G}/min-available": 5}
    answer = server.http("POST", f"/api/v1/namespaces/{spaces[0]}/pods", document)
    assert answer.status in (400, 422)
    assert "annotations" in answer.json["message"]
