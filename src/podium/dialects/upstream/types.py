"""PodGroups of Kubernetes, as far as they are read.

A PodGroup is made by a controller, such as that of Jobs, and is a copy of a template in a Workload: its spec says
all that matters here, and the Workload is not read.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from podium.kube.resources import Resource
from podium.kube.wire import Condition, Object, View

PODGROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")


class GangPolicy(View):
    min_count: int = 1


class SchedulingPolicy(View):
    gang: GangPolicy | None = None


class TopologyConstraint(View):
    key: str = ""


class SchedulingConstraints(View):
    topology: list[TopologyConstraint] | None = None


class PodGroupSpec(View):
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: str = "Pod"
    priority_class_name: str = ""
    priority: int | None = None


class PodGroupStatus(View):
    conditions: list[Condition] | None = None


class PodGroup(Object):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
