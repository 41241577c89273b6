"""Volumes before pods: a claim gets its volume when the place of its pod is decided, and then the pod is bound."""

from __future__ import annotations

import random
from typing import Any

import pytest

from podium.embedded.controllers.volumes import VolumeClaimController, VolumeController
from podium.engine.dispatcher import CallType
from podium.errors import ApiError, TransportError
from podium.kube.controller import Ticket
from podium.kube.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from podium.kube.transport import MERGE_PATCH
from tests.embedded.server import Document
from tests.engine.stage import PROFILE, Stage
from tests.engine.test_faults import check, faults, settle

SELECTED = "volume.kubernetes.io/selected-node"
HOST = "kubernetes.io/hostname"


class Storage(Stage):
    """A stage with volume controllers; `idle` ones leave everything to the test."""

    def __init__(self, profile: str = PROFILE, *, idle: bool = False) -> None:
        super().__init__(profile, tuple if idle else lambda: (VolumeClaimController(), VolumeController()))

    def nodes(self, *names: str, **room: str) -> None:
        for name in names:
            self.node(name, **room)
            labels = {"metadata": {"labels": {HOST: name}}}
            self.server.ok("PATCH", NODES.path("", name), labels, media=MERGE_PATCH)

    def storage_class(self, name: str, provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> None:
        body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **more}
        kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
        self.apply({**kind, "metadata": {"name": name}, **body})

    def volume(self, name: str, node: str, size: str = "10Gi", storage_class: str = "local") -> None:
        expression = {"key": HOST, "operator": "In", "values": [node]}
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        self.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})

    def claim(self, name: str, storage_class: str = "local", size: str = "5Gi", **spec: Any) -> None:
        modes = spec.pop("accessModes", ["ReadWriteOnce"])
        body = {"accessModes": modes, "resources": {"requests": {"storage": size}}, **spec}
        metadata = {"name": name, "namespace": "default"}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": {"storageClassName": storage_class, **body},
            }
        )

    def mounting(self, name: str, *claims: str, group: str = "", **spec: Any) -> None:
        volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
        self.pod(name, group, volumes=volumes, **spec)

    def volume_of(self, claim: str) -> str:
        found = self.get(PERSISTENTVOLUMECLAIMS, claim)
        return str(found["spec"].get("volumeName", "")) if found["status"].get("phase") == "Bound" else ""

    def patch_claim(self, name: str, patch: Document) -> None:
        self.server.ok("PATCH", PERSISTENTVOLUMECLAIMS.path("default", name), patch, media=MERGE_PATCH)

    def bind_claim(self, claim: str, volume: str) -> None:
        """What a volume controller writes last."""
        done = {"pv.kubernetes.io/bind-completed": "yes"}
        self.patch_claim(claim, {"metadata": {"annotations": done}, "spec": {"volumeName": volume}})


def one_volume(*nodes: str, idle: bool = True, **room: str) -> Storage:
    """A claim, and on node a the volume that can serve it."""
    stage = Storage(idle=idle)
    stage.nodes(*(nodes or "a"), **room)
    stage.storage_class("local")
    stage.volume("v", "a")
    stage.claim("data")
    return stage


def test_a_static_volume_is_given_to_the_claim_before_the_pod_is_bound() -> None:
    stage = Storage()
    stage.nodes("a", "b")
    stage.storage_class("local")
    stage.volume("large", "b", "20Gi")
    stage.volume("small", "b", "5Gi")
    stage.claim("data")
    stage.settle()
    stage.mounting("p", "data")
    stage.settle()
    assert stage.placed == {"p": "b"}
    assert stage.volume_of("data") == "small"
    volume = stage.get(PERSISTENTVOLUMES, "small")
    assert volume["spec"]["claimRef"]["uid"] == stage.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"]["uid"]
    assert volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert SELECTED not in stage.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"]["annotations"]
    writes = [ticket.purpose for ticket in stage.tickets if ticket.purpose in ("bind", CallType.VOLUME)]
    assert writes == [CallType.VOLUME, "bind"]


def test_a_volume_is_made_for_the_chosen_node() -> None:
    stage = Storage()
    stage.nodes("a")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made")
    stage.mounting("p", "data")
    stage.settle()
    assert stage.placed == {"p": "a"}
    assert stage.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"]["annotations"][SELECTED] == "a"
    assert stage.volume_of("data").startswith("pvc-")


def test_the_pod_waits_with_its_room_until_its_claims_are_bound() -> None:
    stage = one_volume(cpu="1")
    stage.mounting("p", "data")
    stage.settle(60)
    stage.pod("other")
    stage.settle(60)
    assert stage.placed == {}, "the place is taken, and the pod not yet bound to it"
    stage.bind_claim("data", "v")
    stage.settle(1)
    assert stage.placed == {"p": "a"}


