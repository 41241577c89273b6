"""What a turn of the scheduler means for a PodGroup of Kubernetes, as patches of its status.

    PodGroupScheduled   whether its members have their places.  Once they had, it stays true: what happens to
                        single members later stands on their pods
    DisruptionTarget    the whole group has to leave for others; false again when it has its places anew

The server's own controllers keep the rest of the status.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.core.model import quorum
from podium.core.model.model import PLACED, READY, Disruption, Gang, State
from podium.dialects.dialect import Verdict
from podium.dialects.upstream.types import PODGROUPS, PodGroup
from podium.kube.changes import Patch
from podium.kube.conditions import set_condition
from podium.kube.times import parse_time
from podium.kube.wire import Condition, condition
from podium.reasons import FAILED

Document = dict[str, Any]

SCHEDULED = "PodGroupScheduled"
DISRUPTED = "DisruptionTarget"
_PREEMPTED = "PreemptionByScheduler"
_BOUND = READY - {State.RESERVED}


def group_patch(group: PodGroup, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    """The group's conditions after a turn; None when they stay as they are."""
    conditions = group.status.conditions or []
    known = condition(conditions, SCHEDULED)
    if quorum.satisfied(gang, _BOUND) and gang.fault is None and gang.count(_BOUND):
        message = f"{gang.count(_BOUND)} pods have their places, {gang.minimum} are needed"
        if known is not None and known.status == "True":
            message = known.message  # a count that moves is no news
        changes = [(SCHEDULED, "True", "Scheduled", message)]
        disrupted = condition(conditions, DISRUPTED)
        if disrupted is not None and disrupted.status == "True" and not gang.counts[State.RELEASING]:
            changes.append((DISRUPTED, "False", "Scheduled", "the group has its places again"))
    elif verdict is not None and (known is None or known.status != "True" or not gang.count(PLACED)):
        if known is not None and known.status == "False" and verdict.repeated:
            return None
        reason = "SchedulerError" if verdict.refusal.reason == FAILED else "Unschedulable"
        changes = [(SCHEDULED, "False", reason, str(verdict.refusal))]
    else:
        return None
    return _patch(group, changes, now)


def disruption_of(group: PodGroup) -> Disruption | None:
    """Since when the group leaves as one, and for whom."""
    known = condition(group.status.conditions, DISRUPTED)
    if known is None or known.status != "True" or known.reason != _PREEMPTED:
        return None
    return Disruption(parse_time(known.last_transition_time), known.message)


def disruption_patch(group: PodGroup, why: str, now: float) -> Patch | None:
    """The group leaves as one."""
    return _patch(group, [(DISRUPTED, "True", _PREEMPTED, why)], now)


def _patch(group: PodGroup, changes: list[tuple[str, str, str, str]], now: float) -> Patch | None:
    before: list[Document] = [_document(each) for each in group.status.conditions or ()]
    after = before
    for type, status, reason, message in changes:
        after = set_condition(after, type, status, reason, message, now)
    if after is before:
        return None
    observed = {"observedGeneration": group.metadata.generation}
    changed = {type for type, *_ in changes}
    conditions = [{**each, **observed} if each["type"] in changed else each for each in after]
    return Patch(
        PODGROUPS,
        group.namespace,
        group.name,
        {"status": {"conditions": conditions}},
        subresource="status",
        uid=group.uid,
    )


def _document(known: Condition) -> Document:
    return {key: value for key, value in msgspec.to_builtins(known).items() if value is not None}
