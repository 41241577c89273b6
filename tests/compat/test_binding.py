"""Binding: a compare-and-set that many may try and one wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.compat.client import Answer, Document, Server
from tests.compat.objects import unplaced_pod


def pods(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/pods" + (f"/{name}" if name else "")


def binding(name: str, node: str, uid: str = "", **annotations: str) -> Document:
    metadata: Document = {"name": name}
    if uid:
        metadata["uid"] = uid
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def bind(server: Server, ns: str, name: str, body: Document) -> Answer:
    return server.http("POST", pods(ns, name) + "/binding", body)


def test_of_twenty_bindings_one_wins(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))

    def attempt(number: int) -> Answer:
        return bind(server, ns, "p", binding("p", f"far-away-{number}"))

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(attempt, range(20)))
    winners = [number for number, answer in enumerate(answers) if answer.status == 201]
    assert len(winners) == 1
    refused = [answer for answer in answers if answer.status != 201]
    assert {(answer.status, answer.reason) for answer in refused} == {(409, "Conflict")}
    assert server.get(pods(ns, "p"))["spec"]["nodeName"] == f"far-away-{winners[0]}"


def test_a_binding_places_the_pod_and_says_so(server: Server, ns: str) -> None:
    made = server.create(pods(ns), unplaced_pod("p", annotations={"kept": "1"}))
    body = binding("p", "far-away", made["metadata"]["uid"], **{"podium.dev/gang-plan": "g/1/4", "kept": "2"})
    answer = bind(server, ns, "p", body)
    assert answer.status == 201
    assert (answer.json["kind"], answer.json["status"]) == ("Status", "Success")
    pod = server.get(pods(ns, "p"))
    assert pod["spec"]["nodeName"] == "far-away"
    assert pod["metadata"]["annotations"] == {"podium.dev/gang-plan": "g/1/4", "kept": "2"}
    conditions = {condition["type"]: condition["status"] for condition in pod["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"


def test_a_second_binding_names_the_node_that_has_the_pod(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    assert bind(server, ns, "p", binding("p", "far-away")).status == 201
    again = bind(server, ns, "p", binding("p", "elsewhere"))
    assert (again.status, again.reason) == (409, "Conflict")
    assert again.json["message"] == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "far-away"'
    )


def test_a_binding_for_another_pod_of_that_name(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    answer = bind(server, ns, "p", binding("p", "far-away", "11111111-1111-1111-1111-111111111111"))
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert "nodeName" not in server.get(pods(ns, "p"))["spec"]


def test_a_pod_that_is_being_deleted_is_not_bound(server: Server, ns: str) -> None:
    body = unplaced_pod("p")
    body["metadata"]["finalizers"] = ["stories.example/hold"]
    server.create(pods(ns), body)
    server.http("DELETE", pods(ns, "p")).expect(200)
    answer = bind(server, ns, "p", binding("p", "far-away"))
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert "is being deleted, cannot be assigned to a host" in answer.json["message"]
    server.merge(pods(ns, "p"), {"metadata": {"finalizers": None}})


def test_a_gated_pod_is_not_bound(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p", schedulingGates=[{"name": "stories.example/wait"}]))
    reasons = {c["type"]: c.get("reason") for c in server.get(pods(ns, "p"))["status"].get("conditions", [])}
    assert reasons.get("PodScheduled") == "SchedulingGated"
    answer = bind(server, ns, "p", binding("p", "far-away"))
    assert answer.status == 409
    server.merge(pods(ns, "p"), {"spec": {"schedulingGates": None}})
    assert bind(server, ns, "p", binding("p", "far-away")).status == 201


@pytest.mark.parametrize("target", [{"kind": "Node", "name": ""}, {"kind": "Pod", "name": "x"}, {}], ids=str)
def test_a_binding_to_no_node(server: Server, ns: str, target: Document) -> None:
    """A real server forgets to call this Invalid and answers 500 without a reason; so it is what clients know."""
    server.create(pods(ns), unplaced_pod("p"))
    answer = bind(server, ns, "p", {**binding("p", ""), "target": target})
    assert (answer.status, answer.reason) == (500, ""), answer.body
    assert answer.json["message"].startswith("target.")
    assert "nodeName" not in server.get(pods(ns, "p"))["spec"]


def test_a_binding_of_a_missing_pod(server: Server, ns: str) -> None:
    answer = bind(server, ns, "absent", binding("absent", "far-away"))
    assert (answer.status, answer.reason) == (404, "NotFound")


def test_a_binding_under_another_name(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    answer = bind(server, ns, "p", binding("q", "far-away"))
    assert (answer.status, answer.reason) == (400, "BadRequest")


def test_the_older_door(server: Server, ns: str) -> None:
    """POST to /bindings, which some schedulers still use, does the same."""
    server.create(pods(ns), unplaced_pod("p"))
    answer = server.http("POST", f"/api/v1/namespaces/{ns}/bindings", binding("p", "far-away"))
    assert answer.status == 201
    assert server.get(pods(ns, "p"))["spec"]["nodeName"] == "far-away"


def test_a_dry_run_of_a_binding(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    path = pods(ns, "p") + "/binding"
    assert server.http("POST", path, binding("p", "far-away"), query={"dryRun": "All"}).status == 201
    assert "nodeName" not in server.get(pods(ns, "p"))["spec"]
