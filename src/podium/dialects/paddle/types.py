"""Paddle's TrainingJob as it is on the wire: the only place where a field is declared.

The odd spellings (`fault_tolerant`, `min-instance`, `VolumeMounts`) are the API's own.  What podium adds is
optional: `priority`, `freezingWindow`, `etcd`.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from podium.core.model.durations import duration
from podium.dialects.paddle.names import DEFAULT_LEVEL, LEVELS, OLD_GPU, TRAININGJOBS
from podium.kube.numbers import whole_number
from podium.kube.resources import Resource
from podium.kube.wire import Object, View
from podium.schema.crd import Column, Definition, Rule, said

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
DEFAULT_WINDOW = 60.0
MOST_WINDOW = MOST_LEVEL = 2**31 - 1
# What status.places can list within the largest object that a server keeps.
MOST_INSTANCES = 10_000
_INSTANCES = {"minimum": 1, "maximum": MOST_INSTANCES}
_LEVEL_NAMES = ", ".join(f"'{name}'" for name in LEVELS)
_RESOURCES = said("What each pod asks for; absent amounts are zero.", built_in="ResourceRequirements")
_NO_RESOURCES = msgspec.Raw(b"{}")


def _resources(raw: msgspec.Raw) -> Document:
    """Requests and limits, with GPUs under the name that they have today."""
    found: Document = msgspec.json.decode(raw)
    if not isinstance(found, dict):
        return {}  # a definition refuses that; what came past one asks for nothing
    for part in ("requests", "limits"):
        amounts = found.get(part)
        if isinstance(amounts, dict) and OLD_GPU in amounts:
            renamed = {GPU if name == OLD_GPU else name: amount for name, amount in amounts.items()}
            found[part] = renamed
    return found


class TrainerSpec(View):
    """The pods that train; only these become more and fewer."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.min__dash__instance) ? self.min__dash__instance : 0) <= "
            "(has(self.max__dash__instance) ? self.max__dash__instance : 0)",
            "must not be above max-instance",
            ".min-instance",
        ),
    )

    entrypoint: Annotated[str, said("The command that trains.")] = ""
    workspace: Annotated[str, said("The directory in which it runs.")] = ""
    min_instance: Annotated[int, said("The fewest trainers with which the job runs.", **_INSTANCES)] = (
        msgspec.field(default=1, name="min-instance")
    )
    max_instance: Annotated[int, said("The most trainers that are of use.", **_INSTANCES)] = msgspec.field(
        default=1, name="max-instance"
    )
    resources: Annotated[msgspec.Raw, _RESOURCES] = _NO_RESOURCES
    etcd_endpoint: Annotated[str, said("An etcd that is there already: none is made.")] = msgspec.field(
        default="", name="etcd-endpoint"
    )

    def amounts(self) -> Document:
        return _resources(self.resources)


