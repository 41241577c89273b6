"""Groups as Kubernetes itself has them since 1.36: a PodGroup, named by its pods in `spec.schedulingGroup`.

Servers have the kind only if a feature is on; without it there are no groups, and pods cannot name any.  A group
with the policy `basic` is a name for pods that are scheduled one by one.  One whose disruption mode is PodGroup is
one victim: all of its pods go, or none.
"""

from __future__ import annotations

from podium.core.model.facts import GangFacts
from podium.core.model.model import Phase
from podium.dialects.dialect import Dialect, GroupKind, Setting
from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.upstream.status import disruption_of, disruption_patch, group_patch
from podium.dialects.upstream.types import PODGROUPS, PodGroup
from podium.kube.rights import Right
from podium.kube.times import parse_time
from podium.kube.wire import Pod
from podium.reasons import BAD_SPEC, Refusal, refuse


def group_id(namespace: str, name: str) -> str:
    """A group's id in the core."""
    return f"upstream/{namespace}/{name}"


def read_group(group: PodGroup, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
    """A group as it is now, and why it cannot be scheduled as it is."""
    spec = group.spec
    gang = spec.scheduling_policy.gang
    least = gang.min_count if gang is not None else 0
    refusal = None
    if least < 0:
        field = "spec.schedulingPolicy.gang.minCount"
        refusal = refuse(BAD_SPEC, field=field, detail=f"{least} is less than 0")
    constraints = spec.scheduling_constraints
    if constraints is not None and constraints.topology:
        field = "spec.schedulingConstraints.topology"
        refusal = refuse(BAD_SPEC, field=field, detail="placing a group inside one domain is not supported")
    priority = spec.priority
    facts = GangFacts(
        id=group_id(group.namespace, group.name),
        namespace=group.namespace,
        name=group.name,
        queue="",
        minimum=max(0, least),
        priority=priority if priority is not None else priorities.value(spec.priority_class_name),
        created=parse_time(group.metadata.creation_timestamp),
        phase=Phase.INQUEUE,
        as_one=spec.disruption_mode == "PodGroup",
        disruption=disruption_of(group),
    )
    return facts, refusal


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    group = pod.spec.scheduling_group
    if group is None or not group.pod_group_name:
        return ()
    namespace, name = pod.metadata.namespace, group.pod_group_name
    called = f"PodGroup {namespace}/{name} of Kubernetes"
    return (Membership(group_id(namespace, name), f"{namespace}/{name}", called),)


def upstream(setting: Setting) -> Dialect:
    """The dialect."""
    return Dialect(
        name="upstream",
        marks=Marks(_memberships, concerns=lambda signs: signs.grouped),
        groups=(GroupKind(PODGROUPS, group_id, read_group, group_patch, disrupted=disruption_patch),),
        rights=(Right(PODGROUPS, ("patch",), "status"),),
        views={PODGROUPS: PodGroup},
    )
