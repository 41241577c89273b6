"""Simulated nodes: registration, admission of pods, addresses, failure and return, leases."""

from __future__ import annotations

import ipaddress

import msgspec
import pytest

from podium.embedded.nodes.addresses import Lent, Ranges, node_address, pod_range
from podium.embedded.nodes.foreign import ForeignNodes
from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.node_status import marked_nodes, unless_foreign
from podium.embedded.nodes.shapes import Shape
from podium.kube.changes import Create
from podium.kube.resources import LEASES, NODES, PODS
from podium.kube.transport import MERGE_PATCH, Request
from tests.embedded.server import Document
from tests.embedded.world import World, condition


@pytest.fixture
def world() -> World:
    return World()


def make_node(world: World, name: str, **more: Document) -> None:
    world.create(NODES.path(), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **more})


# --- registration ------------------------------------------------------------------------------------------


def test_a_node_made_by_hand_becomes_a_simulated_one(world: World) -> None:
    make_node(world, "mine")
    world.settle()
    node = world.get(NODES, "mine")
    status = node["status"]
    assert condition(status, "Ready")["status"] == "True"
    assert condition(status, "MemoryPressure")["status"] == "False"
    assert status["capacity"] == {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
    assert status["allocatable"] == status["capacity"]
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "Hostname"}
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert status["nodeInfo"]["osImage"] == "podium simulated"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "mine"
    assert node["spec"]["podCIDR"] == node["spec"]["podCIDRs"][0]
    assert world.manager.next_wake(world.now) is None


def test_what_the_user_gave_stays(world: World) -> None:
    given = {
        "capacity": {"cpu": "4", "nvidia.com/gpu": "2"},
        "allocatable": {"cpu": "3"},
        "addresses": [{"type": "InternalIP", "address": "192.168.1.1"}],
        "nodeInfo": {"kubeletVersion": "v1.30.0", "osImage": "mine"},
    }
    make_node(world, "mine", status=given, spec={"podCIDR": "10.1.2.0/24", "podCIDRs": ["10.1.2.0/24"]})
    world.settle()
    node = world.get(NODES, "mine")
    status = node["status"]
    assert status["capacity"]["cpu"] == "4"
    assert status["capacity"]["pods"] == "110"
    assert status["allocatable"]["cpu"] == "3"
    assert status["allocatable"]["nvidia.com/gpu"] == "2"
    assert [each["address"] for each in status["addresses"]] == ["192.168.1.1"]
    assert status["nodeInfo"]["osImage"] == "mine"
    assert node["spec"]["podCIDR"] == "10.1.2.0/24"
    world.pod(node="mine")
    world.settle()
    assert world.status()["podIP"].startswith("10.1.2.")
    assert world.status()["hostIP"] == "192.168.1.1"


def test_a_registered_node_costs_nothing(world: World) -> None:
    world.node()
    world.settle()
    assert world.writes == []
    assert world.manager.next_wake(world.now) is None


def test_ranges_are_given_once_also_after_a_restart(world: World) -> None:
    world.node("node-0", index=1)
    for name in ("a", "b"):
        make_node(world, name)
    world.settle()
    world.restart()
    make_node(world, "c")
    world.settle()
    found = [world.get(NODES, name)["spec"]["podCIDR"] for name in ("node-0", "a", "b", "c")]
    assert len(set(found)) == 4
    own = {world.get(NODES, name)["status"]["addresses"][0]["address"] for name in ("node-0", "a", "b", "c")}
    assert len(own) == 4


def test_only_the_marked_nodes_are_driven() -> None:
    world = World(lambda: simulated_kubelets(drives=marked_nodes))
    make_node(world, "real")
    make_node(world, "ours")
    world.patch(NODES, "ours", {"metadata": {"labels": {"podium.dev/simulated": "true"}}})
    world.pod("a", node="real")
    world.pod("b", node="ours")
    world.settle()
    assert "conditions" not in world.get(NODES, "real")["status"]
    assert world.status("a")["phase"] == "Pending"
    assert world.status("b")["phase"] == "Running"


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_a_node_may_be_left_to_somebody_else(where: str) -> None:
    world = World(lambda: simulated_kubelets(heartbeat=True))
    make_node(world, "theirs", metadata={"name": "theirs", where: {"podium.dev/simulated": "false"}})
    make_node(world, "ours")
    world.pod("a", node="theirs")
    world.pod("b", node="ours")
    world.settle()
    assert "conditions" not in world.get(NODES, "theirs").get("status", {})
    leases = world.request(Request("GET", LEASES.path("kube-node-lease")))["items"]
    assert [lease["metadata"]["name"] for lease in leases] == ["ours"]
    assert world.status("a")["phase"] == "Pending"
    assert world.status("b")["phase"] == "Running"
    world.patch(NODES, "theirs", {"metadata": {where: None}})
    world.settle()
    assert world.status("a")["phase"] == "Running", "without the mark it is ours again"


