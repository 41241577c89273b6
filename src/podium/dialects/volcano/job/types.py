"""Volcano's Job as it is on the wire: the fields of version 1.1 and of today.

As in `types`, this is the only place where a field is declared.  Pod templates and specs of claims stay as they
came: they go from the Job into its pods and claims untouched.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.types import NetworkTopology
from podium.kube.wire import Object, View
from podium.schema.crd import Column, Definition, Rule, Scale, said

Document = dict[str, Any]

_NAME = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"
_LABEL = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
_LONGEST_NAME = 253
_LONGEST_LABEL = 63
# Far beyond any use; without them a server refuses the rules over these lists as too costly.
_MOST_TASKS = 256
_MOST_POLICIES = 64
_SAME_TASKS = {"rule": "size(self) == size(oldSelf)", "message": "tasks can neither be added nor removed"}
_MOST_VOLUMES = 64
_LONGEST_PATH = 1024

ANY = "*"
EVENTS = (
    ANY,
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
)
ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)
PHASES = (
    "Pending",
    "Running",
    "Restarting",
    "Aborting",
    "Aborted",
    "Completing",
    "Completed",
    "Terminating",
    "Terminated",
    "Failed",
)
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")

LARGEST_NUMBER = 2**31 - 1  # of pods, as the API can say it
DEFAULT_MAX_RETRY = 3


# --- what is wanted ----------------------------------------------------------------------------------------


class LifecyclePolicy(View):
    """What to do when something happens."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.exitCode) != ((has(self.event) && self.event != '') || (has(self.events) && "
            "size(self.events) > 0))",
            "must have either event, or events, or exitCode",
        ),
        Rule("!has(self.exitCode) || self.exitCode != 0", "exitCode 0 is no failure"),
    )

    action: Annotated[str, said("What to do.", enum=list(ACTIONS))] = ""
    event: Annotated[str, said("What happens; `*` is anything.", enum=list(EVENTS))] = ""
    events: Annotated[
        list[Annotated[str, said("What happens.", enum=list(EVENTS))]] | None,
        said("Several of them.", maxItems=16, **{"x-kubernetes-list-type": "atomic"}),
    ] = None
    exit_code: Annotated[int | None, said("The code with which the pod's first container ended.")] = None
    timeout: Annotated[
        str | None, said("How long to wait before acting (10s, 5m): what mends itself meanwhile is left alone.")
    ] = None

    @property
    def all_events(self) -> tuple[str, ...]:
        return (*((self.event,) if self.event else ()), *(self.events or ()))


class VolumeSpec(View):
    """A volume that all containers of the Job see."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule("has(self.mountPath)", "mountPath is required"),)

    mount_path: Annotated[
        str, said("Where containers see it.", minLength=1, maxLength=_LONGEST_PATH, pattern="^[^:]+$")
    ] = ""
    volume_claim_name: Annotated[str, said("A claim that is there.", maxLength=_LONGEST_NAME, pattern=_NAME)] = ""
    volume_claim: Annotated[
        msgspec.Raw,
        said("The spec of a claim to be made.", built_in="PersistentVolumeClaimSpec", nullable=True),
    ] = msgspec.Raw(b"null")

    def claim(self) -> Document | None:
        """The spec of the claim to be made, as a document of one's own."""
        found: Document | None = msgspec.json.decode(self.volume_claim)
        return found


class DependsOn(View):
    """Tasks whose pods must run before those of this one are made."""

    name: Annotated[list[str] | None, said("The tasks.", maxItems=_MOST_TASKS)] = None
    iteration: Annotated[str, said("Whether all of them are waited for, or any.", enum=["any", "all"])] = "all"


class PartitionPolicy(View):
    """Parts of a task that are placed, and restarted, as a whole."""

    total_partitions: Annotated[int, said("How many parts.", minimum=1)] = 1
    partition_size: Annotated[int, said("Pods in each part.", minimum=1)] = 1
    min_partitions: Annotated[int, said("Parts that must fit before any pod starts.", minimum=0)] = 0
    network_topology: NetworkTopology | None = None


