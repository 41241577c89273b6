"""Eviction: deletion that asks the disruption budgets first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.compat.client import Answer, Document, Server, eventually
from tests.compat.objects import deployment, unplaced_pod

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pods(ns: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{ns}/pods" + (f"/{name}" if name else "")


def budgets(ns: str, name: str = "") -> str:
    return f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets" + (f"/{name}" if name else "")


def evict(server: Server, ns: str, name: str, **options: object) -> Answer:
    body: Document = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return server.http("POST", pods(ns, name) + "/eviction", body)


def make_running(server: Server, ns: str, name: str, app: str) -> None:
    """A pod that is Running and ready as far as the API knows.  No kubelet has it: a story owns its status."""
    server.create(pods(ns), unplaced_pod(name, labels={"app": app}, nodeName="far-away"))
    server.merge(pods(ns, name) + "/status", {"status": READY})


def make_budget(server: Server, ns: str, name: str, app: str, **bound: object) -> None:
    spec = {"selector": {"matchLabels": {"app": app}}, **bound}
    server.create(budgets(ns), {"metadata": {"name": name}, "spec": spec})


def settled(server: Server, ns: str, name: str, healthy: int) -> Document:
    """The budget's status once its controller has counted the pods."""

    def probe() -> Document | None:
        budget = server.get(budgets(ns, name))
        status: Document = budget.get("status", {})
        seen = status.get("observedGeneration") == budget["metadata"]["generation"]
        return status if seen and status.get("currentHealthy") == healthy else None

    return eventually(probe, f"budget {name} counts {healthy} healthy pods")


def test_without_a_budget_eviction_is_deletion(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    answer = evict(server, ns, "p")
    assert answer.status == 201
    assert (answer.json["kind"], answer.json["status"]) == ("Status", "Success")
    eventually(lambda: server.http("GET", pods(ns, "p")).status == 404, "the pod is gone")


def test_a_budget_lets_through_what_it_can_spare(server: Server, ns: str) -> None:
    for name in ("a", "b", "c"):
        make_running(server, ns, name, "web")
    make_budget(server, ns, "keep-two", "web", minAvailable=2)
    status = settled(server, ns, "keep-two", 3)
    assert (status["disruptionsAllowed"], status["desiredHealthy"], status["expectedPods"]) == (1, 2, 3)
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda name: evict(server, ns, name), ("a", "b", "c")))
    assert sorted(answer.status for answer in answers) == [201, 429, 429]
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.reason == "TooManyRequests"
    assert refused.json["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert [cause["reason"] for cause in refused.json["details"]["causes"]] == ["DisruptionBudget"]
    message = refused.json["details"]["causes"][0]["message"]
    assert "The disruption budget keep-two" in message


def test_a_percentage_counts_from_what_the_owner_wants(server: Server, ns: str) -> None:
    body = {**deployment("web", 4), "kind": "ReplicaSet"}
    body["spec"]["template"]["spec"].update(schedulerName="nobody", nodeName="far-away")
    server.create(f"/apis/apps/v1/namespaces/{ns}/replicasets", body)

    def made() -> list[str]:
        found = server.get(pods(ns), labelSelector="app=web")["items"]
        return [pod["metadata"]["name"] for pod in found] if len(found) == 4 else []

    names = eventually(made, "four pods")
    for name in names:
        server.merge(pods(ns, name) + "/status", {"status": READY})
    make_budget(server, ns, "half", "web", minAvailable="50%")
    status = settled(server, ns, "half", 4)
    assert (status["disruptionsAllowed"], status["expectedPods"]) == (2, 4)
    assert [evict(server, ns, name).status for name in names[:3]] == [201, 201, 429]


def test_a_percentage_of_pods_without_an_owner_spares_nothing(server: Server, ns: str) -> None:
    make_running(server, ns, "p", "web")
    make_budget(server, ns, "half", "web", minAvailable="50%")
    eventually(lambda: "observedGeneration" in server.get(budgets(ns, "half")).get("status", {}), "a status")
    assert evict(server, ns, "p").status == 429


def test_two_budgets_on_one_pod_cannot_be_asked(server: Server, ns: str) -> None:
    make_running(server, ns, "p", "web")
    make_budget(server, ns, "one", "web", minAvailable=0)
    make_budget(server, ns, "two", "web", minAvailable=0)
    for name in ("one", "two"):
        settled(server, ns, name, 1)
    answer = evict(server, ns, "p")
    assert (answer.status, answer.reason) == (500, "")
    assert "more than one PodDisruptionBudget" in answer.json["message"]


def test_a_pod_that_has_ended_needs_no_leave(server: Server, ns: str) -> None:
    make_running(server, ns, "alive", "web")
    make_running(server, ns, "done", "web")
    make_budget(server, ns, "all", "web", minAvailable="100%")
    settled(server, ns, "all", 2)
    server.merge(pods(ns, "done") + "/status", {"status": {"phase": "Succeeded"}})
    assert evict(server, ns, "alive").status == 429
    assert evict(server, ns, "done").status == 201


def test_a_pod_that_never_started_needs_no_leave(server: Server, ns: str) -> None:
    make_running(server, ns, "alive", "web")
    server.create(pods(ns), unplaced_pod("waiting", labels={"app": "web"}))
    make_budget(server, ns, "all", "web", minAvailable=1)
    settled(server, ns, "all", 1)
    assert evict(server, ns, "waiting").status == 201
    assert evict(server, ns, "alive").status == 429


def test_a_pod_that_is_not_there(server: Server, ns: str) -> None:
    answer = evict(server, ns, "absent")
    assert (answer.status, answer.reason) == (404, "NotFound")


def test_a_dry_run(server: Server, ns: str) -> None:
    server.create(pods(ns), unplaced_pod("p"))
    assert evict(server, ns, "p", dryRun=["All"]).status == 201
    assert server.http("GET", pods(ns, "p")).status == 200


def test_an_evicted_pod_says_that_it_was_disrupted(server: Server, ns: str) -> None:
    make_running(server, ns, "p", "web")
    assert evict(server, ns, "p", gracePeriodSeconds=30).status == 201
    pod = server.get(pods(ns, "p"))
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    condition = next(c for c in pod["status"]["conditions"] if c["type"] == "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "EvictionByEvictionAPI")
    server.http("DELETE", pods(ns, "p"), {"gracePeriodSeconds": 0}).expect(200)