def test_a_gang_is_bound_when_all_its_volumes_are_there() -> None:
    stage = Storage(idle=True)
    stage.nodes("a", "b")
    stage.storage_class("local")
    for name in ("a", "b"):
        stage.volume(f"on-{name}", name)
    stage.group("g", 3)
    for index in range(2):
        stage.claim(f"data-{index}")
        stage.mounting(f"p-{index}", f"data-{index}", group="g")
    stage.pod("p-plain", "g")
    stage.settle(5)
    claimed = {name: stage.get(PERSISTENTVOLUMES, f"on-{name}")["spec"]["claimRef"]["name"] for name in ("a", "b")}
    assert sorted(claimed.values()) == ["data-0", "data-1"], "no volume is promised twice"
    stage.bind_claim(claimed["a"], "on-a")
    stage.settle(5)
    assert stage.placed == {}, "one of three has no volume yet"
    stage.bind_claim(claimed["b"], "on-b")
    stage.settle(5)
    assert len(stage.placed) == 3
    assert stage.placed[claimed["a"].replace("data", "p")] == "a"


def test_more_of_a_gang_that_waits_joins_it() -> None:
    stage = one_volume()
    stage.group("g", 1)
    stage.mounting("p", "data", group="g")
    stage.settle(5)
    stage.pod("late", "g")
    stage.settle(5)
    assert stage.placed == {}
    stage.bind_claim("data", "v")
    stage.settle(5)
    assert set(stage.placed) == {"p", "late"}


def test_a_provisioner_gives_the_node_back() -> None:
    stage = Storage(idle=True)
    stage.nodes("a")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made")
    stage.mounting("p", "data")
    stage.settle(5)
    stage.patch_claim("data", {"metadata": {"annotations": {SELECTED: None}}})
    stage.settle(0.5)
    assert "claim default/data got no volume for node a: its provisioner gave the node back" in stage.message("p")
    stage.settle(5)
    assert stage.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"]["annotations"][SELECTED] == "a", "tried again"
    assert stage.placed == {}


def test_the_simulated_provisioner_refuses_a_place_that_the_class_does_not_allow() -> None:
    """The scheduler does not choose such a place by itself: the class changes under its feet."""
    stage = Storage()
    stage.nodes("a", "b")
    topology = [{"matchLabelExpressions": [{"key": HOST, "values": ["b"]}]}]
    stage.storage_class("made", "example.com/disk", allowedTopologies=topology)
    stage.claim("data", "made")
    stage.mounting("p", "data")
    stage.settle()
    assert stage.placed == {"p": "b"}


@pytest.mark.parametrize(
    ("happens", "reported"),
    [
        ("gone", "the claim is gone"),
        ("elsewhere", "it was bound to other, which that node does not reach"),
        ("taken", "volume v was given to default/somebody"),
        ("node", "the node is gone"),
        ("time", "it was not bound in time"),
    ],
)
def test_what_can_go_wrong(happens: str, reported: str) -> None:
    stage = one_volume("a", "b")
    stage.mounting("p", "data", nodeSelector={HOST: "a"} if happens == "node" else {})
    stage.settle(5)
    held = [task.state.name for task in stage.world.cluster.tasks.values()]
    assert held == ["BINDING"]
    if happens == "gone":
        stage.server.ok("DELETE", PERSISTENTVOLUMECLAIMS.path("default", "data"))
    elif happens == "elsewhere":
        stage.volume("other", "b")
        stage.bind_claim("data", "other")
    elif happens == "taken":
        somebody = {"spec": {"claimRef": {"name": "somebody", "namespace": "default", "uid": "x"}}}
        stage.server.ok("PATCH", PERSISTENTVOLUMES.path("", "v"), somebody, media=MERGE_PATCH)
    elif happens == "node":
        stage.server.ok("DELETE", NODES.path("", "a"))
    stage.settle(700 if happens == "time" else 0.5)
    told_so = [event["message"] for event in stage.events("p") if event["reason"] == "FailedScheduling"]
    assert any(reported in message for message in told_so), told_so
    stage.settle(5)
    assert stage.placed == ({"p": "b"} if happens == "elsewhere" else {})


def test_a_volume_that_changed_in_passing_is_promised_again() -> None:
    stage = one_volume(idle=False)
    stage.mounting("p", "data")
    start = stage.server.now
    stage.settle(0.5)
    assert stage.sent(CallType.VOLUME) > 1, "a controller wrote its finalizer on the new volume meanwhile"
    assert stage.placed == {"p": "a"}
    assert stage.server.now < start + 0.5, "and nobody had to rest for it"


