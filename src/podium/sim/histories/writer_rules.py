"""Rules about who writes what: each slot has one pod, each field of a group's status one writer, and no request is
repeated without end.

Numbers of rules are those of `invariants`: I14, I15 and I21.
"""

from __future__ import annotations

from collections import deque

from podium.core.cluster.slots import is_any
from podium.dialects.kubernetes.membership import slot_of
from podium.engine.dispatcher import CallType
from podium.kube.changes import Create, Patch
from podium.kube.resources import Resource
from podium.kube.wire import Pod
from podium.sim.histories.model_rules import Fail
from podium.sim.histories.stage import Stage
from podium.sim.histories.wire import Call

_SCHEDULER = "the scheduler"
# A request that is made again waits a little longer each time, so this many in so many seconds are no retries.
_STORM, _STORM_SECONDS = 60, 10.0


class WriterRules:
    """Looks at pods as they are written, and at patches as they are sent."""

    def __init__(self, stage: Stage, fail: Fail) -> None:
        self._fail = fail
        self._stage = stage
        marks = [each.marks for each in stage.dialects if each.marks is not None]
        self._slotted = [each for each in marks if each.has_slots]
        self._groups = {kind.resource for each in stage.dialects for kind in each.groups}
        self._filled: dict[str, set[str]] = {}  # by slot: the pods that are there
        self._slots: dict[str, str] = {}
        self._writers: dict[tuple[Resource, str], str] = {}
        self._recent: dict[tuple[str, str, Resource, str, str], deque[float]] = {}  # when the last ones were sent

    def pod_written(self, pod: Pod, gone: bool) -> None:
        """I14: nobody makes a second pod for a slot whose pod is there."""
        slot = self._slots.get(pod.uid) or slot_of(pod, self._slotted)
        if not slot or is_any(slot):  # which one it fills is the scheduler's to say
            return
        self._slots[pod.uid] = slot
        there = self._filled.setdefault(slot, set())
        if gone:
            there.discard(pod.uid)
            return
        there.add(pod.uid)
        if len(there) > 1:
            self._fail("I14", f"{slot} has {len(there)} pods: {pod.name} is one too many")

    def sent(self, call: Call) -> None:
        self._check_storm(call)
        self._check_writer(call)

    def _check_storm(self, call: Call) -> None:
        """I21: a server that is away or behind is not asked the same thing hundreds of times."""
        change = call.ticket.change
        name = change.name
        if not name and isinstance(change, Create):
            name = change.document["metadata"].get("name", "")
        if not name:
            return
        key = (call.process, call.purpose, change.resource, change.namespace, name)
        recent = self._recent.setdefault(key, deque(maxlen=_STORM))
        recent.append(self._stage.elapsed)
        if len(recent) == _STORM and recent[-1] - recent[0] < _STORM_SECONDS:
            what = f"{call.process} ({call.purpose}) sent {_STORM} requests about {change.resource.kind}"
            self._fail("I21", f"{what} {name} in {recent[-1] - recent[0]:.1f} s")

    def _check_writer(self, call: Call) -> None:
        """I15: what the scheduler writes in the status of a group no controller writes, and vice versa."""
        change = call.ticket.change
        if not isinstance(change, Patch) or change.resource not in self._groups:
            return
        writer = _SCHEDULER if call.purpose in set(CallType) else call.purpose
        for field in change.patch.get("status") or ():
            known = self._writers.setdefault((change.resource, field), writer)
            if known != writer:
                self._fail(
                    "I15", f"status.{field} of {change.resource.kind} is written by {known} and by {writer}"
                )
