"""The PodGroup of Koordinator's gangs as it is on the wire.  The definition that servers get is made from it."""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated, Any

from podium.dialects.koordinator.names import MADE, PODGROUPS
from podium.kube.wire import Object, View
from podium.schema.crd import Amounts, Column, Definition, said

PHASES = ("Pending", "PreScheduling", "Scheduling", "Scheduled", "Running", "Finished", "Failed", "Unknown")
SATISFIED = "Satisfied"  # the condition by which a group remembers that its minimum was bound once
SCHEDULED = "Scheduled"  # the condition that says why its pods wait


class PodGroupSpec(View):
    """What the group needs to start."""

    min_member: Annotated[int, said("Pods that start together or not at all.")] = 0
    min_resources: Annotated[
        Amounts | None, said("What the cluster must have in all; a group that asks for more is refused.")
    ] = None
    schedule_timeout_seconds: Annotated[
        int | None, said("How long places may be held while others are missing; none or 0: the default.")
    ] = None


class PodGroupStatus(View):
    """How the group stands."""

    phase: Annotated[str, said("Where it stands in its life.")] = ""
    occupied_by: Annotated[str, said("The owners of its pods, as namespace/name.")] = ""
    scheduled: Annotated[int, said("Pods with a node.")] = 0
    running: Annotated[int, said("Pods that run.")] = 0
    succeeded: Annotated[int, said("Pods that have succeeded.")] = 0
    failed: Annotated[int, said("Pods that have failed.")] = 0
    schedule_start_time: Annotated[
        str | None, said("When it was Scheduling for the first time.", format="date-time")
    ] = None
    conditions: Annotated[
        list[dict[str, str]] | None,
        said("Scheduled: why its pods wait. Satisfied: its minimum was bound once."),
    ] = None


class PodGroup(Object):
    """Pods that start together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def made(self) -> bool:
        """Whether it was made after the annotations of pods, and says nothing of its own."""
        return self.annotations.get(MADE) == "true"


class CommunityPodGroup(PodGroup):
    """The same as another group of APIs has it."""


DEFINITIONS = (
    Definition(
        PODGROUPS,
        PodGroup,
        short_names=("kpg",),
        columns=(
            Column("PHASE", ".status.phase"),
            Column("MINMEMBER", ".spec.minMember", "integer"),
            Column("SCHEDULED", ".status.scheduled", "integer"),
            Column("RUNNING", ".status.running", "integer"),
            Column("AGE", ".metadata.creationTimestamp", "date"),
        ),
        approved="https://github.com/kubernetes-sigs/scheduler-plugins/pull/50",
    ),
)

Document = dict[str, Any]
