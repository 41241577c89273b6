"""How the simulator grows with the length of what it simulates: time, and memory.

    python -m bench.simulator [--jobs 12500 25000 50000 100000] [--nodes 32]

Jobs are drawn from a seed: they come at random times, most ask for one GPU and some for gangs of whole nodes, and
together they keep four fifths of the GPUs busy, so that some wait and all end.  A longer run is more of the same,
and must cost in proportion; what has ended must leave nothing behind but its line in the results.

Each run is in a process of its own, because memory is part of the answer.  Times are CPU time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import time

from bench.measuring import exponent
from bench.report import Figure, Report, publish
from podium.embedded.nodes.shapes import Shape
from podium.runtime.configuration import default_profiles
from podium.sim.jobs import Job
from podium.sim.replay import replay

SEED = 1
GPUS = 8  # of a node
BUSY = 0.8  # of all GPUs, on average
MEAN_SECONDS = 3600.0
# Pods, GPUs of each, and how often: like the jobs of Philly's and Muri's lists.
KINDS = ((1, 1, 0.70), (1, 2, 0.10), (1, 4, 0.09), (1, 8, 0.07), (2, 8, 0.03), (4, 8, 0.01))
MOST_MEMORY = 1024  # MiB
MOST_GROWTH = 1.1


def jobs(count: int, nodes: int, seed: int = SEED) -> list[Job]:
    """So many jobs for a cluster of so many nodes."""
    dice = random.Random(seed)
    mean_size = sum(pods * gpus * often for pods, gpus, often in KINDS)
    distance = MEAN_SECONDS * mean_size / (BUSY * nodes * GPUS)
    shapes, weights = [kind[:2] for kind in KINDS], [kind[2] for kind in KINDS]
    found, now = [], 0.0
    for number in range(count):
        now += dice.expovariate(1 / distance)
        pods, gpus = dice.choices(shapes, weights)[0]
        duration = round(min(dice.expovariate(1 / MEAN_SECONDS), 10 * MEAN_SECONDS) + 1, 3)
        found.append(Job(f"job-{number}", round(now, 3), duration, pods, gpus))
    return found


def measure(count: int, nodes: int) -> tuple[float, float, int]:
    """Seconds of CPU, MiB at the most, and how many jobs have not ended."""
    line = jobs(count, nodes)
    began = time.process_time()
    result = replay(line, [Shape(name="node", count=nodes, gpus=GPUS)], default_profiles()["volcano"])
    seconds = time.process_time() - began
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result.figures.unfinished


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.simulator")
    parser.add_argument("--jobs", type=int, nargs="+", default=[12_500, 25_000, 50_000, 100_000])
    parser.add_argument("--nodes", type=int, default=32)
    reported = parser.parse_args()
    figures, times = [], []
    for count in reported.jobs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, memory, unfinished = pool.apply(measure, (count, reported.nodes))
        times.append(seconds)
        figures += [
            Figure(f"{count} jobs: CPU", round(seconds, 1), "s"),
            Figure(f"{count} jobs: memory", round(memory), "MiB", MOST_MEMORY, at_least=False),
            Figure(f"{count} jobs: that did not end", unfinished, "", 0, at_least=False),
        ]
        print(f"{count} jobs: {seconds:.1f} s, {memory:.0f} MiB", file=sys.stderr)
    if len(times) > 1:
        growth = exponent(reported.jobs, times)
        figures.append(Figure("growth of time with jobs, exponent", growth, "", MOST_GROWTH, at_least=False))
    report = Report("simulator", "Simulated jobs", figures)
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
