"""The scheduler's and the controllers' view of Kubernetes objects: typed structs with what podium reads.

Decoding a pod through these costs a few microseconds, because fields that nobody reads are skipped and never
become Python objects.  The price is that a struct is a view: it is never encoded and sent back.  Writes are
patches (`kube.changes`), and the embedded server keeps whole documents.

Pod templates inside other kinds stay raw bytes: they travel from a Job to its pods untouched.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube import resources as r
from podium.kube.resources import Resource

Labels = dict[str, str]
_NO_LABELS: Labels = {}


class View(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Common settings.  gc=False: the structs hold no cycles, and the collector need not visit 50,000 pods."""


class OwnerReference(View):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    generate_name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Labels | None = None
    annotations: Labels | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None


class Object(View):
    """Any object, as far as every object is alike."""

    metadata: Metadata
    kind: str = ""
    api_version: str = ""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> Labels:
        return self.metadata.labels or _NO_LABELS

    @property
    def annotations(self) -> Labels:
        return self.metadata.annotations or _NO_LABELS

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Condition(View):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None
    last_probe_time: str | None = None
    observed_generation: int | None = None


def condition(conditions: list[Condition] | None, kind: str) -> Condition | None:
    """The condition of that type, if it is there."""
    for each in conditions or ():
        if each.type == kind:
            return each
    return None


# --- selectors ---------------------------------------------------------------------------------------------


class Requirement(View):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(View):
    match_labels: Labels | None = None
    match_expressions: list[Requirement] | None = None


# --- pods --------------------------------------------------------------------------------------------------


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


class Container(View):
    name: str
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[EnvVar] | None = None
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None


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


# --- nodes -------------------------------------------------------------------------------------------------


class Taint(View):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(View):
    unschedulable: bool = False
    taints: list[Taint] | None = None
    provider_id: str = msgspec.field(default="", name="providerID")
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class NodeAddress(View):
    type: str
    address: str


class ContainerImage(View):
    names: list[str] | None = None
    size_bytes: int = 0


class NodeSystemInfo(View):
    kubelet_version: str = ""


class NodeStatus(View):
    capacity: dict[str, str | int | float] | None = None
    allocatable: dict[str, str | int | float] | None = None
    conditions: list[Condition] | None = None
    addresses: list[NodeAddress] | None = None
    images: list[ContainerImage] | None = None
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- workloads ---------------------------------------------------------------------------------------------


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


# --- policy, storage, the rest -----------------------------------------------------------------------------


class PodDisruptionBudgetSpec(View):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(View):
    current_healthy: int = 0
    desired_healthy: int = 0
    disruptions_allowed: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] | None = None
    conditions: list[Condition] | None = None


class PodDisruptionBudget(Object):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ObjectReference(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    kind: str = ""


class PersistentVolumeClaimSpec(View):
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: list[str] | None = None
    resources: Resources | None = None
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"


class Phase(View):
    phase: str = ""
    capacity: dict[str, str | int | float] | None = None
    access_modes: list[str] | None = None


class PersistentVolumeClaim(Object):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()


class VolumeNodeAffinity(View):
    required: NodeSelector | None = None


class PersistentVolumeSpec(View):
    capacity: dict[str, str | int | float] | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    volume_mode: str = "Filesystem"
    csi: dict[str, Any] | None = None


class PersistentVolume(Object):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class TopologySelectorTerm(View):
    match_label_expressions: list[dict[str, Any]] | None = None


class StorageClass(Object):
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologySelectorTerm] | None = None


class CSINodeDriver(View):
    name: str
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: list[str] | None = None
    allocatable: dict[str, Any] | None = None


class CSINodeSpec(View):
    drivers: list[CSINodeDriver] = []


class CSINode(Object):
    spec: CSINodeSpec = CSINodeSpec()


class NamespaceSpec(View):
    finalizers: list[str] | None = None


class NamespaceStatus(View):
    phase: str = ""
    conditions: list[Condition] | None = None


class Namespace(Object):
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Object):
    data: dict[str, str] | None = None


class ServicePort(View):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None
    app_protocol: str | None = None


class ServiceSpec(View):
    selector: Labels | None = None
    ports: list[ServicePort] | None = None
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    publish_not_ready_addresses: bool = False


class Service(Object):
    spec: ServiceSpec = ServiceSpec()


class Endpoints(Object):
    subsets: list[Any] | None = None


class EndpointSlice(Object):
    address_type: str = ""
    endpoints: list[Any] | None = None
    ports: list[Any] | None = None


class PriorityClass(Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class LeaseSpec(View):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object):
    spec: LeaseSpec = LeaseSpec()


class DefinitionNames(View):
    plural: str = ""
    kind: str = ""


class DefinitionVersion(View):
    name: str
    served: bool = False
    storage: bool = False


class DefinitionSpec(View):
    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = "Namespaced"
    versions: list[DefinitionVersion] = []


class DefinitionStatus(View):
    conditions: list[Condition] | None = None


class CustomResourceDefinition(Object):
    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def served(self) -> Resource | None:
        """The resource that this definition makes the server serve; None while it does not."""
        established = condition(self.status.conditions, "Established")
        if established is None or established.status != "True":
            return None
        # The stored version is the one that needs no conversion, if it is served.
        for version in sorted(self.spec.versions, key=lambda each: not each.storage):
            if version.served:
                names, namespaced = self.spec.names, self.spec.scope == "Namespaced"
                return Resource(self.spec.group, version.name, names.plural, names.kind, namespaced)
        return None


_STRUCTS: dict[Resource, type[Object]] = {
    r.PODS: Pod,
    r.NODES: Node,
    r.NAMESPACES: Namespace,
    r.REPLICASETS: ReplicaSet,
    r.DEPLOYMENTS: Deployment,
    r.STATEFULSETS: StatefulSet,
    r.JOBS: Job,
    r.PODDISRUPTIONBUDGETS: PodDisruptionBudget,
    r.PERSISTENTVOLUMES: PersistentVolume,
    r.PERSISTENTVOLUMECLAIMS: PersistentVolumeClaim,
    r.STORAGECLASSES: StorageClass,
    r.CSINODES: CSINode,
    r.PRIORITYCLASSES: PriorityClass,
    r.LEASES: Lease,
    r.CONTROLLERREVISIONS: ControllerRevision,
    r.CONFIGMAPS: ConfigMap,
    r.SERVICES: Service,
    r.ENDPOINTS: Endpoints,
    r.ENDPOINTSLICES: EndpointSlice,
    r.CUSTOMRESOURCEDEFINITIONS: CustomResourceDefinition,
}


def struct_of(resource: Resource) -> type[Object]:
    """The view through which podium reads a resource: `Object` (metadata only) where nothing more is needed."""
    return _STRUCTS.get(resource, Object)
