"""Pools as they are on the wire: the fields of today's version, and those of 0.2.0.

This is the only place where a field is declared.  The definition that servers get is made from it.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Annotated

import msgspec

from podium.dialects.aibee.names import POOLS
from podium.kube.wire import LabelSelector, Object, Requirement, View
from podium.schema.crd import Amounts, Column, Definition, said

_NO_EFFECT = "Of version 0.2.0; accepted, and without effect."


class NodeRequirement(Requirement):
    """A condition on a label of a node."""

    key: Annotated[str, said("The label.")] = ""
    operator: Annotated[str, said("In, NotIn, Exists or DoesNotExist.")] = ""
    values: Annotated[list[str] | None, said("For In and NotIn.")] = None


class NodeSelector(LabelSelector):
    """Labels that the nodes of a pool have; all must match."""

    match_labels: Annotated[dict[str, str] | None, said("Labels with their values.")] = None
    match_expressions: Annotated[list[NodeRequirement] | None, said("Conditions.")] = None  # type: ignore[assignment]


class PoolSpec(View):
    """Which nodes a pool has, and how it shares them."""

    node_selector: Annotated[
        NodeSelector | None,
        said("The nodes of the pool.  One that several pools select, or none, is in the Default pool."),
    ] = None
    support_resources: Annotated[
        list[str] | None,
        said("Resources of which a node must offer some; beside a selector both must match.", maxItems=64),
    ] = None
    disable_preemption: Annotated[bool, said("Its pods push out nobody, and what was lent is not taken back.")] = (
        False
    )
    disable_borrowing: Annotated[bool, said("Its pods wait for its own nodes.")] = False
    disable_sharing: Annotated[bool, said("Pods of other pools do not get its nodes.")] = False
    borrowing_pools: Annotated[
        list[str] | None, said("The pools that it borrows from; without any, all that share.", maxItems=256)
    ] = None
    weight: Annotated[dict[str, int] | None, said(_NO_EFFECT)] = None
    quota: Annotated[Amounts | None, said(_NO_EFFECT)] = None
    priorities: Annotated[list[msgspec.Raw] | None, said(_NO_EFFECT)] = None
    priority: Annotated[int | None, said(_NO_EFFECT)] = None


class PoolCondition(View):
    """Whether a pool is as its spec says."""

    type: Annotated[str, said("Ready.")] = ""
    status: Annotated[str, said("True, or False where something of the spec has no effect.")] = "Unknown"
    reason: Annotated[str, said("One word for the cause.")] = ""
    message: Annotated[str, said("The cause as a sentence.")] = ""
    last_transition_time: Annotated[str | None, said("When it became so.")] = None


class PoolStatus(View):
    """What a pool has, as the scheduler counts it."""

    capacity: Annotated[Amounts | None, said("The capacity of its nodes.")] = None
    allocatable: Annotated[Amounts | None, said("What of it pods can have.")] = None
    used: Annotated[Amounts | None, said("What all pods on its nodes ask for.")] = None
    shared: Annotated[Amounts | None, said("The part of it that pods of no pool, or of other pools, have.")] = None
    system: Annotated[Amounts | None, said("The part of it that pods of other schedulers have.")] = None
    borrowed: Annotated[Amounts | None, said("What its pods have on nodes of other pools.")] = None
    pending: Annotated[Amounts | None, said("What the pods ask for that wait in its queue.")] = None
    nodes: Annotated[list[str] | None, said("Its nodes, by name.")] = None
    node_count: Annotated[int | None, said("How many these are.", minimum=0)] = None
    pods: Annotated[int | None, said("How many pods are on its nodes.", minimum=0)] = None
    conditions: Annotated[list[PoolCondition] | None, said("What the scheduler found.")] = None


class Pool(Object):
    """Nodes that serve some pods before all others."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()


DEFINITION = Definition(
    POOLS,
    Pool,
    columns=(
        Column("Nodes", ".status.nodeCount", "integer"),
        Column("CPU", ".status.allocatable.cpu"),
        Column("Used", ".status.used.cpu"),
        Column("Shared", ".status.shared.cpu"),
        Column("GPU", r".status.allocatable.nvidia\.com/gpu", priority=1),
        Column("Memory", ".status.allocatable.memory", priority=1),
        Column("Pending", ".status.pending.pods"),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    status=True,
)