class PserverSpec(View):
    """The pods that keep the parameters: as many as the least."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.max__dash__instance) || self.max__dash__instance == 0 || "
            "(has(self.min__dash__instance) ? self.min__dash__instance : 0) <= self.max__dash__instance",
            "must not be above max-instance",
            ".min-instance",
        ),
    )

    min_instance: Annotated[int, said("How many of them.", minimum=0, maximum=MOST_INSTANCES)] = msgspec.field(
        default=0, name="min-instance"
    )
    max_instance: Annotated[int, said("Read for the sake of old files; they are not scaled.", minimum=0)] = (
        msgspec.field(default=0, name="max-instance")
    )
    resources: Annotated[msgspec.Raw, _RESOURCES] = _NO_RESOURCES

    def amounts(self) -> Document:
        return _resources(self.resources)


class MasterSpec(View):
    """The pod that deals out the work, of jobs that tolerate faults."""

    etcd_endpoint: Annotated[str, said("An etcd that is there already: none is made.")] = msgspec.field(
        default="", name="etcd-endpoint"
    )
    resources: Annotated[msgspec.Raw, _RESOURCES] = _NO_RESOURCES

    def amounts(self) -> Document:
        return _resources(self.resources)


class EtcdSpec(View):
    """The etcd of the master."""

    replicas: Annotated[
        int, said("With 1 it runs beside the master; more are a StatefulSet of their own.", minimum=1, maximum=9)
    ] = 1
    resources: Annotated[msgspec.Raw, _RESOURCES] = _NO_RESOURCES

    def amounts(self) -> Document:
        return _resources(self.resources)


class TrainingJobSpec(View):
    """What the job runs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.trainer) || (has(self.fault_tolerant) && self.fault_tolerant) || "
            "self.trainer.min__dash__instance == self.trainer.max__dash__instance",
            "must be true for trainers that come and go (min-instance below max-instance)",
            ".fault_tolerant",
        ),
        Rule(
            f"!has(self.priority) || (type(self.priority) == string ? self.priority in [{_LEVEL_NAMES}] : "
            f"self.priority > 0 && self.priority <= {MOST_LEVEL})",
            f"must be Experiment, Offline, Normal or Production, or a number above 0, {MOST_LEVEL} at the most",
            ".priority",
        ),
    )

    image: Annotated[str, said("The image of all pods.")] = "paddlepaddle/paddlecloud-job"
    port: Annotated[int, said("The first port.", minimum=1, maximum=65_535)] = 7164
    ports_num: Annotated[int, said("Ports for dense parameters.", minimum=0, maximum=1000)] = msgspec.field(
        default=1, name="ports_num"
    )
    ports_num_for_sparse: Annotated[int, said("Ports for sparse parameters.", minimum=0, maximum=1000)] = (
        msgspec.field(default=1, name="ports_num_for_sparse")
    )
    fault_tolerant: Annotated[bool, said("Whether trainers may come and go.")] = msgspec.field(
        default=False, name="fault_tolerant"
    )
    passes: Annotated[int, said("How often the data is gone through.", minimum=1)] = 1
    volumes: Annotated[list[dict[str, Any]] | None, said("Volumes of the pods.", maxItems=64)] = None
    volume_mounts: Annotated[list[dict[str, Any]] | None, said("Where all containers see them.", maxItems=64)] = (
        msgspec.field(default=None, name="VolumeMounts")
    )
    node_selector: Annotated[dict[str, str] | None, said("The nodes on which the pods may run.")] = msgspec.field(
        default=None, name="NodeSelector"
    )
    host_network: Annotated[bool, said("Whether pods use the network of their nodes.")] = msgspec.field(
        default=False, name="host_network"
    )
    old_host_network: Annotated[bool, said("The same, as older files have it.")] = msgspec.field(
        default=False, name="HostNetwork"
    )
    image_pull_secrets: Annotated[list[dict[str, Any]] | None, said("How images are got.", maxItems=16)] = None
    trainer: TrainerSpec = TrainerSpec()
    pserver: PserverSpec = PserverSpec()
    master: MasterSpec = MasterSpec()
    etcd: EtcdSpec = EtcdSpec()
    priority: Annotated[
        str | int | None, said("Experiment, Offline, Normal (the default) or Production; or a number above 0.")
    ] = None
    freezing_window: Annotated[
        str | int | None,
        said("How long the size stays after it was changed: seconds, or a duration such as 2m; 60 by default."),
    ] = None
    scheduling_policy: Annotated[
        str, said("Read and without effect: the policy is the profile's.", enum=["", "cfs", "fulfilment"])
    ] = ""

    @property
    def level(self) -> int:
        if self.priority is None:
            return DEFAULT_LEVEL
        return LEVELS.get(self.priority, 0) if isinstance(self.priority, str) else self.priority

    @property
    def window(self) -> float | None:
        """In seconds; None for what is none."""
        written = self.freezing_window
        if written is None or written == "":
            return DEFAULT_WINDOW
        seconds = whole_number(written) if isinstance(written, str) else written
        if seconds is not None:
            return float(seconds) if 0 <= seconds <= MOST_WINDOW else None
        return 0.0 if written == "0s" else duration(str(written))

    @property
    def elastic(self) -> bool:
        return self.trainer.min_instance < self.trainer.max_instance

    @property
    def own_etcd(self) -> int:
        """How many etcds run in pods of their own."""
        given = self.master.etcd_endpoint or self.trainer.etcd_endpoint
        return self.etcd.replicas if self.fault_tolerant and self.etcd.replicas > 1 and not given else 0

    @property
    def on_host_network(self) -> bool:
        return self.host_network or self.old_host_network


