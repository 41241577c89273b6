"""Writes the ledger of a cluster whose jobs are not known beforehand: from what is heard of its pods.

A job is a gang; pods without one belong together if they have one owner, and are a job each if they have none.
What a pod asks for and to which gang and queue it belongs is what the scheduler's model says of it.  A gang that
was never let make its pods is a job too: one that waits.
"""

from __future__ import annotations

import msgspec

from podium.core.model.model import Gang, Phase, Task
from podium.core.model.resources import CPU, MEMORY
from podium.dialects.kubernetes.devices import GPU_MILLI
from podium.embedded.nodes.shapes import GPU
from podium.engine.last_refusal import last_refusal
from podium.kube.pod_resources import pod_requests
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Node, Object, Pod, condition
from podium.sim.figures import Figures, figures
from podium.sim.ledger import Amount, Ledger, LedgerJob, LedgerNode
from podium.sim.virtual import VirtualCluster

_PUSHED_OUT = "PreemptionByScheduler"


class PodResult(msgspec.Struct):
    """What became of a pod; times in seconds, -1 for what has not happened."""

    namespace: str
    name: str
    node: str = ""
    phase: str = "Pending"
    created: float = -1.0
    bound: float = -1.0
    started: float = -1.0
    ended: float = -1.0
    gone: bool = False


class Play(msgspec.Struct, frozen=True):
    """What came of a run."""

    nodes: int
    gpus: float  # whole where no parts of one are given out
    seconds: float
    figures: Figures
    pods: list[PodResult]
    turns: int
    trace_hash: str


class _Life:
    """A pod."""

    __slots__ = ("amount", "job", "stay", "wish")

    def __init__(self, job: _Group, amount: Amount, wish: int) -> None:
        self.job, self.amount, self.wish = job, amount, wish
        self.stay = -1


class _Group:
    """A job, with its pods that are not over."""

    __slots__ = ("gang", "line", "living", "waiting")

    def __init__(self, line: LedgerJob, gang: str = "") -> None:
        self.line = line
        self.gang = gang  # by its id, if it is one
        self.living: dict[str, Amount] = {}
        self.waiting: set[str] = set()


