"""How fast the core decides, alone: no API server, no clock but this file's, one core.

    python -m bench.decide [--quick]

Each case runs in a process of its own, because memory is part of the answer.  Times are CPU time, so that a busy
machine does not change them; the building of the cluster does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.measuring import GIB, exponent, measure
from bench.report import Figure, Report, publish
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cycle import run_cycle
from podium.core.framework.plugin import Plugin
from podium.core.model.constraints import Constraints, PodSelection, PodTerm, Requirement, Spread
from podium.core.model.decisions import Bind, Evict, Nominate
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Queue, State, Task
from podium.core.plugins import BUILT_IN
from podium.core.profiles.profile import Profile, read_profile
from podium.reasons import PLUGIN, Refusal, refuse

NOW = 1_000_000.0
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DEFAULT = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))


class Asking(Plugin):
    """A user's plugin of the slow kind: a predicate for one task and one node, in plain Python."""

    name = "asking"

    def predicate(self, task: Task, row: int) -> Refusal | None:
        return None


class Choosy(Plugin):
    """The same, refusing nine nodes of ten."""

    name = "choosy"

    def predicate(self, task: Task, row: int) -> Refusal | None:
        return None if row % 10 == 0 else refuse(PLUGIN, plugin=self.name, message="not this one")


BUILT_IN |= {plugin.name: plugin for plugin in (Asking, Choosy)}


def profile(
    *more: str, actions: str = "enqueue, allocate, backfill", arguments: dict[str, Any] | None = None
) -> Profile:
    """The default plugins, with more of them in the last tier."""
    tiers = [*DEFAULT[:-1], (*DEFAULT[-1], *more)]
    return read_profile(
        {
            "actions": actions,
            "tiers": [{"plugins": [{"name": name} for name in tier]} for tier in tiers],
            "configurations": [
                {"name": name.strip(), "arguments": arguments or {}} for name in actions.split(",")
            ],
        }
    )


# --- clusters --------------------------------------------------------------------------------------------------


def nodes(cluster: Cluster, count: int) -> None:
    for index in range(count):
        room = {"cpu": 64_000, "memory": 256 * GIB, "pods": 110, "nvidia.com/gpu": 8}
        name = f"node-{index:05}"
        labels = {HOST: name, ZONE: f"zone-{index % 3}", "pool": f"pool-{index % 10}"}
        cluster.put_node(NodeFacts(name, "", room, labels))


