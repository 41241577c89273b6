"""Objects that nobody should write."""

from __future__ import annotations

from typing import Any

from podium.kube import resources as r
from podium.kube.resources import Resource
from tests.engine.bare import Document

HUGE = "1" + "0" * 30


def pod(
    requests: Document | None = None, *, group: str = "", annotations: Document | None = None, **spec: Any
) -> Document:
    marks = {**({"scheduling.k8s.io/group-name": group} if group else {}), **(annotations or {})}
    container = {"name": "c", "image": "a", "resources": {"requests": requests or {"cpu": "100m"}}}
    labels = spec.pop("labels", {})
    metadata = {"annotations": marks, "labels": labels, **spec.pop("metadata", {})}
    spec.setdefault("containers", [container])
    return {"metadata": metadata, "spec": {"schedulerName": "volcano", **spec}, "status": spec.pop("status", {})}


def nodes_like(*terms: Document, **conditions: Any) -> Document:
    """An affinity to nodes."""
    chosen = list(terms) or [{"matchExpressions": [conditions]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": chosen}}}


def peers_like(**term: Any) -> Document:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(**constraint: Any) -> list[Document]:
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return [{**usual, **constraint}]


MOUNT = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]

# Pods that can never be placed as they are, each with a part of what they are told.
BAD_PODS: dict[str, tuple[Document, str]] = {
    "quantity-overflows": (pod({"cpu": "1e400"}), "spec.containers[0].resources.requests[cpu]"),
    "quantity-negative": (pod({"cpu": "-1"}), "is less than nothing"),
    "quantity-hex": (pod({"memory": "0x"}), "spec.containers[0].resources.requests[memory]"),
    "quantity-nan": (pod({"cpu": "NaN"}), "spec.containers[0].resources.requests[cpu]"),
    "quantity-empty": (pod({"cpu": ""}), "spec.containers[0].resources.requests[cpu]"),
    "memory-beyond-everything": (pod({"memory": "999Ei"}), "Insufficient memory"),
    "cpu-beyond-everything": (pod({"cpu": HUGE}), "Insufficient cpu"),
    "number-beyond-64-bits": (pod({"memory": 2**63}), "Insufficient memory"),
    "resource-nobody-has": (pod({"example.com/none": "1"}), "example.com/none"),
    "negative-devices": (pod({"nvidia.com/gpu": "-4"}), "is less than nothing"),
    "overhead-garbage": (pod(overhead={"cpu": "much"}), "spec.overhead[cpu]"),
    "init-garbage": (
        pod(initContainers=[{"name": "i", "resources": {"requests": {"cpu": "?"}}}]),
        "spec.initContainers[0].resources.requests[cpu]",
    ),
    "selector-of-nothing": (pod(nodeSelector={"no": "such"}), "didn't match the node selector"),
    "selector-empty-key": (pod(nodeSelector={"": ""}), "didn't match the node selector"),
    "operator-unknown": (pod(affinity=nodes_like(key="a", operator="Like", values=["b"])), "operator: 'Like'"),
    "greater-than-a-word": (pod(affinity=nodes_like(key="a", operator="Gt", values=["b"])), "needs one whole"),
    "in-nothing": (pod(affinity=nodes_like(key="a", operator="In", values=[])), "needs at least one value"),
    "no-terms": (
        pod(
            affinity={
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
            }
        ),
        "didn't match the node selector",
    ),
    "term-of-nothing": (pod(affinity=nodes_like({})), "didn't match the node selector"),
    "field-unknown": (
        pod(affinity=nodes_like({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]})),
        "'metadata.uid' is not metadata.name",
    ),
    "node-missing": (
        pod(affinity=nodes_like({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]})),
        "didn't match the node selector",
    ),
    "contradiction": (
        pod(
            affinity=nodes_like(
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "Exists"},
                        {"key": "zone", "operator": "DoesNotExist"},
                    ]
                }
            )
        ),
        "didn't match the node selector",
    ),
    "ten-thousand-terms": (
        pod(
            affinity=nodes_like(
                *[{"matchExpressions": [{"key": str(n), "operator": "Exists"}]} for n in range(10_000)]
            )
        ),
        "more than 5000 conditions",
    ),
    "peers-without-topology": (
        pod(affinity=peers_like(labelSelector={}, topologyKey="")),
        "topologyKey: it is empty",
    ),
    "peers-with-a-bad-selector": (
        pod(
            affinity=peers_like(
                topologyKey="zone", labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}
            )
        ),
        "operator: 'Near'",
    ),
    "skew-of-zero": (pod(topologySpreadConstraints=spread(maxSkew=0)), "maxSkew: 0 is less than 1"),
    "spread-by-chance": (
        pod(topologySpreadConstraints=spread(whenUnsatisfiable="Perhaps")),
        "'Perhaps' is none of",
    ),
    "claim-missing": (pod(volumes=MOUNT), "none does not exist"),
    "claim-of-another": (pod(volumes=[{"name": "v", "ephemeral": {}}]), "does not belong to this pod"),
    "device-claims": (pod(resourceClaims=[{"name": "gpu"}, {}, "?"]), "claims on devices are not supported"),
    "group-missing": (pod(group="none"), "PodGroup default/none of Volcano does not exist"),
    "two-groups": (
        pod(group="empty", annotations={"scheduling.volcano.sh/group-name": "negative"}),
        "can be in one group only",
    ),
    "in-a-negative-group": (pod(group="negative"), "spec.minMember: -1 is less than 0"),
    "in-a-group-of-negative-roles": (pod(group="negative-role"), "spec.minTaskMember[w]: -3 is less than 0"),
    "in-a-group-too-large": (pod(group="huge"), "needs 1000000000 members and has 1"),
    "in-a-queue-that-is-not-there": (pod(group="lost"), "queue nowhere does not exist"),
    "lone-in-a-queue-that-is-not-there": (
        pod(annotations={"scheduling.volcano.sh/queue-name": "nowhere"}),
        "queue nowhere does not exist",
    ),
}

