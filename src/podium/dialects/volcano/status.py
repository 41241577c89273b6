"""What a turn of the scheduler means for PodGroups and Queues, as patches of their status.

Nothing is written that says nothing new.  A verdict that was written a short while ago with other numbers leaves
the condition as it is: a group that waits for hours must not cost a write with every pod that comes and goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.core.model import quorum
from podium.core.model.model import FINISHED, HOLDING, Gang, Phase, State
from podium.dialects.dialect import Verdict
from podium.dialects.kubernetes.quantities import format_amount
from podium.dialects.queue_report import QueueReport
from podium.dialects.volcano import types
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.dialects.volcano.translate import PHASE_NAMES
from podium.kube.changes import Patch
from podium.kube.times import format_time
from podium.numbers import Incomplete
from podium.reasons import TOO_FEW, TOO_FEW_GROUPS, TOO_FEW_OF_ROLE

Document = dict[str, Any]

UNSCHEDULABLE = "Unschedulable"
SCHEDULED = "Scheduled"
_READY = "tasks in gang are ready to be scheduled"
# Reasons of a group whose pods are yet to be made.
_REASONS = {
    TOO_FEW.code: "NotEnoughTasks",
    TOO_FEW_OF_ROLE.code: "NotEnoughPodsOfTask",
    TOO_FEW_GROUPS.code: "NotEnoughTasks",
}
LACKS_PODS = frozenset(_REASONS.values())
_NOT_ENOUGH = "NotEnoughResources"

# --- PodGroup ----------------------------------------------------------------------------------------------


def group_patch(
    group: types.PodGroup, gang: Gang, verdict: Verdict | None, cycle: str, now: float
) -> Patch | None:
    """The group's status after a turn; None when it stays as it is.  `cycle` names the turn."""
    ready = quorum.satisfied(gang) and gang.fault is None
    # Without pods it is stuck when somebody has said so: it was not let in.
    stuck = not ready and (not _only_leaving(gang) if gang.tasks else verdict is not None)
    phase = gang.phase if stuck and _lacks_pods(verdict) else phase_of(gang, stuck)
    conditions = list(group.status.conditions or ())
    if stuck:
        repeated = verdict is not None and verdict.repeated
        conditions = _set(conditions, _unschedulable(gang, verdict), cycle, now, repeated=repeated)
        conditions = _withdrawn(conditions, SCHEDULED, cycle, now)
    elif gang.tasks and ready:
        conditions = _set(conditions, types.PodGroupCondition(SCHEDULED, "True", reason=_READY), cycle, now)
        conditions = _withdrawn(conditions, UNSCHEDULABLE, cycle, now)
    status: Document = {
        "phase": PHASE_NAMES[phase],
        "running": gang.counts[State.RUNNING] or None,
        "succeeded": gang.counts[State.SUCCEEDED] or None,
        "failed": gang.counts[State.FAILED] or None,
    }
    old = group.status
    seen = (old.phase, old.running or None, old.succeeded or None, old.failed or None)
    if conditions != (old.conditions or []):
        status["conditions"] = [_document(each) for each in conditions]
    elif seen == tuple(status.values()):
        return None
    return Patch(PODGROUPS, group.namespace, group.name, {"status": status}, uid=group.uid)


def _lacks_pods(verdict: Verdict | None) -> bool:
    """Whether pods are yet to be made: nothing was tried that could have failed, so the phase says what it said.

    A group that runs and grows, or whose lost pod is about to come back, is not one whose rest does not fit.
    """
    refusal = verdict.refusal if verdict is not None else None
    return refusal is not None and refusal.code in _REASONS


def phase_of(gang: Gang, stuck: bool) -> Phase:
    """The phase at the end of a turn."""
    if gang.counts[State.RUNNING] and stuck:
        return Phase.UNKNOWN
    finished = gang.count(FINISHED)
    scheduled = gang.count(HOLDING) + finished + _leaving(gang)
    if scheduled and quorum.reaches(gang, scheduled):
        return Phase.COMPLETED if scheduled == finished else Phase.RUNNING
    return Phase.INQUEUE if gang.phase is Phase.INQUEUE else Phase.PENDING


def _leaving(gang: Gang) -> int:
    """Members on their way out that still hold their place."""
    if not gang.counts[State.RELEASING]:
        return 0
    return sum(1 for task in gang.tasks.values() if task.state is State.RELEASING and task.row >= 0)


