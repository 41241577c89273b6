"""The stages of a job, and what leads from each to the next: one table.

    Pending       nothing runs; the scheduler looks for places
    Starting      the leader has been made, and workers are made as far as they have places
    Running       enough workers are ready; those that got their places later are made
    Rescheduling  so many pods were lost with their nodes that the job cannot go on; new places are looked for
    Succeeded     the leader has ended well, or the job was asked to end
    Failed

What has happened is read off the job, its pods and their nodes at each look (`signs`), so that a controller which
was away finds it as well.  Of several signs the first in the order of `Sign` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec

from podium.dialects.arranger.types import (
    FAILED,
    PENDING,
    RESCHEDULING,
    RUNNING,
    SCHEDULED,
    SCHEDULED_PARTLY,
    STARTING,
    SUCCEEDED,
)


class Sign(Enum):
    """What has happened to a job, the most important first; the value is the reason that is written."""

    INVALID = "InvalidSpec"
    TERMINATING = "Terminating"
    LEADER_SUCCEEDED = "LeaderSucceeded"
    IMAGE_ERROR = "LeaderImageError"
    LEADER_EXHAUSTED = "LeaderRestartLimitExceeded"
    WORKERS_EXHAUSTED = "WorkerSetRestartLimitExceeded"
    GIVEN_UP = "ScheduledFailed"
    PODS_LOST = "NodesLost"
    PLACED = "Placed"
    ENOUGH_READY = "WorkersReady"


_ENDS: Mapping[Sign, str] = {
    Sign.TERMINATING: SUCCEEDED,
    Sign.LEADER_SUCCEEDED: SUCCEEDED,
    Sign.IMAGE_ERROR: FAILED,
    Sign.LEADER_EXHAUSTED: FAILED,
    Sign.WORKERS_EXHAUSTED: FAILED,
}

# By stage what each sign leads to; a sign that a stage does not list leads nowhere.
TABLE: Mapping[str, Mapping[Sign, str]] = {
    PENDING: {
        Sign.INVALID: FAILED,
        Sign.TERMINATING: SUCCEEDED,
        Sign.LEADER_SUCCEEDED: SUCCEEDED,
        Sign.IMAGE_ERROR: FAILED,
        Sign.GIVEN_UP: FAILED,
        Sign.PLACED: STARTING,
    },
    STARTING: {
        **_ENDS,
        Sign.GIVEN_UP: FAILED,
        Sign.PODS_LOST: RESCHEDULING,
        Sign.ENOUGH_READY: RUNNING,
    },
    RUNNING: {
        **_ENDS,
        Sign.PODS_LOST: RESCHEDULING,
    },
    RESCHEDULING: {
        **_ENDS,
        Sign.GIVEN_UP: FAILED,
        Sign.PLACED: STARTING,
    },
    SUCCEEDED: {},
    FAILED: {},
}


class Standing(msgspec.Struct, frozen=True):
    """How a job stands, as numbers and sentences."""

    invalid: str = ""  # what is wrong with it
    terminating: bool = False
    schedule_state: str = ""
    given_up: str = ""  # why the scheduler tries no more
    leader_placed: bool = False
    leader_up: bool = False
    leader_succeeded: bool = False
    image_error: str = ""
    leader_restarts: int = 0  # with the one that is due
    restart_limit: int = 0
    total: int = 0
    minimum: int = 0
    ready: int = 0
    hopeful: int = 0  # workers that are ready, or of sets within the limit
    exhausted: tuple[str, ...] = ()  # the worker sets beyond the limit
    leader_lost: bool = False  # its node is away, or it is nowhere and has no place any longer
    lost: int = 0  # pods that were lost with their nodes, and are still to be seen


def next_stage(stage: str, standing: Standing) -> tuple[str, str, str]:
    """The stage that follows, the reason and a sentence; "" while the present one lasts."""
    row = TABLE[stage]
    for sign, message in signs(standing):
        if sign in row:
            return row[sign], sign.value, message
    return "", "", ""


def signs(job: Standing) -> Iterator[tuple[Sign, str]]:
    """What has happened, in order, each with a sentence."""
    if job.invalid:
        yield Sign.INVALID, job.invalid
    if job.terminating:
        yield Sign.TERMINATING, "spec.terminating is true"
    if job.leader_succeeded:
        yield Sign.LEADER_SUCCEEDED, "the leader has succeeded"
    if job.image_error:
        yield Sign.IMAGE_ERROR, job.image_error
    if job.leader_restarts > job.restart_limit:
        yield (
            Sign.LEADER_EXHAUSTED,
            f"the leader would be started again for the {_nth(job.leader_restarts)} time, "
            + (f"and restartLimit is {job.restart_limit}"),
        )
    if job.exhausted and job.hopeful < job.minimum:
        sets, limit = ", ".join(job.exhausted), job.restart_limit
        what = f"worker set {sets} would be started again more often than restartLimit allows, which is {limit}"
        yield (
            Sign.WORKERS_EXHAUSTED,
            f"{what}, and {job.ready} workers are ready of the {job.minimum} that must be",
        )
    if job.given_up:
        yield Sign.GIVEN_UP, job.given_up
    if job.leader_lost and not job.lost:
        yield Sign.PODS_LOST, "the leader has no place any longer"
    elif job.lost and (job.leader_lost or job.ready < job.minimum):
        yield Sign.PODS_LOST, f"the nodes of {job.lost} of its pods are gone or not ready"
    if job.schedule_state in (SCHEDULED, SCHEDULED_PARTLY) and job.leader_placed and not job.lost:
        yield Sign.PLACED, "it has the places that it needs"
    if job.leader_up and job.ready >= min(job.minimum, job.total):
        yield Sign.ENOUGH_READY, f"{job.ready} of {job.total} workers are ready"


def _nth(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ends.get(number % 10, 'th')}"
