"""One run of a trace under a profile, whatever the trace: what `podium sim` does, without its options.

Every run gives a summary of plain figures under fixed names (docs/simulator.md lists them) and a table with the
details: the curve of an inflation, the jobs of a replay, the pods of a scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from podium.core.profile import Profile
from podium.embedded.nodes.shapes import Shape
from podium.errors import UsageError
from podium.sim.inflation import inflate
from podium.sim.jobs import SCHEDULER, Job
from podium.sim.replay import QueueShape, replay
from podium.sim.scenario import play, read_scenario
from podium.sim.traces import muri, openb, table

Document = dict[str, Any]
Progress = Callable[[int, int], None]

INFLATION = 1.3  # of the cluster's GPUs: what the published runs ask for
GPUS_OF_A_NODE = 8


class Trace(Enum):
    """What can be run."""

    OPENB = "openb"
    MURI = "muri"
    CSV = "csv"
    SCENARIO = "scenario"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, but for the profile."""

    trace: Trace
    pods: Path  # the pods, the jobs or the scenario
    nodes_file: Path | None = None  # openb's list of nodes
    shapes: tuple[Shape, ...] = ()
    queues: tuple[QueueShape, ...] = ()
    load: float | None = None
    seed: int = 42


class Answer(msgspec.Struct, frozen=True):
    """What came of a run."""

    summary: Document
    columns: tuple[str, ...]  # of the details
    details: list[Document]


def run(question: Question, profile: Profile, progress: Progress = lambda done, of: None) -> Answer:
    """Runs a trace.  UsageError if something about it cannot be understood."""
    match question.trace:
        case Trace.OPENB:
            return _inflation(question, profile, progress)
        case Trace.SCENARIO:
            return _scenario(question, profile)
    return _replay(question, profile, progress)


def _inflation(question: Question, profile: Profile, progress: Progress) -> Answer:
    if question.nodes_file is None:
        raise UsageError("a trace of openb needs its list of nodes: --nodes FILE")
    nodes = openb.read_nodes(question.nodes_file)
    pods = openb.read_pods(question.pods, {node.model for node in nodes})
    load = question.load or INFLATION
    arrivals = openb.arrivals(pods, nodes, load, question.seed)
    total = len(arrivals.pods)
    result = inflate(arrivals, pods, profile, lambda done: progress(done, total))
    summary = {"load": load, **msgspec.to_builtins(result)}
    return Answer(summary, ("arrived_percent", "gpu_allocation_percent", "fragmented_percent"), summary["curve"])


def _replay(question: Question, profile: Profile, progress: Progress) -> Answer:
    if not question.shapes:
        raise UsageError("a trace of jobs needs nodes: --nodes N, or --nodes FILE with groups of nodes")
    jobs = _faster(_jobs(question), question.load)
    result = replay(
        jobs, question.shapes, profile, question.queues, lambda finished: progress(finished, len(jobs))
    )
    summary = {"load": question.load or 1.0, **msgspec.to_builtins(result)}
    return Answer(
        summary, ("name", "queue", "gpus", "arrival", "started", "ended", "evictions"), summary.pop("results")
    )


def _jobs(question: Question) -> list[Job]:
    if question.trace is Trace.CSV:
        return table.read_jobs(question.pods)
    largest = max((shape.gpus for shape in question.shapes), default=0)
    if not largest:
        raise UsageError("the jobs of this trace ask for GPUs, and no node has any: --gpus-per-node G")
    return muri.read_jobs(question.pods, largest)


def _faster(jobs: Sequence[Job], load: float | None) -> list[Job]:
    """The same jobs, coming that many times as fast."""
    if load is None:
        return list(jobs)
    return [msgspec.structs.replace(job, arrival=job.arrival / load) for job in jobs]


def _scenario(question: Question, profile: Profile) -> Answer:
    names = (SCHEDULER, "volcano", "default-scheduler")
    result = play(read_scenario(question.pods), question.pods, dict.fromkeys(names, profile))
    summary = msgspec.to_builtins(result)
    columns = ("namespace", "name", "node", "phase", "created", "bound", "started", "ended", "gone")
    details = summary.pop("pods")
    placed = sum(each["bound"] >= 0 for each in details)
    return Answer({**summary, "pods": len(details), "placed": placed}, columns, details)


def compared(answers: Mapping[str, Answer]) -> list[Document]:
    """The figures of several runs side by side: numbers and texts only, each under one name."""
    return [{"run": name, **_flat(answer.summary)} for name, answer in answers.items()]


def _flat(summary: Document) -> Document:
    found: Document = {}
    for name, value in summary.items():
        if isinstance(value, dict):
            found |= {f"{name}_{inner}": each for inner, each in value.items() if not isinstance(each, list)}
        elif not isinstance(value, list):
            found[name] = value
    return found