class Follower:
    """Listens to a cluster."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.ledger = Ledger()
        self._cluster = cluster
        self._results: dict[str, PodResult] = {}
        self._pods: dict[str, _Life | None] = {}  # None: it is over
        self._groups: dict[str, _Group] = {}
        self._seen: dict[str, float] = {}  # when other objects came, by identity
        self._made_for: dict[str, str] = {}  # groups that carry their owner's identity in their name: the owner's
        cluster.listeners.append(self._heard)

    def result(self) -> Play:
        """The run is over: all that came of it."""
        cluster, lines = self._cluster, self.ledger.jobs
        for group in self._groups.values():
            self._identify(group)
        for gang in cluster.world.cluster.gangs.values():
            if gang.id not in self._groups and not gang.tasks and gang.phase in (Phase.PENDING, Phase.INQUEUE):
                self._never_let(gang)
        for group in self._groups.values():
            known = cluster.world.cluster.find_gang(group.gang) if group.gang else None
            if group.line.started < 0 and known is not None:
                group.line.why = self._why(known)
        for line in lines:
            if line.started >= 0:
                line.duration = (line.ended if line.ended >= 0 else cluster.elapsed) - line.started
        weights = {queue.name: queue.weight for queue in cluster.world.cluster.queues.values()}
        over = all(line.ended >= 0 for line in lines if line.started >= 0)
        return Play(
            nodes=len(self.ledger.nodes),
            gpus=sum(node.has.gpu for node in self.ledger.nodes),
            seconds=round(cluster.elapsed, 3),
            figures=figures(self.ledger, weights, None if over else cluster.elapsed),
            pods=list(self._results.values()),
            turns=cluster.scheduler.counters.turns,
            trace_hash=cluster.digest,
        )

    def _heard(self, resource: Resource, obj: Object, gone: bool) -> None:
        if resource == NODES and isinstance(obj, Node):
            self._node(obj)
        elif resource == PODS and isinstance(obj, Pod):
            self._note(obj, gone)
            self._pod(obj, gone)
        else:
            self._seen.setdefault(obj.uid, self._cluster.elapsed)
            owner = obj.metadata.controller
            if owner is not None and owner.uid in obj.name:
                self._made_for[obj.name] = owner.name

    def _note(self, pod: Pod, gone: bool) -> None:
        now = round(self._cluster.elapsed, 3)
        result = self._results.get(pod.uid)
        if result is None:
            result = self._results[pod.uid] = PodResult(pod.namespace, pod.name, created=now)
        result.phase, result.gone = pod.status.phase, gone
        if pod.spec.node_name and result.bound < 0:
            result.node, result.bound = pod.spec.node_name, now
        if pod.status.phase == "Running" and result.started < 0:
            result.started = now
        if (pod.finished or gone) and result.ended < 0:
            result.ended = now

    def _node(self, node: Node) -> None:
        model = self._cluster.world.cluster
        row = model.nodes.rows.get(node.name)
        if row is None:
            return
        has = model.nodes.allocatable[row]
        if not has[CPU]:
            return  # its kubelet has not said yet what it has
        gpus = 0.0
        for name, factor in ((GPU, 1.0), (GPU_MILLI, 0.001)):
            column = model.dimensions.find(name)
            gpus += factor * float(has[column]) if column is not None else 0.0
        self.ledger.add_nodes([LedgerNode(node.name, Amount(gpus, float(has[CPU]) / 1000, float(has[MEMORY])))])

    def _pod(self, pod: Pod, gone: bool) -> None:
        now = self._cluster.elapsed
        life = self._pods.get(pod.uid)
        over = gone or pod.finished
        if life is None:
            if pod.uid in self._pods or over:
                return
            life = self._pods[pod.uid] = self._arrived(pod, now)
        group = life.job
        self._identify(group)
        if pod.status.phase == "Running" and life.stay < 0 and not over:
            life.stay = self.ledger.began(pod.spec.node_name, life.amount, now)
            group.waiting.discard(pod.uid)
            if not group.waiting and group.line.started < 0:
                group.line.started = now
        if over:
            self._over(pod, life, now)

    def _over(self, pod: Pod, life: _Life, now: float) -> None:
        group = life.job
        self._pods[pod.uid] = None
        if life.stay >= 0:
            self.ledger.ended(life.stay, now)
        self.ledger.fulfilled(life.wish, now)
        target = condition(pod.status.conditions, "DisruptionTarget")
        if target is not None and target.reason == _PUSHED_OUT:
            group.line.evictions += 1
        del group.living[pod.uid]
        group.waiting.discard(pod.uid)
        if not group.living and group.line.started >= 0:
            group.line.ended = now

    def _arrived(self, pod: Pod, now: float) -> _Life:
        task = self._cluster.world.cluster.tasks.get(pod.uid)
        amount = self._amount(pod, task)
        key, name, gang = _belongs(pod, task)
        group = self._groups.get(key)
        if group is None:
            owner = pod.metadata.controller  # a job may have come long before it was let make its pods
            arrival = self._seen.get(owner.uid, now) if owner is not None else now
            line = LedgerJob(name, "", 0, Amount(), arrival)
            group = self._groups[key] = _Group(line, gang)
            self.ledger.jobs.append(line)
            self._identify(group)
            if arrival < now and task is not None:
                self.ledger.fulfilled(self.ledger.wished(_least(task.gang), arrival), now)
        group.living[pod.uid] = amount
        group.waiting.add(pod.uid)
        line = group.line
        line.ended = -1.0
        if line.started == now:
            line.started = -1.0  # this one belongs to it too
        if len(group.living) > line.pods:
            every = group.living.values()
            line.pods = len(group.living)
            line.asks = Amount(
                sum(each.gpu for each in every),
                sum(each.cpu for each in every),
                sum(each.memory for each in every),
            )
        return _Life(group, amount, self.ledger.wished(amount, now))

    def _identify(self, group: _Group) -> None:
        """Gives a job its queue, and the name that its users know: what says so may come after its pods."""
        if group.line.queue or not group.gang:
            return
        gang = self._cluster.world.cluster.gangs.get(group.gang)
        if gang is None:
            return
        group.line.queue = self._queue_of(gang)
        if not gang.id.startswith("pod/"):
            group.line.name = self._name(gang)

    def _name(self, gang: Gang) -> str:
        return _named(gang.namespace, self._made_for.get(gang.name, gang.name))

    def _queue_of(self, gang: Gang) -> str:
        """The name of its queue; one that does not exist goes by what the gang calls it."""
        queue = self._cluster.world.cluster.queues.get(gang.queue)
        return queue.name if queue is not None and queue.id else gang.queue_name

    def _never_let(self, gang: Gang) -> None:
        """A job that waits for its turn to this day."""
        arrival = max(0.0, self._cluster.elapsed - (self._cluster.now - gang.created))
        self.ledger.wished(_least(gang), arrival)
        name, queue = self._name(gang), self._queue_of(gang)
        why = self._why(gang)
        self.ledger.jobs.append(LedgerJob(name, queue, gang.minimum, _least(gang), arrival, why=why))

    def _why(self, gang: Gang) -> str:
        scheduler = self._cluster.scheduler
        refusal = last_refusal(scheduler.world, scheduler.decision_log, gang)
        return str(refusal) if refusal is not None else ""

    def _amount(self, pod: Pod, task: Task | None) -> Amount:
        if task is None:
            asked = pod_requests(pod.spec)
            return Amount(asked.get(GPU, 0), asked.get("cpu", 0) / 1000, asked.get("memory", 0))
        dimensions = self._cluster.world.cluster.dimensions
        request = task.cls.request
        gpus = 0.0
        for name, factor in ((GPU, 1.0), (GPU_MILLI, 0.001)):
            column = dimensions.find(name)
            gpus += factor * request.amount(column) if column is not None else 0.0
        return Amount(gpus, request.amount(CPU) / 1000, float(request.amount(MEMORY)))


def _belongs(pod: Pod, task: Task | None) -> tuple[str, str, str]:
    """The job of a pod: what identifies it, its name, and its gang."""
    if task is not None and not task.gang.id.startswith("pod/"):
        return task.gang.id, _named(task.gang.namespace, task.gang.name), task.gang.id
    gang = task.gang.id if task is not None else ""
    owner = pod.metadata.controller
    if owner is not None:
        return owner.uid, _named(pod.namespace, owner.name), gang
    return pod.uid, _named(pod.namespace, pod.name), gang


def _least(gang: Gang) -> Amount:
    """What a gang asks for whose pods are not there yet."""
    asked = gang.minimum_resources or {}
    gpus = asked.get(GPU, 0) + asked.get(GPU_MILLI, 0) / 1000
    return Amount(gpus, asked.get("cpu", 0) / 1000, asked.get("memory", 0))


def _named(namespace: str, name: str) -> str:
    return name if namespace == "default" else f"{namespace}/{name}"
