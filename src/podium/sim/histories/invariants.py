"""What must hold in every history, checked after every step.

    I1  no bind gives a node more than it has, counting everything on it that has not ended
    I2  a pod is bound once, to the node that stands on it from then on
    I3  in the scheduler's model a pod that is not bound or being bound holds nothing; one that is holds its share
    I4  at rest a gang has no members bound, or its minimum; one that was whole may have lost some, and one with
        members bound that nobody would create again may keep them, and says so
    I5  no bind gives a queue more than its capability, not counting what has to go or goes, and the sums of queues
        are those of their tasks
    I6  the model is what the objects say that the scheduler has been told; at rest, what stands in the API
    I7  with nothing more coming, the cluster comes to rest, and a scheduler that starts anew finds nothing to do
    I8  the same seed gives the same history (see `run`)
    I9  recovery deletes no pod that nobody would create again
    I10 no bind takes a place that is reserved for another
    I11 gangs that start together have all their minimum bound at rest, or none of them has, or they had it once
    I12 a node that belongs to a queue takes no pod of another one from a scheduler that minds it

What is expected is worked out from the API's own objects and compared with the model; nothing that the scheduler
has summed up is used for it.  Where the model must differ for a while, it has to have a request under way that
says so: a bind, or an eviction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.recount import recount
from podium.core.model.model import HOLDING, ON_NODE, State, Task
from podium.dialects.kubernetes.translate import state_of
from podium.embedded.store import Record
from podium.engine.dispatcher import CallType
from podium.engine.recovery import GIVEN_UP
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.changes import Patch
from podium.kube.pod_resources import Amounts, amounts, pod_requests
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Node, Pod, condition
from podium.sim.histories.population import TAKING
from podium.sim.histories.stage import Stage, Violation, Watcher
from podium.sim.histories.standing import Standing
from podium.sim.histories.wire import Call

_FEW_PODS = 60
KEEPING = "the bound ones keep theirs"  # what a gang says that keeps what it has


class Seen(msgspec.Struct, frozen=True):
    """A node as the scheduler knew it when it sent a bind."""

    uid: str
    room: Amounts


class Invariants(Watcher):
    """Looks at everything.  A rule that is broken raises Violation."""

    def __init__(self, stage: Stage) -> None:
        self.binds: Counter[str] = Counter()  # requests to bind, by pod
        self.evictions: dict[str, float] = {}  # pods that the scheduler has told to go, by uid, and when
        self.checks = 0
        self._unseen = 0  # steps since the last look
        self._stage = stage
        self._api = Standing(stage)
        self._limits: dict[str, Amounts] = {}  # by queue
        self._homes: dict[str, str] = {}  # where a pod was bound, by uid
        self._seen: dict[str, Seen] = {}  # by the uid of a pod under way
        self._requests: dict[str, Amounts] = {}
        self._marked: set[str] = set()  # pods that were told that they have to go
        self._whole: set[str] = set()  # gangs that have had their minimum bound
        self._started: set[str] = set()  # gangs that have had it together with those that start with them

    def limit(self, limits: Mapping[str, Amounts]) -> None:
        """The queues of these ids may not hold more than that."""
        self._limits = dict(limits)

    # --- what happens ---------------------------------------------------------------------------

    def sent(self, call: Call) -> None:
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
        elif call.purpose == CallType.EVICT:
            self.evictions.setdefault(call.ticket.key[1], self._stage.elapsed)
        elif call.purpose == CallType.MARK:
            self._marked.add(call.ticket.key[1])
            self._check_given_up(call)

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        if resource != PODS:
            return
        if gone:
            self._requests.pop(record.uid, None)
            return
        pod = self._stage.pods[record.key]
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
        asked = {**self.asked(pod), "pods": 1}
        used = self._used_on(pod.spec.node_name)
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
        if gang is not None and self._members_bound(gang.id) >= gang.minimum:
            self._whole.add(gang.id)
            if self._partners(gang.id, bound=True) == self._partners(gang.id):
                self._started |= self._partners(gang.id)
        owner = self._api.owner_of(node) if node is not None else ""
        if owner and owner != self._api.queue_of(pod) and self._minds_owners(pod.spec.scheduler_name):
            self._fail("I12", f"{pod.name} of {self._api.queue_of(pod) or 'no queue'} is on a node of {owner}")

    def _minds_owners(self, scheduler: str) -> bool:
        profile = self._stage.profiles.get(scheduler)
        return profile is not None and any(entry.kind.KEEPS_TO_OWNERS for tier in profile.tiers for entry in tier)

    def _partners(self, gang: str, *, bound: bool = False) -> set[str]:
        """The gangs that start with one, itself included; `bound`: those that have their minimum."""
        gangs = {each.id: each for each in self._api.gangs()}
        found, ahead = {gang}, [gang]
        while ahead:
            for id in gangs[ahead.pop()].together:
                if id in gangs and id not in found:
                    found.add(id)
                    ahead.append(id)
        return {id for id in found if not bound or self._members_bound(id) >= gangs[id].minimum}

    def _check_queue(self, pod: Pod, asked: Amounts) -> None:
        queue = self._api.queue_of(pod)
        limit = self._limits.get(queue)
        if limit is None:
            return
        held: Counter[str] = Counter()
        for other in self._stage.pods.values():
            # What has to go is no longer its queue's, as what goes already is not: nodes count it, queues do not.
            going = other.deleting or other.uid in self._marked
            if _holds(other) and not going and self._api.queue_of(other) == queue:
                held.update(self.asked(other))
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
                    self._check_model(scheduler)

    def _check_model(self, scheduler: Scheduler) -> None:
        """I3, I5 and I6 against what the scheduler has been told."""
        world = scheduler.world
        cluster = world.cluster
        pods = {pod.uid: pod for pod in world.cache.all(PODS) if isinstance(pod, Pod)}
        known = {id for id, task in cluster.tasks.items() if task.has_pod}
        if pods.keys() != known:
            self._fail("I6", f"the model has other pods than were told: {sorted(pods.keys() ^ known)}")
        for uid, pod in pods.items():
            task = cluster.tasks[uid]
            state, node = state_of(pod), pod.spec.node_name
            sent = world.assumed.get(uid)
            allowed: tuple[State, ...] = (state,)
            if sent is not None and state is State.PENDING:
                allowed, state, node = (State.BINDING, State.BOUND), State.BINDING, sent.node
            if uid in world.evicting and state in HOLDING:
                allowed = (State.RELEASING,)
            if task.state is State.RESERVED and state is State.PENDING and sent is None:
                continue  # it holds a place that no pod shows; the sums below count it
            if task.state not in allowed:
                self._fail("I3", f"{pod.name} is {task.state.name} in the model, not {allowed[0].name}")
            row = cluster.nodes.rows.get(node, -1) if task.state in ON_NODE else -1
            if task.row != row:
                self._fail("I3", f"{pod.name} holds row {task.row} in the model, not {row} ({node or 'no node'})")
        wrong = recount(cluster)
        if wrong:
            self._fail("I5", f"{wrong} sums of nodes or queues are not those of their tasks")
        for name, row in cluster.nodes.rows.items():
            node_reported = world.cache.find(NODES, Node, ("", name))
            facts = cluster.nodes.facts[row]
            if node_reported is None or facts is None or facts.uid != node_reported.uid:
                self._fail("I6", f"the model's node {name} is another one than was told")

    # --- at rest ---------------------------------------------------------------------------

    def at_rest(self) -> None:
        """Nothing more is coming, and all watches have told what they had to."""
        running = self._stage.schedulers
        if len(running) != 1:
            self._fail("I7", f"{len(running)} schedulers run at the end")
        _, scheduler = running[0]
        if scheduler.world.assumed:
            self._fail("I3", f"binds are still under way at rest: {sorted(scheduler.world.assumed)}")
        if scheduler.world.evicting:
            self._fail("I3", f"evictions are still under way at rest: {sorted(scheduler.world.evicting)}")
        self._check_model(scheduler)
        self._check_reported(scheduler.world)
        self._check_afresh(scheduler)
        self._check_gangs()
        self._check_room()
        self._check_words()

    def _check_reported(self, world: World) -> None:
        for resource in sorted(world.resources, key=lambda each: each.plural):
            there = {(each.namespace, each.name): each for each in self._stage.server.objects(resource)}
            known = {(each.namespace, each.name): each for each in world.cache.all(resource)}
            for key in there.keys() | known.keys():
                one, other = there.get(key), known.get(key)
                if one is None or other is None or _version(one) != _version(other):
                    what = "was never told of" if other is None else "is gone" if one is None else "has changed"
                    self._fail("I6", f"{resource.kind} {key[1]} {what}, and the scheduler does not know")

    def _check_afresh(self, scheduler: Scheduler) -> None:
        """The model against one that is made from the API now."""
        afresh = World(self._stage.dialects)
        for resource in sorted(afresh.resources, key=lambda each: each.plural):
            for obj in self._stage.server.objects(resource):
                afresh.observe(resource, obj)
        afresh.settle()
        afresh.cluster.settle()
        cluster = scheduler.world.cluster
        cluster.settle()
        # A place that is held for a gang stands in no object: whoever starts anew looks for it again.
        for task in cluster.tasks.values():
            twin = afresh.cluster.tasks.get(task.id)
            if task.state is State.RESERVED and twin is not None:
                afresh.cluster.reserve(twin, cluster.nodes.name(task.row))
        afresh.cluster.settle()
        for what, report in (("tasks", _tasks), ("rooms", _rooms), ("queues", _queues)):
            ours, theirs = report(cluster), report(afresh.cluster)
            if ours != theirs:
                different = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
                first = different[0]
                self._fail(
                    "I6", f"{what} differ from a fresh count: {first} {ours.get(first)} not {theirs.get(first)}"
                )

    def _check_gangs(self) -> None:
        for gang in self._api.gangs():
            if gang.together and gang.id not in self._started and self._members_bound(gang.id):
                lacking = sorted(self._partners(gang.id) - self._partners(gang.id, bound=True))
                if lacking:
                    self._fail("I11", f"{gang.name} has members bound at rest, and {lacking[0]} has not enough")
            bound = self._members_bound(gang.id)
            if not 0 < bound < gang.minimum:
                continue
            evicted = any(pod.uid in self.evictions for pod in self._api.members(gang.id))
            if (gang.id not in self._whole or evicted) and not self._keeps(gang.id):
                self._fail("I4", f"{gang.name} has {bound} of at least {gang.minimum} members bound at rest")

    def _keeps(self, gang: str) -> bool:
        """Whether a gang has members bound that nobody would create again, and says that it keeps them."""
        members = self._api.members(gang)
        said = (condition(pod.status.conditions, "PodScheduled") for pod in members if not pod.spec.node_name)
        return any(_holds(pod) and pod.metadata.controller is None for pod in members) and any(
            each is not None and each.status == "False" and KEEPING in each.message for each in said
        )

    def _check_room(self) -> None:
        """Nobody waits beside room: what is missing of a gang would find places, one after the other, by hand.

        Asked of those that only room can keep waiting: nothing limits their queue, they may go to any plain node,
        and no room is being kept for others.
        """
        pods = self._stage.pods.values()
        if any(pod.status.nominated_node_name for pod in pods):
            return
        waiting: dict[str, list[Pod]] = {}
        for pod in pods:
            idle = not pod.spec.node_name and not pod.deleting and not pod.finished
            plain = not (pod.spec.node_selector or pod.spec.scheduling_gates)
            if (
                idle
                and plain
                and pod.spec.scheduler_name == TAKING
                and self._api.queue_of(pod) not in self._limits
            ):
                group = self._api.membership(pod)
                waiting.setdefault(group.gang if group is not None else pod.uid, []).append(pod)
        for members in waiting.values():
            gang = self._api.gang_of(members[0])
            if gang is not None and gang.together:
                continue  # it may have its places, and wait for the gangs that start with it
            if gang is None and self._api.membership(members[0]) is not None:
                continue  # it has been deleted: they wait for another one
            needed = max(1, gang.minimum - self._members_bound(gang.id)) if gang is not None else 1
            if len(members) >= needed and self._fit_by_hand(members[:needed]):
                name = gang.name if gang is not None else members[0].name
                self._fail("I7", f"{name} waits, and there is room for it")

    def _fit_by_hand(self, pods: list[Pod]) -> bool:
        free = {}
        for name, node in self._stage.nodes.items():
            ready = condition(node.status.conditions, "Ready")
            well = ready is not None and ready.status == "True"
            if well and not node.spec.taints and not node.spec.unschedulable:
                used = self._used_on(name) + self._reserved_on(name)
                free[name] = {each: has - used[each] for each, has in amounts(node.status.allocatable).items()}
        for pod in pods:
            asked = {**self.asked(pod), "pods": 1}
            fitting = (room for room in free.values() if all(room.get(each, 0) >= asked[each] for each in asked))
            room = next(fitting, None)
            if room is None:
                return False
            for each, amount in asked.items():
                room[each] -= amount
        return True

    def _check_words(self) -> None:
        """Whoever waits has been told why, or is behind a gate."""
        for pod in self._stage.pods.values():
            if (
                pod.spec.node_name
                or pod.deleting
                or pod.finished
                or pod.spec.scheduler_name not in self._stage.profiles
            ):
                continue
            reported = next((each for each in pod.status.conditions or () if each.type == "PodScheduled"), None)
            if reported is None or reported.status != "False" or not reported.message:
                self._fail("I7", f"{pod.name} waits, and nobody has said why")

    # --- the API's own numbers ---------------------------------------------------------------------------

    def asked(self, pod: Pod) -> Amounts:
        found = self._requests.get(pod.uid)
        if found is None:
            found = self._requests[pod.uid] = pod_requests(pod.spec)
        return found

    @property
    def holding(self) -> bool:
        """Whether pods hold places without being bound: nothing in the API says so to a scheduler that starts."""
        return any(
            task.state is State.RESERVED and task.has_pod
            for _, scheduler in self._stage.schedulers
            for task in scheduler.world.cluster.tasks.values()
        )

    def _reserved_on(self, node: str) -> Counter[str]:
        """What is held there for pods and slots that are not bound."""
        found: Counter[str] = Counter()
        for _, scheduler in self._stage.schedulers:
            cluster = scheduler.world.cluster
            names = cluster.dimensions.names
            for task in cluster.on_row.get(cluster.nodes.rows.get(node, -1), {}).values():
                if task.state is State.RESERVED:
                    found.update({names[column]: amount for column, amount in task.cls.request.pairs})
        return found

    def _used_on(self, node: str) -> Counter[str]:
        used: Counter[str] = Counter()
        for pod in self._stage.pods.values():
            if pod.spec.node_name == node and not pod.finished:
                used.update(self.asked(pod))
                used["pods"] += 1
        return used

    def _members_bound(self, gang: str) -> int:
        """Members with a place, and those that have done their work."""
        members = self._api.members(gang)
        return sum(pod.status.phase == "Succeeded" or (_holds(pod) and not pod.deleting) for pod in members)

    def _scheduler(self, process: str) -> Scheduler | None:
        found = self._stage.processes.get(process)
        machine = found.machine if found is not None else None
        return machine if isinstance(machine, Scheduler) else None

    def _fail(self, rule: str, what: str) -> None:
        raise Violation(rule, what, self._stage.elapsed)


def limits_of(stage: Stage) -> dict[str, Amounts]:
    """What the queues may hold that have a capability, by their ids."""
    return {queue.id: queue.capability for queue in Standing(stage).queues() if queue.capability}


def _holds(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.finished


def _version(obj: object) -> str:
    return str(obj.metadata.resource_version)  # type: ignore[attr-defined]


def _stands(task: Task, cluster: Cluster) -> tuple[str, str, str, int]:
    node = cluster.nodes.name(task.row) if task.row >= 0 else ""
    return task.gang.id, task.state.name, node, task.priority


def _tasks(cluster: Cluster) -> dict[str, object]:
    return {f"{each.namespace}/{each.name}": _stands(each, cluster) for each in cluster.tasks.values()}


def _rooms(cluster: Cluster) -> dict[str, object]:
    """Used and leaving amounts of every node, by names."""
    found: dict[str, object] = {}
    for name, row in cluster.nodes.rows.items():
        for column, resource in enumerate(cluster.dimensions.names):
            numbers = tuple(
                int(table[row, column]) if column < table.shape[1] else 0
                for table in (cluster.nodes.allocatable, cluster.nodes.used, cluster.nodes.releasing)
            )
            if any(numbers):
                found[f"{name} {resource}"] = numbers
    return found


def _queues(cluster: Cluster) -> dict[str, object]:
    names = cluster.dimensions.names
    return {
        f"{id} {names[column]}": amount
        for id, account in cluster.accounts.queues.items()
        for column, amount in account.allocated.items()
        if amount
    }