def test_a_foreign_node_that_falls_silent_is_taken_for_lost() -> None:
    world = World(lambda: [*simulated_kubelets(), ForeignNodes(unless_foreign)])
    mark = {"annotations": {"podium.dev/simulated": "false"}}
    for name in ("leased", "beating", "mute"):
        make_node(world, name, metadata={"name": name, **mark})
    make_node(world, "ours")

    def say(name: str, at: str) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": at}
        world.patch(NODES, name, {"status": {"conditions": [ready]}}, "status")

    say("leased", "2026-01-01T00:00:00Z")
    lease = {"metadata": {"name": "leased", "namespace": "kube-node-lease"}, "spec": {"holderIdentity": "leased"}}
    world.create(LEASES.path("kube-node-lease"), {"apiVersion": LEASES.api_version, "kind": "Lease", **lease})
    for turn in range(12):
        say("beating", f"2026-01-01T00:{turn:02d}:00Z")
        renewal = {"spec": {"renewTime": f"2026-01-01T00:{turn:02d}:00.000000Z"}}
        path = LEASES.path("kube-node-lease", "leased")
        body = msgspec.json.encode(renewal)
        world.request(Request("PATCH", path, body=body, content_type=MERGE_PATCH))
        world.pass_seconds(10)

    def ready(name: str) -> tuple[str, str]:
        found = condition(world.get(NODES, name)["status"], "Ready")
        return found["status"], found["reason"]

    assert ready("leased") == ready("beating") == ready("ours") == ("True", "KubeletReady")
    assert ready("mute") == ("Unknown", "NodeStatusNeverUpdated")
    world.pass_seconds(60)
    assert ready("leased") == ready("beating") == ("Unknown", "NodeStatusUnknown")
    assert ready("mute") == ("Unknown", "NodeStatusNeverUpdated")
    assert ready("ours") == ("True", "KubeletReady")
    writes = len(world.writes)
    world.pass_seconds(600)
    assert world.writes[writes:] == [], "it is said once"
    say("beating", "2026-01-01T01:00:00Z")
    world.pass_seconds(40)
    assert ready("beating") == ("True", "KubeletReady")


def test_a_pod_bound_to_no_node_waits_for_it(world: World) -> None:
    world.pod(node="late")
    world.settle()
    assert world.status()["phase"] == "Pending"
    make_node(world, "late")
    world.settle()
    assert world.status()["phase"] == "Running"


# --- admission ---------------------------------------------------------------------------------------------


def test_who_does_not_fit_is_turned_away(world: World) -> None:
    world.node(shape=Shape(cpu="4", memory="8Gi", gpus=1))
    world.pod("first", requests={"cpu": "3"})
    world.pod("second", requests={"cpu": "1500m", "memory": "1Gi"})
    world.settle()
    assert world.status("first")["phase"] == "Running"
    status = world.status("second")
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert "cpu, requested: 1500, used: 3000, capacity: 4000" in status["message"]
    assert "containerStatuses" not in status
    world.pod("third", requests={"cpu": "1", "nvidia.com/gpu": "2"})
    world.pod("fourth", requests={"memory": "9Gi"})
    world.pod("fifth", requests={"example.com/unknown": "1"})
    world.settle()
    assert world.status("third")["reason"] == "OutOfnvidia.com/gpu"
    assert world.status("fourth")["reason"] == "OutOfmemory"
    assert world.status("fifth")["reason"] == "OutOfexample.com/unknown"
    reasons = {event["reason"] for event in world.events()}
    assert {"OutOfcpu", "OutOfmemory"} <= reasons


def test_a_node_takes_so_many_pods(world: World) -> None:
    world.node(shape=Shape(pods=2))
    for name in ("a", "b", "c"):
        world.pod(name)
    world.settle()
    assert world.status("c")["reason"] == "OutOfpods"


def test_a_burst_is_not_booked_twice(world: World) -> None:
    """All decisions of one look at the API, before any of their writes has been answered."""
    world.node(shape=Shape(cpu="4"))
    for number in range(10):
        world.pod(f"p{number}", requests={"cpu": "1"})
    world.settle()
    phases = [world.status(f"p{number}")["phase"] for number in range(10)]
    assert phases.count("Running") == 4
    assert phases.count("Failed") == 6


