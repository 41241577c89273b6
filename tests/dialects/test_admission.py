"""What is filled in and refused of Volcano's objects, on the embedded server with everything in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from podium.cli.dialects import hooks, objects
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.embedded.admission import _Followed
from podium.embedded.bootstrap import install
from podium.embedded.store import Record
from podium.kube.resources import NAMESPACES, PODS
from tests.embedded.server import Document, Server


@pytest.fixture
def server() -> Server:
    made = Server(hooks())
    install(made.api.objects, objects())
    return made


def queue(name: str, *, annotations: Document | None = None, **spec: Any) -> Document:
    metadata: Document = {"name": name}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": metadata, "spec": spec}


def refused(server: Server, document: Document) -> str:
    return str(server.no("POST", QUEUES.path(), document)["message"])


def changed(server: Server, name: str, **spec: Any) -> Document:
    stored = server.ok("GET", QUEUES.path("", name))
    return {**stored, "spec": {**stored["spec"], **spec}}


# --- what is there, and what is filled in ------------------------------------------------------------------


def test_root_and_default_are_there_and_stay(server: Server) -> None:
    listed = server.ok("GET", QUEUES.path())["items"]
    specs = {each["metadata"]["name"]: each["spec"] for each in listed}
    assert specs["root"] == {"weight": 1, "reclaimable": False, "dequeueStrategy": "traverse"}
    assert specs["default"] == {"weight": 1, "reclaimable": True, "dequeueStrategy": "traverse"}
    for name in specs:
        assert "is always there" in server.no("DELETE", QUEUES.path("", name))["message"]
    before = server.store.version
    install(server.api.objects, objects())
    assert server.store.version == before, "a second start changes nothing"


def test_a_definition_is_brought_up_to_date(server: Server) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.volcano.sh"
    stored = server.ok("GET", path)
    del stored["spec"]["names"]["shortNames"]
    server.ok("PUT", path, stored)
    install(server.api.objects, objects())
    assert server.ok("GET", path)["spec"]["names"]["shortNames"] == ["pg", "podgroup-v1beta1"]


def test_defaults_of_a_queue(server: Server) -> None:
    assert server.create(QUEUES, queue("a"))["spec"] == {
        "weight": 1,
        "reclaimable": True,
        "dequeueStrategy": "traverse",
    }
    assert server.create(QUEUES, queue("b", weight=0))["spec"]["weight"] == 1
    marks = {"volcano.sh/hierarchy": "sci/dev", "volcano.sh/hierarchy-weights": "2/8"}
    made = server.create(QUEUES, queue("c", annotations=marks))["metadata"]["annotations"]
    assert made == {"volcano.sh/hierarchy": "root/sci/dev", "volcano.sh/hierarchy-weights": "1/2/8"}


def group(name: str, namespace: str = "default", **spec: Any) -> Document:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": PODGROUPS.api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def test_a_write_reads_no_more_queues_the_more_there_are(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read = [0]
    convert = msgspec.convert

    def counted(obj: Any, *args: Any, **kwargs: Any) -> Any:
        read[0] += 1
        return convert(obj, *args, **kwargs)

    monkeypatch.setattr(msgspec, "convert", counted)
    costs = []
    for number in range(60):
        read[0] = 0
        server.ok("POST", QUEUES.path(), queue(f"q-{number}"))
        costs.append(read[0])
    assert costs[-1] == costs[0]


def test_the_queue_of_a_group(server: Server) -> None:
    assert server.create(PODGROUPS, group("a"))["spec"]["queue"] == "default"
    annotations = {"scheduling.volcano.sh/queue-name": "science"}
    server.create(NAMESPACES, {"metadata": {"name": "lab", "annotations": annotations}})
    assert server.create(PODGROUPS, group("a", "lab"), "lab")["spec"]["queue"] == "science"
    assert server.create(PODGROUPS, group("b", "lab", queue="default"), "lab")["spec"]["queue"] == "science"
    made = server.create(PODGROUPS, group("c", "lab", queue="own"), "lab")
    assert made["spec"]["queue"] == "own"
    made["spec"]["queue"] = "default"
    assert server.ok("PUT", PODGROUPS.path("lab", "c"), made)["spec"]["queue"] == "default", "only at creation"


def test_the_status_of_a_group_is_a_part_of_it(server: Server) -> None:
    made = server.create(PODGROUPS, {**group("a"), "status": {"phase": "Inqueue"}})
    assert made["status"] == {"phase": "Inqueue"}
    server.no("PUT", PODGROUPS.path("default", "a"), {**made, "status": {"phase": "Asleep"}})
    assert server.ok("GET", PODGROUPS.path("default", "a"))["status"] == {"phase": "Inqueue"}


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ({"weight": -1}, "spec.weight"),
        ({"capability": {"cpu": "-1"}}, "spec.capability.cpu"),
        ({"capability": {"cpu": -1}}, "spec.capability.cpu"),
        ({"capability": {"cpu": "many"}}, "spec.capability.cpu"),
        (
            {"guarantee": {"resource": {"cpu": 1}}, "deserved": {"memory": "1Gi"}},
            "must name each resource of the guarantee",
        ),
        (
            {"guarantee": {"resource": {"cpu": 2}}, "deserved": {"cpu": "1500m"}},
            "must name each resource",
        ),
        ({"deserved": {"cpu": 2}, "capability": {"cpu": "1"}}, "deserved must not be above capability"),
        ({"dequeueStrategy": "lifo"}, "spec.dequeueStrategy"),
        ({"parent": "a"}, "spec.parent: Invalid value"),
        ({"parent": "gone"}, 'spec.parent: Not found: "gone"'),
        ({"priority": -1}, "spec.priority"),
    ],
)
def test_queues_that_are_wrong_in_themselves(server: Server, spec: Document, reported: str) -> None:
    assert reported in refused(server, queue("a", **spec))


def test_a_queue_may_be_limited_where_it_deserves_nothing(server: Server) -> None:
    server.create(QUEUES, queue("a", capability={"cpu": 2}, deserved={"memory": "1Gi"}))
    server.create(QUEUES, queue("b", guarantee={"resource": {"cpu": 2}}, deserved={"cpu": "2000m"}))


@pytest.mark.parametrize(
    ("path", "weights", "reported"),
    [
        ("root/a", "1", "must have as many parts"),
        ("root/a", "1/x", "'x' is not a number above 0"),
        ("root/a", "1/0", "'0' is not a number above 0"),
        ("root/a", "1/nan", "'nan' is not a number above 0"),
        ("root/sci", "1/1", "queue deep is below it"),
    ],
)
def test_paths_in_the_hierarchy(server: Server, path: str, weights: str, reported: str) -> None:
    def marks(path: str, weights: str) -> Document:
        return {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}

    server.create(QUEUES, queue("deep", annotations=marks("root/sci/dev", "1/2/3")))
    server.create(QUEUES, queue("beside", annotations=marks("root/science", "1/2")))
    assert reported in refused(server, queue("x", annotations=marks(path, weights)))


def test_queues_are_five_deep_at_the_most(server: Server) -> None:
    server.create(QUEUES, queue("q1"))
    for level in range(2, 6):
        server.create(QUEUES, queue(f"q{level}", parent=f"q{level - 1}"))
    assert "queues would be 6 deep" in refused(server, queue("q6", parent="q5"))
    server.create(QUEUES, queue("other"))
    moved = changed(server, "q1", parent="other")
    assert "queues would be 6 deep" in server.no("PUT", QUEUES.path("", "q1"), moved)["message"]


def test_no_queue_is_above_itself(server: Server) -> None:
    server.create(QUEUES, queue("a"))
    server.create(QUEUES, queue("b", parent="a"))
    server.create(QUEUES, queue("c", parent="b"))
    answer = server.no("PUT", QUEUES.path("", "a"), changed(server, "a", parent="c"))
    assert "queue c is below this one" in answer["message"]


def test_a_parent_with_pods_of_its_own(server: Server) -> None:
    made = server.create(QUEUES, queue("a"))
    status = {**made, "status": {"allocated": {"pods": "3"}}}
    server.ok("PUT", QUEUES.path("", "a", "status"), status)
    assert "queue a has 3 pods of its own" in refused(server, queue("b", parent="a"))


def test_a_queue_with_queues_below_it_stays(server: Server) -> None:
    server.create(QUEUES, queue("a"))
    server.create(QUEUES, queue("b", parent="a"))
    assert "queue a has queues below it: b" in server.no("DELETE", QUEUES.path("", "a"))["message"]
    server.ok("DELETE", QUEUES.path("", "b"))
    server.ok("DELETE", QUEUES.path("", "a"))


def test_nothing_is_above_the_root(server: Server) -> None:
    reported = server.no("PUT", QUEUES.path("", "root"), changed(server, "root", parent="default"))["message"]
    assert "spec.parent: Forbidden" in reported


@pytest.mark.parametrize(
    ("marks", "wrong"),
    [
        ({"volcano.sh/jdb-min-available": "3"}, ()),
        ({"volcano.sh/jdb-max-unavailable": "99%"}, ()),
        ({"volcano.sh/jdb-min-available": "0"}, ("min-available",)),
        ({"volcano.sh/jdb-min-available": "100%"}, ("min-available",)),
        ({"volcano.sh/jdb-max-unavailable": "some"}, ("max-unavailable",)),
        ({"volcano.sh/jdb-min-available": "-1", "volcano.sh/jdb-max-unavailable": "1"}, ("min", "max")),
    ],
)
def test_budgets_of_pods(server: Server, marks: Document, wrong: tuple[str, ...]) -> None:
    spec = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "app"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": marks}, "spec": spec}
    path = PODS.path("default")
    if wrong:
        reported = server.no("POST", path, pod)["message"]
        assert all(f"metadata.annotations[volcano.sh/jdb-{each}" in reported for each in wrong)
        server.ok("POST", path, {**pod, "spec": {**spec, "schedulerName": "other"}})
    else:
        server.ok("POST", path, pod)


def test_children_within_their_parent(server: Server) -> None:
    parent: Document = {"capability": {"cpu": 8}, "deserved": {"cpu": 4}, "guarantee": {"resource": {"cpu": 2}}}
    server.create(QUEUES, queue("p", **parent))
    assert "spec.capability[cpu]" in refused(server, queue("a", parent="p", capability={"cpu": 9}))
    server.create(QUEUES, queue("a", parent="p", capability={"cpu": 8, "memory": "1Gi"}, deserved={"cpu": 3}))
    reported = refused(server, queue("b", parent="p", deserved={"cpu": 2}))
    assert "spec.deserved[cpu]" in reported
    assert 'Invalid value: "2": the queues below p would have 5 together, and p has 4' in reported
    both: Document = {"deserved": {"cpu": 1}, "guarantee": {"resource": {"cpu": 1}}}
    server.create(QUEUES, queue("b", parent="p", **both))
    smaller = changed(server, "p", capability={"cpu": 7})
    assert "queue a below it may have 8" in server.no("PUT", QUEUES.path("", "p"), smaller)["message"]
    poorer = changed(server, "p", deserved={"cpu": 3})
    assert "the queues below p would have 4 together" in server.no("PUT", QUEUES.path("", "p"), poorer)["message"]
    server.ok("PUT", QUEUES.path("", "p"), changed(server, "p", weight=5))
    assert "spec.capability[cpu]" in refused(server, queue("c", parent="a", capability={"cpu": "8001m"}))
    server.create(QUEUES, queue("free", capability={"cpu": 100}, deserved={"cpu": 100}))


@pytest.mark.parametrize("phase", ["", "Pending", "Inqueue", "Running", "Unknown"])
def test_a_queue_with_groups_stays(server: Server, phase: str) -> None:
    server.create(QUEUES, queue("team"))
    server.create(PODGROUPS, group("mine", queue="team"), "default")
    server.create(PODGROUPS, group("other", queue="default"), "default")

    def becomes(phase: str) -> None:
        document = server.ok("GET", PODGROUPS.path("default", "mine"))
        server.ok("PUT", PODGROUPS.path("default", "mine"), {**document, "status": {"phase": phase}})

    if phase:
        becomes(phase)
    reported = server.no("DELETE", QUEUES.path("", "team"))["message"]
    assert reported.endswith(
        "queue team has a pod group that has not ended (default/mine): close it, and delete it when it is empty"
    )
    becomes("Completed")
    server.ok("DELETE", QUEUES.path("", "team"))


def test_the_root_keeps_its_amounts(server: Server) -> None:
    answer = server.no("PUT", QUEUES.path("", "root"), changed(server, "root", capability={"cpu": 1}))
    assert "of the root cannot change" in answer["message"]
    server.ok("PUT", QUEUES.path("", "root"), changed(server, "root", weight=2))


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ({"minMember": -1}, "spec.minMember"),
        ({"minResources": {"cpu": "-1"}}, "spec.minResources.cpu"),
        ({"queue": "Not_A_Name"}, "spec.queue"),
        ({"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}}, "exclude each other"),
        ({"networkTopology": {"mode": "medium"}}, "spec.networkTopology.mode"),
        ({"subGroupPolicy": [{"subGroupSize": 0}]}, "spec.subGroupPolicy[0].subGroupSize"),
    ],
)
def test_groups_that_are_wrong(server: Server, spec: Document, reported: str) -> None:
    assert reported in server.no("POST", PODGROUPS.path("default"), group("a", **spec))["message"]


def test_groups_that_are_right(server: Server) -> None:
    made = server.create(
        PODGROUPS,
        group(
            "a",
            minMember=0,
            queue="",
            minTaskMember={"w": 1},
            minResources={"cpu": 1, "nvidia.com/gpu": "4"},
            networkTopology={"highestTierName": "rack"},
            subGroupPolicy=[{"name": "s", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["k"]}],
        ),
    )
    assert made["spec"]["queue"] == "default"
    assert made["spec"]["networkTopology"] == {"mode": "hard", "highestTierName": "rack"}
    assert made["spec"]["subGroupPolicy"][0]["subGroupSize"] == 1


def test_a_write_reads_no_queue_that_it_does_not_concern(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each queue is read once when it was written, and shown to whom it concerns, however many there are."""
    read, shown = [0], [0]

    def counted(record: Record) -> Document:
        read[0] += 1
        return original(record)

    def told(following: _Followed, *wanted: Any) -> Iterator[Document]:
        for document in (having if wanted else everything)(following, *wanted):
            shown[0] += 1
            yield document

    original, having, everything = Record.document, _Followed.having, _Followed.all
    monkeypatch.setattr(Record, "document", counted)
    monkeypatch.setattr(_Followed, "having", told)
    monkeypatch.setattr(_Followed, "all", told)
    server.create(QUEUES, queue("parent", capability={"cpu": 100}))
    for number in range(2):
        server.create(QUEUES, queue(f"sibling-{number}", parent="parent", capability={"cpu": 1}))
    costs = []
    for size in (10, 40):
        for number in range(size):
            server.create(QUEUES, queue(f"there-{size}-{number}", weight=1, parent="root"))
        server.create(QUEUES, queue("warm", weight=1))
        read[0] = shown[0] = 0
        for number in range(5):
            name = f"q{size}-{number}"
            server.create(QUEUES, queue(name, weight=1, capability={"cpu": 2}))
            server.ok("PUT", QUEUES.path("", name), changed(server, name, parent="parent"))
            server.ok("DELETE", QUEUES.path("", name))
        server.ok("DELETE", QUEUES.path("", "warm"))
        costs.append((read[0], shown[0]))
    assert costs[0] == costs[1], "the more queues there are, the more are read"
    assert costs[0][1] > 0, "the two beside it are shown"


