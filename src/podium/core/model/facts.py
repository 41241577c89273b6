"""What the outside says of tasks and gangs.  `core.nodes` has the same for nodes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.core.model.constraints import Constraints
from podium.core.model.model import (
    Disruption,
    MatchPolicy,
    Mode,
    NetworkTopology,
    Phase,
    Size,
    State,
    SubGroupPolicy,
)
from podium.reasons import Refusal


class TaskFacts(msgspec.Struct, frozen=True):
    """What the outside says of a task."""

    id: str
    namespace: str
    name: str
    gang: str
    amounts: Mapping[str, int] = {}
    constraints: Constraints = Constraints()
    role: str = ""
    priority: int = 0
    created: float = 0.0
    state: State = State.PENDING
    node: str = ""
    nominated: str = ""
    preemptable: bool = True
    preempts: bool = True
    gated: bool = False
    quota_gated: bool = False  # by a gate that its queue lifts, and by no other
    protected: bool = False
    labels: Mapping[str, str] = {}
    started: float = 0.0
    devices: tuple[int, ...] = ()  # those of its node that it has, where that is known
    slot: str = ""  # the place in its owner that it fills; equal for a slot and the pod that fills it
    has_pod: bool = True


class GangFacts(msgspec.Struct, frozen=True):
    """What the outside says of a gang."""

    id: str
    namespace: str
    name: str
    queue: str
    minimum: int = 1
    minimum_by_role: Mapping[str, int] = {}
    minimum_resources: Mapping[str, int] | None = None
    priority: int = 0
    created: float = 0.0
    phase: Phase = Phase.PENDING
    preemptable: bool = True
    attributes: Mapping[str, str] = {}
    profile: str = ""
    policies: tuple[SubGroupPolicy, ...] = ()
    topology: NetworkTopology | None = None
    mode: Mode = Mode.STRICT
    as_one: bool = False
    disruption: Disruption | None = None
    together: tuple[str, ...] = ()
    longest_wait: float | None = None
    size: Size | None = None
    queue_name: str = ""  # as its users call it, whether it exists or not
    usual_queue: bool = False  # its API has queues, and it is in the one of groups that name none
    fault: Refusal | None = None
    fail_fast: bool = False
    match: MatchPolicy = MatchPolicy.WAITING_AND_RUNNING
    sub_priority: int = 0
    waiting_time: float | None = None
    least_resources: Mapping[str, int] | None = None
