"""The life of a pod on its node, as one pure function: what is observed and the time in, the next status out.

    Pending ── start ──> Running ── every container has ended for good ──> Succeeded | Failed ── deleted ──> gone

`advance` is level-triggered: it asks what the status should be now and returns the difference as a strategic
merge patch of `status`, nothing if there is none.  Strategic, because conditions then merge by type: a readiness
gate that somebody sets in the same moment is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from podium.embedded.nodes import containers
from podium.embedded.nodes.conditions import condition_patches, wanted_conditions
from podium.embedded.nodes.containers import SIGKILL_EXIT, SIGTERM_EXIT, Clock, Document, Stop
from podium.embedded.nodes.script import DEFAULT, Script, script_of
from podium.kube.times import format_time, parse_time
from podium.kube.wire import Container, ContainerStatus, Pod

_CREATING = "ContainerCreating"
_INITIALIZING = "PodInitializing"

_DEFAULT_GRACE = 30

# How long the server gets to take a pod of grace 0 out by itself.
_LEFT_TO_KUBELET = 2.0


class Place(msgspec.Struct, frozen=True):
    """Where an admitted pod lives."""

    ip: str
    host_ip: str


class Step(msgspec.Struct, frozen=True):
    """What to do about a pod now, and when to look again without an event."""

    status: Document | None = None
    remove: bool = False  # its containers are gone and it was deleted: take it out of the API
    again_at: float | None = None
    begins: bool = False  # `status` holds a start time that is the time of this step
    started: tuple[str, ...] = ()  # containers whose run begins
    held_back: tuple[str, ...] = ()  # containers that crashed and have to wait


class _Lives(msgspec.Struct, frozen=True):
    """The statuses of all containers, as they are or as they should be."""

    init: list[ContainerStatus]
    main: list[ContainerStatus]

    @property
    def begun(self) -> bool:
        return any(containers.has_run(status) for status in self.main)

    @property
    def over(self) -> bool:
        return bool(self.main) and all(containers.has_ended(status) for status in self.main)

    @property
    def phase(self) -> str:
        if not self.over:
            return "Running" if self.begun else "Pending"
        return "Failed" if any(containers.exit_code(status) for status in self.main) else "Succeeded"


def has_begun(pod: Pod) -> bool:
    """A kubelet has taken the pod on before."""
    return pod.status.start_time is not None or pod.status.phase == "Running"


def refused(reason: str, message: str, now: float) -> Document:
    """The status of a pod that its node will not run."""
    return {"phase": "Failed", "reason": reason, "message": message, "startTime": format_time(now)}


def advance(pod: Pod, place: Place, clock: Clock, start_seconds: float = 0.0) -> Step:
    """The next step of a pod that its node has admitted.

    `start_seconds` is how long a pod takes from its admission to the start of its containers.
    """
    remove_at = _remove_at(pod)
    remove = remove_at is not None and remove_at <= clock.now
    if pod.finished:
        return Step(remove=True) if remove else Step(again_at=remove_at)
    script = script_of(pod.annotations)
    start_seconds = max(start_seconds, script.start_seconds)
    before = _Lives(init=pod.status.init_container_statuses or [], main=pod.status.container_statuses or [])
    stop = _deletion(pod, script)
    deadline = _deadline(pod, clock)
    overdue = False
    if deadline is not None and deadline <= clock.now:
        # Was it still alive at its deadline?  What ended before, while no kubelet ran, ended well.
        then = _containers(pod, before, script, stop, Clock(deadline, clock.exact), start_seconds)[0]
        overdue = not then.over
    if deadline is not None and (stop is None or deadline < stop.at):
        stop = Stop(deadline, SIGTERM_EXIT)
    after, again_at = _containers(pod, before, script, stop, clock, start_seconds)
    phase = "Failed" if overdue else after.phase
    status = _difference(pod, place, before, after, phase, script.complaint, clock.now)
    if overdue:
        status["reason"] = "DeadlineExceeded"
        status["message"] = "Pod was active on the node longer than the specified deadline"
    started = _changed(before, after, containers.is_running)
    return Step(
        status=status or None,
        remove=remove and after.over,
        again_at=remove_at if after.over and not remove else again_at,
        begins=bool(started) or pod.status.start_time is None,
        started=started,
        held_back=_changed(before, after, containers.is_held_back),
    )


def _remove_at(pod: Pod) -> float | None:
    """From when on a deleted pod is taken out of the API once its containers have ended; None for never.

    At grace 0 whoever deleted it takes it out as well, unless finalizers hold it.  A real server does that in two
    writes, though, and gives up after the first if the client has died: then it is left to the kubelet.
    """
    metadata = pod.metadata
    if not pod.deleting:
        return None
    if metadata.deletion_grace_period_seconds != 0:
        return 0.0
    return None if metadata.finalizers else parse_time(metadata.deletion_timestamp) + _LEFT_TO_KUBELET


def _deletion(pod: Pod, script: Script) -> Stop | None:
    """When the containers of a deleted pod have obeyed, or are killed for not having done so.

    A simulated process obeys at once, unless it has something to wait for: what its annotation says, a preStop
    hook that sleeps, or the time by which whoever deleted it has extended its own grace period.
    """
    if not pod.deleting:
        return None
    grace = float(pod.metadata.deletion_grace_period_seconds or 0)
    asked_at = parse_time(pod.metadata.deletion_timestamp) - grace
    own = pod.spec.termination_grace_period_seconds
    extended = grace - (_DEFAULT_GRACE if own is None else own)
    hooks = (each.lifecycle.pre_stop for each in pod.spec.containers if each.lifecycle and each.lifecycle.pre_stop)
    sleeps = (hook.sleep.seconds for hook in hooks if hook.sleep)
    seconds = max(extended, max(sleeps, default=0) + script.termination_seconds)
    if seconds > grace:
        return Stop(asked_at + grace, SIGKILL_EXIT)
    return Stop(asked_at + max(seconds, 0.0), SIGTERM_EXIT)


def _deadline(pod: Pod, clock: Clock) -> float | None:
    seconds = pod.spec.active_deadline_seconds
    if seconds is None or pod.status.start_time is None:
        return None
    return clock.read(pod.status.start_time) + seconds


def _containers(
    pod: Pod, before: _Lives, script: Script, stop: Stop | None, clock: Clock, start_seconds: float
) -> tuple[_Lives, float | None]:
    """All containers' statuses now, and when the first of them will change by itself."""
    if not before.begun:
        if pod.deleting:
            stop = Stop(clock.now, SIGKILL_EXIT)  # nothing runs that could take its time to obey
        since = clock.read(pod.status.start_time) if pod.status.start_time is not None else clock.now
        start_at = since + start_seconds
        if start_at > clock.now and (stop is None or stop.at > clock.now):
            return _created(pod), start_at if stop is None else min(start_at, stop.at)
    wakes: list[float] = []
    main: list[ContainerStatus] = []
    for container, status in _paired(pod.spec.containers, before.main):
        policy = "Never" if pod.deleting else container.restart_policy or pod.spec.restart_policy
        status, wake = containers.advance(status, script, policy, stop, clock, _pod_id(pod))
        main.append(status)
        if wake is not None:
            wakes.append(wake)
    over = _Lives(init=[], main=main).over
    if stop is not None and not over:
        wakes.append(stop.at)
    init = [
        _init_container(container, status, over, clock, _pod_id(pod))
        for container, status in _paired(pod.spec.init_containers or [], before.init)
    ]
    return _Lives(init=init, main=main), min(wakes, default=None)