def test_who_is_below_follows_every_write(server: Server) -> None:
    """Moved, deleted, made again: what a queue's neighbours are is what is stored now."""
    for name, parent in (("a", "root"), ("b", "root"), ("leaf", "a")):
        server.create(QUEUES, queue(name, parent=parent))
    assert "queue a has queues below it: leaf" in server.no("DELETE", QUEUES.path("", "a"))["message"]
    server.ok("PUT", QUEUES.path("", "leaf"), changed(server, "leaf", parent="b"))
    server.ok("DELETE", QUEUES.path("", "a"))
    assert "queue b has queues below it: leaf" in server.no("DELETE", QUEUES.path("", "b"))["message"]
    server.ok("DELETE", QUEUES.path("", "leaf"))
    server.ok("DELETE", QUEUES.path("", "b"))
    steps = {"volcano.sh/hierarchy": "root/x/y", "volcano.sh/hierarchy-weights": "1/1/1"}
    server.create(QUEUES, queue("deep", annotations=steps))
    above = {"volcano.sh/hierarchy": "root/x", "volcano.sh/hierarchy-weights": "1/1"}
    assert "queue deep is below it, at root/x/y" in refused(server, queue("flat", annotations=above))
    server.ok("DELETE", QUEUES.path("", "deep"))
    server.create(QUEUES, queue("flat", annotations=above))