def test_room_is_free_again_after_the_end(world: World) -> None:
    world.node(shape=Shape(cpu="4"))
    orders = {"podium.dev/run-seconds": "10"}
    for number in range(5):
        world.pod(f"p{number}", requests={"cpu": "4"}, annotations=orders, restartPolicy="Never")
        world.pass_seconds(10)
        assert world.status(f"p{number}")["phase"] == "Succeeded"
    world.pod("deleted", requests={"cpu": "4"})
    world.settle()
    world.delete("deleted")
    world.settle()
    world.pod("last", requests={"cpu": "4"})
    world.settle()
    assert world.status("last")["phase"] == "Running"


def test_room_counts_as_free_once_its_pod_is_seen_finished(world: World) -> None:
    """The end of one pod may be known while its removal is still on its way; a fast scheduler acts on it."""
    world.node(shape=Shape(cpu="4"))
    world.pod("old", requests={"cpu": "4"}, finalizers=["example.com/hold"])
    world.settle()
    world.delete("old")
    world.turn()
    assert world.status("old")["phase"] == "Failed"
    world.pod("new", requests={"cpu": "4"})
    world.settle()
    assert world.status("new")["phase"] == "Running"


def test_pods_from_before_a_restart_are_counted(world: World) -> None:
    world.node(shape=Shape(cpu="4"))
    world.pod("z-old", requests={"cpu": "3"})
    world.settle()
    world.restart()
    world.pod("a-new", requests={"cpu": "2"})
    world.settle()
    assert world.status("a-new")["reason"] == "OutOfcpu"
    assert world.status("z-old")["phase"] == "Running"


def test_a_name_used_again_is_another_pod(world: World) -> None:
    world.node(shape=Shape(cpu="4"))
    for _ in range(3):
        world.pod("same", requests={"cpu": "4"})
        world.settle()
        assert world.status("same")["phase"] == "Running"
        world.delete("same", grace=0)
    world.settle()
    world.pod("other", requests={"cpu": "4"})
    world.settle()
    assert world.status("other")["phase"] == "Running"


def test_selectors_are_checked_on_the_node_too(world: World) -> None:
    world.node()
    world.pod("a", nodeSelector={"disk": "ssd"})
    terms = [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}]}]
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    world.pod("b", affinity=required)
    world.settle()
    assert world.status("a")["reason"] == "NodeAffinity"
    assert world.status("b")["reason"] == "NodeAffinity"


def test_host_ports_belong_to_one_pod(world: World) -> None:
    world.node()

    def with_port(name: str, port: Document) -> None:
        world.pod(name, containers=[{"name": "main", "image": "a", "ports": [{"containerPort": 80, **port}]}])

    with_port("a", {"hostPort": 80})
    with_port("b", {"hostPort": 80, "protocol": "UDP"})
    with_port("c", {"hostPort": 80, "hostIP": "127.0.0.1"})
    world.settle()
    assert world.status("a")["phase"] == "Running"
    assert world.status("b")["phase"] == "Running"
    assert world.status("c")["reason"] == "NodePorts"
    world.delete("a")
    world.settle()
    with_port("d", {"hostPort": 80})
    world.settle()
    assert world.status("d")["phase"] == "Running"


# --- addresses ---------------------------------------------------------------------------------------------


def test_every_pod_has_its_own_address(world: World) -> None:
    world.node("node-0", index=0)
    world.node("node-1", index=1)
    for number in range(60):
        world.pod(f"p{number}", node=f"node-{number % 2}")
    world.settle()
    world.restart()
    for number in range(60, 100):
        world.pod(f"p{number}", node=f"node-{number % 2}")
    world.settle()
    found = [world.status(f"p{number}")["podIP"] for number in range(100)]
    assert len(set(found)) == 100
    for number, address in enumerate(found):
        assert ipaddress.ip_address(address) in ipaddress.ip_network(pod_range(number % 2))


def test_a_pod_of_the_host_network_has_the_hosts_address(world: World) -> None:
    world.node()
    world.pod(hostNetwork=True)
    world.settle()
    assert world.status()["podIP"] == world.status()["hostIP"] == "172.16.0.2"


def test_when_a_range_is_used_up_the_host_shares_its_address(world: World) -> None:
    make_node(world, "small", spec={"podCIDR": "10.1.2.0/30", "podCIDRs": ["10.1.2.0/30"]})
    for name in ("a", "b"):
        world.pod(name, node="small")
    world.settle()
    assert world.status("a")["podIP"] == "10.1.2.2"
    assert world.status("b")["podIP"] == world.status("b")["hostIP"]