class ReplicaStatus(View):
    """How the pods of one role stand."""

    training_resource_type: Annotated[str, said("MASTER, ETCD, PSERVER or TRAINER.")] = msgspec.field(
        default="", name="training_resource_type"
    )
    state: Annotated[str, said("What the first of its pods do.")] = ""
    resource_states: Annotated[dict[str, int] | None, said("Its pods, by what they do.")] = msgspec.field(
        default=None, name="resource_states"
    )


class JobCondition(View):
    """Something that is so, or is not."""

    type: Annotated[str, said("`Scheduled`: whether all that it starts with has its places.")] = ""
    status: Annotated[str, said("True or False.")] = ""
    reason: Annotated[str, said("The code of the reason why not.")] = ""
    message: Annotated[str, said("The reason, with numbers.")] = ""
    last_transition_time: Annotated[str | None, said("Since when it is so.")] = None


class TrainingJobStatus(View):
    """How the job stands.  The controller writes the first part, the scheduler the second."""

    phase: Annotated[str, said("Empty while it waits; creating, running, scaling, succeeded or failed.")] = ""
    reason: Annotated[str, said("Why it failed.")] = ""
    running: Annotated[int, said("Trainers that run.")] = 0
    succeeded: Annotated[int, said("Trainers that have done their work.")] = 0
    failed: Annotated[int, said("Trainers that have failed, all together.")] = 0
    replica_statuses: Annotated[list[ReplicaStatus] | None, said("The same for each role.")] = msgspec.field(
        default=None, name="replica_statuses"
    )

    wanted: Annotated[int, said("Trainers that it shall have; none while it waits.")] = 0
    score: Annotated[
        float, said("What it has got so far, for what it is worth: the smallest is served first.")
    ] = 0.0
    pod_seconds: Annotated[float, said("The seconds that its trainers have run, all together.")] = 0.0
    counted_at: Annotated[str, said("Until when these have been counted.")] = ""
    last_scale_time: Annotated[str, said("When it was last made larger or smaller.")] = ""
    places: Annotated[dict[str, str] | None, said("The nodes that are kept for its pods, by role and index.")] = (
        None
    )
    conditions: Annotated[list[JobCondition] | None, said("Why it waits.")] = None


class TrainingJob(Object):
    spec: TrainingJobSpec = TrainingJobSpec()
    status: TrainingJobStatus = TrainingJobStatus()

    @property
    def ended(self) -> bool:
        return self.status.phase in (SUCCEEDED, FAILED)

    @property
    def wanted(self) -> int:
        """Trainers that it shall have.  Nobody ever asked for more than a job can have, whoever wrote so."""
        return max(0, min(self.status.wanted, MOST_INSTANCES))

    @property
    def winding_down(self) -> bool:
        """Whether one of its trainers has done its work: a Job without completions then makes no more pods, and
        leaves alone those that run."""
        return self.wanted > 0 and self.status.succeeded > 0


CREATING, RUNNING, SCALING, SUCCEEDED, FAILED = "creating", "running", "scaling", "succeeded", "failed"

TRAININGJOB = Definition(
    TRAININGJOBS,
    TrainingJob,
    short_names=("tj",),
    categories=("all",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Wanted", ".status.wanted", "integer"),
        Column("Running", ".status.running", "integer"),
        Column("Min", ".spec.trainer.min-instance", "integer"),
        Column("Max", ".spec.trainer.max-instance", "integer"),
        Column("Score", ".status.score", "number", priority=1),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    status=True,
)

__all__ = ["TRAININGJOB", "Resource", "TrainingJob"]
