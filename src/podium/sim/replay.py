"""Replays the jobs of a trace on a virtual cluster, and measures what became of them.

A job comes as its pods and, where there are several, the group that lets them start together.  It is over when all
of its pods have run their time; its objects are then deleted, as the owner of a finished job would do, so that a
long trace needs no more memory than what is there at one time.  A pod that is pushed out comes again and begins
from its start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from podium.core.profile import Profile
from podium.dialects import DIALECTS
from podium.dialects.volcano.names import PODGROUPS
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.engine.scheduler import PERIOD
from podium.errors import UsageError
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.sim.jobs import NAMESPACE, SCHEDULER, Document, Job, documents, pod_document, priority_class_document
from podium.sim.statistics import Curve, Spread, evenness, spread
from podium.sim.virtual import VirtualCluster

# Actions with which what was bound meanwhile can help somebody who waits: it may be a victim.
_TAKING = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
_POINTS = 240  # of a series


class QueueShape(msgspec.Struct, frozen=True):
    """A queue beside the default one."""

    name: str
    weight: int = 1


class JobResult(msgspec.Struct, frozen=True):
    """One job; times in seconds, -1 for what has not happened."""

    name: str
    queue: str
    gpus: int
    arrival: float
    started: float
    ended: float
    evictions: int


class Series(msgspec.Struct, frozen=True):
    """How things stood, at even distances of time."""

    seconds: list[float]
    gpus_used: list[float]
    jobs_waiting: list[float]


class Replay(msgspec.Struct, frozen=True):
    """What came of a run."""

    nodes: int
    gpus: int
    jobs: int
    finished: int
    unfinished: int  # that never found room
    makespan_seconds: float
    gpu_utilisation_percent: float  # over the makespan
    wait_seconds: Spread  # from arrival until the last pod started
    completion_seconds: Spread  # from arrival until the end
    evictions: int
    fairness: float
    turns: int
    series: Series
    trace_hash: str
    results: list[JobResult]


class _Progress:
    """Where a job stands."""

    __slots__ = ("ended", "evictions", "job", "left", "number", "running", "started")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.left = job.pods  # pods that have not run their time
        self.number = job.pods  # the number of the next pod
        self.running: set[str] = set()
        self.evictions = 0
        self.started = self.ended = -1.0


def replay(
    jobs: Sequence[Job],
    shapes: Iterable[Shape],
    profile: Profile,
    queues: Iterable[QueueShape] = (),
    progress: Callable[[int], None] = lambda finished: None,
) -> Replay:
    """Runs the jobs to their end, or until nothing more happens."""
    return _Run(jobs, list(shapes), profile, list(queues), progress).result()


class _Run:
    def __init__(
        self,
        jobs: Sequence[Job],
        shapes: list[Shape],
        profile: Profile,
        queues: list[QueueShape],
        progress: Callable[[int], None],
    ) -> None:
        taking = not _TAKING.isdisjoint(action.name for action in profile.actions)
        self._cluster = VirtualCluster(
            {SCHEDULER: profile},
            DIALECTS,
            controllers=False,
            quiet=True,
            period=PERIOD if taking else math.inf,
        )
        self._shapes = shapes
        self._tell = progress
        self._finished = 0
        self._pods: dict[str, _Progress] = {}
        self._used = Curve()
        self._waiting = Curve()
        self._jobs = [_Progress(job) for job in jobs]
        for document in node_documents(shapes, self._cluster.now):
            self._cluster.apply(document)
        known = {queue.name for queue in queues} | {"default"}
        for queue in queues:
            self._cluster.apply(_queue(queue))
        for priority in sorted({job.priority for job in jobs if job.priority}):
            self._cluster.apply(priority_class_document(priority))
        for each in self._jobs:
            if each.job.queue not in known:
                raise UsageError(f"job {each.job.name} names the queue {each.job.queue!r}, which is not there")
            self._cluster.at(each.job.arrival, partial(self._arrive, each))
        self._cluster.listeners.append(self._heard)
        self._cluster.run()

    def _arrive(self, each: _Progress) -> None:
        self._waiting.add(self._cluster.elapsed, 1)
        for document in documents(each.job):
            self._apply(each, document)

    def _apply(self, each: _Progress, document: Document) -> None:
        if document["kind"] == "Pod":
            self._pods[document["metadata"]["name"]] = each
        self._cluster.apply(document)

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
            self._started(each, obj.name)
        elif obj.finished and not obj.deleting:
            self._cluster.delete(PODS, NAMESPACE, obj.name, 0)  # its node did not take it

    def _started(self, each: _Progress, pod: str) -> None:
        now = self._cluster.elapsed
        each.running.add(pod)
        self._used.add(now, each.job.gpus)
        if len(each.running) == each.left and each.started < 0:
            each.started = now
            self._waiting.add(now, -1)

    def _stopped(self, each: _Progress, pod: str) -> None:
        del self._pods[pod]
        if pod in each.running:
            each.running.remove(pod)
            self._used.add(self._cluster.elapsed, -each.job.gpus)

    def _ended(self, each: _Progress, pod: str) -> None:
        self._stopped(each, pod)
        self._cluster.delete(PODS, NAMESPACE, pod, 0)
        each.left -= 1
        if each.left == 0:
            each.ended = self._cluster.elapsed
            self._finished += 1
            self._tell(self._finished)
            if each.job.pods > 1:
                self._cluster.delete(PODGROUPS, NAMESPACE, each.job.name)

    def _lost(self, each: _Progress, pod: str) -> None:
        """A pod was pushed out: its owner makes another."""
        self._stopped(each, pod)
        each.evictions += 1
        self._apply(each, pod_document(each.job, each.number))
        each.number += 1

    def result(self) -> Replay:
        cluster = self._cluster
        done = [each for each in self._jobs if each.ended >= 0]
        makespan = max((each.ended for each in done), default=0.0)
        gpus = sum(shape.gpus * shape.count for shape in self._shapes)
        times = [makespan * point / _POINTS for point in range(_POINTS + 1)]
        used = self._used.integral(makespan)
        return Replay(
            nodes=sum(shape.count for shape in self._shapes),
            gpus=gpus,
            jobs=len(self._jobs),
            finished=len(done),
            unfinished=len(self._jobs) - len(done),
            makespan_seconds=round(makespan, 3),
            gpu_utilisation_percent=round(100 * used / (gpus * makespan), 2) if gpus and makespan else 0.0,
            wait_seconds=spread([each.started - each.job.arrival for each in done]),
            completion_seconds=spread([each.ended - each.job.arrival for each in done]),
            evictions=sum(each.evictions for each in self._jobs),
            fairness=self._fairness(done),
            turns=cluster.scheduler.tally.turns,
            series=Series(
                [round(time, 1) for time in times], self._used.sampled(times), self._waiting.sampled(times)
            ),
            trace_hash=cluster.digest,
            results=[
                JobResult(
                    each.job.name,
                    each.job.queue,
                    each.job.all_gpus,
                    each.job.arrival,
                    round(each.started, 3),
                    round(each.ended, 3),
                    each.evictions,
                )
                for each in self._jobs
            ],
        )

    @staticmethod
    def _fairness(done: Iterable[_Progress]) -> float:
        """How evenly queues are made to wait: Jain's index of their mean slowdowns."""
        by_queue: dict[str, list[float]] = {}
        for each in done:
            slowdown = (each.ended - each.job.arrival) / max(each.job.duration, 1.0)
            by_queue.setdefault(each.job.queue, []).append(slowdown)
        return evenness(sum(values) / len(values) for values in by_queue.values())


def _queue(queue: QueueShape) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {"weight": queue.weight},
    }