class TaskSpec(View):
    """Pods that are all alike."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.minAvailable) || self.minAvailable == 0 || "
            "self.minAvailable <= (has(self.replicas) ? self.replicas : 0)",
            "minAvailable must not be above replicas",
        ),
    )

    name: Annotated[str, said("The task's name.", maxLength=_LONGEST_LABEL, pattern=_LABEL)] = ""
    replicas: Annotated[int, said("How many pods.", minimum=0)] = 0
    min_available: Annotated[
        int | None, said("Pods of the task that start together or not at all; all of them by default.", minimum=0)
    ] = None
    template: Annotated[msgspec.Raw, said("The pods.", built_in="PodTemplateSpec")] = msgspec.Raw(b"{}")
    policies: Annotated[
        list[LifecyclePolicy] | None, said("What to do about events of this task.", maxItems=_MOST_POLICIES)
    ] = None
    topology_policy: Annotated[
        str, said("How the pods' CPUs are to lie in a node.", enum=["", *TOPOLOGY_POLICIES])
    ] = ""
    max_retry: Annotated[
        int, said("Restarts of containers after which the task has failed; -1 is no limit.", minimum=-1)
    ] = DEFAULT_MAX_RETRY
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None

    @property
    def minimum(self) -> int:
        """Pods that start together: what the task says, else what its parts say, else all."""
        if self.min_available is not None:
            return self.min_available
        parts = self.partition_policy
        if parts is not None and parts.min_partitions > 0:
            return parts.min_partitions * parts.partition_size
        return self.replicas

    def pod_template(self) -> Document:
        """The template as a document of one's own."""
        template: Document | None = msgspec.json.decode(self.template)
        return template or {}


