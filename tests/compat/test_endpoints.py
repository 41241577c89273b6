"""Where Services lead to: EndpointSlices and Endpoints as the controllers of either cluster keep them."""

from __future__ import annotations

import json

from tests.compat.client import Document, Server, eventually
from tests.compat.objects import container, pod

Places = set[tuple[str, int]]  # (pod, port number)


def _service(name: str, selector: Document, *ports: Document, **spec: object) -> Document:
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": list(ports), **spec}}


def _web(name: str, **numbers: int) -> Document:
    """A pod with named ports, of which each has its own number in each pod."""
    ports = [{"name": port, "containerPort": number} for port, number in numbers.items()]
    return pod(name, labels={"app": "web"}, containers=[container(ports=ports)])


def _slices(server: Server, ns: str, service: str) -> list[Document]:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
    found = server.get(path, labelSelector=f"kubernetes.io/service-name={service}")["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def _by_slices(slices: list[Document]) -> Places:
    return {
        (endpoint["targetRef"]["name"], port["port"])
        for each in slices
        for endpoint in each["endpoints"] or ()
        for port in each["ports"] or ()
        if endpoint["conditions"]["ready"]
    }


def _by_endpoints(server: Server, ns: str, service: str) -> Places:
    answer = server.http("GET", f"/api/v1/namespaces/{ns}/endpoints/{service}")
    subsets = answer.json.get("subsets") or () if answer.status == 200 else ()
    return {
        (address["targetRef"]["name"], port["port"])
        for subset in subsets
        for address in subset.get("addresses", ())
        for port in subset.get("ports", ())
    }


def _settled(server: Server, ns: str, service: str, wanted: Places) -> list[Document]:
    """The slices, once both forms lead to the same wanted places."""

    def found() -> list[Document] | None:
        slices = _slices(server, ns, service)
        agreed = _by_slices(slices) == wanted == _by_endpoints(server, ns, service)
        return slices if agreed else None

    return eventually(found, f"{service} leads to {sorted(wanted)}")


def test_a_named_port_has_the_number_that_each_pod_gives_it(server: Server, ns: str) -> None:
    named = {"name": "http", "port": 80, "targetPort": "web"}
    fixed = {"name": "metrics", "port": 90, "targetPort": 9100}
    server.create(f"/api/v1/namespaces/{ns}/services", _service("web", {"app": "web"}, named, fixed))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("one", web=3000))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("two", web=3001, other=3002))
    slices = _settled(server, ns, "web", {("one", 3000), ("two", 3001), ("one", 9100), ("two", 9100)})
    assert len(slices) == 2, "pods with other numbers are in other slices"

    endpoints = server.get(f"/api/v1/namespaces/{ns}/endpoints/web")
    shape = {
        (
            frozenset(address["targetRef"]["name"] for address in subset["addresses"]),
            frozenset(port["port"] for port in subset["ports"]),
        )
        for subset in endpoints["subsets"]
    }
    assert shape == {
        (frozenset({"one"}), frozenset({3000})),
        (frozenset({"two"}), frozenset({3001})),
        (frozenset({"one", "two"}), frozenset({9100})),
    }, "ports that the same pods have form a subset"

    server.http("DELETE", f"/api/v1/namespaces/{ns}/pods/one").expect(200)
    eventually(
        lambda: len(_settled(server, ns, "web", {("two", 3001), ("two", 9100)})) == 1,
        "the slice of the deleted pod goes",
    )


def test_a_pod_without_the_named_port_is_in_a_slice_without_ports(server: Server, ns: str) -> None:
    named = {"port": 80, "targetPort": "web"}
    server.create(f"/api/v1/namespaces/{ns}/services", _service("web", {"app": "web"}, named))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("none"))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("one", web=3000))

    def both() -> list[Document] | None:
        slices = _slices(server, ns, "web")
        return slices if sum(len(each["endpoints"] or ()) for each in slices) == 2 else None

    slices = eventually(both, "both pods are in slices")
    portless = [each for each in slices if not each["ports"]]
    assert [each["endpoints"][0]["targetRef"]["name"] for each in portless] == ["none"]
    _settled(server, ns, "web", {("one", 3000)})