def test_lent_addresses() -> None:
    lent = Lent(["10.0.0.2"])
    found = [lent.take("10.0.0.0/29") for _ in range(6)]
    assert found == ["10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "", ""]
    lent.free("10.0.0.4")
    assert lent.take("10.0.0.0/29") == "10.0.0.4"
    assert Lent().take("") == ""
    assert Lent().take("nonsense") == ""
    assert Lent().take("10.0.0.1/32") == ""
    assert Lent().take("fd00::/64") == "fd00::2"


def test_ranges_and_node_addresses() -> None:
    ranges = Ranges()
    ranges.note("a", pod_range(0))
    assert ranges.take("b") == pod_range(1)
    assert ranges.take("b") == pod_range(1)
    ranges.release("a")
    assert ranges.take("c") == pod_range(2)
    assert {node_address(pod_range(index)) for index in (0, 1, 300)} == {"172.16.0.2", "172.16.0.3", "172.16.1.46"}
    assert node_address("192.168.0.0/24") == "192.168.0.1"
    assert node_address("") == ""


# --- failure -----------------------------------------------------------------------------------------------


def test_a_silenced_node_is_unknown_and_its_pods_stand_still(world: World) -> None:
    world.node()
    orders = {"podium.dev/run-seconds": "30"}
    world.pod("runs", annotations=orders, restartPolicy="Never")
    world.pod("deleted")
    world.pass_seconds(1)
    begin = world.now
    world.annotate(NODES, "node-0", fail="true")
    world.settle()
    ready = condition(world.get(NODES, "node-0")["status"], "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert ready["message"] == "Kubelet stopped posting node status."
    world.delete("deleted")
    world.pod("new")
    world.pass_seconds(100)
    assert world.status("runs")["phase"] == "Running"
    assert world.exists("deleted")
    assert world.status("new")["phase"] == "Pending"

    world.annotate(NODES, "node-0", fail=None)
    world.settle()
    ready = condition(world.get(NODES, "node-0")["status"], "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
    assert world.status("runs")["phase"] == "Succeeded"
    ended = world.status("runs")["containerStatuses"][0]["state"]["terminated"]
    assert ended["finishedAt"] < ready["lastTransitionTime"]
    assert not world.exists("deleted")
    assert world.status("new")["phase"] == "Running"
    assert world.now == begin + 100


def test_a_node_may_say_itself_that_it_is_not_ready(world: World) -> None:
    world.node()
    world.annotate(NODES, "node-0", fail="NotReady")
    world.settle()
    status = world.get(NODES, "node-0")["status"]
    assert condition(status, "Ready")["status"] == "False"
    assert condition(status, "Ready")["reason"] == "KubeletNotReady"
    assert condition(status, "DiskPressure")["status"] == "False"


@pytest.mark.parametrize("value", ["", "false", "no", "maybe"])
def test_other_words_are_no_failure(world: World, value: str) -> None:
    world.node()
    world.annotate(NODES, "node-0", fail=value)
    world.pod()
    world.settle()
    assert world.status()["phase"] == "Running"


def test_a_pod_made_unready_by_the_node_controller_is_ready_again(world: World) -> None:
    world.node()
    world.pod()
    world.settle()
    world.annotate(NODES, "node-0", fail="true")
    world.settle()
    conditions = world.status()["conditions"]
    for each in conditions:
        if each["type"] == "Ready":
            each["status"] = "False"
    world.patch(PODS, "pod", {"status": {"conditions": conditions}}, "status")
    world.settle()
    assert condition(world.status(), "Ready")["status"] == "False"
    world.annotate(NODES, "node-0", fail=None)
    world.settle()
    assert condition(world.status(), "Ready")["status"] == "True"


# --- leases ------------------------------------------------------------------------------------------------


def test_heartbeats() -> None:
    world = World(lambda: simulated_kubelets(heartbeat=True))
    world.node()
    world.settle()
    path = LEASES.path("kube-node-lease", "node-0")
    lease = world.request(Request("GET", path))
    assert lease["spec"]["holderIdentity"] == "node-0"
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"
    begin = world.now
    world.pass_seconds(35)
    assert world.request(Request("GET", path))["spec"]["renewTime"] > lease["spec"]["renewTime"]
    assert len(world.writes) == 4
    assert isinstance(world.writes[0], Create)
    world.annotate(NODES, "node-0", fail="true")
    world.pass_seconds(100)
    assert [change for change in world.writes if change.resource == LEASES] == world.writes[:4]
    world.request(Request("DELETE", path))
    world.annotate(NODES, "node-0", fail=None)
    world.pass_seconds(1)
    assert world.request(Request("GET", path))["spec"]["renewTime"] > lease["spec"]["renewTime"]
    assert world.now == begin + 136


def test_the_embedded_server_has_no_heartbeats(world: World) -> None:
    world.node()
    world.pass_seconds(1000)
    assert world.writes == []