class JobSpec(View):
    """What the Job runs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.tasks) || self.tasks.all(one, !has(one.name) || one.name == '' || "
            "self.tasks.exists_one(other, has(other.name) && other.name == one.name))",
            "two tasks have the same name",
        ),
        Rule(
            "!has(self.volumes) || self.volumes.all(one, !has(one.mountPath) || "
            "self.volumes.exists_one(other, has(other.mountPath) && other.mountPath == one.mountPath))",
            "two volumes have the same mountPath",
        ),
        Rule(
            "!has(self.replicas) || (has(self.tasks) && size(self.tasks) == 1)",
            "replicas is for Jobs with one task; change those of the task that is meant",
        ),
    )

    scheduler_name: Annotated[str, said("Who places the pods.", maxLength=_LONGEST_LABEL)] = "volcano"
    min_available: Annotated[
        int, said("Pods that start together or not at all; 0 stands for the sum over the tasks.", minimum=0)
    ] = 0
    volumes: Annotated[
        list[VolumeSpec] | None, said("Volumes that all containers see.", maxItems=_MOST_VOLUMES)
    ] = None
    tasks: Annotated[
        list[TaskSpec],
        said("What runs.", maxItems=_MOST_TASKS, **{"x-kubernetes-validations": [_SAME_TASKS]}),
    ] = msgspec.field(default_factory=list)
    policies: Annotated[
        list[LifecyclePolicy] | None,
        said("What to do about events that no policy of their task is about.", maxItems=_MOST_POLICIES),
    ] = None
    plugins: Annotated[
        dict[str, Annotated[list[str] | None, said("Its arguments.", nullable=True)]] | None,
        said("Helpers of the Job by name, with their arguments."),
    ] = None
    running_estimate: Annotated[str | None, said("How long it may run.  Kept, and not acted on.")] = None
    queue: Annotated[str, said("The queue whose share the Job uses.", maxLength=_LONGEST_NAME, pattern=_NAME)] = (
        "default"
    )
    max_retry: Annotated[int, said("Restarts after which the Job has failed.", minimum=0)] = DEFAULT_MAX_RETRY
    ttl_seconds_after_finished: Annotated[
        int | None, said("When to delete the Job after its end; never by default.", minimum=0)
    ] = None
    priority_class_name: Annotated[
        str, said("The PriorityClass of the Job and of its pods.", maxLength=_LONGEST_NAME, pattern=_NAME)
    ] = ""
    min_success: Annotated[
        int | None, said("Pods that must end well; the Job is over as soon as they have.", minimum=1)
    ] = None
    network_topology: NetworkTopology | None = None
    replicas: Annotated[
        int | None,
        said("podium's own: the pods of a Job with one task, for `kubectl scale`.", minimum=0),
    ] = None


# --- what is so --------------------------------------------------------------------------------------------


class JobState(View):
    """Where the Job stands."""

    phase: Annotated[str, said("The phase.", enum=["", *PHASES])] = ""
    reason: Annotated[str, said("The action that led there.")] = ""
    message: Annotated[str, said("The cause as a sentence.")] = ""
    last_transition_time: Annotated[str | None, said("Since when.", format="date-time", nullable=True)] = None


class JobCondition(View):
    """A phase that the Job has been in."""

    status: Annotated[str, said("The phase.")] = ""
    last_transition_time: Annotated[str | None, said("When it last began.", format="date-time", nullable=True)] = (
        None
    )


class TaskState(View):
    """The pods of a task."""

    phase: Annotated[dict[str, int] | None, said("How many are in each phase.")] = None

    @property
    def pods(self) -> int:
        return sum((self.phase or {}).values())


class JobStatus(View):
    """What has become of the Job."""

    state: JobState = JobState()
    min_available: Annotated[int, said("As the controller last used it.")] = 0
    task_status_count: Annotated[dict[str, TaskState] | None, said("The pods of each task.")] = None
    pending: Annotated[int, said("Pods that wait.")] = 0
    running: Annotated[int, said("Pods that run.")] = 0
    succeeded: Annotated[int, said("Pods that ended well.")] = 0
    failed: Annotated[int, said("Pods that failed.")] = 0
    terminating: Annotated[int, said("Pods that are being taken away.")] = 0
    unknown: Annotated[int, said("Pods of which nothing is known.")] = 0
    version: Annotated[int, said("Grows whenever the pods are taken away as a whole.")] = 0
    retry_count: Annotated[int, said("Restarts so far.")] = 0
    running_duration: Annotated[str | None, said("How long it has run.")] = None
    controlled_resources: Annotated[dict[str, str] | None, said("What was made for it.")] = None
    conditions: Annotated[list[JobCondition] | None, said("The phases it has been in.")] = None
    replicas: Annotated[int, said("podium's own: the pods that are wanted, as last seen.")] = 0


class Job(Object):
    """Pods of several kinds that do one piece of work together."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def total(self) -> int:
        """Pods that are wanted."""
        return sum(task.replicas for task in self.spec.tasks)

    def task(self, name: str) -> TaskSpec | None:
        return next((task for task in self.spec.tasks if task.name == name), None)


def on_wire(view: View) -> Document:
    """A struct as a document, without fields that say nothing."""
    document: Document = _reporting(msgspec.json.decode(msgspec.json.encode(view)))
    return document


def _reporting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reporting(each) for key, each in value.items() if each not in (None, "")}
    if isinstance(value, list):
        return [_reporting(each) for each in value]
    return value


JOB = Definition(
    JOBS,
    Job,
    short_names=("vcjob", "vj"),
    columns=(
        Column("STATUS", ".status.state.phase"),
        Column("minAvailable", ".status.minAvailable", "integer"),
        Column("RUNNINGS", ".status.running", "integer"),
        Column("AGE", ".metadata.creationTimestamp", "date"),
        Column("QUEUE", ".spec.queue", priority=1),
    ),
    status=True,
    scale=Scale(".spec.replicas", ".status.replicas"),
)
