"""The phases of a Job, and what each action means in each of them: one table, and the rules by which phases end.

A step takes pods away or brings them, and may lead into another phase at once.  What a phase is left for by itself
stands in its rule, which looks at numbers alone:

    Pending      -> Running      enough pods have started
    Running      -> Completed, Failed, Pending
    Restarting   -> Failed       it was the last try
                 -> Pending      enough pods are out of the way
    Aborting     -> Aborted      nothing runs any more; so do Completing and Terminating
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from podium.dialects.volcano.job.types import Job, TaskSpec

PENDING, RUNNING, RESTARTING = "Pending", "Running", "Restarting"
ABORTING, ABORTED = "Aborting", "Aborted"
COMPLETING, COMPLETED = "Completing", "Completed"
TERMINATING, TERMINATED = "Terminating", "Terminated"
FAILED = "Failed"

FINISHED = frozenset({COMPLETED, TERMINATED, FAILED})
# No pod is wanted in these, whatever its version.
ENDING = FINISHED | {ABORTING, ABORTED, COMPLETING, TERMINATING}

SYNC_JOB, ENQUEUE_JOB = "SyncJob", "EnqueueJob"
ABORT_JOB, RESUME_JOB = "AbortJob", "ResumeJob"
RESTART_JOB, RESTART_TASK, RESTART_POD = "RestartJob", "RestartTask", "RestartPod"
RESTART_PARTITION = "RestartPartition"
TERMINATE_JOB, COMPLETE_JOB = "TerminateJob", "CompleteJob"

TARGETED = frozenset({RESTART_TASK, RESTART_POD, RESTART_PARTITION})


class Do(Enum):
    """What a step does with the pods."""

    SYNC = "make what is missing, take away what is too much"
    KILL = "take all away, and begin a new version"
    KILL_TARGET = "take some away"


class Retain(Enum):
    """Which pods a kill leaves where they are."""

    NONE = "none"
    SOFT = "those that have ended"


class Step(msgspec.Struct, frozen=True):
    """What an action means in a phase."""

    do: Do
    retain: Retain = Retain.NONE
    to: str = ""  # the phase that is entered; "" stays, and the phase's rule decides
    retry: bool = False  # whether it counts as a try


_SYNC = Step(Do.SYNC)
_KILL = Step(Do.KILL)
_KILL_SOFT = Step(Do.KILL, Retain.SOFT)
_KILL_TARGET = Step(Do.KILL_TARGET)
_RESTART = Step(Do.KILL, Retain.NONE, RESTARTING, retry=True)
_RESTART_TARGET = Step(Do.KILL_TARGET, Retain.NONE, RESTARTING, retry=True)
_RESUME = Step(Do.KILL, Retain.SOFT, RESTARTING, retry=True)

_ACTIVE: Mapping[str, Step] = {
    RESTART_JOB: _RESTART,
    **dict.fromkeys(sorted(TARGETED), _RESTART_TARGET),
    ABORT_JOB: Step(Do.KILL, Retain.SOFT, ABORTING),
    TERMINATE_JOB: Step(Do.KILL, Retain.SOFT, TERMINATING),
    COMPLETE_JOB: Step(Do.KILL, Retain.SOFT, COMPLETING),
}

# By phase and action; an action that a phase does not list is `ANYTHING_ELSE`.
ANYTHING_ELSE = ""
TABLE: Mapping[str, Mapping[str, Step]] = {
    PENDING: {**_ACTIVE, ANYTHING_ELSE: _SYNC},
    RUNNING: {**_ACTIVE, ANYTHING_ELSE: _SYNC},
    RESTARTING: {
        **dict.fromkeys((RESTART_JOB, ABORT_JOB, TERMINATE_JOB, COMPLETE_JOB, RESUME_JOB), _KILL),
        **dict.fromkeys(sorted(TARGETED), _KILL_TARGET),
        ANYTHING_ELSE: _SYNC,
    },
    ABORTING: {RESUME_JOB: _RESUME, ANYTHING_ELSE: _KILL_SOFT},
    ABORTED: {RESUME_JOB: _RESUME, ANYTHING_ELSE: _KILL_SOFT},
    **{each: {ANYTHING_ELSE: _KILL_SOFT} for each in (COMPLETING, TERMINATING, COMPLETED, TERMINATED, FAILED)},
}


def step_for(phase: str, action: str) -> Step:
    """What to do.  A Job without a phase is new, hence pending."""
    row = TABLE[phase or PENDING]
    return row.get(action, row[ANYTHING_ELSE])


# --- how phases end by themselves --------------------------------------------------------------------------


class Counts(msgspec.Struct):
    """A Job's pods by what has become of them."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    succeeded_of: dict[str, int] = {}  # by task


