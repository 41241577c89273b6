"""Nodes, priorities, budgets and quotas in the core's words; groups that several families name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.constraints import PodSelection, Requirement
from podium.core.model.labels import Taint
from podium.dialects import DIALECTS
from podium.dialects.kubernetes.membership import Marks, Membership, membership_of
from podium.dialects.kubernetes.nodes import read_node
from podium.dialects.kubernetes.policies import Priorities, read_budget, read_quota
from podium.dialects.kubernetes.translate import PodReader
from podium.dialects.upstream import dialect as upstream
from podium.dialects.upstream.types import PodGroup
from podium.dialects.volcano.marks import marks_of
from podium.kube.cache import Cache
from podium.kube.resources import JOBS, PODS
from podium.kube.wire import CSINode, Node, Pod, PodDisruptionBudget, PriorityClass, ResourceQuota
from podium.reasons import Refusal
from tests.dialects.objects import Document, decode, pod, read


def node(*, spec: Document | None = None, deleted: bool = False, **status: Any) -> Node:
    metadata: Document = {"name": "n", "uid": "u", "labels": {"zone": "a"}}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert({"metadata": metadata, "spec": spec or {}, "status": status}, Node)


def test_what_is_read_of_a_node() -> None:
    drivers = msgspec.convert(
        {
            "metadata": {"name": "n"},
            "spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 5}}, {"name": "e"}]},
        },
        CSINode,
    )
    taints = [{"key": "k", "effect": "NoSchedule", "value": "v"}]
    reading = read_node(
        node(
            spec={"unschedulable": True, "taints": taints},
            allocatable={"cpu": "3500m", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": 8},
            images=[{"names": ["busybox", "busybox@sha256:0f"], "sizeBytes": 7}],
            conditions=[{"type": "Ready", "status": "True"}],
        ),
        drivers,
    )
    facts = reading.facts
    assert reading.faults == ()
    assert (facts.name, facts.uid, facts.labels) == ("n", "u", {"zone": "a"})
    assert facts.allocatable == {"cpu": 3500, "memory": 2**33, "pods": 110, "nvidia.com/gpu": 8}
    assert facts.taints == (Taint("k", "NoSchedule", "v"),)
    assert facts.unschedulable
    assert facts.ready
    assert facts.images == {"busybox:latest": 7, "busybox@sha256:0f": 7}
    assert facts.volume_limits == {"d": 5}


@pytest.mark.parametrize(
    ("one", "ready"),
    [
        (node(), True),
        (node(conditions=[{"type": "Ready", "status": "False"}]), False),
        (node(conditions=[{"type": "Ready", "status": "Unknown"}]), False),
        (node(conditions=[{"type": "Ready", "status": "True"}], deleted=True), False),
    ],
)
def test_readiness(one: Node, ready: bool) -> None:
    assert read_node(one).facts.ready is ready


@pytest.mark.parametrize("bad", ["-4", "1e400", "0x", "NaN"])
def test_a_broken_amount_counts_as_none_on_that_node_only(bad: str) -> None:
    reading = read_node(node(allocatable={"cpu": bad, "memory": "1Gi", "pods": "0"}))
    assert reading.facts.allocatable == {"memory": 2**30, "pods": 0}
    assert "node n: status.allocatable[cpu]" in str(reading.faults[0])


def test_capacity_stands_in_for_what_can_be_allocated() -> None:
    assert read_node(node(capacity={"cpu": "1"})).facts.allocatable == {"cpu": 1000}


def priority_class(name: str, value: int, default: bool = False) -> PriorityClass:
    document = {"metadata": {"name": name}, "value": value, "globalDefault": default}
    return msgspec.convert(document, PriorityClass)


def test_priorities() -> None:
    assert Priorities().value("x") == 0
    known = Priorities(
        [priority_class("high", 9), priority_class("usual", 5, True), priority_class("low", 3, True)]
    )
    assert [known.value(name) for name in ("high", "", "gone")] == [9, 3, 3]


def budget(selector: Document | None, allowed: int = 1) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": "b", "namespace": "a"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def test_budgets() -> None:
    found = read_budget(budget({"matchLabels": {"app": "x"}}, 2))
    assert (found.id, found.allowed) == ("a/b", 2)
    assert found.selection == PodSelection(("a",), (Requirement("app", "In", ("x",)),))
    assert read_budget(budget(None)).selection.labels is None, "it selects nothing"
    assert read_budget(budget({})).selection.labels == (), "it selects everything"
    assert read_budget(budget({}, -1)).allowed == 0
    broken = read_budget(budget({"matchExpressions": [{"key": "a", "operator": "Is"}]}, 5))
    assert (broken.selection.labels, broken.allowed) == ((), 0)


def test_quotas() -> None:
    document = {
        "metadata": {"name": "q", "namespace": "a"},
        "spec": {"hard": {"requests.cpu": "4", "cpu": "2", "memory": "1Gi", "volcano.sh/namespace.weight": "3"}},
        "status": {"hard": {"cpu": "1"}, "used": {"requests.cpu": "1500m", "pods": "x"}},
    }
    found = read_quota(msgspec.convert(document, ResourceQuota))
    assert (found.id, found.namespace) == ("a/q", "a")
    assert found.hard == {
        "requests.cpu": 4000,
        "cpu": 2000,
        "memory": 2**30,
        "volcano.sh/namespace.weight": 3,
    }
    assert found.used == {"requests.cpu": 1500}


# --- membership --------------------------------------------------------------------------------------------


def _other(pod: Pod) -> tuple[Membership, ...]:
    """A second family, which marks members with a label."""
    name = pod.labels.get("other-group")
    return (Membership(f"other/{name}", f"{pod.namespace}/{name}", f"group {name} of others"),) if name else ()


OTHER = Marks(_other)
MARKS = marks_of(("volcano",), grouped=True)
GROUP = "scheduling.k8s.io/group-name"


def test_the_first_family_that_knows_the_pod_counts() -> None:
    both = decode(pod(annotations={GROUP: "g"}, labels={"other-group": "g"}))
    found = membership_of(both, [MARKS, OTHER])
    assert isinstance(found, Membership)
    assert found.gang == "volcano/default/g"
    second = membership_of(decode(pod(labels={"other-group": "h"})), [MARKS, OTHER])
    assert isinstance(second, Membership)
    assert second.gang == "other/h"
    assert membership_of(decode(pod()), [MARKS, OTHER]) is None
    assert membership_of(decode(pod(annotations={GROUP: ""})), [MARKS]) is None


def test_families_that_disagree_refuse_the_pod_with_both_names() -> None:
    document = decode(pod("p", uid="u", annotations={GROUP: "g"}, labels={"other-group": "h"}))
    found = membership_of(document, [MARKS, OTHER])
    assert isinstance(found, Refusal)
    assert found.code == "AmbiguousGang"
    assert "PodGroup default/g of Volcano" in str(found)
    assert "group h of others" in str(found)
    facts = PodReader([MARKS, OTHER], {}, Cache()).read(document)
    assert facts.refusal == found
    assert (facts.task.gated, facts.task.gang) == (True, "pod/u")


@pytest.mark.parametrize("second", ["g", "h"])
def test_volcanos_two_annotations_must_agree(second: str) -> None:
    both = decode(pod(annotations={GROUP: "g", "scheduling.volcano.sh/group-name": second}))
    found = membership_of(both, [MARKS])
    if second == "g":
        assert isinstance(found, Membership)
        assert found.gang == "volcano/default/g"
    else:
        reported = "it belongs to PodGroup default/g of Volcano and to PodGroup default/h of Volcano"
        assert reported in str(found)
    alone = membership_of(decode(pod(annotations={"scheduling.volcano.sh/group-name": "h"})), [MARKS])
    assert isinstance(alone, Membership)
    assert alone.gang == "volcano/default/h"


def test_kubernetes_own_groups_come_first() -> None:
    dialects = [each.marks for each in DIALECTS if each.marks is not None]
    named = pod(annotations={GROUP: "g"}, schedulingGroup={"podGroupName": "g"})
    found = membership_of(decode(named), dialects)
    assert isinstance(found, Membership)
    assert found.gang == "upstream/default/g"
    other = decode(pod(annotations={GROUP: "h"}, schedulingGroup={"podGroupName": "g"}))
    reported = "it belongs to PodGroup default/g of Kubernetes and to PodGroup default/h of Volcano"
    assert reported in str(membership_of(other, dialects))


def test_a_group_of_kubernetes() -> None:
    document = {
        "metadata": {"name": "g", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}, "priority": 7},
    }
    facts, refusal = upstream.read_group(msgspec.convert(document, PodGroup), Priorities())
    assert (facts.id, facts.minimum, facts.priority, refusal) == ("upstream/default/g", 4, 7, None)
    document["spec"] = {"schedulingPolicy": {"basic": {}}}
    assert upstream.read_group(msgspec.convert(document, PodGroup), Priorities())[0].minimum == 0
    document["spec"] = {"schedulingPolicy": {"gang": {"minCount": -1}}}
    assert "minCount: -1" in str(upstream.read_group(msgspec.convert(document, PodGroup), Priorities())[1])


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ([], (False, False)),
        (["scheduling.volcano.sh/queue-allocation-gate"], (True, True)),
        (["podium.dev/quota"], (True, True)),
        (["example.com/mine"], (True, False)),
        (["podium.dev/quota", "example.com/mine"], (True, False)),
    ],
)
def test_gates_that_the_queue_lifts(gates: list[str], expected: tuple[bool, bool]) -> None:
    found = read(pod(schedulingGates=[{"name": name} for name in gates])).task
    assert (found.gated, found.quota_gated) == expected


def test_the_registry() -> None:
    names = [each.name for each in DIALECTS]
    assert len(set(names)) == len(names)
    for each in DIALECTS:
        known = {definition.resource for definition in each.definitions}
        known |= {*each.views, PODS}
        assert {kind.resource for kind in each.groups} | {kind.resource for kind in each.queues} <= known
        assert {hook.resource for hook in each.hooks if hook.resource != JOBS} <= known
