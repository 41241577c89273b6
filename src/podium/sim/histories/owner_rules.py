"""Rules about nodes that belong to queues: who may be there, and who has to go.

Numbers of rules are those of `invariants`: I12, I18 and I19.  All is worked out from the objects: the nodes, the
queues that own them, and the pods.
"""

from __future__ import annotations

import re

from podium.core.model.model import Queue
from podium.kube.changes import Patch
from podium.kube.pod_resources import amounts
from podium.kube.wire import Node, Pod, condition
from podium.sim.histories.model_rules import Fail
from podium.sim.histories.stage import Stage
from podium.sim.histories.standing import Standing
from podium.sim.histories.wire import Call

_FOR_WHOM = re.compile(r"^(?:taken back|preempted) for ([^/ ]+)/([^/ ]+)$")
_NO_QUEUE = Queue("")


class OwnerRules:
    """Looks at binds, evictions and at who waits at rest, of schedulers that mind the owners of nodes."""

    def __init__(self, stage: Stage, api: Standing, fail: Fail) -> None:
        self._stage = stage
        self._api = api
        self._fail = fail

    def minds(self, scheduler: str) -> bool:
        profile = self._stage.profiles.get(scheduler)
        return profile is not None and any(entry.kind.KEEPS_TO_OWNERS for tier in profile.tiers for entry in tier)

    def check_bind(self, pod: Pod, node: Node) -> None:
        """I12: nodes are those of the pod's own queue, or lent to it."""
        if not self.minds(pod.spec.scheduler_name):
            return
        queues = self._queues()
        home, owner = self._home(pod, queues), self._owner(node, pod, queues)
        if owner in ("", home):
            return
        ours, theirs = queues.get(home, _NO_QUEUE), queues.get(owner, _NO_QUEUE)
        if not (ours.borrows and theirs.lends and (not ours.lenders or owner in ours.lenders)):
            self._fail("I12", f"{pod.name} of {home or 'no queue'} is on a node of {owner}, which does not lend")

    def check_eviction(self, call: Call) -> None:
        """I19: the mark of a victim says for whom it goes."""
        change = call.ticket.change
        assert isinstance(change, Patch)
        found = _FOR_WHOM.match(change.patch["status"]["conditions"][0]["message"])
        victim = self._stage.pods.get((change.namespace, change.name))
        if (
            found is None
            or victim is None
            or victim.uid != change.uid
            or not self.minds(victim.spec.scheduler_name)
        ):
            return
        pods = (each for each in self._stage.pods.values() if (each.namespace, each.name) == found.groups())
        preemptor = next(pods, None)
        if preemptor is None or self._api.membership(victim) is not None:
            return  # it has gone meanwhile; or a gang goes, wherever its members are
        if preemptor.spec.scheduler_name != victim.spec.scheduler_name:
            self._fail("I19", f"{victim.name} of {victim.spec.scheduler_name} goes for {preemptor.name}")
        node, queues = self._stage.nodes.get(victim.spec.node_name), self._queues()
        if node is not None and self._owner(node, preemptor, queues) not in ("", self._home(preemptor, queues)):
            self._fail("I19", f"{victim.name} goes for {preemptor.name}, which is not at home on {node.name}")

    def check_rest(self) -> None:
        """I18: nobody waits at home while a borrower sits on room that would do."""
        pods, queues = list(self._stage.pods.values()), self._queues()
        if any(pod.status.nominated_node_name for pod in pods):
            return
        for pod in pods:
            if not self._plainly_waits(pod) or not queues.get(self._home(pod, queues), _NO_QUEUE).preempts:
                continue
            for node in self._stage.nodes.values():
                if self._well(node) and self._owner(node, pod, queues) in ("", self._home(pod, queues)):
                    self._check_place(pod, node, queues)

    def _check_place(self, pod: Pod, node: Node, queues: dict[str, Queue]) -> None:
        room = amounts(node.status.allocatable)
        guests = []
        for other in self._stage.pods.values():
            if other.spec.node_name != node.name or other.finished:
                continue
            guest = self.minds(other.spec.scheduler_name) and self._owner(node, other, queues) not in (
                "",
                self._home(other, queues),
            )
            if guest and self._api.membership(other) is None:
                guests.append(other.name)
                continue
            for name, amount in {**self._api.asked(other), "pods": 1}.items():
                room[name] = room.get(name, 0) - amount
        asked = {**self._api.asked(pod), "pods": 1}
        if guests and all(room.get(name, 0) >= amount for name, amount in asked.items()):
            self._fail("I18", f"{pod.name} waits, and {guests[0]} borrows room on {node.name} that would do")

    def _plainly_waits(self, pod: Pod) -> bool:
        spec = pod.spec
        waits = not spec.node_name and not pod.deleting and not pod.finished and not spec.scheduling_gates
        plain = not (spec.node_selector or spec.affinity or spec.topology_spread_constraints)
        alone = self._api.membership(pod) is None
        return waits and plain and alone and spec.preemption_policy != "Never" and self.minds(spec.scheduler_name)

    @staticmethod
    def _well(node: Node) -> bool:
        ready = condition(node.status.conditions, "Ready")
        return ready is not None and ready.status == "True" and not (node.spec.taints or node.spec.unschedulable)

    def _queues(self) -> dict[str, Queue]:
        return {queue.id: queue for queue in self._api.queues()}

    def _home(self, pod: Pod, queues: dict[str, Queue]) -> str:
        return self._api.home_of(pod, queues)

    def _owner(self, node: Node, pod: Pod, queues: dict[str, Queue]) -> str:
        """Whose a node is to a pod; "" if it is everybody's."""
        owner = self._api.owner_of(node)
        if owner:
            return owner
        dialect = queues.get(self._home(pod, queues), _NO_QUEUE).dialect
        return next((each.id for each in queues.values() if each.owns_rest and each.dialect == dialect), "")