class Front(msgspec.Struct, frozen=True):
    """How far a Job has come: the tasks that have started, or may.  Others wait for them."""

    started: tuple[TaskSpec, ...]
    least: int  # pods of theirs that start together
    obstacle: str = ""  # what the others wait for, if there are others

    @property
    def total(self) -> int:
        return sum(task.replicas for task in self.started)


def whole(job: Job) -> Front:
    """A Job none of whose tasks waits for others."""
    return Front(tuple(job.spec.tasks), job.spec.min_available)


def is_last_try(job: Job) -> bool:
    """Whether a restart would be one too many: pods that have ended then stay, to be looked at."""
    return job.status.retry_count >= job.spec.max_retry - 1


Rule = Callable[[Job, Counts, Front, int], tuple[str, str]]


def _pending(job: Job, counts: Counts, front: Front, retries: int) -> tuple[str, str]:
    started = counts.running + counts.succeeded + counts.failed
    return (RUNNING if started >= front.least else ""), ""


def _running(job: Job, counts: Counts, front: Front, retries: int) -> tuple[str, str]:
    spec, total = job.spec, job.total
    if not total:
        return "", ""
    wanted = spec.min_success
    if wanted is not None and counts.succeeded >= wanted:
        return COMPLETED, f"{counts.succeeded} pods have succeeded, {wanted} are needed"
    ended = counts.succeeded + counts.failed
    if ended == total:
        return _ended(job, counts)
    if front.obstacle and ended == front.total and not counts.terminating:
        return FAILED, f"{front.obstacle}: all pods have ended"
    if counts.pending > front.total - front.least:
        return PENDING, f"{counts.pending} of {front.total} pods wait, and {front.least} have to run"
    return "", ""


def _ended(job: Job, counts: Counts) -> tuple[str, str]:
    """All pods have ended: well or not?"""
    spec = job.spec
    if spec.min_available >= sum(task.minimum for task in spec.tasks):
        for task in spec.tasks:
            good = counts.succeeded_of.get(task.name, 0)
            if task.min_available is not None and good < task.min_available:
                return FAILED, f"{good} pods of task {task.name} have succeeded, {task.min_available} are needed"
    wanted = spec.min_available if spec.min_success is None else spec.min_success
    reported = f"{counts.succeeded} of {job.total} pods have succeeded, {wanted} are needed"
    return (COMPLETED if counts.succeeded >= wanted else FAILED), reported


def _restarting(job: Job, counts: Counts, front: Front, retries: int) -> tuple[str, str]:
    if retries >= job.spec.max_retry:
        return FAILED, f"it has been restarted {retries} times, which is all that maxRetry allows"
    if job.total - counts.terminating >= job.spec.min_available:
        return PENDING, ""
    return "", ""


def _until_quiet(phase: str) -> Rule:
    def rule(job: Job, counts: Counts, front: Front, retries: int) -> tuple[str, str]:
        return ("", "") if counts.terminating or counts.pending or counts.running else (phase, "")

    return rule


_RULES: Mapping[str, Rule] = {
    PENDING: _pending,
    RUNNING: _running,
    RESTARTING: _restarting,
    ABORTING: _until_quiet(ABORTED),
    COMPLETING: _until_quiet(COMPLETED),
    TERMINATING: _until_quiet(TERMINATED),
}


def next_phase(phase: str, job: Job, counts: Counts, front: Front, retries: int) -> tuple[str, str]:
    """The phase that follows by itself, and why; "" while the present one lasts."""
    rule = _RULES.get(phase or PENDING)
    return ("", "") if rule is None else rule(job, counts, front, retries)