def _init_container(
    container: Container, status: ContainerStatus, over: bool, clock: Clock, pod_id: str
) -> ContainerStatus:
    if not containers.is_sidecar(container):
        done = containers.has_ended(status) or over
        return status if done else containers.completed(container.name, clock.now)
    # A sidecar lives as long as the others, and shuts down in good order whatever became of them.
    stop = Stop(clock.now, 0) if over else None
    return containers.advance(status, DEFAULT, "Always", stop, clock, pod_id)[0]


def _created(pod: Pod) -> _Lives:
    """A pod that is on its node with nothing started yet."""
    init = [containers.waiting(c.name, _INITIALIZING) for c in pod.spec.init_containers or ()]
    reason = _INITIALIZING if init else _CREATING
    return _Lives(init=init, main=[containers.waiting(c.name, reason) for c in pod.spec.containers])


def _paired(
    specs: Sequence[Container], statuses: Sequence[ContainerStatus]
) -> list[tuple[Container, ContainerStatus]]:
    """Each container with its status; one that has none yet is waiting."""
    by_name = {status.name: status for status in statuses}
    return [(spec, by_name.get(spec.name) or containers.waiting(spec.name, _CREATING)) for spec in specs]


def _changed(before: _Lives, after: _Lives, test: Callable[[ContainerStatus], bool]) -> tuple[str, ...]:
    """The containers that have become what `test` asks for, or are it once more after another run."""
    old = {status.name: status.restart_count for status in before.main if test(status)}
    return tuple(
        status.name for status in after.main if test(status) and old.get(status.name) != status.restart_count
    )


def _difference(
    pod: Pod, place: Place, before: _Lives, after: _Lives, phase: str, complaint: str, now: float
) -> Document:
    """What has to be written so that the pod's status says `after`."""
    status: Document = {}
    if phase != pod.status.phase:
        status["phase"] = phase
    if pod.status.start_time is None:
        status["startTime"] = format_time(now)
    if place.host_ip and not pod.status.host_ip:
        status["hostIP"] = place.host_ip
        status["hostIPs"] = [{"ip": place.host_ip}]
    if place.ip and not pod.status.pod_ip and phase == "Running":
        status["podIP"] = place.ip
        status["podIPs"] = [{"ip": place.ip}]
    if after.main != before.main:
        status["containerStatuses"] = _documents(pod, pod.spec.containers, after.main)
    if after.init != before.init:
        status["initContainerStatuses"] = _documents(pod, pod.spec.init_containers or [], after.init)
    wanted = wanted_conditions(pod, after.main, after.init, phase, complaint)
    patches = condition_patches(pod.status.conditions, wanted, now)
    if patches:
        status["conditions"] = patches
    return status


def _documents(pod: Pod, specs: Sequence[Container], statuses: Sequence[ContainerStatus]) -> list[Document]:
    return [
        containers.status_document(status, spec.image, pod.uid)
        for spec, status in zip(specs, statuses, strict=True)
    ]


def _pod_id(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}({pod.uid})"
