"""What must hold in every history, checked after every step.

    I1  no bind gives a node more than it has, counting everything on it that has not ended
    I2  a pod is bound once, to the node that stands on it from then on
    I3  in the scheduler's model a pod that is not bound or being bound holds nothing; one that is holds its share
    I4  at rest a gang has no members bound, or its minimum; one that was whole may have lost some, and one with
        members bound that nobody would create again may keep them, and says so
    I5  no bind gives a queue more than its capability, not counting what has to go or goes, and the sums of queues
        are those of their tasks
    I6  the model is what the objects say that the scheduler has seen; at rest, what stands in the API
    I7  with nothing more coming, the cluster comes to rest, and a scheduler that starts anew finds nothing to do
    I8  the same seed gives the same history (see `run`)
    I9  recovery deletes no pod that nobody would create again
    I10 no bind takes a place that is reserved for another
    I11 gangs that start together have all their minimum bound at rest, or none of them has, or each had it once
    I12 a node that belongs to a queue takes pods of another one from a scheduler that minds it only if it is lent
    I13 an elastic gang is asked for no more members than it may have, and for no fewer
    I14 a slot has one pod at most
    I15 no field in the status of a group has two writers
    I16 at rest nobody waits who could start with room that is free or held by later groups: places that are held
        block nobody for good
    I17 at rest a gang that has timed out holds nothing, and all of its pods show it
    I18 at rest nobody waits at home while a borrower sits on room there that would do
    I19 a pod is pushed off a node of a queue for pods of that queue only, and by its own scheduler
    I20 podium writes nothing that the roles of its chart do not allow (see `rights`)
    I21 nobody sends the same request again and again

What is expected is worked out from the API's own objects and compared with the model; nothing that the scheduler
has summed up is used for it.  Where the model must differ for a while, it has to have a request under way that
says so: a bind, or an eviction.  Rules about the model stand in `model_rules`, those about rest in `rest_rules`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model.model import State
from podium.embedded.store import Record
from podium.engine.dispatcher import CallType
from podium.engine.recovery import GIVEN_UP
from podium.engine.scheduler import Scheduler
from podium.kube.changes import Patch
from podium.kube.pod_resources import Amounts, amounts
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Node, Pod
from podium.sim.histories.model_rules import check_afresh, check_model, check_seen
from podium.sim.histories.owner_rules import OwnerRules
from podium.sim.histories.rest_rules import Past, RestRules
from podium.sim.histories.stage import Stage, Violation, Watcher
from podium.sim.histories.standing import Standing, holds
from podium.sim.histories.wire import Call
from podium.sim.histories.writer_rules import WriterRules

_FEW_PODS = 60


class Seen(msgspec.Struct, frozen=True):
    """A node as the scheduler knew it when it sent a bind."""

    uid: str
    room: Amounts


class Invariants(Watcher):
    """Looks at everything.  A rule that is broken raises Violation."""

    def __init__(self, stage: Stage) -> None:
        self.binds: Counter[str] = Counter()  # requests to bind, by pod
        self.checks = 0
        self._unseen = 0  # steps since the last look
        self._stage = stage
        self._api = Standing(stage)
        self._past = Past()
        self._rest = RestRules(stage, self._api, self._past, self._fail)
        self._owners = OwnerRules(stage, self._api, self._fail)
        self._writing = WriterRules(stage, self._fail)
        self._homes: dict[str, str] = {}  # where a pod was bound, by uid
        self._seen: dict[str, Seen] = {}  # by the uid of a pod under way
        self._marked: set[str] = set()  # pods whose condition says that they have to go

    def limit(self, limits: Mapping[str, Amounts]) -> None:
        """The queues of these ids may not hold more than that."""
        self._past.limits = dict(limits)

    # --- what happens ---------------------------------------------------------------------------

    def sent(self, call: Call) -> None:
        self._writing.sent(call)
        if call.purpose == CallType.BIND:
            uid = call.ticket.key[1]
            self.binds[uid] += 1
            scheduler = self._scheduler(call.process)
            target = call.ticket.change.document["target"]["name"]  # type: ignore[union-attr]
            node = scheduler.world.cache.find(NODES, Node, ("", target)) if scheduler is not None else None
            if node is not None:
                self._seen[uid] = Seen(node.uid, amounts(node.status.allocatable))
            if scheduler is not None:
                self._check_reserved(scheduler.world.cluster, uid)
                if (task := scheduler.world.cluster.tasks.get(uid)) is not None:
                    self._past.planned[uid] = task.gang.id
        elif call.purpose == CallType.EVICT:
            self._past.evictions.setdefault(call.ticket.key[1], self._stage.elapsed)
        elif call.purpose == CallType.MARK:
            self._marked.add(call.ticket.key[1])
            self._check_given_up(call)
            self._owners.check_eviction(call)

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        if resource != PODS:
            return
        pod = self._stage.server.decode(PODS, record.data) if gone else self._stage.pods[record.key]
        assert isinstance(pod, Pod)
        self._writing.pod_written(pod, gone)
        if gone:
            return
        home, node = self._homes.get(pod.uid, ""), pod.spec.node_name
        if node == home:
            return
        if home:
            self._fail("I2", f"pod {pod.name} was on {home} and is on {node or 'none'}")
        self._homes[pod.uid] = node
        if self.binds[pod.uid]:
            self._bound(pod)

    def _check_given_up(self, call: Call) -> None:
        """I9: the mark of a pod says for what it goes."""
        change = call.ticket.change
        assert isinstance(change, Patch)
        reported = change.patch["status"]["conditions"][0]["message"]
        pod = self._stage.pods.get((change.namespace, change.name))
        if pod is None or pod.uid != change.uid or pod.metadata.controller is not None:
            return
        if reported.endswith(GIVEN_UP):
            self._fail("I9", f"{pod.name} has no controller and is given up: {reported}")

    def _check_reserved(self, cluster: Cluster, uid: str) -> None:
        """I10: a place that is reserved for one is not given to another."""
        task = cluster.tasks.get(uid)
        if task is None or task.row < 0:
            return
        reserved = [each for each in cluster.on_row[task.row].values() if each.state is State.RESERVED]
        for column, _ in task.cls.request.pairs:
            used, room = (
                int(cluster.nodes.used[task.row, column]),
                int(cluster.nodes.allocatable[task.row, column]),
            )
            kept = sum(each.cls.request.amount(column) for each in reserved)
            if used - kept <= room < used:
                self._fail("I10", f"{task.name} is bound to room that is reserved for {reserved[0].name}")

    def _bound(self, pod: Pod) -> None:
        """A bind of the scheduler's has been carried out."""
        node, seen = self._stage.nodes.get(pod.spec.node_name), self._seen.pop(pod.uid, None)
        asked = {**self._api.asked(pod), "pods": 1}
        used = self._api.used_on(pod.spec.node_name)
        now = amounts(node.status.allocatable) if node is not None else {}
        for name in asked:
            # A node may shrink or be replaced while a bind is under way; nobody can know that.
            room = max(now.get(name, 0), seen.room.get(name, 0) if seen is not None else 0)
            if used.get(name, 0) > room:
                self._fail(
                    "I1", f"{pod.name} brings {pod.spec.node_name} to {used[name]} {name}, and it has {room}"
                )
        self._check_queue(pod, asked)
        gang = self._api.gang_of(pod)
        if gang is not None and self._api.members_bound(gang.id) >= gang.minimum:
            self._past.whole.add(gang.id)
        if node is not None:
            self._owners.check_bind(pod, node)

    def _check_queue(self, pod: Pod, asked: Amounts) -> None:
        queue = self._api.queue_of(pod)
        limit = self._past.limits.get(queue)
        if limit is None:
            return
        held: Counter[str] = Counter()
        for other in self._stage.pods.values():
            # What has to go is no longer its queue's, as what goes already is not: nodes count it, queues do not.
            going = other.deleting or other.uid in self._marked
            if holds(other) and not going and self._api.queue_of(other) == queue:
                held.update(self._api.asked(other))
        for resource, most in limit.items():
            if resource in asked and held[resource] > most:
                self._fail("I5", f"{pod.name} brings queue {queue} to {held[resource]} {resource} of {most}")

    # --- after every step ---------------------------------------------------------------------------

    def stepped(self) -> None:
        for process, scheduler in self._stage.schedulers:
            if process.busy and scheduler.settled:
                # A look costs as much as there is to look at: where that is a lot, not every step gets one.
                self._unseen += 1
                if self._unseen * _FEW_PODS >= len(self._stage.pods):
                    self._unseen = 0
                    self.checks += 1
                    check_model(scheduler, self._fail)

    # --- at rest ---------------------------------------------------------------------------

    def at_rest(self) -> None:
        """Nothing more is coming, and all watches are up to date."""
        running = self._stage.schedulers
        if len(running) != 1:
            self._fail("I7", f"{len(running)} schedulers run at the end")
        _, scheduler = running[0]
        if scheduler.world.assumed:
            self._fail("I3", f"binds are still under way at rest: {sorted(scheduler.world.assumed)}")
        if scheduler.world.evicting:
            self._fail("I3", f"evictions are still under way at rest: {sorted(scheduler.world.evicting)}")
        check_model(scheduler, self._fail)
        check_seen(self._stage, scheduler.world, self._fail)
        check_afresh(self._stage, scheduler, self._fail)
        self._rest.check_gangs()
        self._rest.check_timed_out(scheduler)
        self._rest.check_room(scheduler.world.cluster)
        self._rest.check_messages()
        self._owners.check_rest()

    # --- what faults ask ---------------------------------------------------------------------------

    @property
    def evictions(self) -> Mapping[str, float]:
        """The pods that the scheduler has evicted, by uid, and when."""
        return self._past.evictions

    def asked(self, pod: Pod) -> Amounts:
        return self._api.asked(pod)

    @property
    def holding(self) -> bool:
        """Whether pods hold places without being bound: nothing in the API says so to a scheduler that starts."""
        return any(
            task.state is State.RESERVED and task.has_pod
            for _, scheduler in self._stage.schedulers
            for task in scheduler.world.cluster.tasks.values()
        )

    def _scheduler(self, process: str) -> Scheduler | None:
        found = self._stage.processes.get(process)
        machine = found.machine if found is not None else None
        return machine if isinstance(machine, Scheduler) else None

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Violation(rule, what, self._stage.elapsed)


def limits_of(stage: Stage) -> dict[str, Amounts]:
    """What the queues may hold that have a capability, by their ids."""
    return {queue.id: queue.capability for queue in Standing(stage).queues() if queue.capability}
