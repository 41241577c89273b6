"""Reading collections: pages of one moment, what a resource version asks for, selectors, other forms."""

from __future__ import annotations

import pytest

from tests.compat.client import Document, Server
from tests.compat.objects import unplaced_pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def secrets(ns: str, name: str = "") -> str:
    # Not ConfigMaps: a real cluster puts one of its own into every namespace, at a moment of its choosing.
    return f"/api/v1/namespaces/{ns}/secrets" + (f"/{name}" if name else "")


def names(collection: Document) -> list[str]:
    return [item["metadata"]["name"] for item in collection["items"]]


@pytest.fixture
def five(server: Server, ns: str) -> str:
    for index in range(5):
        body = {"metadata": {"name": f"s{index}", "labels": {"parity": "odd" if index % 2 else "even"}}}
        server.create(secrets(ns), body)
    return ns


def test_pages_show_one_moment(server: Server, five: str) -> None:
    first = server.get(secrets(five), limit=2)
    assert names(first) == ["s0", "s1"]
    assert first["metadata"]["remainingItemCount"] == 3
    server.create(secrets(five), {"metadata": {"name": "s1a"}})
    server.http("DELETE", secrets(five, "s3")).expect(200)
    second = server.get(secrets(five), limit=2, **{"continue": first["metadata"]["continue"]})
    assert names(second) == ["s2", "s3"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = server.get(secrets(five), limit=2, **{"continue": second["metadata"]["continue"]})
    assert names(last) == ["s4"]
    assert "continue" not in last["metadata"]
    assert "remainingItemCount" not in last["metadata"]
    assert names(server.get(secrets(five))) == ["s0", "s1", "s1a", "s2", "s4"]


def test_pages_of_a_selection(server: Server, five: str) -> None:
    first = server.get(secrets(five), limit=2, labelSelector="parity=even")
    assert names(first) == ["s0", "s2"]
    assert "remainingItemCount" not in first["metadata"]  # a selection is not counted ahead
    token = first["metadata"]["continue"]
    assert names(server.get(secrets(five), limit=2, labelSelector="parity=even", **{"continue": token})) == ["s4"]


def test_pages_cross_namespaces_in_order(server: Server, five: str) -> None:
    seen: list[tuple[str, str]] = []
    page = server.get("/api/v1/secrets", limit=3)
    while True:
        seen += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"].get("continue")
        if not token:
            break
        page = server.get("/api/v1/secrets", limit=3, **{"continue": token})
    assert seen == sorted(seen)
    assert [name for namespace, name in seen if namespace == five] == ["s0", "s1", "s2", "s3", "s4"]


def test_a_version_with_a_continue_token_is_refused(server: Server, five: str) -> None:
    token = server.get(secrets(five), limit=2)["metadata"]["continue"]
    answer = server.http("GET", secrets(five), query={"limit": 2, "continue": token, "resourceVersion": "5"})
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert answer.json["message"] == "specifying resource version is not allowed when using continue"


def test_exactly_an_earlier_version(server: Server, five: str) -> None:
    then = server.get(secrets(five))["metadata"]["resourceVersion"]
    server.http("DELETE", secrets(five, "s0")).expect(200)
    server.create(secrets(five), {"metadata": {"name": "s9"}})
    exact = server.get(secrets(five), resourceVersion=then, resourceVersionMatch="Exact")
    assert names(exact) == ["s0", "s1", "s2", "s3", "s4"]
    assert exact["metadata"]["resourceVersion"] == then


@pytest.mark.parametrize(
    "query", [{}, {"resourceVersion": "0"}, {"resourceVersionMatch": "NotOlderThan"}], ids=str
)
def test_not_older_than(server: Server, five: str, query: dict[str, str]) -> None:
    now = server.get(secrets(five))["metadata"]["resourceVersion"]
    wish = {"resourceVersion": now, **query} if "resourceVersionMatch" in query else query
    answer = server.get(secrets(five), **wish)
    assert names(answer) == ["s0", "s1", "s2", "s3", "s4"]
    assert int(answer["metadata"]["resourceVersion"]) >= int(now)


@pytest.mark.parametrize("path", ["", "s0"])
def test_a_version_of_the_future(server: Server, five: str, path: str) -> None:
    answer = server.http("GET", secrets(five, path), query={"resourceVersion": "99999999"})
    assert (answer.status, answer.reason) == (504, "Timeout")
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert "Too large resource version: 99999999, current: " in answer.json["message"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("parity=even", "s0 s2 s4"),
        ("parity==odd", "s1 s3"),
        ("parity!=odd", "s0 s2 s4"),
        ("parity in (odd,none)", "s1 s3"),
        ("parity notin (odd)", "s0 s2 s4"),
        ("parity", "s0 s1 s2 s3 s4"),
        ("!parity", ""),
        ("parity=even,parity!=odd", "s0 s2 s4"),
        ("other!=x", "s0 s1 s2 s3 s4"),
        ("parity=", ""),
    ],
)
def test_label_selectors(server: Server, five: str, selector: str, expected: str) -> None:
    assert names(server.get(secrets(five), labelSelector=selector)) == expected.split()


