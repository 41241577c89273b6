"""One simulated container: from its observed status and the time to its next status.

Everything a container needs to remember stands in its status, so a kubelet that starts anew goes on where it was:

- a running one in `state.running.startedAt`, from which its run time counts;
- how long it was held back before this run: the gap between the end in `lastState` and `startedAt`;
- how long it is being held back now: the length in the waiting message, in the words of a real kubelet.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from podium.embedded.nodes.script import Script
from podium.kube.times import format_time, parse_time
from podium.kube.wire import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
)

Document = dict[str, Any]

CRASH_LOOP = "CrashLoopBackOff"
SIGTERM_EXIT = 143
SIGKILL_EXIT = 137

# Seconds a container is held back before its first, second, ... restart; the last one stays.
_HELD_BACK = (0, 10, 20, 40, 80, 160, 300)
# A run of this length is taken as healthy: what crashes after it starts again at once.
_HEALTHY_RUN = 600.0

_NO_STATE = ContainerState()
_MESSAGE_LENGTH = re.compile(r"back-off (?:(\d+)m)?(\d+)s ", re.ASCII)


class Stop(msgspec.Struct, frozen=True):
    """The end that comes from outside: a deletion, a deadline, or (for a sidecar) the end of the others."""

    at: float
    code: int


class Clock(msgspec.Struct, frozen=True):
    """The time now, and the exact time of the last start of which the wire keeps whole seconds only."""

    now: float
    exact: float = 0.0

    def read(self, text: str | None) -> float:
        """A wire time, with its fraction of a second if it is the remembered one."""
        seconds = parse_time(text)
        return self.exact if int(self.exact) == seconds else seconds


def has_run(status: ContainerStatus) -> bool:
    """It runs, or it did once."""
    state = status.state or _NO_STATE
    last = status.last_state or _NO_STATE
    return bool(state.running or state.terminated or last.terminated)


def exit_code(status: ContainerStatus) -> int | None:
    """How it ended, if it did."""
    return status.state.terminated.exit_code if status.state and status.state.terminated else None


def has_ended(status: ContainerStatus) -> bool:
    """It ended for good: one that crashed and will be started again is waiting."""
    return exit_code(status) is not None


def is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def is_held_back(status: ContainerStatus) -> bool:
    return bool(status.state and status.state.waiting and status.state.waiting.reason == CRASH_LOOP)


def is_sidecar(container: Container) -> bool:
    """Of an init container: one that stays."""
    return container.restart_policy == "Always"


def waiting(name: str, reason: str) -> ContainerStatus:
    """A container that has not been started yet."""
    return ContainerStatus(
        name=name,
        started=False,
        state=ContainerState(waiting=ContainerStateWaiting(reason=reason)),
        last_state=_NO_STATE,
    )


def started(name: str, now: float, previous: ContainerStatus | None = None) -> ContainerStatus:
    """A container whose first or next run begins now."""
    return ContainerStatus(
        name=name,
        ready=True,
        started=True,
        restart_count=previous.restart_count + 1 if previous is not None else 0,
        state=ContainerState(running=ContainerStateRunning(started_at=format_time(now))),
        last_state=previous.last_state if previous is not None else _NO_STATE,
    )


def completed(name: str, now: float) -> ContainerStatus:
    """An init container: simulated ones do their work in no time."""
    return _ended(started(name, now), 0, now, ready=True)


def advance(
    status: ContainerStatus, script: Script, policy: str, stop: Stop | None, clock: Clock, pod_id: str
) -> tuple[ContainerStatus, float | None]:
    """The container's status now, and when it will next change by itself.

    `policy` is its restart policy; `pod_id` names the pod in messages.  A run that begins in this step ends in a
    later one at the earliest, so that others get to see it running.
    """
    state = status.state or _NO_STATE
    if state.running is not None:
        begin = clock.read(state.running.started_at)
        end, code = _end(begin, script, stop, clock.now)
        if end is None or end > clock.now:
            return status, end
        status = _ended(status, code, max(end, begin))
    if stop is not None and stop.at <= clock.now:
        return _stopped(status, stop), None
    return _start(status, policy, clock, pod_id)


def _end(begin: float, script: Script, stop: Stop | None, now: float) -> tuple[float | None, int]:
    """When the run that began at `begin` ends, and with which exit code."""
    end: float | None = None
    if script.run_seconds is not None:
        end = begin + script.run_seconds
    elif script.exit_now:
        end = now
    if stop is not None and (end is None or stop.at < end):
        return stop.at, stop.code
    return end, script.exit_code


def _ended(status: ContainerStatus, code: int, at: float, *, ready: bool = False) -> ContainerStatus:
    running = status.state.running if status.state else None
    terminated = ContainerStateTerminated(
        exit_code=code,
        reason="Completed" if code == 0 else "Error",
        started_at=running.started_at if running else None,
        finished_at=format_time(at),
    )
    return msgspec.structs.replace(status, ready=ready, started=False, state=ContainerState(terminated=terminated))


def _stopped(status: ContainerStatus, stop: Stop) -> ContainerStatus:
    """A container that will not run again: what held it back is over, its last end is its end."""
    state = status.state or _NO_STATE
    if state.terminated is not None:
        return status
    last = status.last_state.terminated if status.last_state else None
    if last is None:
        last = ContainerStateTerminated(
            exit_code=stop.code,
            reason="ContainerStatusUnknown",
            message="The container was never started",
            finished_at=format_time(stop.at),
        )
    return msgspec.structs.replace(
        status, ready=False, started=False, state=ContainerState(terminated=last), last_state=_NO_STATE
    )


def _start(
    status: ContainerStatus, policy: str, clock: Clock, pod_id: str
) -> tuple[ContainerStatus, float | None]:
    state = status.state or _NO_STATE
    if state.terminated is not None:
        ended = state.terminated
        if policy == "Never" or (policy == "OnFailure" and ended.exit_code == 0):
            return status, None
        held_back = _next_wait(status, ended)
        message = f"back-off {_duration(held_back)} restarting failed container={status.name} pod={pod_id}"
        status = msgspec.structs.replace(
            status,
            state=ContainerState(waiting=ContainerStateWaiting(reason=CRASH_LOOP, message=message)),
            last_state=ContainerState(terminated=ended),
        )
    elif status.last_state is not None and status.last_state.terminated is not None:
        ended = status.last_state.terminated
        held_back = _asked_wait(state.waiting.message if state.waiting else "", status.restart_count)
    else:
        return started(status.name, clock.now), None
    at = parse_time(ended.finished_at) + held_back
    if at > clock.now:
        return status, at
    return started(status.name, clock.now, status), None


def _next_wait(status: ContainerStatus, ended: ContainerStateTerminated) -> int:
    """How long to hold back after this end: twice as long as before this run, unless the run was healthy."""
    begin, end = parse_time(ended.started_at), parse_time(ended.finished_at)
    before = status.last_state.terminated if status.last_state else None
    if before is None or end - begin >= _HEALTHY_RUN:
        return _HELD_BACK[0]
    gap = begin - parse_time(before.finished_at)
    # The gap also holds the time in which no kubelet ran, so the count of restarts bounds what it may mean.
    steps = min(sum(wait <= gap for wait in _HELD_BACK), status.restart_count, len(_HELD_BACK) - 1)
    return _HELD_BACK[max(1, steps)]


def _asked_wait(message: str, restarts: int) -> int:
    found = _MESSAGE_LENGTH.match(message)
    if found is None:
        return _HELD_BACK[min(restarts, len(_HELD_BACK) - 1)]
    return int(found[1] or 0) * 60 + int(found[2])


def _duration(seconds: int) -> str:
    return f"{seconds // 60}m{seconds % 60}s" if seconds >= 60 else f"{seconds}s"


# --- on the wire -------------------------------------------------------------------------------------------


def status_document(status: ContainerStatus, image: str, uid: str) -> Document:
    """The whole entry of `containerStatuses`; identifiers are derived, so that they are the same each time."""
    state = status.state or _NO_STATE
    last = status.last_state.terminated if status.last_state else None
    begun = state.waiting is None
    # Held back, the container is still the one that crashed; running again, its predecessor is.
    last_run = status.restart_count - 1 if begun else status.restart_count
    document: Document = {
        "name": status.name,
        "state": _state_document(state, uid, status.name, status.restart_count),
        "lastState": {"terminated": _terminated_document(last, uid, status.name, last_run)} if last else {},
        "ready": status.ready,
        "restartCount": status.restart_count,
        "image": image,
        "imageID": f"{image}@sha256:{_digest(image)}" if begun or last else "",
        "started": bool(status.started),
    }
    if begun or last:
        document["containerID"] = _container_id(uid, status.name, status.restart_count)
    return document


def _state_document(state: ContainerState, uid: str, name: str, run: int) -> Document:
    if state.running is not None:
        return {"running": {"startedAt": state.running.started_at}}
    if state.terminated is not None:
        return {"terminated": _terminated_document(state.terminated, uid, name, run)}
    reported = state.waiting or ContainerStateWaiting()
    return {"waiting": {"reason": reported.reason} | ({"message": reported.message} if reported.message else {})}


def _terminated_document(ended: ContainerStateTerminated, uid: str, name: str, run: int) -> Document:
    document: Document = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "finishedAt": ended.finished_at,
    }
    if ended.message:
        document["message"] = ended.message
    if ended.started_at:
        document["startedAt"] = ended.started_at
        document["containerID"] = _container_id(uid, name, run)
    return document


def _container_id(uid: str, name: str, run: int) -> str:
    return f"podium://{_digest(f'{uid}/{name}/{run}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
