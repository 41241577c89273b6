"""PodGroups and Queues in the core's words.

Names without an object behind them are no errors here: a group whose queue does not exist waits for it, and so do
pods whose group does not.  What could not be read is reported beside the facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from podium.core.model.durations import duration
from podium.core.model.facts import GangFacts
from podium.core.model.model import NetworkTopology, NodeGroups, PathStep, Phase, Queue, SubGroupPolicy
from podium.dialects.kubernetes.constraints import UnreadableError, selection_of
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.kubernetes.quantities import Amounts, read_amounts
from podium.dialects.volcano import types
from podium.dialects.volcano.names import (
    DEFAULT_QUEUE,
    DIALECT,
    HIERARCHY,
    HIERARCHY_WEIGHTS,
    LONGEST_WAIT,
    NODE_GROUP_LIMITS,
    PREEMPTABLE,
    ROOT_QUEUE,
    SCHEDULER,
    SCHEDULER_NAME,
    group_id,
    queue_id,
)
from podium.kube.quantity import Quantity
from podium.kube.times import parse_time
from podium.reasons import BAD_SPEC, Refusal, refuse

# Weights are 32-bit numbers; one beyond that would leave nothing to calculate with for the others.
_HEAVIEST = 2**31 - 1

_PHASES = {phase.name.capitalize(): phase for phase in Phase}
PHASE_NAMES = {phase: name for name, phase in _PHASES.items()}

# Volcano's own controller lists a job's needs under the names of quotas too; these are not resources of nodes.
_QUOTA_NAMES = ("requests.", "limits.", "count/")


def read_group(group: types.PodGroup, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
    """A group as it is now, and why it cannot be scheduled as it is."""
    spec = group.spec
    needs: Amounts | None = None
    faults: list[Refusal] = []
    if spec.min_resources is not None:
        needs, faults = read_amounts(spec.min_resources, "spec.minResources")
        needs = {name: amount for name, amount in needs.items() if not name.startswith(_QUOTA_NAMES)}
    refusal = faults[0] if faults else None
    if spec.min_member < 0:
        refusal = refuse(BAD_SPEC, field="spec.minMember", detail=f"{spec.min_member} is less than 0")
    roles = spec.min_task_member or {}
    for role, minimum in roles.items():
        if minimum < 0:
            refusal = refuse(BAD_SPEC, field=f"spec.minTaskMember[{role}]", detail=f"{minimum} is less than 0")
    policies: list[SubGroupPolicy] = []
    for index, policy in enumerate(spec.sub_group_policy or ()):
        try:
            policies.append(_policy(policy, f"spec.subGroupPolicy[{index}]"))
        except UnreadableError as error:
            refusal = refuse(BAD_SPEC, field=error.path, detail=error.detail)
    facts = GangFacts(
        id=group_id(group.namespace, group.name),
        namespace=group.namespace,
        name=group.name,
        queue=queue_id(spec.queue or DEFAULT_QUEUE),
        queue_name=spec.queue or DEFAULT_QUEUE,
        usual_queue=spec.queue in ("", DEFAULT_QUEUE),  # admission writes the name on groups that have none
        minimum=max(0, spec.min_member),
        minimum_by_role=roles,
        minimum_resources=needs,
        priority=priorities.value(spec.priority_class_name),
        created=parse_time(group.metadata.creation_timestamp),
        phase=_PHASES.get(group.status.phase, Phase.PENDING),
        preemptable=_preemptable(group),
        attributes=group.annotations,
        policies=tuple(policies),
        topology=_topology(spec.network_topology),
        longest_wait=longest_wait(group.annotations),
        # Until it has pods, which say whom they wait for.
        profile=group.annotations.get(SCHEDULER_NAME) or SCHEDULER,
    )
    return facts, refusal


def longest_wait(annotations: Mapping[str, str]) -> float | None:
    """How long it may wait; text that is no duration says nothing."""
    found = (duration(annotations[key]) for key in LONGEST_WAIT if key in annotations)
    return next((seconds for seconds in found if seconds is not None), None)


def read_path(annotations: Mapping[str, str]) -> tuple[PathStep, ...]:
    """A queue's way from the root, with the weights along it; a weight that is none, or less than one, is one."""
    names = [part for part in annotations.get(HIERARCHY, "").split("/") if part]
    weights = annotations.get(HIERARCHY_WEIGHTS, "").split("/")
    weights += ["1"] * len(names)
    return tuple(PathStep(name, _weight(weight)) for name, weight in zip(names, weights, strict=False))


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 1 <= weight < math.inf else 1.0