@pytest.mark.argument("predicates", "volumebinding.bindTimeoutSeconds")
def test_how_long_it_waits_is_an_argument_of_the_profile() -> None:
    argument = "  - name: predicates\n    arguments:\n      volumebinding.bindTimeoutSeconds: 20"
    stage = Storage(PROFILE.replace("  - name: predicates", argument), idle=True)
    stage.nodes("a")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made")
    stage.mounting("p", "data")
    start = stage.server.now
    stage.settle(19)
    assert stage.message("p") == ""
    stage.server.now = start + 20
    stage.settle(0.5)
    assert "it was not bound in time" in stage.message("p")


def test_a_failed_member_releases_the_whole_gang() -> None:
    stage = one_volume(cpu="2")
    stage.group("g", 2)
    stage.mounting("p-0", "data", group="g")
    stage.pod("p-1", "g")
    stage.settle(5)
    stage.server.ok("DELETE", PERSISTENTVOLUMECLAIMS.path("default", "data"))
    stage.settle(0.5)
    stage.pod("small", cpu="2")
    stage.settle(5)
    assert stage.placed == {"small": "a"}, "its room is free again, all of it"


def test_a_gang_that_loses_a_member_while_it_waits_is_not_bound_half() -> None:
    stage = one_volume()
    stage.group("g", 2)
    stage.mounting("p-0", "data", group="g")
    stage.pod("p-1", "g")
    stage.settle(5)
    stage.server.ok("DELETE", PODS.path("default", "p-1"), {"gracePeriodSeconds": 0})
    stage.bind_claim("data", "v")
    stage.settle(5)
    assert stage.placed == {}


def test_two_pods_of_one_turn_get_two_volumes() -> None:
    stage = Storage()
    stage.nodes("a")
    stage.storage_class("local")
    for index in range(3):
        stage.volume(f"v{index}", "a", "5Gi")
        stage.claim(f"c{index}")
        stage.mounting(f"p{index}", f"c{index}")
    stage.claim("c3")
    stage.mounting("p3", "c3")
    stage.settle()
    assert set(stage.placed) == {"p0", "p1", "p2"}
    assert {stage.volume_of(f"c{index}") for index in range(3)} == {"v0", "v1", "v2"}
    assert "node(s) reached no volume that is still free" in stage.message("p3")
    stage.volume("v3", "a", "5Gi")
    stage.settle()
    assert "p3" in stage.placed, "a new volume is seen"


def test_a_new_scheduler_keeps_to_the_node_that_was_named() -> None:
    stage = Storage(idle=True)
    stage.nodes("a", "b")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made")
    stage.mounting("p", "data", nodeSelector={HOST: "b"})
    stage.mounting("q", "data")
    stage.settle(5)
    assert stage.get(PERSISTENTVOLUMECLAIMS, "data")["metadata"]["annotations"][SELECTED] == "b"
    before = stage.sent(CallType.VOLUME)
    stage.restart()
    stage.settle(5)
    rows = {task.name: task.row for task in stage.world.cluster.tasks.values()}
    assert rows["p"] == rows["q"] == stage.world.cluster.nodes.rows["b"]
    assert stage.sent(CallType.VOLUME) == before, "nothing has to be written again"


def test_a_new_scheduler_keeps_to_the_volume_that_was_given() -> None:
    stage = Storage(idle=True)
    stage.nodes("a", "b")
    stage.storage_class("local")
    stage.volume("v", "b")
    stage.claim("data")
    stage.mounting("p", "data")
    stage.settle(5)
    stage.volume("tempting", "a", "5Gi")
    stage.restart()
    stage.settle(5)
    stage.bind_claim("data", "v")
    stage.settle(5)
    assert stage.placed == {"p": "b"}
    assert "claimRef" not in stage.get(PERSISTENTVOLUMES, "tempting")["spec"]


def test_a_shared_claim_is_chosen_once() -> None:
    stage = Storage()
    stage.nodes("a", "b", cpu="2")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made", accessModes=["ReadWriteMany"])
    stage.group("g", 3)
    for index in range(3):
        stage.mounting(f"p-{index}", "data", group="g")
    stage.settle()
    assert len(stage.placed) == 3
    chosen = [ticket for ticket in stage.tickets if ticket.purpose == CallType.VOLUME]
    assert len(chosen) == 1


def test_a_claim_for_one_pod_only() -> None:
    stage = Storage()
    stage.nodes("a", "b")
    stage.storage_class("made", "example.com/disk")
    stage.claim("data", "made", accessModes=["ReadWriteOncePod"])
    stage.mounting("first", "data")
    stage.settle()
    stage.mounting("second", "data")
    stage.settle()
    assert set(stage.placed) == {"first"}
    assert "another pod uses a volume claim that only one pod may use" in stage.message("second")
    stage.server.ok("DELETE", PODS.path("default", "first"), {"gracePeriodSeconds": 0})
    stage.settle()
    assert set(stage.placed) == {"second"}


