"""Work that pods share: those of one controller run until they have used up so many seconds together.

A job whose trainers take their data from one master is done sooner with more of them.  The annotation
`podium.dev/work-seconds` says how many seconds of running its pods need in all; when these have been used up, each
pod that runs is told to end, with exit code 0.  What has been done is counted here while pods come and go, and
read off the pods that are there when the count begins.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.kube.cache import Cache, Key
from podium.kube.changes import Patch
from podium.kube.controller import NOTHING, Outcome
from podium.kube.pod_script import EXIT_CODE, WORK_SECONDS
from podium.kube.resources import PODS
from podium.kube.times import parse_time
from podium.kube.wire import Object, Pod


class _Done(msgspec.Struct):
    """The seconds of work that the pods of one controller have done, and until when they were counted."""

    seconds: float = 0.0
    at: float = 0.0
    running: int = 0


class SharedWork:
    """Keyed by namespace and the UID of a pod's controller."""

    name = "kubelet-work"

    def __init__(self) -> None:
        self.watches = {PODS: _workers}
        self._done: dict[Key, _Done] = {}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        pods = [pod for _, pod in cache.owned_by(key[1], PODS, key[0]) if isinstance(pod, Pod)]
        wanted = max((_seconds(pod) for pod in pods), default=0.0)
        if not pods or not wanted:
            self._done.pop(key, None)
            return NOTHING
        running = [pod for pod in pods if pod.status.phase == "Running" and not pod.deleting]
        done = self._done.get(key)
        if done is None:
            done = self._done[key] = _Done(sum(_ran(pod, now) for pod in pods))
        else:
            done.seconds += done.running * (now - done.at)
        done.at, done.running = now, len(running)
        # Times are large numbers: what is less than a millisecond away would never come.
        if wanted - done.seconds <= len(running) / 1000:
            ends = (_end(pod) for pod in running if EXIT_CODE not in pod.annotations)
            return Outcome(tuple(ends))
        return Outcome(again_at=now + (wanted - done.seconds) / len(running)) if running else NOTHING


def _seconds(pod: Pod) -> float:
    try:
        return max(0.0, float(pod.annotations.get(WORK_SECONDS, "0")))
    except ValueError:
        return 0.0


def _ran(pod: Pod, now: float) -> float:
    """How long a pod has run."""
    total = 0.0
    for status in (pod.status.container_statuses or ())[:1]:
        state = status.state
        if state is not None and state.running is not None:
            total += max(0.0, now - parse_time(state.running.started_at))
        elif state is not None and state.terminated is not None:
            total += max(0.0, parse_time(state.terminated.finished_at) - parse_time(state.terminated.started_at))
    return total


def _end(pod: Pod) -> Patch:
    return Patch(PODS, pod.namespace, pod.name, {"metadata": {"annotations": {EXIT_CODE: "0"}}}, uid=pod.uid)


def _workers(obj: Object, cache: Cache) -> Iterable[Key]:
    owner = obj.metadata.controller
    return ((obj.namespace, owner.uid),) if owner is not None and WORK_SECONDS in obj.annotations else ()