def test_a_service_that_leads_nowhere_has_an_empty_slice(server: Server, ns: str) -> None:
    server.create(f"/api/v1/namespaces/{ns}/services", _service("web", {"app": "web"}, {"port": 80}))
    (empty,) = eventually(lambda: _slices(server, ns, "web"), "a slice of the Service")
    assert (empty["endpoints"] or [], empty["ports"] or []) == ([], [])
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("one", web=3000))
    _settled(server, ns, "web", {("one", 80)})
    server.http("DELETE", f"/api/v1/namespaces/{ns}/pods/one").expect(200)

    def nowhere() -> list[Document] | None:
        slices = _slices(server, ns, "web")
        return (
            slices if [(each["endpoints"] or [], each["ports"] or []) for each in slices] == [([], [])] else None
        )

    eventually(nowhere, "one slice without endpoints and ports again")


def test_deleted_slices_come_back(server: Server, ns: str) -> None:
    named = {"port": 80, "targetPort": "web"}
    server.create(f"/api/v1/namespaces/{ns}/services", _service("web", {"app": "web"}, named))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("one", web=3000))
    server.create(f"/api/v1/namespaces/{ns}/pods", _web("two", web=3001))
    wanted = {("one", 3000), ("two", 3001)}
    before = {each["metadata"]["uid"] for each in _settled(server, ns, "web", wanted)}
    server.http("DELETE", f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices").expect(200)
    eventually(
        lambda: before.isdisjoint(each["metadata"]["uid"] for each in _settled(server, ns, "web", wanted)),
        "new slices of the same content",
    )


def test_a_slice_holds_a_hundred_endpoints(server: Server, ns: str) -> None:
    """Pods that are on no node, whose addresses the story writes itself."""
    service = _service("many", {"app": "many"}, {"port": 80}, publishNotReadyAddresses=True)
    server.create(f"/api/v1/namespaces/{ns}/services", service)
    for index in range(120):
        _addressed_pod(server, ns, f"p-{index}", f"10.9.0.{index + 1}")

    def sizes() -> list[int] | None:
        found = sorted(len(each["endpoints"] or ()) for each in _slices(server, ns, "many"))
        return found if sum(found) == 120 else None

    found = eventually(sizes, "120 endpoints in slices")
    assert max(found) <= 100, found
    assert len(found) == 2, found


def test_endpoints_made_by_hand_are_mirrored(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/endpoints"
    server.create(
        f"/api/v1/namespaces/{ns}/services", {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 80}]}}
    )
    subset = {"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}
    server.create(path, {"metadata": {"name": "db", "labels": {"team": "a"}}, "subsets": [subset]})

    def leads_to(*places: tuple[str, int, bool]) -> bool:
        found = {
            (endpoint["addresses"][0], port["port"], endpoint["conditions"]["ready"])
            for each in _slices(server, ns, "db")
            for endpoint in each["endpoints"] or ()
            for port in each["ports"] or ()
        }
        return found == set(places)

    eventually(lambda: leads_to(("10.1.2.3", 80, True)), "a slice that says the same")
    (mirror,) = _slices(server, ns, "db")
    labels = mirror["metadata"]["labels"]
    assert labels["endpointslice.kubernetes.io/managed-by"] == "endpointslicemirroring-controller.k8s.io"
    assert labels["team"] == "a"
    assert mirror["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"

    more = {"addresses": [{"ip": "10.2.3.4"}], "notReadyAddresses": [{"ip": "10.2.3.5"}], "ports": [{"port": 81}]}
    server.merge(f"{path}/db", {"subsets": [more]})
    eventually(lambda: leads_to(("10.2.3.4", 81, True), ("10.2.3.5", 81, False)), "the slice follows")
    server.merge(f"{path}/db", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}})
    eventually(lambda: not _slices(server, ns, "db"), "who does not want a mirror has none")
    server.merge(f"{path}/db", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": None}}})
    eventually(lambda: _slices(server, ns, "db"), "and has one again")
    server.http("DELETE", f"{path}/db").expect(200)
    eventually(lambda: not _slices(server, ns, "db"), "the mirror goes with what it shows")


def _addressed_pod(server: Server, ns: str, name: str, ip: str) -> None:
    made = pod(name, labels={"app": "many"}, schedulerName="nobody")
    server.create(f"/api/v1/namespaces/{ns}/pods", made)
    status = {"status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}}
    server.http(
        "PATCH",
        f"/api/v1/namespaces/{ns}/pods/{name}/status",
        json.dumps(status).encode(),
        content_type="application/merge-patch+json",
    ).expect(200)
