"""What the scheduler says of itself in the text format of Prometheus: under Volcano's names, and its own.

Nothing is computed before somebody asks.  Counts come from the machine's tally, durations from the stopwatch, and
how queues and gangs stand from the plugins of the last turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from podium.core.model.model import Gang, State
from podium.engine.outcomes import Outcome
from podium.engine.world import World
from podium.kube.driver import Driver
from podium.runtime.measuring import MeasuredScheduler, Stopwatch
from podium.runtime.pool_metrics import pool_metrics
from podium.runtime.prometheus import bounded, counter, gauge, histogram, plain
from podium.runtime.queue_metrics import queue_metrics
from podium.runtime.reloading import Configuration


@runtime_checkable
class KnowsShares(Protocol):
    """A plugin that knows who holds how much of the cluster, by the resource of which it is most."""

    def job_key(self, gang: Gang) -> float: ...

    def namespace_shares(self) -> dict[str, float]: ...


class Metrics(Collector):
    """The figures of one process; parts that it does not have, or not yet, are left out."""

    def __init__(self) -> None:
        self.watch = Stopwatch()
        self.configuration: Configuration | None = None
        self.leading: Callable[[], dict[str, bool]] = dict  # by part; nothing without an election
        self.drivers: dict[str, Driver] = {}  # by the part of podium that they drive
        self._scheduler: MeasuredScheduler | None = None
        self._world: World | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def attach(self, scheduler: MeasuredScheduler, world: World) -> None:
        self._scheduler, self._world = scheduler, world

    @property
    def scheduler(self) -> MeasuredScheduler | None:
        """The one that works, or that did last."""
        return self._scheduler

    @property
    def forbidden(self) -> str:
        """Why the scheduler cannot bind any pod; "" if it can, as far as is known."""
        return self._scheduler.counters.forbidden if self._scheduler is not None else ""

    def page(self, path: str) -> bytes | None:
        """A page of one of the dialects that are spoken, as JSON; None if there is none, or nobody schedules."""
        found = self._world.page(path) if self._world is not None else None
        return msgspec.json.encode(found) if found is not None else None

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        return bounded(self._families())

    def _families(self) -> Iterator[Metric]:
        yield gauge(
            "podium_leading",
            "Whether this process holds the lease of a part.",
            ("part",),
            [((part,), leading) for part, leading in self.leading().items()],
        )
        if self.configuration is not None:
            yield from _configuration(self.configuration)
        yield from _drivers(self.drivers)
        if self._scheduler is not None and self._world is not None:
            yield from _work(self._scheduler, self.watch)
            yield from _gangs(self._scheduler, self._world, self.watch)
            yield from queue_metrics(self._world, self.watch)
            yield from pool_metrics(self._world, self._scheduler)


def _configuration(configuration: Configuration) -> Iterator[Metric]:
    yield gauge(
        "podium_config_info",
        "The version of the configuration that is in force: the beginning of the file's SHA-256.",
        ("version", "source"),
        [((configuration.version, configuration.source), 1)],
    )
    refused = configuration.refused
    yield gauge(
        "podium_config_refused_info",
        "The version of the file that could not be used, and why; nothing while the file is in force.",
        ("version", "reason"),
        [((refused.version, refused.why), 1)] if refused is not None else [],
    )
    yield counter(
        "podium_config_reloads_total",
        "Changed files that were read, by what became of them.",
        ("result",),
        [(("accepted",), configuration.accepted), (("refused",), configuration.refusals)],
    )


def _drivers(drivers: dict[str, Driver]) -> Iterator[Metric]:
    watched = [(part, each) for part, driver in drivers.items() for each in driver.reflectors]
    names = [(part, each.resource.group_resource) for part, each in watched]
    labels = ("part", "resource")
    yield gauge(
        "podium_synced",
        "Whether everything has been listed that a part needs.",
        ("part",),
        [((part,), driver.synced) for part, driver in drivers.items()],
    )
    yield gauge(
        "podium_writes_waiting",
        "Writes that are decided and not answered.",
        ("part",),
        [((part,), driver.waiting) for part, driver in drivers.items()],
    )
    yield gauge(
        "podium_kind_missing",
        "Kinds that the server does not have, or forbids; they count as empty.",
        labels,
        [(name, each.absent or each.forbidden) for name, (_, each) in zip(names, watched, strict=True)],
    )
    for name, text, field in (
        ("podium_reflector_lists_total", "Whole lists.", "lists"),
        ("podium_reflector_relists_total", "Lists after the first one.", "relists"),
        ("podium_reflector_errors_total", "Lists and watches that failed.", "errors"),
    ):
        values = [getattr(each.counters, field) for _, each in watched]
        yield counter(name, text, labels, zip(names, values, strict=True))


def _work(scheduler: MeasuredScheduler, watch: Stopwatch) -> Iterator[Metric]:
    counters = scheduler.counters
    turns = [((), watch.turns)]
    yield histogram("volcano_e2e_scheduling_latency_milliseconds", "The time a turn works.", (), turns)
    yield histogram("podium_cycle_duration_milliseconds", "The same.", (), turns)
    yield histogram(
        "volcano_action_scheduling_latency_milliseconds",
        "The time an action works in a turn.",
        ("action",),
        [((name,), found) for name, found in watch.actions.items()],
    )
    yield histogram(
        "volcano_plugin_scheduling_latency_milliseconds",
        "The time a plugin takes at the start and at the end of a turn.",
        ("plugin", "OnSession"),
        watch.plugins.items(),
    )
    yield histogram(
        "volcano_task_scheduling_latency_milliseconds",
        "From a pod's creation until it is bound.",
        ("stage",),
        [(("bound",), counters.task_latency)],
    )
    yield histogram(
        "volcano_e2e_job_scheduling_latency_milliseconds",
        "From a group's creation until it first gets places.",
        (),
        [((), counters.gang_latency)],
    )
    attempts = {
        "scheduled": counters.bound,
        "unschedulable": sum(counters.refusals.values()),
        "error": sum(counters.failed.values()),
    }
    yield counter(
        "volcano_schedule_attempts_total",
        "Pods bound, groups refused, and binds that failed.",
        ("result",),
        [((result,), count) for result, count in attempts.items()],
    )
    yield plain("volcano_pod_preemption_victims", "Pods that were pushed out.", counters.victims)
    yield counter(
        "volcano_total_preemption_attempts",
        "Steps of turns that pushed pods out.",
        (),
        [((), counters.preemptions)],
    )
    yield counter("podium_turns_total", "Turns of the profiles.", (), [((), counters.turns)])
    yield counter(
        "podium_binds_total",
        "Binds by what became of them.",
        ("outcome",),
        [((each.value,), counters.bound if each is Outcome.DONE else counters.failed[each]) for each in Outcome],
    )
    yield counter(
        "podium_bind_failures_total",
        "Binds that failed, by the API server's reason; NoAnswer where there was none.",
        ("reason",),
        [((reason,), count) for reason, count in counters.failures.items()],
    )
    # From nothing on: of a series that begins with its first pod nobody could tell that it has grown.
    foreign = dict.fromkeys(scheduler.profiles, 0) | scheduler.clashes.counts
    yield counter(
        "podium_foreign_binds_total",
        "Pods of podium's scheduler names that another scheduler has bound.",
        ("scheduler",),
        [((name,), count) for name, count in foreign.items()],
    )
    yield counter(
        "podium_refusals_total",
        "Groups that were not placed in a turn, by reason.",
        ("reason",),
        [((code,), count) for code, count in counters.refusals.items()],
    )
    yield counter(
        "podium_paths_total",
        "Groups by the way they took to their places: batch, or a slower one with the hooks that forced it.",
        ("path",),
        [((path,), count) for path, count in counters.paths.items()],
    )
    yield counter(
        "podium_self_check_drift_total",
        "Sums that the self-check found wrong and put right: each is a bug.",
        (),
        [((), counters.drift)],
    )
    yield histogram(
        "podium_bind_latency_milliseconds", "The time the server takes for a bind.", (), [((), watch.binds)]
    )


def _queue_name(world: World, gang: Gang) -> str:
    queue = world.cluster.queues.get(gang.queue)
    return queue.name if queue is not None else ""


def _gangs(scheduler: MeasuredScheduler, world: World, watch: Stopwatch) -> Iterator[Metric]:
    cluster, counters = world.cluster, scheduler.counters
    counters.forget_all_but(cluster.gangs)
    waiting = {id: count for id, gang in cluster.gangs.items() if (count := gang.counts[State.PENDING])}
    yield gauge(
        "volcano_unschedule_task_count",
        "Pods of a group that wait.",
        ("job_id",),
        [((id,), count) for id, count in waiting.items()],
    )
    yield plain("volcano_unschedule_job_count", "Groups with pods that wait.", len(waiting))
    yield counter(
        "volcano_job_retry_counts",
        "How often a group was refused.",
        ("job_id",),
        [((id,), count) for id, count in counters.retries.items()],
    )
    placed = [
        ((gang.name, _queue_name(world, gang), gang.namespace), gang.created, progress)
        for id, progress in counters.progress.items()
        if (gang := cluster.gangs.get(id)) is not None and not id.startswith("pod/")
    ]
    labels = ("job_name", "queue", "job_namespace")
    yield gauge(
        "volcano_e2e_job_scheduling_duration",
        "Milliseconds from a group's creation until it last got places.",
        labels,
        [(names, max(0.0, progress.last - created) * 1000) for names, created, progress in placed],
    )
    yield gauge(
        "volcano_e2e_job_scheduling_start_time",
        "When a group first got places, in seconds since 1970.",
        labels,
        [(names, progress.first) for names, _, progress in placed],
    )
    yield gauge(
        "volcano_e2e_job_scheduling_last_time",
        "When it last did.",
        labels,
        [(names, progress.last) for names, _, progress in placed],
    )
    shares = [
        plugin for framework in watch.panels.values() for plugin in framework if isinstance(plugin, KnowsShares)
    ]
    if not shares:
        return
    yield gauge(
        "volcano_job_share",
        "A group's dominant share of the cluster.",
        ("job_ns", "job_id"),
        [((gang.namespace, id), shares[-1].job_key(gang)) for id, gang in cluster.gangs.items() if gang.ready],
    )
    namespaces = shares[-1].namespace_shares()
    weights = {name: max(1, cluster.namespace_weights.get(name, 1)) for name in namespaces}
    for name, text, values in (
        ("volcano_namespace_share", "A namespace's dominant share.", namespaces),
        ("volcano_namespace_weight", "Its weight.", weights),
        (
            "volcano_namespace_weighted_share",
            "The share divided by the weight.",
            {each: share / weights[each] for each, share in namespaces.items()},
        ),
    ):
        yield gauge(name, text, ("namespace_name",), [((each,), value) for each, value in values.items()])