def _policy(policy: types.SubGroupPolicy, path: str) -> SubGroupPolicy:
    """A policy of sub-groups.  Its wish about the network is kept, for whoever will act on it."""
    if policy.sub_group_size < 1:
        raise UnreadableError(f"{path}.subGroupSize", f"{policy.sub_group_size} is less than 1")
    if policy.min_sub_groups < 0:
        raise UnreadableError(f"{path}.minSubGroups", f"{policy.min_sub_groups} is less than 0")
    return SubGroupPolicy(
        name=policy.name,
        size=policy.sub_group_size,
        minimum=policy.min_sub_groups,
        selector=selection_of(policy.label_selector, f"{path}.labelSelector") or (),
        keys=tuple(policy.match_label_keys or ()),
        topology=_topology(policy.network_topology),
    )


def _topology(reported: types.NetworkTopology | None) -> NetworkTopology | None:
    if reported is None:
        return None
    return NetworkTopology(reported.mode != "soft", reported.highest_tier_allowed, reported.highest_tier_name)


def _preemptable(group: types.PodGroup) -> bool:
    return (group.annotations.get(PREEMPTABLE) or group.labels.get(PREEMPTABLE)) != "false"


def read_queue(queue: types.Queue) -> tuple[Queue, tuple[Refusal, ...]]:
    """A queue as it is now, and what of it could not be read.  One that names no parent is a child of the root."""
    spec = queue.spec
    faults: list[Refusal] = []

    def amounts(given: Mapping[str, Quantity] | None, field: str) -> Amounts:
        good, bad = read_amounts(given, f"queue {queue.name}: spec.{field}")
        faults.extend(bad)
        return good

    parent = spec.parent or ("" if queue.name == ROOT_QUEUE else ROOT_QUEUE)
    found = Queue(
        id=queue_id(queue.name),
        name=queue.name,
        parent=queue_id(parent) if parent else "",
        weight=min(max(1, spec.weight), _HEAVIEST),
        capability=amounts(spec.capability, "capability"),
        guarantee=amounts(spec.guarantee.resource if spec.guarantee is not None else None, "guarantee.resource"),
        deserved=amounts(spec.deserved, "deserved"),
        priority=spec.priority,
        reclaimable=spec.reclaimable,
        open=queue.status.state in ("", "Open"),
        fifo=spec.dequeue_strategy == "fifo",
        created=parse_time(queue.metadata.creation_timestamp),
        dialect=DIALECT,
        path=read_path(queue.annotations),
        groups=_node_groups(spec.affinity),
        group_limits=_group_limits(queue, faults),
    )
    return found, tuple(faults)


def _group_limits(queue: types.Queue, faults: list[Refusal]) -> dict[str, Amounts]:
    """What a queue may hold on each group of nodes, as its annotation says it in JSON."""
    reported = queue.annotations.get(NODE_GROUP_LIMITS)
    if not reported:
        return {}
    field = f"queue {queue.name}: metadata.annotations[{NODE_GROUP_LIMITS}]"
    try:
        by_group = msgspec.json.decode(reported, type=dict[str, dict[str, Quantity]])
    except msgspec.MsgspecError as error:
        faults.append(refuse(BAD_SPEC, field=field, detail=str(error)))
        return {}
    found = {}
    for group, amounts in by_group.items():
        found[group], bad = read_amounts(amounts, f"{field}[{group}]")
        faults.extend(bad)
    return found


def _node_groups(affinity: types.QueueAffinity | None) -> NodeGroups | None:
    if affinity is None:
        return None
    near = affinity.node_group_affinity or types.NodeGroupTerms()
    apart = affinity.node_group_anti_affinity or types.NodeGroupTerms()
    return NodeGroups(
        required=tuple(near.required or ()),
        preferred=tuple(near.preferred or ()),
        anti_required=tuple(apart.required or ()),
        anti_preferred=tuple(apart.preferred or ()),
    )
