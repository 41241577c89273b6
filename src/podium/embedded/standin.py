"""A stand-in for the scheduler: binds every pending pod to the first node, by name, that has room for it.

One controller with one key, the queue.  What changed is noted as it is observed and booked at the next look at
the queue, which hands out the binds.  A pod counts as placed from the moment its bind is handed out; if the server
does not tell of it for a while, it is queued again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from podium.embedded.nodes.rooms import selects
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Patch
from podium.kube.controller import Note, Outcome
from podium.kube.events import WARNING
from podium.kube.pod_resources import PODS as SLOTS
from podium.kube.pod_resources import Amounts, amounts, pod_requests
from podium.kube.resources import NODES, PODS
from podium.kube.times import format_time
from podium.kube.transport import STRATEGIC_PATCH
from podium.kube.wire import Node, Object, Pod, Taint, Toleration, condition

_QUEUE: Key = ("", "")
_BINDS_PER_TURN = 500
_REFUSALS_PER_TURN = 100
_ASSUMED_SECONDS = 5.0


class _Search(msgspec.Struct):
    """How far the nodes have been tried for pods that are all alike, and what was wrong with the tried ones."""

    at: int
    wrong: Counter[str]


class FirstFit:
    """The controller.  It takes pods of any scheduler name."""

    name = "first-fit"
    component = "default-scheduler"

    def __init__(self) -> None:
        self.watches = {PODS: self._note, NODES: self._note}
        self._changed: dict[Key, None] = {}  # nodes and pods: a node's key has no namespace
        self._has: dict[str, Amounts] = {}  # by node
        self._used: dict[str, Amounts] = {}
        self._placed: dict[Key, tuple[str, str, Amounts]] = {}  # node, UID of the pod, what it takes
        self._assumed: dict[Key, float] = {}  # placed by us, not yet told by the server: until when to believe it
        self._pending: dict[Key, None] = {}
        self._stuck: dict[Key, None] = {}  # refused and told so: they wait for a change of a node or for room

    def _note(self, obj: Object, cache: Cache) -> Iterable[Key]:
        self._changed[key_of(obj)] = None
        return (_QUEUE,)

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        changed, self._changed = self._changed, {}
        for each in changed:
            if each[0]:
                self._book(each, cache.find(PODS, Pod, each))
                continue
            node = cache.find(NODES, Node, each)
            self._wake_stuck()
            self._has.pop(each[1], None)
            if node is not None:
                self._has[each[1]] = amounts(node.status.allocatable)
        return self._schedule(cache, now)

    def _book(self, key: Key, pod: Pod | None) -> None:
        placed = self._placed.get(key)
        if pod and placed and placed[1] == pod.uid and not pod.spec.node_name:
            return  # what we see is older than our bind
        self._displace(key)
        self._pending.pop(key, None)
        self._stuck.pop(key, None)
        if pod is None or pod.finished:
            return
        if pod.spec.node_name:
            self._place(key, pod, pod.spec.node_name)
        elif not pod.deleting and not pod.spec.scheduling_gates:
            self._pending[key] = None

    def _place(self, key: Key, pod: Pod, node: str) -> None:
        requests = _requests(pod)
        self._placed[key] = (node, pod.uid, requests)
        used = self._used.setdefault(node, {})
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + amount

    def _displace(self, key: Key) -> None:
        self._assumed.pop(key, None)
        if key in self._placed:
            node, _, requests = self._placed.pop(key)
            for name, amount in requests.items():
                self._used[node][name] -= amount
            self._wake_stuck()

    def _wake_stuck(self) -> None:
        self._pending |= self._stuck
        self._stuck.clear()

    def _schedule(self, cache: Cache, now: float) -> Outcome:
        for key in [key for key, until in self._assumed.items() if until <= now]:
            self._displace(key)
            self._pending[key] = None
        binds: list[Change] = []
        refusals: list[Change] = []
        notes: list[Note] = []
        names = sorted(self._has)
        searches: dict[bytes, _Search] = {}
        for key in list(self._pending):
            if len(binds) == _BINDS_PER_TURN:
                break
            pod = cache.find(PODS, Pod, key)
            if pod is None:
                continue  # its removal is still to be booked
            node, told = self._find(pod, names, searches, cache)
            if node:
                self._place(key, pod, node)
                self._assumed[key] = now + _ASSUMED_SECONDS
                del self._pending[key]
                binds.append(_bind(pod, node))
                told = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                notes.append(Note(PODS, pod, "Scheduled", told))
                continue
            patch = _refusal(pod, told, now)
            if patch is None:
                del self._pending[key]
                self._stuck[key] = None
            elif len(refusals) < _REFUSALS_PER_TURN:
                refusals.append(patch)
                notes.append(Note(PODS, pod, "FailedScheduling", told, WARNING))
        again_at = now + _ASSUMED_SECONDS if self._assumed else None
        return Outcome((*binds, *refusals), again_at, tuple(notes))

    def _find(self, pod: Pod, names: list[str], searches: dict[bytes, _Search], cache: Cache) -> tuple[str, str]:
        """The first node that takes the pod, or why none does.

        Within one look at the queue nodes only fill up.  So pods that are alike go on where the last one stopped.
        """
        requests = _requests(pod)
        alike = msgspec.json.encode(
            (requests, pod.spec.node_selector, pod.spec.affinity, pod.spec.tolerations), order="sorted"
        )
        search = searches.setdefault(alike, _Search(0, Counter()))
        while search.at < len(names):
            name = names[search.at]
            node = cache.find(NODES, Node, ("", name))
            wrong = _unsuitable(pod, node) if node is not None else "node(s) were gone"
            wrong = wrong or _short(requests, self._used.get(name, {}), self._has[name])
            if not wrong:
                return name, ""
            search.wrong[wrong] += 1
            search.at += 1
        told = ", ".join(f"{count} {wrong}" for wrong, count in sorted(search.wrong.items()))
        return "", f"0/{len(names)} nodes are available: {told or 'there are none'}."


def _requests(pod: Pod) -> Amounts:
    return {**pod_requests(pod.spec), SLOTS: 1}


def _short(requests: Amounts, used: Amounts, has: Amounts) -> str:
    for name, amount in requests.items():
        if amount > 0 and used.get(name, 0) + amount > has.get(name, 0):
            return "Too many pods" if name == SLOTS else f"Insufficient {name}"
    return ""


def _unsuitable(pod: Pod, node: Node) -> str:
    if node.spec.unschedulable:
        return "node(s) were unschedulable"
    if not selects(pod, node):
        return "node(s) didn't match Pod's node affinity/selector"
    for taint in node.spec.taints or ():
        if taint.effect in ("NoSchedule", "NoExecute") and not _tolerated(taint, pod.spec.tolerations):
            return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    return ""


def _tolerated(taint: Taint, tolerations: Iterable[Toleration] | None) -> bool:
    return any(
        each.effect in ("", taint.effect)
        and (each.key == taint.key or (not each.key and each.operator == "Exists"))
        and (each.operator == "Exists" or each.value == taint.value)
        for each in tolerations or ()
    )


def _bind(pod: Pod, node: str) -> Change:
    document = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Create(PODS, pod.namespace, document, pod.name, "binding")


def _refusal(pod: Pod, told: str, now: float) -> Change | None:
    found = condition(pod.status.conditions, "PodScheduled")
    if found is not None and (found.status, found.message) == ("False", told):
        return None
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": told}
    if found is None or found.status != "False":
        said["lastTransitionTime"] = format_time(now)
    patch = {"status": {"conditions": [said]}}
    return Patch(PODS, pod.namespace, pod.name, patch, "status", STRATEGIC_PATCH, uid=pod.uid)
