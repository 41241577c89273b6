"""Groups as Kubernetes itself has them since 1.36: a PodGroup, named by its pods in `spec.schedulingGroup`.

Servers have the kind only if a feature is on; without it there are no groups, and pods cannot name any.  A group
with the policy `basic` is a name for pods that are scheduled one by one.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang, Phase
from podium.dialects.dialect import Dialect, GroupKind, Setting, Verdict
from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.changes import Patch
from podium.kube.resources import Resource
from podium.kube.times import parse_time
from podium.kube.wire import Object, Pod, View
from podium.reasons import BAD_SPEC, Refusal, refuse

PODGROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")


class GangPolicy(View):
    min_count: int = 1


class SchedulingPolicy(View):
    gang: GangPolicy | None = None


class PodGroupSpec(View):
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority_class_name: str = ""
    priority: int | None = None


class PodGroup(Object):
    spec: PodGroupSpec = PodGroupSpec()


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
    )
    return facts, refusal


def _patch(group: PodGroup, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    """Its pods tell how they stand; the group's own status is left to the server's controllers."""
    return None


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
        marks=Marks(_memberships),
        groups=(GroupKind(PODGROUPS, group_id, read_group, _patch),),
        views={PODGROUPS: PodGroup},
    )
