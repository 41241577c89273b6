"""How pools stand, under the names that Ai-Scheduler's dashboards look for: queues that own nodes."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from podium.core.model.model import Gang, Queue, State
from podium.dialects.kubernetes.devices import GPU
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.runtime.prometheus import gauge

_RESOURCES = {"cpu": "cpu", GPU: "gpu", "memory": "mem", "ephemeral-storage": "storage", "pods": "pods"}
_TYPES = ("capacity", "allocatable", "used", "shared", "borrowed", "pending")


def pool_metrics(world: World, scheduler: Scheduler) -> Iterator[Metric]:
    cluster = world.cluster
    speakers = world.queue_objects.owning
    pools = {id: queue for id, queue in cluster.queues.items() if queue.dialect in speakers}
    reports = world.reports.all() if pools else {}
    names = {id: _name(queue) for id, queue in pools.items()}
    details = []
    for id, name in names.items():
        report = reports[id]
        for kind in _TYPES:
            amounts = getattr(report, kind)
            details += [((name, shown, kind), amounts.get(each, 0)) for each, shown in _RESOURCES.items()]
        details += [((name, "nodes", kind), len(report.nodes)) for kind in ("capacity", "allocatable")]
    yield gauge(
        "scheduler_pool_resource_details", "What a pool has, by use.", ("pool", "resource", "type"), details
    )
    features = {"preemption": "preempts", "borrowing": "borrows", "sharing": "lends"}
    yield gauge(
        "scheduler_pool_features",
        "Whether a pool preempts, borrows and shares.",
        ("pool", "feature"),
        [
            ((names[id], feature), getattr(queue, field))
            for id, queue in pools.items()
            for feature, field in features.items()
        ],
    )
    yield gauge(
        "scheduler_pool_nodes",
        "The nodes of a pool.",
        ("pool", "node"),
        [((names[id], node), 1) for id in pools for node in reports[id].nodes],
    )
    yield from _queues(world, scheduler, names)


def _queues(world: World, scheduler: Scheduler, names: dict[str, str]) -> Iterator[Metric]:
    """How many pods of each pool are looked at next, found no place, or are left alone for a while."""
    active = world.cluster.accounts.active.values()
    waiting = [gang for gang in active if gang.queue in names and world.reports.minds(gang)]
    counts = {(name, kind): 0 for name in names.values() for kind in ("active", "unschedule", "backoff")}
    pods = []
    for gang in waiting:
        kind = scheduler.standing_of(gang.id)
        for task in _pending(gang):
            counts[names[gang.queue], kind] += 1
            pods.append(((names[gang.queue], f"{task[0]}/{task[1]}", kind), 1))
    yield gauge(
        "scheduler_pool_queue_details", "Pods in the queue of a pool.", ("pool", "type"), list(counts.items())
    )
    yield gauge("scheduler_pool_queue_pods", "The same by pod.", ("pool", "pod_name", "schedule_status"), pods)


def _pending(gang: Gang) -> Iterator[tuple[str, str]]:
    for task in gang.tasks.values():
        if task.state is State.PENDING:
            yield task.namespace, task.name


def _name(queue: Queue) -> str:
    """As the dashboards know it: the pool of the rest in small letters."""
    return queue.name.lower() if queue.owns_rest else queue.name
