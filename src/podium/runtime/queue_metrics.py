"""How queues stand, under Volcano's names: CPU in thousandths, memory in bytes, everything else by resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from podium.core.cluster.accounts import Account
from podium.core.framework import shares
from podium.core.framework.shares import Sharing, Standing
from podium.core.model.model import Phase, Queue
from podium.core.model.resources import CPU, MEMORY, PODS
from podium.engine.world import World
from podium.runtime.measuring import Stopwatch
from podium.runtime.prometheus import gauge

Amounts = Mapping[int, float]  # by column


def queue_metrics(world: World, watch: Stopwatch) -> Iterator[Metric]:
    cluster = world.cluster
    queues = {id: queue for id, queue in cluster.queues.items() if id}
    accounts = {id: cluster.accounts.queues.get(id) or Account() for id in queues}
    standings = _standings(queues, watch)
    yield from _amounts(
        world, "allocated", "What a queue holds.", {id: each.allocated for id, each in accounts.items()}
    )
    asked = {id: Counter(each.allocated) + Counter(each.waiting) for id, each in accounts.items()}
    yield from _amounts(world, "request", "What it holds and waits for.", asked)
    inqueue = {id: each.inqueue for id, each in accounts.items()}
    yield from _amounts(world, "inqueue", "What groups that were let in may still take.", inqueue)
    find = cluster.dimensions.find
    named = {
        id: {column: amount for name, amount in queue.capability.items() if (column := find(name)) is not None}
        for id, queue in queues.items()
    }
    yield from _amounts(world, "capacity", "The limit that the queue names.", named)
    deserved = {id: _finite(each.deserved) for id, each in standings.items()}
    yield from _amounts(world, "deserved", "What it should have.", deserved)
    limits = {id: _finite(each.limit) for id, each in standings.items()}
    yield from _amounts(world, "real_capacity", "What it can have at the most.", limits)
    label = ("queue_name",)
    yield gauge(
        "volcano_queue_weight", "A queue's weight.", label, [((q.name,), q.weight) for q in queues.values()]
    )
    for name, text, values in (
        ("share", "How much of what it should have it holds.", {id: each.share for id, each in standings.items()}),
        (
            "overused",
            "Whether it holds all of that, or more.",
            {id: each.overused for id, each in standings.items()},
        ),
    ):
        yield gauge(
            f"volcano_queue_{name}", text, label, [((queues[id].name,), value) for id, value in values.items()]
        )
    phases = Counter((gang.queue, gang.phase) for gang in cluster.gangs.values())
    for phase in Phase:
        yield gauge(
            f"volcano_queue_pod_group_{phase.name.lower()}_count",
            f"Groups in phase {phase.name.capitalize()}.",
            label,
            [((queue.name,), phases[id, phase]) for id, queue in queues.items()],
        )


def _standings(queues: Mapping[str, Queue], watch: Stopwatch) -> dict[str, Standing]:
    """How queues stood at the end of the last turn; those that came since are left out."""
    found: dict[str, Standing] = {}
    for framework in watch.panels.values():
        for plugin in framework:
            if not isinstance(plugin, Sharing):
                continue
            for id, queue in queues.items():
                try:
                    found[id] = plugin.standing(queue)
                except KeyError:
                    continue  # it was not there then
    return found


def _finite(amounts: shares.Amounts) -> dict[int, float]:
    """A vector by column, without what has no bound."""
    return {column: value for column, value in enumerate(amounts.tolist()) if value < float("inf")}


def _amounts(world: World, what: str, text: str, amounts: Mapping[str, Amounts]) -> Iterator[Metric]:
    queues, names = world.cluster.queues, world.cluster.dimensions.names
    for column, unit in ((CPU, "milli_cpu"), (MEMORY, "memory_bytes")):
        yield gauge(
            f"volcano_queue_{what}_{unit}",
            text,
            ("queue_name",),
            [((queues[id].name,), found.get(column, 0)) for id, found in amounts.items()],
        )
    yield gauge(
        f"volcano_queue_{what}_scalar_resources",
        text,
        ("queue_name", "resource"),
        [
            ((queues[id].name, names[column]), value)
            for id, found in amounts.items()
            for column, value in found.items()
            if column not in (CPU, MEMORY, PODS) and value
        ],
    )
