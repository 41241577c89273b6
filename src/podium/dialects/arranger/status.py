"""What the scheduler writes on a job: scheduleState, allocations and conditions.

Everything else in the status is the controller's.  Both write merge patches of their own fields, so neither can
undo what the other has written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.core.model.model import FINISHED, HOLDING, Gang, Task
from podium.dialects.arranger.checks import errors_of
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.pods import Place, leader_place, nodes_of, slot_of, worker_places
from podium.dialects.arranger.types import (
    SCHEDULED,
    SCHEDULED_CONDITION,
    SCHEDULED_FAILED,
    SCHEDULED_PARTLY,
    UNSCHEDULED,
    Allocation,
    JobCondition,
    TYJob,
)
from podium.dialects.dialect import Verdict
from podium.kube.changes import Patch
from podium.kube.conditions import set_condition
from podium.reasons import GIVEN_UP, NEVER_FITS

Document = dict[str, Any]

_PLACED = (SCHEDULED, SCHEDULED_PARTLY)


def verdict_patch(job: TYJob, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    """How far scheduling has come, and why not further."""
    if job.asks_for_nothing:
        return None
    # A job that is wrong lists no places, and may ask for a billion of them: it stays as far as it has come.
    wrong = bool(errors_of(job))
    places = [] if wrong else _places(job)
    tasks = {task.slot: task for task in gang.tasks.values() if task.slot}
    placed = [each for each in places if _has_place(tasks.get(slot_of(job, each)))]
    state = job.status.schedule_state or UNSCHEDULED if wrong else _state(job, placed, len(places))
    refusal = verdict.refusal if verdict is not None else None
    if state == UNSCHEDULED and refusal is not None and refusal.reason in (GIVEN_UP, NEVER_FITS):
        state = SCHEDULED_FAILED
    elif state == UNSCHEDULED and refusal is None:
        state = job.status.schedule_state or UNSCHEDULED  # nothing was tried
    status: Document = {}
    if state != job.status.schedule_state:
        status["scheduleState"] = state
    enough = state in _PLACED
    known = [_condition(each) for each in job.status.conditions or ()]
    old = next((each for each in known if each["type"] == SCHEDULED_CONDITION), {})
    reason = refusal.code if refusal is not None and not enough else state
    if refusal is not None:
        message = str(refusal)
        if verdict is not None and verdict.repeated and old.get("reason") == reason and old.get("message"):
            message = old["message"]  # only numbers have moved, a short while after the last time
    else:
        message = "" if state == SCHEDULED else old.get("message", "")
    if refusal is not None or enough or old:
        made = set_condition(known, SCHEDULED_CONDITION, str(enough), reason, message, now)
        if made is not known:
            status["conditions"] = made
    return _patch(job, status)


def places_patch(job: TYJob, gang: Gang, nodes: Mapping[str, str]) -> Patch | None:
    """The places that were found, and what that makes of the job."""
    if job.asks_for_nothing or gang.fault is not None:
        return None
    known = nodes_of(job)
    ended = {task.slot for task in gang.tasks.values() if task.slot and task.state in FINISHED}
    places = _places(job)
    found: list[tuple[Place, str]] = []
    for place in places:
        slot = slot_of(job, place)
        node = nodes.get(slot, "")
        if not node and slot in ended:
            node = known.get(place.key, "")  # what has ended there was there
        if node:
            found.append((place, node))
    status: Document = {}
    written = [_allocation(place, node) for place, node in found]
    if written != [_written(each) for each in job.status.allocations or ()]:
        status["allocations"] = written or None
    state = _state(job, [place for place, _ in found], len(places))
    # That there are no places, and why, is said with the verdict; here only that there were some.
    if state != job.status.schedule_state and (state != UNSCHEDULED or job.status.schedule_state in _PLACED):
        status["scheduleState"] = state
    return _patch(job, status)


def _state(job: TYJob, placed: list[Place], total: int) -> str:
    """A part counts from the leader and the minimum on."""
    if len(placed) == total:
        return SCHEDULED
    workers = sum(1 for each in placed if each.set)
    led = len(placed) > workers
    return SCHEDULED_PARTLY if led and workers >= job.spec.min_workers_num else UNSCHEDULED


def _places(job: TYJob) -> list[Place]:
    return [leader_place(job), *worker_places(job)]


def _has_place(task: Task | None) -> bool:
    return task is not None and (task.state in FINISHED or (task.state in HOLDING and task.row >= 0))


def _condition(each: JobCondition) -> Document:
    """As it stands on the wire."""
    return {key: value for key, value in msgspec.to_builtins(each).items() if value not in (None, "")}


def _allocation(place: Place, node: str) -> Document:
    if not place.set:
        return {"role": place.kind, "name": place.name, "node": node}
    return {"role": place.kind, "set": place.set, "index": place.index, "name": place.name, "node": node}


def _written(each: Allocation) -> Document:
    if not each.set:
        return {"role": each.role, "name": each.name, "node": each.node}
    return {"role": each.role, "set": each.set, "index": each.index, "name": each.name, "node": each.node}


def _patch(job: TYJob, status: Document) -> Patch | None:
    if not status:
        return None
    return Patch(TYJOBS, job.namespace, job.name, {"status": status}, subresource="status", uid=job.uid)
