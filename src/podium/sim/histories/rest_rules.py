"""Rules about a cluster at rest: gangs are whole or hold nothing, nobody waits beside room, who waits knows why.

Numbers of rules are those of `invariants`: I4, I7, I11, I16 and I17.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model import quorum
from podium.core.model.model import Gang, State
from podium.engine.scheduler import Scheduler
from podium.kube.pod_resources import Amounts, amounts
from podium.kube.wire import Pod, condition
from podium.reasons import TIMED_OUT
from podium.sim.histories.model_rules import Fail
from podium.sim.histories.population import TAKING
from podium.sim.histories.stage import Stage
from podium.sim.histories.standing import Standing, holds

KEEPING = "the bound ones keep theirs"  # the message of a gang that keeps what it has


class Past(msgspec.Struct):
    """What has happened so far, as far as rules at rest ask for it."""

    evictions: dict[str, float] = {}  # pods that the scheduler has evicted, by uid, and when
    whole: set[str] = set()  # gangs that have had their minimum bound
    planned: dict[str, str] = {}  # pods that a bind was sent for, by uid, and their gangs
    limits: dict[str, Amounts] = {}  # by queue: it may not hold more


class RestRules:
    """Looks at gangs, room and messages when nothing more is coming."""

    def __init__(self, stage: Stage, api: Standing, past: Past, fail: Fail) -> None:
        self._stage = stage
        self._api = api
        self._past = past
        self._fail = fail

    def check_gangs(self) -> None:
        for gang in self._api.gangs():
            size = gang.size
            if size is not None and size.wanted and not size.least <= size.wanted <= size.most:
                self._fail("I13", f"{gang.name} is to have {size.wanted} of {size.least} to {size.most} members")
            if gang.together and self._api.holding(gang.id):
                # Not all at one moment: binds fail, and a user may delete members of one before another is whole.
                partners = self._api.partners(gang.id)
                lacking = sorted(partners - self._api.partners(gang.id, bound=True))
                if lacking and not all(each in self._past.whole or self._keeps(each) for each in partners):
                    self._fail("I11", f"{gang.name} has members bound at rest, and {lacking[0]} has not enough")
            bound = self._api.members_bound(gang.id)
            if bound >= gang.minimum or not self._api.holding(gang.id):
                continue  # members that have ended count for the minimum, and hold nothing
            evicted = any(pod.uid in self._past.evictions for pod in self._api.members(gang.id))
            if (gang.id not in self._past.whole or evicted) and not self._keeps(gang.id):
                self._fail("I4", f"{gang.name} has {bound} of at least {gang.minimum} members bound at rest")

    def _keeps(self, gang: str) -> bool:
        """Whether a gang has members bound that nobody would create again, and keeps them for a reason.

        It says so; or it was bound as a whole by one who could not know that a user had deleted some of it.
        """
        members = self._api.members(gang)
        if not any(holds(pod) and pod.metadata.controller is None for pod in members):
            return False
        said = (condition(pod.status.conditions, "PodScheduled") for pod in members if not pod.spec.node_name)
        if any(each is not None and each.status == "False" and KEEPING in each.message for each in said):
            return True
        there = {pod.uid for pod in members}
        lost = sum(1 for uid, id in self._past.planned.items() if id == gang and uid not in there)
        minimum = next((each.minimum for each in self._api.gangs() if each.id == gang), 0)
        return lost > 0 and self._api.members_bound(gang) + lost >= minimum

    def check_timed_out(self, scheduler: Scheduler) -> None:
        for gang in self._api.gangs():
            if gang.fault is None or gang.fault.reason is not TIMED_OUT:
                continue
            known = scheduler.world.cluster.gangs.get(gang.id)
            if known is not None and known.counts[State.RESERVED]:
                self._fail("I17", f"{gang.name} has timed out and holds places")
            for pod in self._api.members(gang.id):
                if not pod.spec.node_name and not pod.finished and not scheduler.world.is_marked(pod.uid):
                    self._fail("I17", f"{gang.name} has timed out, and {pod.name} does not show it")

    def check_room(self, cluster: Cluster) -> None:
        """Nobody waits beside room: what is missing of a gang would find places, one after the other, by hand.

        Asked of those that only room can keep waiting: nothing limits their queue, they may go to any plain node,
        and no room is being kept for others.  What groups after them hold counts as free (I16).
        """
        pods = self._stage.pods.values()
        if any(pod.status.nominated_node_name for pod in pods):
            return
        orders = _orders(cluster)
        waiting: dict[str, list[Pod]] = {}
        for pod in pods:
            idle = not pod.spec.node_name and not pod.deleting and not pod.finished
            plain = not (pod.spec.node_selector or pod.spec.scheduling_gates)
            if (
                idle
                and plain
                and pod.spec.scheduler_name == TAKING
                and self._api.queue_of(pod) not in self._past.limits
            ):
                group = self._api.membership(pod)
                waiting.setdefault(group.gang if group is not None else pod.uid, []).append(pod)
        for members in waiting.values():
            gang = self._api.gang_of(members[0])
            if gang is not None and gang.together:
                continue  # it may have its places, and wait for the gangs that start with it
            if gang is None and self._api.membership(members[0]) is not None:
                continue  # it has been deleted: they wait for another one
            known = cluster.tasks[members[0].uid].gang
            if (gang is not None and gang.fault is not None) or known.id in orders:
                continue
            needed = max(1, gang.minimum - self._api.members_bound(gang.id)) if gang is not None else 1
            if gang is not None and quorum.counts_waiting_only(known):
                # What it holds counts as free, so those who hold it need their places anew.
                needed = quorum.to_place(known) + known.counts[State.RESERVED]
            if len(members) >= needed and self._fit_by_hand(members[:needed], cluster, known):
                name = gang.name if gang is not None else members[0].name
                self._fail("I7", f"{name} waits, and there is room for it")

    def _fit_by_hand(self, pods: list[Pod], cluster: Cluster, gang: Gang) -> bool:
        free = {}
        for name, node in self._stage.nodes.items():
            ready = condition(node.status.conditions, "Ready")
            well = ready is not None and ready.status == "True"
            if well and not node.spec.taints and not node.spec.unschedulable:
                used = self._api.used_on(name) + _held_before(gang, name, cluster)
                free[name] = {each: has - used[each] for each, has in amounts(node.status.allocatable).items()}
        for pod in pods:
            asked = {**self._api.asked(pod), "pods": 1}
            fitting = (room for room in free.values() if all(room.get(each, 0) >= asked[each] for each in asked))
            room = next(fitting, None)
            if room is None:
                return False
            for each, amount in asked.items():
                room[each] -= amount
        return True

    def check_messages(self) -> None:
        """Whoever waits has a condition that says why, or is behind a gate."""
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


def _orders(cluster: Cluster) -> dict[str, quorum.Order]:
    """Where the gangs that are tied to others stand in the order of groups."""
    groups = quorum.components(cluster.accounts.tied.values(), cluster.gangs.get)
    return {gang.id: quorum.order_of(group) for group in groups for gang in group}


def _held_before(gang: Gang, node: str, cluster: Cluster) -> Counter[str]:
    """What groups before a gang hold on a node.  Slots are nobody's to take."""
    found: Counter[str] = Counter()
    mine, orders, names = quorum.order_of([gang]), _orders(cluster), cluster.dimensions.names
    for task in cluster.on_row.get(cluster.nodes.rows.get(node, -1), {}).values():
        own = orders.get(task.gang.id) or quorum.order_of([task.gang])
        if task.state is State.RESERVED and (own < mine or not task.has_pod):
            found.update({names[column]: amount for column, amount in task.cls.request.pairs})
    return found
