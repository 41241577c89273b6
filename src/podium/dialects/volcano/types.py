"""Volcano's objects as they are on the wire: the fields of version 1.1 and of today.

This is the only place where a field is declared.  The definitions that servers get are made from it.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES
from podium.kube.wire import LabelSelector, Object, OwnerReference, View
from podium.schema.crd import Amounts, Column, Definition, Rule, said

_NAME = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$"
_LONGEST_NAME = 253

PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")
STATES = ("Open", "Closed", "Closing", "Unknown")


# --- PodGroup ----------------------------------------------------------------------------------------------


class NetworkTopology(View):
    """How far apart, in the network, the pods of a group may be.  Kept, and not acted on yet."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.highestTierAllowed) || !has(self.highestTierName) || self.highestTierName == ''",
            "highestTierAllowed and highestTierName exclude each other",
        ),
    )

    mode: Annotated[str, said("hard: a must; soft: a wish.", enum=["hard", "soft"])] = "hard"
    highest_tier_allowed: Annotated[
        int | None, said("The highest tier of hypernodes that the pods may spread over, by number.", minimum=0)
    ] = None
    highest_tier_name: Annotated[str, said("The same by name.", maxLength=_LONGEST_NAME)] = ""


class SubGroupPolicy(View):
    """Groups inside the group: pods with equal values of some labels."""

    name: Annotated[str, said("The policy's name.", maxLength=_LONGEST_NAME)] = ""
    network_topology: NetworkTopology | None = None
    sub_group_size: Annotated[int, said("Pods in each sub-group.", minimum=1)] = 1
    min_sub_groups: Annotated[int, said("Whole sub-groups that must fit before any pod starts.", minimum=0)] = 0
    label_selector: Annotated[LabelSelector | None, said("The pods that it is about.")] = None
    match_label_keys: Annotated[
        list[str] | None,
        said("Labels whose values distinguish the sub-groups.", **{"x-kubernetes-list-type": "atomic"}),
    ] = None


class PodGroupSpec(View):
    """What the group needs to start."""

    min_member: Annotated[int, said("Pods that start together or not at all.", minimum=0)] = 0
    min_task_member: Annotated[
        dict[str, int] | None, said("The same for each role (the pods' annotation volcano.sh/task-spec).")
    ] = None
    queue: Annotated[
        str, said("The queue whose share the group uses.", maxLength=_LONGEST_NAME, pattern=_NAME)
    ] = "default"
    priority_class_name: Annotated[
        str, said("The PriorityClass that orders groups in a queue.", maxLength=_LONGEST_NAME)
    ] = ""
    min_resources: Annotated[
        Amounts | None, said("Resources that must be free before the group is let into its queue.")
    ] = None
    network_topology: NetworkTopology | None = None
    sub_group_policy: Annotated[list[SubGroupPolicy] | None, said("Groups inside the group.")] = None


class PodGroupCondition(View):
    """What the scheduler last found."""

    type: Annotated[str, said("Unschedulable or Scheduled.")] = ""
    status: Annotated[str, said("True, False or Unknown.")] = ""
    transition_id: Annotated[str, said("The scheduling cycle that wrote it.")] = msgspec.field(
        default="", name="transitionID"
    )
    last_transition_time: Annotated[str | None, said("When it became so.", format="date-time", nullable=True)] = (
        None
    )
    reason: Annotated[str, said("One word for the cause.")] = ""
    message: Annotated[str, said("The cause as a sentence with numbers.")] = ""


class PodGroupStatus(View):
    """Where the group stands."""

    phase: Annotated[
        str,
        said(
            "Pending: not let into its queue; Inqueue: let in, its pods may be created; Running: enough pods have "
            "a node; Unknown: some run and the rest does not fit; Completed: all have ended.",
            enum=list(PHASES),
        ),
    ] = ""
    conditions: Annotated[list[PodGroupCondition] | None, said("Why it waits, or that it does not.")] = None
    running: Annotated[int, said("Running pods.", minimum=0)] = 0
    succeeded: Annotated[int, said("Pods that ended well.", minimum=0)] = 0
    failed: Annotated[int, said("Pods that failed.", minimum=0)] = 0


class PodGroup(Object):
    """Pods that are scheduled together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


# --- Queue -------------------------------------------------------------------------------------------------


class Guarantee(View):
    """What is kept free for the queue."""

    resource: Annotated[Amounts | None, said("Amounts that no other queue may take.")] = None


class NodeGroupTerms(View):
    """Groups of nodes, by the nodes' label volcano.sh/nodegroup-name."""

    required: Annotated[list[str] | None, said("Groups that must, or must not, be used.")] = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: Annotated[list[str] | None, said("Groups that should, or should not, be used.")] = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class QueueAffinity(View):
    """Which groups of nodes the queue's pods go to, and which they avoid."""

    node_group_affinity: NodeGroupTerms | None = None
    node_group_anti_affinity: NodeGroupTerms | None = None