def test_field_selectors_of_pods(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/pods"
    for name in ("a", "b"):
        server.create(path, unplaced_pod(name))
    server.create(path, {**unplaced_pod("placed"), "spec": {**unplaced_pod("x")["spec"], "nodeName": "far-away"}})

    def chosen(selector: str) -> list[str]:
        return names(server.get(path, fieldSelector=selector))

    assert chosen("metadata.name=a") == ["a"]
    assert chosen("metadata.name!=a") == ["b", "placed"]
    assert chosen("spec.nodeName=far-away") == ["placed"]
    assert chosen("spec.nodeName=") == ["a", "b"]
    assert chosen("spec.schedulerName=nobody,status.phase=Pending,metadata.name!=b") == ["a", "placed"]
    assert chosen("spec.restartPolicy=Always,status.phase!=Pending") == []
    assert chosen(f"metadata.namespace={ns}") == ["a", "b", "placed"]
    server.http("DELETE", f"{path}/placed", {"gracePeriodSeconds": 0}).expect(200)


def test_items_of_a_list_do_not_repeat_their_kind(server: Server, five: str) -> None:
    listed = server.get(secrets(five))
    assert (listed["kind"], listed["apiVersion"]) == ("SecretList", "v1")
    assert not {"kind", "apiVersion"} & set(listed["items"][0])


def test_a_table(server: Server, five: str) -> None:
    table = server.http("GET", secrets(five), query={"limit": 2}, headers={"Accept": TABLE}).expect(200)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [(column["name"], column["type"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", "string"), ("Type", "string"), ("Data", "string"), ("Age", "string")]
    assert table["metadata"]["continue"]
    row = table["rows"][0]
    assert row["cells"][:3] == ["s0", "Opaque", 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    bare = server.http(
        "GET", secrets(five, "s0"), query={"includeObject": "None"}, headers={"Accept": TABLE}
    ).expect(200)
    assert bare["rows"][0]["object"] is None
    whole = server.http(
        "GET", secrets(five, "s0"), query={"includeObject": "Object"}, headers={"Accept": TABLE}
    ).expect(200)
    assert whole["rows"][0]["object"]["kind"] == "Secret"


def test_only_the_metadata(server: Server, five: str) -> None:
    accept = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
    one = server.http("GET", secrets(five, "s0"), headers={"Accept": accept.format("")}).expect(200)
    assert (one["kind"], set(one)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})
    many = server.http("GET", secrets(five), headers={"Accept": accept.format("List")}).expect(200)
    assert many["kind"] == "PartialObjectMetadataList"
    assert {item["kind"] for item in many["items"]} == {"PartialObjectMetadata"}


def test_the_first_acceptable_form_is_taken(server: Server, five: str) -> None:
    accept = f"text/html,{TABLE},application/json"
    assert server.http("GET", secrets(five), headers={"Accept": accept}).json["kind"] == "Table"
    accept = "application/vnd.unknown, application/json;q=0.9, */*;q=0.1"
    assert server.http("GET", secrets(five), headers={"Accept": accept}).json["kind"] == "SecretList"


def test_the_source_of_events(server: Server, ns: str) -> None:
    """Whoever reports an event is its source, by either of the two names; each group knows its own fields."""
    core, newer = f"/api/v1/namespaces/{ns}/events", f"/apis/events.k8s.io/v1/namespaces/{ns}/events"
    about = {"kind": "Pod", "namespace": ns, "name": "p"}
    server.create(core, {"metadata": {"name": "a"}, "involvedObject": about, "source": {"component": "one"}})
    server.create(
        newer,
        {
            "metadata": {"name": "b"},
            "regarding": about,
            "reportingController": "two",
            "reportingInstance": "i",
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "action": "Act",
            "reason": "Because",
            "type": "Normal",
        },
    )
    both = {"source": {"component": "one"}, "reportingComponent": "two"}
    server.create(core, {"metadata": {"name": "c"}, "involvedObject": about, **both})

    def names(path: str, selector: str) -> list[str] | int:
        answer = server.http("GET", path, query={"fieldSelector": selector})
        if answer.status != 200:
            return answer.status
        return [each["metadata"]["name"] for each in answer.json["items"]]

    assert names(core, "source=one") == ["a", "c"]
    assert names(core, "source=two") == ["b"]
    assert names(core, "source!=one") == ["b"]
    assert names(core, "source=") == []
    assert names(core, "reportingComponent=two") == ["b", "c"]
    assert names(core, "reportingController=two") == 400
    assert names(newer, "reportingController=two") == ["b", "c"]
    assert names(newer, "regarding.name=p,reason=Because") == ["b"]
    assert names(newer, "source=one") == 400
    assert names(newer, "reportingComponent=two") == 400
