"""What makes pods: replica sets, deployments, stateful sets, jobs."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.wire.base import Condition, LabelSelector, Object, View


class ReplicaSetSpec(View):
    selector: LabelSelector = LabelSelector()
    template: msgspec.Raw = msgspec.Raw(b"{}")
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSetStatus(View):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0


class ReplicaSet(Object):
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdate(View):
    max_unavailable: int | str | None = None
    max_surge: int | str | None = None
    partition: int = 0


class UpdateStrategy(View):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(View):
    selector: LabelSelector = LabelSelector()
    template: msgspec.Raw = msgspec.Raw(b"{}")
    replicas: int = 1
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    progress_deadline_seconds: int = 600
    paused: bool = False


class DeploymentStatus(View):
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    collision_count: int | None = None
    conditions: list[Condition] | None = None


class Deployment(Object):
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class PersistentVolumeClaimRetention(View):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class Ordinals(View):
    start: int = 0


class StatefulSetSpec(View):
    selector: LabelSelector = LabelSelector()
    template: msgspec.Raw = msgspec.Raw(b"{}")
    service_name: str = ""
    replicas: int = 1
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy()
    volume_claim_templates: list[dict[str, Any]] | None = None
    min_ready_seconds: int = 0
    ordinals: Ordinals | None = None
    revision_history_limit: int = 10
    persistent_volume_claim_retention_policy: PersistentVolumeClaimRetention | None = None


class StatefulSetStatus(View):
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: int = 0
    collision_count: int | None = None


class StatefulSet(Object):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class ControllerRevision(Object):
    data: msgspec.Raw = msgspec.Raw(b"{}")
    revision: int = 0


class JobSpec(View):
    template: msgspec.Raw = msgspec.Raw(b"{}")
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_failure_policy: dict[str, Any] | None = None
    success_policy: dict[str, Any] | None = None
    pod_replacement_policy: str = "TerminatingOrFailed"
    managed_by: str = ""


class UncountedTerminatedPods(View):
    succeeded: list[str] | None = None
    failed: list[str] | None = None


class JobStatus(View):
    conditions: list[Condition] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(Object):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