def shape(number: int) -> dict[str, int]:
    """The request of one of many specs, no two of them alike."""
    return {"cpu": 500 + 10 * (number % 100) + number // 100, "memory": (1 + number % 4) * GIB}


def gangs(count: int, size: int, shapes: int, on: int, wanted: Constraints | None = None) -> Cluster:
    """Pending gangs of `size` equal tasks, of so many shapes, on empty nodes."""
    cluster = Cluster()
    nodes(cluster, on)
    cluster.put_queue(Queue("default", "default"))
    for number in range(count):
        name, request = f"gang-{number:05}", shape(number % shapes)
        minimum = {key: size * amount for key, amount in request.items()}
        cluster.put_gang(
            GangFacts(
                name, "ns", name, "default", size, minimum_resources=minimum, created=number, phase=Phase.PENDING
            )
        )
        for index in range(size):
            cluster.put_task(
                TaskFacts(
                    f"{name}-{index}",
                    "ns",
                    f"{name}-{index}",
                    name,
                    request,
                    wanted or Constraints(),
                    created=number,
                    labels={"app": "one", "index": str(index)},
                )
            )
    return cluster


def full(on: int, each: int, queue: str = "default", minimum: int = 0) -> Cluster:
    """Nodes that are full of running tasks of low priority, and one gang that wants some of the room."""
    cluster = Cluster()
    nodes(cluster, on)
    cluster.put_queue(Queue("default", "default"))
    cluster.put_queue(Queue(queue, queue))
    request = {"cpu": 64_000 // each, "memory": 256 * GIB // each}
    for index in range(on):
        gang = f"running-{index:05}"
        cluster.put_gang(GangFacts(gang, "ns", gang, queue, minimum, phase=Phase.RUNNING))
        for place in range(each):
            cluster.put_task(
                TaskFacts(
                    f"{gang}-{place}",
                    "ns",
                    f"{gang}-{place}",
                    gang,
                    request,
                    state=State.RUNNING,
                    node=f"node-{index:05}",
                    priority=place,
                )
            )
    cluster.put_gang(GangFacts("high", "ns", "high", "default", 10, priority=100, phase=Phase.INQUEUE))
    for index in range(10):
        cluster.put_task(
            TaskFacts(f"high-{index}", "ns", f"high-{index}", "high", {"cpu": 32_000, "memory": 64 * GIB})
        )
    return cluster


def decide(cluster: Cluster, by: Profile, kind: type, at_least: int) -> float:
    """CPU seconds of one cycle that must decide so much."""
    started = time.process_time()
    decisions = run_cycle(cluster, by, NOW)
    seconds = time.process_time() - started
    found = sum(isinstance(each, kind) for each in decisions)
    if found < at_least:
        raise SystemExit(f"only {found} of {at_least} {kind.__name__} decisions: nothing was measured")
    return seconds


# --- cases -----------------------------------------------------------------------------------------------------


def place_gangs(count: int, on: int, *plugins: str, shapes: int = 10, size: int = 100) -> float:
    return decide(gangs(count, size, shapes, on), profile(*plugins), Bind, count * size)


def place_with(wanted: Constraints, count: int, on: int) -> float:
    return decide(gangs(1, count, 1, on, wanted), profile(), Bind, count)


def evict(action: str, arguments: dict[str, Any] | None = None) -> float:
    queue = "lent" if "reclaim" in action else "default"
    return decide(full(1000, 10, queue), profile(actions=action, arguments=arguments), Evict, 10)


def evict_in_vain(action: str) -> float:
    """The worst: victims everywhere that would do, and on every node somebody who says no."""
    queue = "lent" if "reclaim" in action else "default"
    return decide(full(1000, 10, queue, minimum=10), profile(actions=action), Nominate, 0)


def headline() -> list[Figure]:
    seconds, memory = measure(lambda: place_gangs(1000, 10_000))
    singles, _ = measure(lambda: place_gangs(10_000, 5000, shapes=1000, size=1))
    return [
        Figure("100,000 pods in 1,000 gangs on 10,000 nodes", seconds, "s", 3, at_least=False),
        Figure("memory for that", memory, "GiB", 1.2, at_least=False),
        Figure("10,000 single pods of 1,000 specs on 5,000 nodes", 10_000 / singles, "pods/s", 2000),
    ]


def slow_hooks() -> list[Figure]:
    plain, _ = measure(lambda: place_gangs(100, 5000))
    asking, _ = measure(lambda: place_gangs(100, 5000, Asking.name))
    choosy, _ = measure(lambda: place_gangs(100, 5000, Choosy.name))
    selection = PodSelection(("ns",), (Requirement("app", "In", ("one",)),))
    apart, _ = measure(lambda: place_with(Constraints(anti_affinity=(PodTerm(HOST, selection),)), 2000, 5000))
    even, _ = measure(lambda: place_with(Constraints(spread=(Spread(ZONE, selection),)), 2000, 5000))
    return [
        Figure("a Python predicate for each node, against none", asking / plain, "x", 5, at_least=False),
        Figure("one that refuses nine nodes of ten, against none", choosy / plain, "x", 5, at_least=False),
        Figure("pods with anti-affinity to each other on 5,000 nodes", 2000 / apart, "pods/s"),
        Figure("pods with a hard topology spread on 5,000 nodes", 2000 / even, "pods/s"),
    ]


def evictions() -> list[Figure]:
    dry_run = {"enableTopologyAwarePreemption": True}
    cases: list[tuple[str, Callable[[], float]]] = [
        ("preempt", lambda: evict("preempt")),
        ("preempt by dry run", lambda: evict("preempt", dry_run)),
        ("preempt in vain", lambda: evict_in_vain("preempt")),
        ("reclaim", lambda: evict("reclaim")),
        ("reclaim in vain", lambda: evict_in_vain("reclaim")),
        ("gangpreempt", lambda: evict("gangpreempt")),
        ("gangreclaim", lambda: evict("gangreclaim")),
    ]
    return [
        Figure(f"{name}, 1,000 nodes with 10,000 victims", measure(job)[0], "s", 1, at_least=False)
        for name, job in cases
    ]


def growth() -> list[Figure]:
    counts, sizes = (125, 250, 500, 1000), (1250, 2500, 5000, 10_000)
    by_pods = [measure(partial(place_gangs, count, 10_000))[0] for count in counts]
    by_nodes = [measure(partial(place_gangs, 500, on))[0] for on in sizes]
    return [
        Figure("growth with pods, exponent", exponent(counts, by_pods), "", 1.1, at_least=False),
        Figure("growth with nodes, exponent", exponent(sizes, by_nodes), "", 1.1, at_least=False),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the growth curves out")
    options = parser.parse_args()
    figures = [*headline(), *slow_hooks(), *evictions(), *([] if options.quick else growth())]
    report = Report("decide", "Deciding: the scheduling core alone, one core", figures)
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
