"""How long a plan for elastic jobs takes.  `python -m bench.plans [--rounds N]`

2,000 TrainingJobs of two trainers each, of 2 to 60, in Paddle's profile, beside so much free room: all of them
want more.  A plan is the action's own work, from gangs to sizes and to the places that new trainers hold; the
whole turn is printed beside it.  Sums are up to date, as after the turn before.  Times are CPU time of one core,
each taken in a process of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from functools import partial

from bench.measuring import GIB, exponent, measure
from bench.report import Figure, Report, publish
from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cluster.slots import any_slot, slot_id
from podium.core.cycle import run_cycle
from podium.core.framework.session import Session
from podium.core.model.decisions import Failure, Resize
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Queue, Size, State
from podium.dialects.paddle.names import SCHEDULER
from podium.runtime.collecting import without_collecting
from podium.runtime.configuration import embedded_profiles

NOW = 1_000_000.0
UNITS, LEAST, MOST, CORES = 2000, 2, 60, 64
SHAPES = 4  # trainers of 1 to 4 cores, where they are not all alike
ROLE = "trainer"
LIMITS = {0: 50, 2000: 100, 20_000: 500}  # ms, by free slots
# What a plan does grows by a power of 1.0 (a test counts it); the rest is what larger models cost a core's caches.
GROWTH = 1.2


def jobs(units: int, free: int, *, shapes: int = 1, waiting: int = 0) -> Cluster:
    """So many jobs, of which some wait and all others run with their least, and room for so many trainers more."""
    dice = random.Random(units)
    cluster = Cluster()
    cluster.put_queue(Queue("default", "default"))
    cores = sum(LEAST * (1 + number % shapes) for number in range(waiting, units)) + free
    count = max(1, -(-cores // CORES))
    for index in range(count):
        room = {"cpu": CORES * 1000, "memory": 1024 * GIB, "pods": 110}
        if index == count - 1:
            room["cpu"] = (cores - (count - 1) * CORES) * 1000
        cluster.put_node(NodeFacts(f"node-{index:05}", "", room))
    free_of, node = CORES, 0
    for number in range(units):
        runs = number >= waiting
        name, cpu = f"job-{number:05}", 1 + number % shapes
        amounts = {"cpu": cpu * 1000, "memory": GIB}
        served = dice.uniform(100, 200) if runs else 0.0
        size = Size(
            LEAST, MOST, LEAST if runs else 0, ROLE, 1000, 60.0, served=served, counted=NOW, reported=NOW
        )  # fmt: skip
        cluster.put_gang(
            GangFacts(
                f"ns/{name}", "ns", name, "default", LEAST, {ROLE: LEAST}, size=size, phase=Phase.INQUEUE,
                created=NOW - 1000 + number / units,
            )
        )  # fmt: skip
        slots = [slot_id(name, ROLE, index) for index in range(LEAST)]
        cluster.slots.put_all(
            TaskFacts(
                slot, "ns", f"{name}-{ROLE}-{index}", f"ns/{name}", amounts, role=ROLE, slot=slot, has_pod=False
            )
            for index, slot in enumerate(slots)
        )
        for index in range(LEAST if runs else 0):
            if free_of < cpu:
                free_of, node = CORES, node + 1
            free_of -= cpu
            cluster.put_task(
                TaskFacts(
                    f"ns/{name}-{index}", "ns", f"{name}-{index}", f"ns/{name}", amounts, role=ROLE,
                    slot=any_slot(name, ROLE), state=State.RUNNING, node=f"node-{node:05}", started=NOW - 1000,
                )
            )  # fmt: skip
    return cluster


def plan(
    units: int, free: int, *, shapes: int = 1, waiting: int = 0, policy: str = "cfs", turn: bool = False
) -> float:
    """CPU seconds of a plan, or of the whole turn in which it is made."""
    cluster = jobs(units, free, shapes=shapes, waiting=waiting)
    paddle = embedded_profiles()[SCHEDULER]
    cluster.planned[None] = (NOW - 1, cluster.elastic_changes)
    with without_collecting():
        run_cycle(cluster, paddle, NOW)  # without a plan: the period is not over
        cluster.planned[None] = (NOW - 60, cluster.elastic_changes)
        opened = time.process_time()
        if turn:
            decisions = run_cycle(cluster, paddle, NOW)
            begun = opened
        else:
            session = Session(cluster, paddle.plugins(), NOW, paddle.arguments, paddle.actions)
            begun = time.process_time()
            for _ in session.steps(paddle.actions[0]):
                pass
            decisions = session.take_decisions()
        seconds = time.process_time() - begun
    sizes = {each.gang: each.size for each in decisions if isinstance(each, Resize)}
    failures = [each for each in decisions if isinstance(each, Failure)]
    grown = sum(sizes.values()) - LEAST * len(sizes)
    if failures or (shapes == 1 and not waiting and grown < min(free, units * (MOST - LEAST))):
        raise SystemExit(f"{grown} of {free} free places were given, {failures[:1]}: nothing was measured")
    return seconds


def milliseconds(rounds: int, **how: object) -> float:
    return measure(partial(plan, **how), rounds)[0] * 1000  # type: ignore[arg-type]


def report(rounds: int) -> Report:
    figures = []
    for free, most in LIMITS.items():
        for label, how in (
            ("", {}),
            (f", {SHAPES} sizes of trainers", {"shapes": SHAPES}),
            (", every tenth job waits", {"waiting": UNITS // 10}),
        ):
            spent = milliseconds(rounds, units=UNITS, free=free, **how)
            figures.append(
                Figure(f"{UNITS:,} jobs, {free:,} free places{label}", spent, "ms", most, at_least=False)
            )
        whole = milliseconds(rounds, units=UNITS, free=free, turn=True)
        figures.append(Figure(f"{UNITS:,} jobs, {free:,} free places: the whole turn", whole, "ms"))
    counts, places = (1000, 2000, 4000, 8000), (5000, 10_000, 20_000, 40_000)
    by_units = [milliseconds(rounds, units=count, free=count) for count in counts]
    by_places = [milliseconds(rounds, units=UNITS, free=free) for free in places]
    figures += [
        Figure(
            "growth with jobs (a place for each), exponent", exponent(counts, by_units), "", GROWTH, at_least=False
        ),
        Figure("growth with free places, exponent", exponent(places, by_places), "", GROWTH, at_least=False),
    ]
    return Report("plans", "Plans for elastic jobs: one core", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    found = report(parser.parse_args().rounds)
    publish(found)
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
