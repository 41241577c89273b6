"""What has happened to a Job, and which action its policies answer it with.

Nothing here is remembered: what happened is read off the pods, the group and the status, so a controller that was
away finds it as well.  Each happening has a time; a policy with a timeout acts that much later, if it is still so.
An event that asks for no action, or for one that has been carried out already, leads to a plain look (SyncJob).

A task's policies go before the Job's; in each list the first match counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.core.model.durations import duration
from podium.dialects.volcano.job.names import ANSWERED_GENERATION, EVICTED_AT
from podium.dialects.volcano.job.pod_counts import PodCounts
from podium.dialects.volcano.job.state import SYNC_JOB, TARGETED
from podium.dialects.volcano.job.types import ANY, DEFAULT_MAX_RETRY, Job, LifecyclePolicy, TaskSpec
from podium.dialects.volcano.types import PodGroup
from podium.kube.job_members import Member, container_restarts, exit_code
from podium.kube.times import parse_time
from podium.kube.wire import Pod

POD_FAILED, POD_EVICTED, POD_PENDING = "PodFailed", "PodEvicted", "PodPending"
TASK_COMPLETED, TASK_FAILED = "TaskCompleted", "TaskFailed"
UNKNOWN, JOB_UPDATED = "Unknown", "JobUpdated"


class Happening(msgspec.Struct, frozen=True):
    """Something that policies may be about."""

    event: str
    since: float
    message: str
    task: TaskSpec | None = None
    places: tuple[int, ...] = ()  # the indexes of the pods that it is about
    exit_code: int = 0
    again: bool = False  # it was answered before, by waiting: only a policy with a timeout is meant


class Request(msgspec.Struct, frozen=True):
    """An action, the pods that it is about, and why."""

    action: str
    message: str = ""
    task: TaskSpec | None = None
    places: tuple[int, ...] = ()
    event: str = ""


LOOK = Request(SYNC_JOB)


class Answer(msgspec.Struct, frozen=True):
    """What to do now, and when a policy that waits will have waited long enough."""

    request: Request = LOOK
    again_at: float | None = None
    waiting: frozenset[tuple[str, int]] = frozenset()  # places whose loss a policy still waits to act on


def answer(pod_counts: PodCounts, group: PodGroup | None, now: float) -> Answer:
    """The action that is due: of several, the one that has been so the longest."""
    due: list[tuple[float, Request]] = []
    later: list[float] = []
    waiting: set[tuple[str, int]] = set()
    for happening in _happenings(pod_counts, group, now):
        policy = _policy(pod_counts.job, happening)
        if policy is None:
            continue
        at = happening.since + (duration(policy.timeout or "") or 0.0)
        if at <= now:
            due.append((at, _request(policy, happening)))
            continue
        later.append(at)
        if happening.event == POD_EVICTED and happening.task is not None:
            waiting.update((happening.task.name, index) for index in happening.places)
    request = min(due, key=lambda pair: pair[0])[1] if due else LOOK
    return Answer(request, min(later, default=None), frozenset(waiting))


def _request(policy: LifecyclePolicy, happening: Happening) -> Request:
    action = policy.action
    if action in TARGETED and happening.task is None:
        action = SYNC_JOB  # nobody says what to restart
    return Request(action, happening.message, happening.task, happening.places, happening.event)


def _policy(job: Job, happening: Happening) -> LifecyclePolicy | None:
    own = (happening.task.policies or []) if happening.task is not None else []
    for policy in [*own, *(job.spec.policies or [])]:
        if _matches(policy, happening):
            return policy
    return None


def _matches(policy: LifecyclePolicy, happening: Happening) -> bool:
    if (happening.event == POD_PENDING or happening.again) and not policy.timeout:
        return False
    if policy.exit_code is not None and happening.exit_code == policy.exit_code:
        return True
    named = policy.all_events
    # Whoever asks for a restart on anything does not mean the change that he makes himself.
    return happening.event in named or (ANY in named and happening.event != JOB_UPDATED)


# --- what happened -----------------------------------------------------------------------------------------


def _happenings(pod_counts: PodCounts, group: PodGroup | None, now: float) -> Iterator[Happening]:
    job = pod_counts.job
    for task in job.spec.tasks:
        yield from _losses(pod_counts, task, now)
        members = [each for _, each in sorted(pod_counts.of(task.name).items()) if not each.leaving]
        for each in members:
            if pod_counts.current(each):
                yield from _of_pod(each, task)
        yield from _of_task(pod_counts, task, members)
    if group is not None and not group.deleting and group.status.phase == UNKNOWN:
        yield Happening(UNKNOWN, _unknown_since(group, now), "some pods run and the others do not fit")
    answered = job.annotations.get(ANSWERED_GENERATION, "")
    if answered and answered != str(job.metadata.generation):
        yield Happening(JOB_UPDATED, now, "the Job was changed")


def _losses(pod_counts: PodCounts, task: TaskSpec, now: float) -> Iterator[Happening]:
    for index in pod_counts.lost(task):
        member = pod_counts.of(task.name).get(index)
        since = min(now, _deleted_at(member.pod)) if member is not None else now
        reported = f"pod {index} of task {task.name} was taken away"
        yield Happening(POD_EVICTED, since, reported, task, (index,))


def _of_pod(member: Member, task: TaskSpec) -> Iterator[Happening]:
    pod, places = member.pod, (member.index,)
    if member.phase == "Failed":
        code = exit_code(pod)
        reported = f"pod {pod.name} failed with exit code {code}" if code else f"pod {pod.name} failed"
        yield Happening(POD_FAILED, _ended_at(pod), reported, task, places, code)
    elif member.phase == "Pending":
        reported = f"pod {pod.name} has waited for too long"
        yield Happening(POD_PENDING, parse_time(pod.metadata.creation_timestamp), reported, task, places)
    lost_at = pod.annotations.get(EVICTED_AT)
    if lost_at and member.phase == "Pending":
        reported = f"pod {member.index} of task {task.name} was taken away and has not come back"
        yield Happening(POD_EVICTED, parse_time(lost_at), reported, task, places, again=True)


def _of_task(pod_counts: PodCounts, task: TaskSpec, members: list[Member]) -> Iterator[Happening]:
    if not any(pod_counts.current(each) for each in members):
        return
    done = [each for each in members if each.phase == "Succeeded"]
    if task.replicas and len(done) >= task.replicas:
        last = max(done, key=lambda each: _ended_at(each.pod))
        reported = f"all pods of task {task.name} have succeeded"
        yield Happening(TASK_COMPLETED, _ended_at(last.pod), reported, task, (last.index,))
    limit = task.max_retry or DEFAULT_MAX_RETRY
    again = container_restarts(each.pod for each in members)
    if 0 <= limit <= again:
        worst = max(members, key=lambda each: container_restarts([each.pod]))
        reported = f"containers of task {task.name} were restarted {again} times, and {limit} are allowed"
        yield Happening(TASK_FAILED, _restarted_at(worst.pod), reported, task, (worst.index,))


def _ended_at(pod: Pod) -> float:
    """When the last container ended."""
    return max((at for _, at in _ends(pod)), default=parse_time(pod.metadata.creation_timestamp))


def _restarted_at(pod: Pod) -> float:
    return max((at for last, at in _ends(pod) if last), default=parse_time(pod.metadata.creation_timestamp))


def _ends(pod: Pod) -> Iterator[tuple[bool, float]]:
    """When containers ended, and whether they were started again since."""
    for each in pod.status.container_statuses or ():
        for last, state in ((False, each.state), (True, each.last_state)):
            if state is not None and state.terminated is not None:
                yield last, parse_time(state.terminated.finished_at)


def _deleted_at(pod: Pod) -> float:
    """When somebody asked for its end: the time on it is when that is due."""
    return parse_time(pod.metadata.deletion_timestamp) - (pod.metadata.deletion_grace_period_seconds or 0)


def _unknown_since(group: PodGroup, now: float) -> float:
    times = [
        parse_time(each.last_transition_time) for each in group.status.conditions or () if each.status == "True"
    ]
    return max(times, default=now)
