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

from podium.core.profiles.profile import Profile
from podium.dialects.workloads import DEFAULT_QUEUE
from podium.embedded.nodes.shapes import Shape
from podium.errors import UsageError
from podium.sim.following import Play
from podium.sim.inflation import Point, inflate
from podium.sim.jobs import Job, split
from podium.sim.replay import QueueShape, replay
from podium.sim.scenario import Other, play, read_scenario
from podium.sim.snapshot import Snapshot, WhatIf, scheduler_names
from podium.sim.snapshot import play as ask
from podium.sim.traces import muri, openb, table

Document = dict[str, Any]
Progress = Callable[[int, int], None]

INFLATION = 1.3  # of the cluster's GPUs: what the published runs ask for
SEED = 42  # where nobody says


class Trace(Enum):
    """What can be run."""

    OPENB = "openb"
    MURI = "muri"
    CSV = "csv"
    SCENARIO = "scenario"
    CLUSTER = "cluster"  # a copy of one


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, but for the profile."""

    trace: Trace
    pods: Path | None = None  # the pods, the jobs or the scenario
    nodes_file: Path | None = None  # openb's list of nodes
    shapes: tuple[Shape, ...] = ()
    more_nodes: int = 0  # beside those of a cluster or of a scenario
    queues: tuple[QueueShape, ...] = ()
    split: str | None = None  # how jobs come to the queues: `turn` or `size`
    load: float | None = None
    seed: int | None = None
    snapshot: Snapshot | None = None
    assume_seconds: float | None = None

    @property
    def file(self) -> Path:
        if self.pods is None:
            raise UsageError("a trace needs its file: --pods FILE")
        return self.pods


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
        case Trace.CLUSTER:
            return _cluster(question, profile)
    return _replay(question, profile, progress)


def _inflation(question: Question, profile: Profile, progress: Progress) -> Answer:
    if question.nodes_file is None:
        raise UsageError("a trace of openb needs its list of nodes: --nodes FILE")
    nodes = openb.read_nodes(question.nodes_file)
    pods = openb.read_pods(question.file, {node.model for node in nodes})
    load = question.load or INFLATION
    arrivals = openb.arrivals(pods, nodes, load, SEED if question.seed is None else question.seed)
    total = len(arrivals.pods)
    result = inflate(arrivals, pods, profile, lambda done: progress(done, total))
    summary = {"load": load, **msgspec.to_builtins(result)}
    columns = tuple(name for name in Point.__struct_fields__)
    return Answer(summary, columns, summary["curve"])


def _replay(question: Question, profile: Profile, progress: Progress) -> Answer:
    if not any(shape.count for shape in question.shapes):
        raise UsageError("a trace of jobs needs nodes: --nodes N, or --nodes FILE with groups of nodes")
    jobs = _faster(_in_queues(_jobs(question), question), question.load)
    result = replay(
        jobs, question.shapes, profile, question.queues, lambda finished: progress(finished, len(jobs))
    )
    about = {"load": question.load or 1.0, "nodes": result.nodes, "gpus": result.gpus}
    more = {"turns": result.turns, "trace_hash": result.trace_hash}
    return Answer(
        {**about, **msgspec.to_builtins(result.figures), **more},
        ("name", "queue", "pods", "gpus", "arrival", "started", "ended", "evictions"),
        msgspec.to_builtins(result.results),
    )


def _jobs(question: Question) -> list[Job]:
    if question.trace is Trace.CSV:
        return table.read_jobs(question.file, {DEFAULT_QUEUE, *(queue.name for queue in question.queues)})
    largest = max((shape.gpus for shape in question.shapes), default=0)
    if not largest:
        raise UsageError("the jobs of this trace ask for GPUs, and no node has any: --gpus-per-node G")
    return muri.read_jobs(question.file, largest)


def _in_queues(jobs: list[Job], question: Question) -> list[Job]:
    """The jobs with their queues: those of the trace, or those that the question has."""
    named = any(job.queue != DEFAULT_QUEUE for job in jobs)
    if question.split is not None and named:
        raise UsageError(f"--split is for traces whose jobs name no queues, and those of {question.file} do")
    if question.split is not None and not question.queues:
        raise UsageError("--split needs queues: --queue NAME=WEIGHT,NAME=WEIGHT")
    if named or not question.queues:
        return jobs
    return split(jobs, [queue.name for queue in question.queues], question.split or "turn")


def _faster(jobs: Sequence[Job], load: float | None) -> list[Job]:
    """The same jobs, coming that many times as fast."""
    if load is None:
        return list(jobs)
    return [msgspec.structs.replace(job, arrival=job.arrival / load) for job in jobs]


def _scenario(question: Question, profile: Profile) -> Answer:
    names = scheduler_names()
    scenario = read_scenario(question.file)
    if question.seed is not None:
        scenario = msgspec.structs.replace(scenario, seed=question.seed)
    other = Other(question.more_nodes, question.shapes, question.queues)
    answer = _played(play(scenario, question.file, dict.fromkeys(names, profile), other))
    return msgspec.structs.replace(answer, summary={"seed": scenario.seed, **answer.summary})


def _cluster(question: Question, profile: Profile) -> Answer:
    assert question.snapshot is not None
    what_if = WhatIf(profile, question.more_nodes, question.shapes, question.queues, question.assume_seconds)
    return _played(ask(question.snapshot, what_if))


def _played(result: Play) -> Answer:
    gpus = round(result.gpus, 3)
    about = {"nodes": result.nodes, "gpus": int(gpus) if gpus == int(gpus) else gpus, "seconds": result.seconds}
    counts = {"pods": len(result.pods), "placed": sum(each.bound >= 0 for each in result.pods)}
    more = {"turns": result.turns, "trace_hash": result.trace_hash}
    return Answer(
        {**about, **counts, **msgspec.to_builtins(result.figures), **more},
        ("namespace", "name", "node", "phase", "created", "bound", "started", "ended", "gone"),
        msgspec.to_builtins(result.pods),
    )


def compared(answers: Mapping[str, Answer]) -> list[Document]:
    """The figures of several runs side by side: numbers and texts only, each under one name."""
    return [{"run": name, **_flat(answer.summary)} for name, answer in answers.items()]


def _flat(summary: Document) -> Document:
    found: Document = {}
    for name, value in summary.items():
        if name == "queues":
            for queue in value:
                of = f"queue_{queue['name']}"
                found |= {f"{of}_weight": queue["weight"], f"{of}_slowdown": queue["slowdown"]}
                found |= {f"{of}_wait_seconds_{inner}": each for inner, each in queue["wait_seconds"].items()}
        elif isinstance(value, dict):
            found |= {f"{name}_{inner}": each for inner, each in value.items() if not isinstance(each, list)}
        elif not isinstance(value, list):
            found[name] = value
    return found
