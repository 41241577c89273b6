"""Pods."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.wire.base import Condition, Labels, LabelSelector, Object, Requirement, View, condition


class Resources(View):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class ContainerPort(View):
    container_port: int
    host_port: int | None = None
    protocol: str = "TCP"
    host_ip: str = msgspec.field(default="", name="hostIP")
    name: str = ""


class EnvVar(View):
    name: str
    value: str = ""


class SleepAction(View):
    seconds: int = 0


class LifecycleHandler(View):
    sleep: SleepAction | None = None


class Lifecycle(View):
    pre_stop: LifecycleHandler | None = None


class Container(View):
    name: str
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[EnvVar] | None = None
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    lifecycle: Lifecycle | None = None


class Toleration(View):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSelectorTerm(View):
    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None


class NodeSelector(View):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredTerm(View):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(View):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredTerm] | None = None


class PodAffinityTerm(View):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(View):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(View):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(View):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(View):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ClaimSource(View):
    claim_name: str


class Volume(View):
    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None


class Named(View):
    name: str


class SchedulingGroup(View):
    pod_group_name: str = ""


class PodSpec(View):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    containers: list[Container] = []
    init_containers: list[Container] | None = None
    restart_policy: str = "Always"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    scheduling_gates: list[Named] | None = None
    scheduling_group: SchedulingGroup | None = None
    overhead: dict[str, str | int | float] | None = None
    resources: Resources | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[Any] | None = None
    host_network: bool | None = None
    hostname: str = ""
    subdomain: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    readiness_gates: list[Any] | None = None


class ContainerStateTerminated(View):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerStateRunning(View):
    started_at: str | None = None


class ContainerStateWaiting(View):
    reason: str = ""
    message: str = ""


class ContainerState(View):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View):
    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    allocated_resources: dict[str, str | int | float] | None = None
    resources: Resources | None = None


class PodStatus(View):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: list[Condition] | None = None
    nominated_node_name: str = ""
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    host_ip: str = msgspec.field(default="", name="hostIP")
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resize: str = ""
    allocated_resources: dict[str, str | int | float] | None = None
    resources: Resources | None = None


class Pod(Object):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def ready(self) -> bool:
        found = condition(self.status.conditions, "Ready")
        return found is not None and found.status == "True"
