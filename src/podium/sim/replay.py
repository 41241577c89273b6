"""Replays the jobs of a trace on a virtual cluster, and measures what became of them.

A job comes as its pods and, where there are several, the group that lets them start together.  It is over when all
of its pods have run their time; its objects are then deleted, as the owner of a finished job would do, so that a
long trace needs no more memory than what is there at one time.  A pod that is pushed out comes again and begins
from its start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from podium.core.profiles.profile import Profile
from podium.dialects import authoring, speaking
from podium.dialects.workloads import DEFAULT_QUEUE, NAMESPACE
from podium.embedded.nodes.shapes import GPU, Shape, capacity_of, node_documents
from podium.engine.last_refusal import last_refusal
from podium.engine.scheduler import PERIOD
from podium.errors import ApiError, UsageError
from podium.kube.pod_resources import amounts
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.sim.figures import Figures, figures
from podium.sim.jobs import (
    SCHEDULER,
    Document,
    Job,
    documents,
    pod_document,
    priority_class_document,
)
from podium.sim.ledger import Amount, Ledger, LedgerJob, LedgerNode
from podium.sim.virtual import VirtualCluster

# Actions with which what was bound meanwhile can help somebody who waits: it may be a victim.
_TAKING = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})


class QueueShape(msgspec.Struct, frozen=True):
    """A queue beside the default one."""

    name: str
    weight: int = 1


class JobResult(msgspec.Struct, frozen=True):
    """One job; times in seconds, -1 for what has not happened."""

    name: str
    queue: str
    pods: int
    gpus: int
    arrival: float
    started: float
    ended: float
    evictions: int


class Replay(msgspec.Struct, frozen=True):
    """What came of a run."""

    nodes: int
    gpus: int
    figures: Figures
    turns: int
    trace_hash: str
    results: list[JobResult]


class _Progress:
    """Where a job stands."""

    __slots__ = ("amount", "job", "left", "line", "number", "running", "wish")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.amount = Amount(job.gpus, job.cpu / 1000, job.memory)  # of each pod
        whole = Amount(job.pods * job.gpus, job.pods * job.cpu / 1000, job.pods * job.memory)
        self.line = LedgerJob(job.name, job.queue, job.pods, whole, job.arrival, duration=job.duration)
        self.wish = -1
        self.left = job.pods  # pods that have not run their time
        self.number = job.pods  # the number of the next pod
        self.running: dict[str, int] = {}  # pods, each with its stay in the ledger


def replay(
    jobs: Sequence[Job],
    shapes: Iterable[Shape],
    profile: Profile,
    queues: Iterable[QueueShape] = (),
    progress: Callable[[int], None] = lambda finished: None,
) -> Replay:
    """Runs the jobs to their end, or until nothing more happens."""
    return _Run(jobs, list(shapes), profile, list(queues), progress).result()


def period_of(profile: Profile) -> float:
    """How often what waits is to be looked at when nothing has come free."""
    taking = not _TAKING.isdisjoint(action.name for action in profile.actions)
    return PERIOD if taking else math.inf


class _Run:
    def __init__(
        self,
        jobs: Sequence[Job],
        shapes: list[Shape],
        profile: Profile,
        queues: list[QueueShape],
        progress: Callable[[int], None],
    ) -> None:
        self._cluster = VirtualCluster(
            {SCHEDULER: profile},
            speaking(),
            controllers=False,
            quiet=True,
            period=period_of(profile),
        )
        self._shapes = shapes
        self._tell = progress
        self._finished = 0
        self._pods: dict[str, _Progress] = {}
        self._ledger = Ledger()
        self._jobs = [_Progress(job) for job in jobs]
        self._ledger.jobs = [each.line for each in self._jobs]
        for document in node_documents(shapes, self._cluster.now):
            self._cluster.server.apply(document)
        self._ledger.add_nodes(ledger_nodes(shapes))
        self._weights = {queue.name: queue.weight for queue in queues}
        known = {queue.name for queue in queues} | {"default"}
        for queue in queues:
            set_weight(self._cluster, queue)
        for priority in sorted({job.priority for job in jobs if job.priority}):
            self._cluster.server.apply(priority_class_document(priority))
        for each in self._jobs:
            if each.job.queue not in known:
                raise UsageError(f"job {each.job.name} names the queue {each.job.queue!r}, which is not there")
            self._cluster.at(each.job.arrival, partial(self._arrive, each))
        self._cluster.listeners.append(self._heard)
        self._cluster.run()

    def _arrive(self, each: _Progress) -> None:
        each.wish = self._ledger.wished(each.line.asks, self._cluster.elapsed)
        for document in documents(each.job):
            self._apply(each, document)

    def _apply(self, each: _Progress, document: Document) -> None:
        if document["kind"] == "Pod":
            self._pods[document["metadata"]["name"]] = each
        self._cluster.server.apply(document)

    def _heard(self, resource: Resource, obj: Object, gone: bool) -> None:
        if resource != PODS or not isinstance(obj, Pod):
            return
        each = self._pods.get(obj.name)
        if each is None:
            return
        if gone:
            self._lost(each, obj.name)
        elif obj.status.phase == "Succeeded" and not obj.deleting:
            self._ended(each, obj.name)
        elif obj.status.phase == "Running" and obj.name not in each.running:
            self._started(each, obj.name, obj.spec.node_name)
        elif obj.finished and not obj.deleting:
            self._cluster.server.delete(PODS, NAMESPACE, obj.name, 0)  # its node did not take it

    def _started(self, each: _Progress, pod: str, node: str) -> None:
        now = self._cluster.elapsed
        each.running[pod] = self._ledger.began(node, each.amount, now)
        if len(each.running) == each.left and each.line.started < 0:
            each.line.started = now

    def _stopped(self, each: _Progress, pod: str) -> None:
        del self._pods[pod]
        if pod in each.running:
            self._ledger.ended(each.running.pop(pod), self._cluster.elapsed)

    def _ended(self, each: _Progress, pod: str) -> None:
        self._stopped(each, pod)
        self._cluster.server.delete(PODS, NAMESPACE, pod, 0)
        each.left -= 1
        if each.left == 0:
            each.line.ended = self._cluster.elapsed
            self._ledger.fulfilled(each.wish, each.line.ended)
            self._finished += 1
            self._tell(self._finished)
            if each.job.pods > 1:
                self._cluster.server.delete(authoring().groups, NAMESPACE, each.job.name)

    def _lost(self, each: _Progress, pod: str) -> None:
        """A pod was pushed out: its owner makes another."""
        self._stopped(each, pod)
        each.line.evictions += 1
        self._apply(each, pod_document(each.job, each.number))
        each.number += 1

    def _say_why(self) -> None:
        """Of those who never started: what was last refused to them."""
        scheduler = self._cluster.scheduler
        for task in scheduler.world.cluster.tasks.values():
            each = self._pods.get(task.name)
            if each is not None and each.line.started < 0 and not each.line.why:
                refusal = last_refusal(scheduler.world, scheduler.decision_log, task.gang)
                each.line.why = str(refusal) if refusal is not None else ""

    def result(self) -> Replay:
        cluster = self._cluster
        self._say_why()
        return Replay(
            nodes=sum(shape.count for shape in self._shapes),
            gpus=sum(shape.gpus * shape.count for shape in self._shapes),
            figures=figures(self._ledger, self._weights),
            turns=cluster.scheduler.counters.turns,
            trace_hash=cluster.digest,
            results=[
                JobResult(
                    each.job.name,
                    each.job.queue,
                    each.job.pods,
                    each.job.all_gpus,
                    each.job.arrival,
                    round(each.line.started, 3),
                    round(each.line.ended, 3),
                    each.line.evictions,
                )
                for each in self._jobs
            ],
        )


def ledger_nodes(shapes: Iterable[Shape]) -> Iterator[LedgerNode]:
    """Each node of some groups with what it has."""
    for shape in shapes:
        has = amounts(capacity_of(shape))
        whole = Amount(has.get(GPU, 0), has["cpu"] / 1000, has["memory"])
        yield from (LedgerNode(f"{shape.name}-{number:03d}", whole) for number in range(shape.count))


def set_weight(cluster: VirtualCluster, queue: QueueShape) -> None:
    """Makes a queue with a weight.  UsageError if that cannot be."""
    try:
        if queue.name == DEFAULT_QUEUE:  # it is there already
            cluster.server.patch(authoring().queues, "", queue.name, {"spec": {"weight": queue.weight}})
        else:
            cluster.server.apply(queue_document(queue))
    except ApiError as error:
        raise UsageError(f"the queue {queue.name!r} cannot be made: {' '.join(str(error).split())}") from None


def queue_document(queue: QueueShape) -> Document:
    return authoring().queue(queue.name, {"weight": queue.weight})