def test_claims_that_cannot_be_used_are_named() -> None:
    stage = Storage()
    stage.nodes("a")
    stage.storage_class("local")
    stage.mounting("p", "data")
    stage.settle()
    assert stage.message("p") == "volume claims cannot be used: data does not exist"
    stage.claim("data")
    stage.settle()
    assert "node(s) reached no volume that is still free" in stage.message("p")
    stage.volume("v", "a")
    stage.settle()
    assert stage.placed == {"p": "a"}


def test_an_ephemeral_volume() -> None:
    stage = Storage()
    stage.nodes("a")
    stage.storage_class("made", "example.com/disk")
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    stage.pod("p", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    stage.settle()
    assert stage.message("p") == "volume claims cannot be used: p-scratch does not exist"
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": stage.get(PODS, "p")["metadata"]["uid"],
        "controller": True,
    }
    spec = {**template["spec"], "storageClassName": "made"}
    metadata = {"name": "p-scratch", "namespace": "default", "ownerReferences": [owner]}
    stage.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    stage.settle()
    assert stage.placed == {"p": "a"}


@pytest.mark.parametrize("seed", range(4))
def test_writes_that_fail_or_whose_answer_is_lost(seed: int) -> None:
    stage = Storage()
    stage.nodes("a", "b")
    stage.storage_class("local")
    stage.storage_class("made", "example.com/disk")
    for index in range(4):
        stage.volume(f"v{index}", "ab"[index % 2])
        stage.claim(f"c{index}", "local" if index < 3 else "made")
        stage.mounting(f"p{index}", f"c{index}")
    troubles = iter(
        [ApiError(409, "Conflict", "x"), TransportError("reset"), None, ApiError(500, "InternalError", "y")][seed:]
    )

    def trouble(ticket: Ticket) -> Exception | None:
        return next(troubles, None) if ticket.purpose == CallType.VOLUME else None

    if seed % 2:
        stage.lost = trouble
    else:
        stage.trouble = trouble
    stage.settle(120)
    assert set(stage.placed) == {"p0", "p1", "p2", "p3"}
    volumes = [stage.volume_of(f"c{index}") for index in range(4)]
    assert len(set(volumes)) == 4


@pytest.mark.parametrize("seed", range(10))
def test_gangs_with_volumes_under_faults(seed: int) -> None:
    """Writes fail, answers are lost, the process is killed: in the end every gang is whole, on its own volumes."""
    dice = random.Random(seed)
    stage = Storage()
    nodes = [f"n{index}" for index in range(3)]
    stage.nodes(*nodes, cpu="8")
    stage.storage_class("local")
    stage.storage_class("made", "example.com/disk")
    faults(stage, dice)
    gangs = {f"g{index}": dice.randint(1, 3) for index in range(3)}
    for index in range(sum(gangs.values())):
        stage.volume(f"v{index}", dice.choice(nodes))
    for gang, size in gangs.items():
        stage.group(gang, size)
        for index in range(size):
            stage.claim(f"{gang}-{index}", dice.choice(["local", "made"]))
            stage.mounting(f"{gang}-{index}", f"{gang}-{index}", group=gang)
            if dice.random() < 0.3:
                settle(stage, 0.5)
    settle(stage, 30)
    stage.trouble = stage.lost = None
    stage.restart()
    stage.settle(120)
    check(stage, gangs)
    members = [f"{gang}-{index}" for gang, size in gangs.items() for index in range(size)]
    assert set(stage.placed) == set(members)
    volumes = [stage.volume_of(name) for name in members]
    assert all(volumes)
    assert len(set(volumes)) == len(volumes)
    for name, volume in zip(members, volumes, strict=True):
        affinity = stage.get(PERSISTENTVOLUMES, volume)["spec"].get("nodeAffinity")
        if affinity:
            term = affinity["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
            assert term["values"] == [stage.placed[name]]


def test_of_two_claims_only_the_open_one_is_written() -> None:
    stage = Storage()
    stage.nodes("a")
    stage.storage_class("local")
    for name in ("first", "second"):
        stage.volume(name, "a")
        stage.claim(f"data-{name}")
    stage.mounting("p", "data-first")
    stage.settle()
    assert stage.volume_of("data-first")
    before = stage.sent(CallType.VOLUME)
    stage.mounting("q", "data-first", "data-second")
    stage.settle()
    assert stage.placed == {"p": "a", "q": "a"}
    assert {stage.volume_of("data-first"), stage.volume_of("data-second")} == {"first", "second"}
    assert stage.sent(CallType.VOLUME) == before + 1
