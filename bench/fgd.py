"""The experiment of the FGD paper: every policy on every trace, ten seeds each, beside the published means.

    python -m bench.fgd [--traces DIR] [--seeds 10] [--trace default ...] [--policy fgd ...] [--jobs 2]

The openb lists are not part of this repository: they are looked for in DIR, in $PODIUM_TRACES, or in shared/traces
beside the checkout.  A policy must come within half a point of its published mean on the default trace, the order
of the policies must be the published one on all of them, and podium's own profile for such clusters must be no
worse than FGD.

With --keep what each run came to is written to a directory, and a run that is found there is not run again: so the
table can be made in pieces, and be looked at as a whole when the last one is there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench.report import Figure, Report, publish
from podium.runtime.configuration import default_profiles
from podium.sim.inflation import inflate
from podium.sim.policies import POLICIES, policy
from podium.sim.traces.openb import arrivals, read_nodes, read_pods

OWN = "podium-gpu"
ALL = (*POLICIES, OWN)
TRACES = ("default", "cpu050", "gpushare40", "multigpu20")
FIRST_SEED = 42
LOAD = 1.3
BAND = 0.5  # points
FRAGMENTED_BAND = 3.0
LONGEST = 30.0  # seconds of one core

# Means of seeds 42 to 51: GPU allocation when 130 % has been asked for, by trace.
PUBLISHED = {
    "random": (87.47, 91.24, 86.00, 88.69),
    "dotprod": (90.85, 93.27, 89.56, 92.06),
    "gpuclustering": (91.88, 93.79, 90.02, 93.56),
    "gpupacking": (92.00, 93.72, 90.03, 93.71),
    "bestfit": (93.08, 93.79, 91.69, 93.93),
    "fgd": (95.39, 95.21, 94.15, 95.65),
}
# What of the free GPUs is fragmented when 90 % of the default trace has been asked for.
FRAGMENTED = {"random": 96.7, "bestfit": 74.1, "fgd": 50.0}


class Case(msgspec.Struct, frozen=True):
    """One run."""

    directory: Path
    trace: str
    policy: str
    seed: int


class Outcome(msgspec.Struct, frozen=True):
    """What came of it: per cent, and seconds of CPU."""

    allocated: float
    fragmented: float
    seconds: float


Found = dict[tuple[str, str], list[Outcome]]  # by trace and policy


def run(case: Case) -> Outcome:
    nodes = read_nodes(case.directory / "openb_node_list_gpu_node.csv")
    pods = read_pods(case.directory / f"openb_pod_list_{case.trace}.csv", {node.model for node in nodes})
    profile = default_profiles()[OWN] if case.policy == OWN else policy(case.policy, case.seed)
    began = time.process_time()
    result = inflate(arrivals(pods, nodes, LOAD, case.seed), pods, profile)
    seconds = time.process_time() - began
    at_ninety = next(point for point in result.curve if point.arrived_percent == 90)
    return Outcome(result.gpu_allocation_percent, at_ninety.fragmented_percent, seconds)


def kept(directory: Path | None, case: Case) -> Outcome:
    """What came of a run, from the directory if it is there."""
    if directory is None:
        return run(case)
    path = directory / f"{case.trace}-{case.policy}-{case.seed}.json"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(msgspec.json.encode(run(case)))
        unfinished.rename(path)
    return msgspec.json.decode(path.read_bytes(), type=Outcome)


def known_traces() -> Path | None:
    """Where the lists are, if they are anywhere."""
    reported = os.environ.get("PODIUM_TRACES")
    beside = Path(__file__).parents[2] / "shared" / "traces"
    return Path(reported) if reported else beside if beside.is_dir() else None


def table(cases: Sequence[Case], jobs: int | None = None, keep: Path | None = None) -> Found:
    """Runs everything, so many at a time."""
    found: Found = {}
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        for case, outcome in zip(cases, pool.map(partial(kept, keep), cases), strict=True):
            found.setdefault((case.trace, case.policy), []).append(outcome)
            print(f"{case.trace} {case.policy} seed {case.seed}: {outcome.allocated} %", file=sys.stderr)
    return found


def all_cases(
    directory: Path, traces: Sequence[str] = TRACES, policies: Sequence[str] = ALL, seeds: int = 10
) -> list[Case]:
    return [
        Case(directory, trace, name, FIRST_SEED + number)
        for trace in traces
        for name in policies
        for number in range(seeds)
    ]


def main() -> int:
    reported = _arguments()
    found = table(
        all_cases(reported.traces, reported.trace, reported.policy, reported.seeds), reported.jobs, reported.keep
    )
    show(found)
    slowest = max(each.seconds for outcomes in found.values() for each in outcomes)
    speed = Figure("the slowest run, CPU", round(slowest, 1), "s", LONGEST, False)
    report = Report("fgd", "GPU allocation on the openb traces", [*figures(found), speed])
    publish(report)
    return 0 if report.good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.fgd")
    known = known_traces()
    parser.add_argument("--traces", type=Path, default=known, required=known is None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trace", nargs="+", choices=TRACES, default=TRACES)
    parser.add_argument("--policy", nargs="+", choices=ALL, default=ALL)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _mean(outcomes: list[Outcome]) -> float:
    return statistics.fmean(each.allocated for each in outcomes)


def figures(found: Found) -> list[Figure]:
    """What was found beside what must be."""
    figures = []
    for (trace, name), outcomes in found.items():
        mean, published = _mean(outcomes), PUBLISHED.get(name)
        off = None if published is None else abs(mean - published[TRACES.index(trace)])
        figures.append(Figure(f"{trace}, {name}", round(mean, 2), "%"))
        if off is not None and trace == "default":
            figures.append(
                Figure(f"{trace}, {name}: off the published mean", round(off, 2), "points", BAND, False)
            )
        if name in FRAGMENTED and trace == "default":
            share = statistics.fmean(each.fragmented for each in outcomes)
            off = round(abs(share - FRAGMENTED[name]), 2)
            figures.append(
                Figure(f"{trace}, {name}: fragmented share, off", off, "points", FRAGMENTED_BAND, False)
            )
        if name == OWN and (trace, "fgd") in found:
            gain = round(mean - _mean(found[trace, "fgd"]), 3)
            figures.append(Figure(f"{trace}, {name}: better than fgd by", gain, "points", 0.0))
    for trace in dict.fromkeys(trace for trace, _ in found):
        names = [name for name in PUBLISHED if (trace, name) in found]
        column = TRACES.index(trace)
        wrong = sum(
            (_mean(found[trace, left]) - _mean(found[trace, right]))
            * (PUBLISHED[left][column] - PUBLISHED[right][column])
            < 0
            for place, left in enumerate(names)
            for right in names[place + 1 :]
        )
        figures.append(Figure(f"{trace}: pairs of policies in another order than published", wrong, "", 0, False))
    return figures


def show(found: Found) -> None:
    """The table as it is published."""
    traces, policies = (list(dict.fromkeys(each)) for each in zip(*found, strict=True))
    rows = Table("policy", *traces, title="GPU allocation, %: mean of the seeds (published)")
    for name in policies:
        published = PUBLISHED.get(name)
        beside = {trace: f" ({published[TRACES.index(trace)]:.2f})" if published else "" for trace in traces}
        rows.add_row(name, *(f"{_mean(found[trace, name]):.2f}{beside[trace]}" for trace in traces))
    Console().print(rows)


if __name__ == "__main__":
    sys.exit(main())