class ExtendCluster(View):
    """Another cluster to which the queue's jobs may be sent."""

    name: Annotated[str, said("The cluster's name.")] = ""
    weight: Annotated[int, said("Its part among the clusters.")] = 0
    capacity: Annotated[Amounts | None, said("What the queue may use there.")] = None


def _not_above(lower: str, upper: str) -> str:
    """CEL: for a resource `name`, what `lower` says of it is at most what `upper` says."""
    return f"quantity(string({lower}[name])).compareTo(quantity(string({upper}[name]))) <= 0"


class QueueSpec(View):
    """What the queue's jobs may use."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            # A queue that says nothing of what it deserves deserves what it is guaranteed.
            "!has(self.guarantee) || !has(self.guarantee.resource) || !has(self.deserved) || "
            "self.guarantee.resource.all(name, name in self.deserved && "
            f"{_not_above('self.guarantee.resource', 'self.deserved')})",
            "deserved, where it is given, must name each resource of the guarantee, and at least as much of it",
        ),
        Rule(
            "!has(self.deserved) || !has(self.capability) || self.deserved.all(name, "
            f"!(name in self.capability) || {_not_above('self.deserved', 'self.capability')})",
            "deserved must not be above capability",
        ),
    )

    weight: Annotated[int, said("The queue's part among its siblings; 0 counts as 1.", minimum=0)] = 1
    capability: Annotated[
        Amounts | None, said("The most the queue may use; what it does not name has no limit.")
    ] = None
    reclaimable: Annotated[bool, said("Whether others may take back what is beyond the queue's share.")] = True
    guarantee: Annotated[Guarantee | None, said("What is kept free for the queue.")] = None
    deserved: Annotated[
        Amounts | None, said("The queue's share: more may be lent to it, and is taken back when others need it.")
    ] = None
    parent: Annotated[str, said("The queue above it.", maxLength=_LONGEST_NAME, pattern=_NAME)] = ""
    priority: Annotated[int, said("Higher ones are served first and give back last.", minimum=0)] = 0
    dequeue_strategy: Annotated[
        str,
        said(
            "fifo: a job that does not fit holds back those behind it; traverse: they may pass.",
            enum=["fifo", "traverse"],
        ),
    ] = "traverse"
    affinity: QueueAffinity | None = None
    type: Annotated[str, said("A word of the user's own.", maxLength=_LONGEST_NAME)] = ""
    extend_clusters: Annotated[
        list[ExtendCluster] | None, said("Kept for other programs; podium does not send jobs.")
    ] = None


class Reservation(View):
    """Nodes kept for the queue."""

    nodes: Annotated[list[str] | None, said("Their names.")] = None
    resource: Annotated[Amounts | None, said("What they have together.")] = None


class QueueStatus(View):
    """What the queue has."""

    state: Annotated[str, said("Whether it takes jobs.", enum=list(STATES))] = ""
    unknown: Annotated[int, said("Groups in phase Unknown.", minimum=0)] = 0
    pending: Annotated[int, said("Groups in phase Pending.", minimum=0)] = 0
    running: Annotated[int, said("Groups in phase Running.", minimum=0)] = 0
    inqueue: Annotated[int, said("Groups in phase Inqueue.", minimum=0)] = 0
    completed: Annotated[int, said("Groups in phase Completed.", minimum=0)] = 0
    reservation: Reservation | None = None
    allocated: Annotated[Amounts | None, said("What pods with a node take.")] = None


class Queue(Object):
    """A share of the cluster, and the jobs that wait for it."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


# --- Command -----------------------------------------------------------------------------------------------


class Command(Object):
    """An order to a job or a queue.  It is deleted when it is taken up."""

    action: Annotated[str, said("AbortJob, ResumeJob, OpenQueue, CloseQueue ...")] = ""
    target: Annotated[OwnerReference | None, said("Whom it is for.")] = None
    reason: Annotated[str, said("One word for the cause.")] = ""
    message: Annotated[str, said("The cause as a sentence.")] = ""


_AGE = Column("AGE", ".metadata.creationTimestamp", "date")

DEFINITIONS = (
    Definition(
        PODGROUPS,
        PodGroup,
        short_names=("pg", "podgroup-v1beta1"),
        columns=(
            Column("STATUS", ".status.phase"),
            Column("minMember", ".spec.minMember", "integer"),
            Column("RUNNINGS", ".status.running", "integer"),
            _AGE,
            Column("QUEUE", ".spec.queue", priority=1),
        ),
    ),
    Definition(
        QUEUES,
        Queue,
        short_names=("q", "queue-v1beta1"),
        columns=(
            Column("PARENT", ".spec.parent"),
            Column("WEIGHT", ".spec.weight", "integer", priority=1),
            Column("STATE", ".status.state", priority=1),
            _AGE,
        ),
        status=True,
    ),
    Definition(COMMANDS, Command, columns=(Column("ACTION", ".action"), Column("TARGET", ".target.name"), _AGE)),
)