# Pods that look strange and are none the worse for it.
ODD_PODS: dict[str, Document] = {
    "a-label-of-a-megabyte": pod(labels={"long": "x" * 1_000_000}),
    "ten-thousand-labels": pod(labels={f"l{n}": str(n) for n in range(10_000)}),
    "a-priority-in-words": pod(annotations={"volcano.sh/task-priority": "very high"}),
    "a-plan-of-nobody": pod(annotations={"podium.dev/gang-plan": "a/b/c/zz.1/x"}),
    "born-in-the-future": pod(metadata={"creationTimestamp": "2999-01-01T00:00:00Z"}),
    "born-no-one-knows-when": pod(metadata={"creationTimestamp": "yesterday"}),
    "without-containers": pod(containers=[]),
    "the-same-port-twice": pod(
        containers=[
            {
                "name": name,
                "ports": [{"hostPort": 4000, "containerPort": 1}],
                "resources": {"requests": {"cpu": "1m"}},
            }
            for name in ("a", "b")
        ]
    ),
    "promised-to-a-node-that-is-gone": pod(status={"nominatedNodeName": "gone"}),
    "in-a-group-of-none": pod(group="empty"),
    "in-a-group-with-absurd-needs-left-out": pod(group="garbage-needs"),
}

GROUPS: dict[str, Document] = {
    "empty": {"minMember": 0},
    "negative": {"minMember": -1},
    "negative-role": {"minMember": 1, "minTaskMember": {"w": -3}},
    "huge": {"minMember": 10**9},
    "lost": {"minMember": 1, "queue": "nowhere"},
    "garbage-needs": {"minMember": 1, "minResources": {"example.com/none": "0"}},
}

QUEUES_: dict[str, Document] = {
    "a": {"parent": "b", "weight": 1},
    "b": {"parent": "a", "weight": 1},
    "own-parent": {"parent": "own-parent"},
    "orphan": {"parent": "nobody"},
    "weightless": {"weight": -5},
    "nonsense": {"capability": {"cpu": "lots", "memory": "-1"}, "deserved": {"cpu": HUGE}, "weight": 1},
    "greedy": {"capability": {"cpu": HUGE}, "weight": 2**31},
}

BAD_NODES: dict[str, Document] = {
    "": {"status": {}},
    "silent": {},
    "garbage": {"status": {"allocatable": {"cpu": "many", "memory": "32Gi", "pods": "110"}}},
    "negative": {"status": {"allocatable": {"cpu": "-8", "memory": "-1", "pods": "-110"}}},
    "nothing": {"status": {"allocatable": {"cpu": "0", "memory": "0", "pods": "0"}}},
    "endless": {
        "status": {"allocatable": {"cpu": HUGE, "memory": "999Ei", "pods": HUGE}},
        "spec": {"unschedulable": True},
    },
    "odd-taints": {
        "status": {"allocatable": {"cpu": "8"}},
        "spec": {"taints": [{"key": "", "effect": "Sometimes"}]},
    },
}

ODD_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Maybe"}]}
ODD_DRIVERS = [{"name": "d", "allocatable": {"count": "ten"}}]
ODD_VOLUME = {"capacity": {"storage": "big"}, "storageClassName": "bad"}

OTHERS: list[tuple[Resource, Document]] = [
    (r.PODDISRUPTIONBUDGETS, {"metadata": {"name": "bad"}, "spec": {"selector": ODD_SELECTOR}}),
    (r.RESOURCEQUOTAS, {"metadata": {"name": "bad"}, "spec": {"hard": {"cpu": "some", "pods": "-1"}}}),
    (r.PRIORITYCLASSES, {"metadata": {"name": "bad"}, "value": -(2**31)}),
    (r.STORAGECLASSES, {"metadata": {"name": "bad"}, "provisioner": "", "allowedTopologies": [{}]}),
    (r.PERSISTENTVOLUMES, {"metadata": {"name": "bad"}, "spec": ODD_VOLUME}),
    (r.PERSISTENTVOLUMECLAIMS, {"metadata": {"name": "claim-of-another-v"}, "spec": {}}),
    (r.CSINODES, {"metadata": {"name": "silent"}, "spec": {"drivers": ODD_DRIVERS}}),
    (r.NAMESPACES, {"metadata": {"name": "", "labels": {}}}),
]
