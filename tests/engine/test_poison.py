"""Objects that nobody should write, next to a thousand good pods: these are placed, and the bad ones are told why.

Servers refuse most of these.  But checks differ between versions, come later than objects, and can be turned off;
and one object that stops the loop stops it for everybody.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any

import msgspec
import pytest

from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.kube import resources as r
from podium.kube.resources import Resource
from tests.engine.bare import Bare, Document
from tests.engine.poison import (
    BAD_NODES,
    BAD_PODS,
    GROUPS,
    HUGE,
    MOUNT,
    ODD_PODS,
    OTHERS,
    QUEUES_,
    nodes_like,
    peers_like,
    pod,
    spread,
)
from tests.engine.stage import PROFILE

GOOD = 1000
PLUGINS = {
    "proportion": "- name: proportion",
    "capacity": "- name: capacity\n    enableHierarchy: true",
}
NODES = 40


@pytest.fixture(scope="module", params=["proportion", "capacity"])
def cluster(request: pytest.FixtureRequest) -> Bare:
    """Everything at once, bad before good; for queues that share by weight, and for a tree of queues."""
    bare = Bare(PROFILE.replace("- name: proportion", PLUGINS[request.param]))
    for resource, document in OTHERS:
        bare.put(resource, document)
    bare.put(QUEUES, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    for name, spec in QUEUES_.items():
        bare.put(QUEUES, {"metadata": {"name": name}, "spec": spec})
    for name, document in BAD_NODES.items():
        bare.put(r.NODES, {"metadata": {"name": name, "labels": {"zone": "z"}}, **document})
    for index in range(NODES):
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        bare.put(r.NODES, {"metadata": {"name": f"node-{index:02}", "labels": {"zone": "z"}}, "status": status})
    for name, spec in GROUPS.items():
        bare.put(PODGROUPS, {"metadata": {"name": name}, "spec": {"queue": "default", **spec}})
    for name, (document, _) in BAD_PODS.items():
        bare.put(r.PODS, _named(document, name))
    for index in range(GOOD):
        bare.put(r.PODS, _named(pod({"cpu": "500m", "memory": "1Gi"}), f"good-{index}"))
    for name, document in ODD_PODS.items():
        bare.put(r.PODS, _named(document, name))
    bare.settle()
    return bare


def _named(document: Document, name: str) -> Document:
    return {**document, "metadata": {**document["metadata"], "name": name}}


def test_every_good_pod_is_placed(cluster: Bare) -> None:
    missing = [f"good-{index}" for index in range(GOOD) if f"good-{index}" not in cluster.placed]
    assert missing == []
    assert {node[:5] for node in cluster.placed.values()} == {"node-"}, "and on good nodes only"


@pytest.mark.parametrize("name", BAD_PODS)
def test_a_bad_pod_is_told_why(cluster: Bare, name: str) -> None:
    assert name not in cluster.placed
    assert BAD_PODS[name][1] in cluster.told[name]


@pytest.mark.parametrize("name", ODD_PODS)
def test_an_odd_pod_is_placed(cluster: Bare, name: str) -> None:
    assert name in cluster.placed, cluster.told.get(name)


def test_bad_nodes_and_queues_are_told_in_events(cluster: Bare) -> None:
    assert "node garbage: status.allocatable[cpu]" in cluster.events["Node", "garbage"]
    assert "is less than nothing" in cluster.events["Node", "negative"]
    assert "queue nonsense: spec.capability[" in cluster.events["Queue", "nonsense"]


def test_groups_that_cannot_be_scheduled_say_so(cluster: Bare) -> None:
    messages = [condition.get("message", "") for condition in cluster.groups["negative"]]
    assert any("spec.minMember: -1 is less than 0" in message for message in messages)


def test_it_comes_to_rest(cluster: Bare) -> None:
    """Bad objects are no reason to go on writing."""
    reported = dict(cluster.told)
    cluster.settle(600)
    assert cluster.told.keys() == reported.keys()


def test_queues_in_a_circle_are_told_and_go_on() -> None:
    bare = Bare(PROFILE.replace("- name: proportion", PLUGINS["capacity"]))
    bare.put(r.NODES, {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8", "pods": "9"}}})
    for name in ("a", "b", "own-parent"):
        bare.put(QUEUES, {"metadata": {"name": name}, "spec": QUEUES_[name]})
    bare.put(PODGROUPS, {"metadata": {"name": "g"}, "spec": {"minMember": 1, "queue": "a"}})
    bare.put(r.PODS, _named(pod(group="g"), "p"))
    bare.settle()
    assert "is its own ancestor" in bare.events["Queue", "own-parent"]
    assert "is its own ancestor" in " ".join(bare.events.get(("Queue", name), "") for name in ("a", "b"))


# --- random damage -------------------------------------------------------------------------------------------

# What is put in the place of something good.
NASTY: list[Any] = [
    None,
    "",
    "x" * 300,
    "-1",
    "1e400",
    "NaN",
    HUGE,
    -1,
    0,
    2**63,
    2**31 - 1,
    True,
    [],
    {},
    [{}],
    {"": ""},
]

WHOLE: list[tuple[Resource, Document]] = [
    (
        r.PODS,
        pod(
            {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
            group="g",
            labels={"app": "x"},
            nodeSelector={"zone": "z"},
            tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
            affinity={
                **nodes_like(key="zone", operator="In", values=["z"]),
                **peers_like(topologyKey="zone", labelSelector={"matchLabels": {"app": "x"}}),
            },
            topologySpreadConstraints=spread(),
            volumes=MOUNT,
            overhead={"cpu": "1m"},
            priority=5,
            schedulingGates=[{"name": "podium.dev/quota"}],
            schedulingGroup={"podGroupName": "g"},
        ),
    ),
    (
        r.NODES,
        {
            "metadata": {"labels": {"zone": "z"}},
            "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "images": [{"names": ["a:1"], "sizeBytes": 5}],
            },
        },
    ),
    (PODGROUPS, {"metadata": {}, "spec": {"minMember": 2, "queue": "q", "minResources": {"cpu": "2"}}}),
    (
        QUEUES,
        {
            "metadata": {"annotations": {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2"}},
            "spec": {
                "weight": 2,
                "parent": "q",
                "capability": {"cpu": "4"},
                "deserved": {"cpu": "2"},  # a guarantee, damaged or not, is kept: it may leave others nothing
            },
        },
    ),
    (
        r.PERSISTENTVOLUMECLAIMS,
        {
            "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}},
            "spec": {
                "accessModes": ["ReadWriteOncePod"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "s",
                "selector": {"matchLabels": {"a": "b"}},
            },
        },
    ),
    (
        r.PERSISTENTVOLUMES,
        {
            "metadata": {"labels": {"topology.kubernetes.io/zone": "z"}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "storageClassName": "s",
                "claimRef": {"namespace": "default", "name": "none"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": []}]}},
            },
        },
    ),
]


def damaged(value: Any, dice: random.Random) -> Any:
    """A copy with a few parts replaced, dropped or doubled."""
    if dice.random() < 0.06:
        return dice.choice(NASTY)
    if isinstance(value, dict):
        return {key: damaged(part, dice) for key, part in value.items() if dice.random() > 0.03}
    if isinstance(value, list):
        return [damaged(part, dice) for part in value for _ in range(dice.choice([1, 1, 1, 2]))]
    return value


@pytest.mark.parametrize("seed", range(40))
def test_no_random_damage_stops_the_loop(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    dice = random.Random(seed)
    bare = Bare(PROFILE.replace("- name: proportion", PLUGINS[dice.choice(sorted(PLUGINS))]))
    bare.put(QUEUES, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    for index in range(30):
        resource, document = dice.choice(WHOLE)
        body = {key: damaged(part, dice) for key, part in document.items() if key != "metadata"}
        metadata = {key: damaged(part, dice) for key, part in document["metadata"].items()}
        metadata["name"] = dice.choice(["none", "g", "q", f"o{index}"])
        with contextlib.suppress(msgspec.ValidationError):  # of the wrong type: no watch would show it
            bare.put(resource, {**body, "metadata": metadata})
    bare.put(r.NODES, {"metadata": {"name": "good"}, "status": {"allocatable": {"cpu": "8", "pods": "9"}}})
    bare.put(r.PODS, _named(pod(), "good"))
    bare.settle()
    assert bare.placed.get("good"), bare.told.get("good")
    assert not [record.message for record in caplog.records if record.levelname == "ERROR"]
