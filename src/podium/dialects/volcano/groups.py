"""The groups of pods that name none: what they are called, and what pods say about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.dialects.volcano.names import QUEUE_NAME
from podium.kube.cache import Cache
from podium.kube.numbers import whole_number
from podium.kube.resources import NAMESPACES
from podium.kube.wire import Pod

GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"  # on owners, and on pods for whoever makes them
OWNER_PREFIX = "volcano.sh/"  # annotations of an owner that go onto the group of its pods
NETWORK_TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
NETWORK_TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"

# Pods of a JobSet belong to its Jobs, and say whose they are by labels; those of a LeaderWorkerSet to several
# StatefulSets, and each leader starts with its own workers.
JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
LEADERS_SET = "leaderworkerset.sigs.k8s.io/name"
LEADERS_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
LEADERS_KEY = "leaderworkerset.sigs.k8s.io/group-key"

_PREFIX = "podgroup-"


def name_after(uid: str) -> str:
    """The name of the group that belongs to an owner, or to a pod without one."""
    return _PREFIX + uid


def group_name(pod: Pod) -> str:
    """The group of a pod that names none."""
    key = pod.labels.get(JOBSET_UID) or (pod.labels.get(LEADERS_KEY) if leader_of(pod) else None)
    owner = pod.metadata.controller
    return name_after(key or (owner.uid if owner is not None else pod.uid))


def leader_of(pod: Pod) -> str:
    """The pod that leads the group of a LeaderWorkerSet to which this one belongs; "" for other pods."""
    labels = pod.labels
    if LEADERS_KEY not in labels or LEADERS_SET not in labels or LEADERS_INDEX not in labels:
        return ""
    return f"{labels[LEADERS_SET]}-{labels[LEADERS_INDEX]}"


def queue_of_namespace(namespace: str, cache: Cache) -> str:
    """The queue of groups that name none, or the default one, in a namespace; "" if it names none."""
    found = cache.get(NAMESPACES, "", namespace)
    return found.annotations.get(QUEUE_NAME, "") if found is not None else ""


def topology_of(annotations: Mapping[str, str]) -> dict[str, Any] | None:
    """How far apart the pods of the group may be, as its pods say it; what cannot be read counts as not said."""
    mode, tier = annotations.get(NETWORK_TOPOLOGY_MODE), annotations.get(NETWORK_TOPOLOGY_TIER)
    if mode is None and tier is None:
        return None
    topology: dict[str, Any] = {"mode": "soft" if (mode or "").lower() == "soft" else "hard"}
    highest = whole_number(tier or "")
    if highest is not None:
        topology["highestTierAllowed"] = highest
    return topology