def _only_leaving(gang: Gang) -> bool:
    """Members that end make a gang incomplete, but there is nothing to schedule: that is no failure."""
    if gang.counts[State.PENDING] or gang.counts[State.PIPELINED]:
        return False
    leaving = _leaving(gang)
    return leaving > 0 and quorum.reaches(gang, gang.count(HOLDING) + gang.count(FINISHED) + leaving)


def _unschedulable(gang: Gang, verdict: Verdict | None) -> types.PodGroupCondition:
    refusal = verdict.refusal if verdict is not None else None
    culprit = gang.tasks.get(verdict.task) if verdict is not None else None
    placed = 0
    if refusal is not None and isinstance(refusal.numbers, Incomplete):
        placed = refusal.numbers.placed
    counts = {state.name.capitalize(): count for state in State if (count := gang.counts[state])}
    pending = gang.counts[State.PENDING]
    able = min(placed, pending)
    hopes = {"Schedulable": able, UNSCHEDULABLE: pending - able}
    wanted = max(gang.minimum, len(gang.tasks))  # also of a group whose pods are still to be made
    message = (
        f"{max(0, gang.minimum - gang.ready - placed)}/{wanted} tasks in gang unschedulable: "
        f"pod group is not ready, {_histogram({**counts, 'minAvailable': gang.minimum})}"
    )
    if pending:
        message += f"; Pending: {_histogram({word: count for word, count in hopes.items() if count})}"
    if refusal is not None:
        message += f". Origin reason is{f' {culprit.name}' if culprit is not None else ''}: {refusal}"
    reason = _REASONS.get(refusal.code, _NOT_ENOUGH) if refusal is not None else _NOT_ENOUGH
    return types.PodGroupCondition(UNSCHEDULABLE, "True", reason=reason, message=message)


def _histogram(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{count} {word}" for word, count in counts.items()))


def _set(
    conditions: Sequence[types.PodGroupCondition],
    new: types.PodGroupCondition,
    cycle: str,
    now: float,
    *,
    repeated: bool = False,
) -> list[types.PodGroupCondition]:
    """The conditions with a new one in place of that of its type, unless it says what was known."""
    for index, old in enumerate(conditions):
        if old.type == new.type:
            same = (old.status, old.reason) == (new.status, new.reason)
            if same and (repeated or old.message == new.message):
                return list(conditions)
            return [*conditions[:index], _stamped(new, cycle, now), *conditions[index + 1 :]]
    return [*conditions, _stamped(new, cycle, now)]


def _withdrawn(
    conditions: Sequence[types.PodGroupCondition], type: str, cycle: str, now: float
) -> list[types.PodGroupCondition]:
    """What was true and is so no longer."""
    return [
        _stamped(types.PodGroupCondition(type, "False", reason=each.reason), cycle, now)
        if each.type == type and each.status == "True"
        else each
        for each in conditions
    ]


def _stamped(condition: types.PodGroupCondition, cycle: str, now: float) -> types.PodGroupCondition:
    return types.PodGroupCondition(
        condition.type, condition.status, cycle, format_time(now), condition.reason, condition.message
    )


def _document(condition: types.PodGroupCondition) -> Document:
    document = {
        "type": condition.type,
        "status": condition.status,
        "transitionID": condition.transition_id,
        "lastTransitionTime": condition.last_transition_time,
        "reason": condition.reason,
        "message": condition.message,
    }
    return {key: value for key, value in document.items() if value}


# --- Queue -------------------------------------------------------------------------------------------------


# What every queue shows an amount of, also none.
_NOTHING = {"cpu": "0", "memory": "0"}


def queue_patch(queue: types.Queue, report: QueueReport) -> Patch | None:
    """What the pods of a queue take; None when that is known.  One that never held any is not written to."""
    reported = _NOTHING | {name: format_amount(name, amount) for name, amount in report.held.items()}
    seen = queue.status.allocated or {}
    if reported == (seen or _NOTHING):
        return None
    gone: Document = {name: None for name in seen if name not in reported}
    patch = {"status": {"allocated": {**reported, **gone}}}
    return Patch(QUEUES, "", queue.name, patch, subresource="status", uid=queue.uid)
