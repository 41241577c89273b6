"""The figures of a run, from its ledger.

A curve is a column of times and a column of changes.  What it is on average between two times follows from its
integral, and that from running sums of the changes: no figure here is a sample, so the mean of a series is the
figure for the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.sim.ledger import RESOURCES, Ledger, LedgerJob
from podium.sim.queue_figures import QueueFigures, fairness, queue_figures, wait_of
from podium.sim.statistics import Spread, spread

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

POINTS = 240  # of a series
MAP_ROWS, MAP_COLUMNS = 48, 96
GANTT_ROWS = 40
NEVER = 10  # jobs that never started which are named
# The classes of waits: up to so many seconds each, and what is more.
WAITS = (1.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)


class Amounts(msgspec.Struct, frozen=True):
    """A figure for each resource; None where the cluster has nothing of it."""

    gpu: float | None = None
    cpu: float | None = None
    memory: float | None = None


class NeverStarted(msgspec.Struct, frozen=True):
    """A job that has not run, and why."""

    name: str
    queue: str
    pods: int
    gpus: float
    why: str


class Waits(msgspec.Struct, frozen=True):
    """How many jobs waited how long: up to so many seconds, more than the class before; the last is the rest."""

    up_to_seconds: list[float | None]
    jobs: list[int]


class Series(msgspec.Struct, frozen=True):
    """Means over stretches of equal length; `seconds` are their beginnings."""

    seconds: list[float]
    gpu_percent: list[float] | None
    cpu_percent: list[float] | None
    memory_percent: list[float] | None
    fragmentation_percent: list[float]  # of all GPUs
    jobs_waiting: list[float]
    jobs_running: list[float]


class MapRow(msgspec.Struct, frozen=True):
    """How full a node, or some neighbours, were in each stretch."""

    nodes: str
    percent: list[float]


class NodeMap(msgspec.Struct, frozen=True):
    """Every node over time: its GPUs, or its CPU if it has none.  `nodes_a_row` neighbours share a row."""

    seconds: list[float]
    nodes_a_row: int
    rows: list[MapRow]


class GanttJob(msgspec.Struct, frozen=True):
    """A job of the Gantt chart."""

    name: str
    queue: str
    pods: int
    gpus: float
    arrival: float
    started: float
    ended: float
    evictions: int


class Gantt(msgspec.Struct, frozen=True):
    """The largest jobs, by resources times run time, in order of arrival; `of` is how many there are in all."""

    of: int
    jobs: list[GanttJob]


class Figures(msgspec.Struct, frozen=True):
    """Everything that is read off a run."""

    jobs: int
    finished: int
    unfinished: int
    never_started: int
    makespan_seconds: float
    utilisation_percent: Amounts
    allocation_percent: Amounts
    fragmentation_percent: float | None
    wait_seconds: Spread
    completion_seconds: Spread
    evictions: int
    fairness: float | None  # None without jobs
    queues: list[QueueFigures]
    waits: Waits
    series: Series
    map: NodeMap
    gantt: Gantt
    never: list[NeverStarted]  # the first of those that never started


class _Curve:
    """A number that changes: by `changes` at `times`."""

    def __init__(self, times: Floats, changes: Floats) -> None:
        order = np.argsort(times, kind="stable")
        self.times, changes = times[order], changes[order]
        self._sums = np.concatenate([[0.0], np.cumsum(changes)])
        self._moments = np.concatenate([[0.0], np.cumsum(changes * self.times)])

    def integral(self, until: Floats) -> Floats:
        """Its integral from the beginning to each of these times."""
        place = np.searchsorted(self.times, until, side="right")
        found: Floats = until * self._sums[place] - self._moments[place]
        return found

    def means(self, edges: Floats) -> Floats:
        """Its mean between each time and the next."""
        found: Floats = np.diff(self.integral(edges)) / np.maximum(np.diff(edges), 1e-12)
        return np.maximum(found, 0.0)

    def below(self, limit: float, until: float) -> float:
        """The integral of what of it does not exceed a limit."""
        inside = self.times < until
        times = np.concatenate([self.times[inside], [until]])
        values = np.minimum(self._sums[1 : 1 + int(inside.sum())], limit)
        return float((values * np.diff(times)).sum())


def _intervals(began: Floats, ended: Floats, weights: Floats) -> _Curve:
    return _Curve(np.concatenate([began, ended]), np.concatenate([weights, -weights]))


def figures(ledger: Ledger, weights: dict[str, int] | None = None, end: float | None = None) -> Figures:
    """All figures.  `weights` are those of queues; `end` is when the run was over, if not with its last job."""
    jobs = ledger.jobs
    done = [job for job in jobs if job.ended >= 0]
    makespan = end if end is not None else max((job.ended for job in done), default=0.0)
    return _Reader(ledger, makespan).figures(done, weights or {})


class _Reader:
    def __init__(self, ledger: Ledger, makespan: float) -> None:
        self._jobs = ledger.jobs
        self._makespan = makespan
        self._nodes = ledger.nodes
        self._has = {
            name: np.array([getattr(node.has, name) for node in ledger.nodes], dtype=np.float64)
            for name in RESOURCES
        }
        self._node: Whole = np.array(ledger.stay_node, dtype=np.int64)
        self._began = np.array(ledger.stay_began, dtype=np.float64)
        ended = np.array(ledger.stay_ended, dtype=np.float64)
        self._ended = np.where(ended < 0, max(makespan, 0.0), ended)
        self._takes = {
            "gpu": np.array(ledger.stay_gpu, dtype=np.float64),
            "cpu": np.array(ledger.stay_cpu, dtype=np.float64),
            "memory": np.array(ledger.stay_memory, dtype=np.float64),
        }
        self._wishes = {
            "gpu": np.array(ledger.wish_gpu, dtype=np.float64),
            "cpu": np.array(ledger.wish_cpu, dtype=np.float64),
            "memory": np.array(ledger.wish_memory, dtype=np.float64),
        }
        self._wished = np.array(ledger.wish_began, dtype=np.float64)
        fulfilled = np.array(ledger.wish_ended, dtype=np.float64)
        self._fulfilled = np.where(fulfilled < 0, makespan, fulfilled)
        self._arrival = np.array([job.arrival for job in self._jobs], dtype=np.float64)
        self._job_started = np.array([_or(job.started, makespan) for job in self._jobs], dtype=np.float64)
        self._job_ended = np.array([_or(job.ended, makespan) for job in self._jobs], dtype=np.float64)

    def figures(self, done: Sequence[LedgerJob], weights: dict[str, int]) -> Figures:
        used = {name: _intervals(self._began, self._ended, self._takes[name]) for name in RESOURCES}
        fragments = self._fragments()
        return Figures(
            jobs=len(self._jobs),
            finished=len(done),
            unfinished=len(self._jobs) - len(done),
            makespan_seconds=round(self._makespan, 3),
            utilisation_percent=Amounts(**{name: self._utilisation(name, used[name]) for name in RESOURCES}),
            allocation_percent=Amounts(**{name: self._allocation(name, used[name]) for name in RESOURCES}),
            fragmentation_percent=self._fragmentation(used["gpu"], fragments),
            never_started=sum(job.started < 0 for job in self._jobs),
            wait_seconds=spread([wait_of(job, self._makespan) for job in self._jobs]),
            completion_seconds=spread([job.ended - job.arrival for job in done]),
            evictions=sum(job.evictions for job in self._jobs),
            fairness=fairness(self._jobs, weights, self._makespan),
            queues=queue_figures(self._jobs, weights, self._makespan),
            waits=_waits([job.started - job.arrival for job in self._jobs if job.started >= 0]),
            series=self._series(used, fragments),
            map=self._map(),
            gantt=self._gantt(),
            never=[
                NeverStarted(job.name, job.queue, job.pods, job.asks.gpu, job.why)
                for job in [job for job in self._jobs if job.started < 0][:NEVER]
            ],
        )

    def _until(self) -> Floats:
        return np.array([self._makespan])

    def _utilisation(self, name: str, used: _Curve) -> float | None:
        total = float(self._has[name].sum())
        if not total:
            return None
        if not self._makespan:
            return 0.0
        return round(100 * float(used.integral(self._until())[0]) / (total * self._makespan), 2)

    def _allocation(self, name: str, used: _Curve) -> float | None:
        """What was given out, of what was asked for and there."""
        total = float(self._has[name].sum())
        if not total:
            return None
        asked = _intervals(self._wished, self._fulfilled, self._wishes[name])
        possible = asked.below(total, self._makespan)
        if not possible:
            return None
        return round(min(100.0, 100 * float(used.integral(self._until())[0]) / possible), 2)

    # --- fragmentation -------------------------------------------------------------------------------------------

    def _fragments(self) -> _Curve:
        """Free GPUs that the usual pod cannot use where they are, over time."""
        has = self._has["gpu"]
        with_gpus = np.flatnonzero(has > 0)
        mine = (self._node >= 0) & (self._takes["gpu"] > 0)
        node = np.concatenate([with_gpus, self._node[mine], self._node[mine]])
        times = np.concatenate([np.zeros(len(with_gpus)), self._began[mine], self._ended[mine]])
        takes = self._takes["gpu"][mine]
        changes = np.concatenate([has[with_gpus], -takes, takes])
        order = np.lexsort((times, node))
        node, times, changes = node[order], times[order], changes[order]
        first = np.concatenate([[True], node[1:] != node[:-1]]) if len(node) else np.zeros(0, dtype=bool)
        free = np.cumsum(changes)
        # Sums go on from node to node; each begins anew with what had been summed before it taken off.
        before = np.where(first, free - changes, 0.0)
        free -= _from_first(before, first)
        lost = np.maximum(free, 0.0) * self._useless(free)
        steps = np.diff(lost, prepend=0.0)
        steps[first] = lost[first]
        return _Curve(times, steps)

    def _useless(self, free: Floats) -> Floats:
        """What part of the pods cannot use so many free GPUs of one node: those that want more, or none."""
        wanted: dict[float, int] = {}
        for job in self._jobs:
            a_pod = job.asks.gpu / max(1, job.pods)
            wanted[a_pod] = wanted.get(a_pod, 0) + job.pods
        total = sum(wanted.values())
        if not total:
            return np.zeros(len(free))
        sizes = np.array(sorted(size for size in wanted if size > 0), dtype=np.float64)
        shares = np.array([wanted[size] / total for size in sizes.tolist()], dtype=np.float64)
        fitting = np.concatenate([[0.0], np.cumsum(shares)])
        found: Floats = 1.0 - fitting[np.searchsorted(sizes, free + 1e-9, side="right")]
        return found

    def _fragmentation(self, used: _Curve, fragments: _Curve) -> float | None:
        total = float(self._has["gpu"].sum())
        if not total or not self._makespan:
            return None
        free = total * self._makespan - float(used.integral(self._until())[0])
        return round(100 * float(fragments.integral(self._until())[0]) / free, 2) if free > 1e-6 else 0.0

    # --- over time -----------------------------------------------------------------------------------------------

    def _series(self, used: dict[str, _Curve], fragments: _Curve) -> Series:
        edges = np.linspace(0.0, self._makespan, POINTS + 1)

        def percent(name: str, curve: _Curve) -> list[float] | None:
            total = float(self._has[name].sum())
            return _rounded(100 * curve.means(edges) / total) if total else None

        ones = np.ones(len(self._jobs))
        return Series(
            seconds=_rounded(edges[:-1], 1),
            gpu_percent=percent("gpu", used["gpu"]),
            cpu_percent=percent("cpu", used["cpu"]),
            memory_percent=percent("memory", used["memory"]),
            fragmentation_percent=percent("gpu", fragments) or [],
            jobs_waiting=_rounded(_intervals(self._arrival, self._job_started, ones).means(edges)),
            jobs_running=_rounded(_intervals(self._job_started, self._job_ended, ones).means(edges)),
        )

    def _map(self) -> NodeMap:
        count = len(self._nodes)
        together = max(1, -(-count // MAP_ROWS))
        rows = -(-count // together)
        edges = np.linspace(0.0, self._makespan, MAP_COLUMNS + 1)
        with_gpus = self._has["gpu"] > 0
        has = np.where(with_gpus, self._has["gpu"], self._has["cpu"])
        mine = self._node >= 0
        node = self._node[mine]
        takes = (
            np.where(with_gpus[node], self._takes["gpu"][mine], self._takes["cpu"][mine]) if count else np.zeros(0)
        )
        share = takes / np.maximum(has[node], 1e-12) if count else takes
        sums, moments = np.zeros((rows, MAP_COLUMNS + 2)), np.zeros((rows, MAP_COLUMNS + 2))
        for times, sign in ((self._began[mine], 1.0), (self._ended[mine], -1.0)):
            column = np.searchsorted(edges, times, side="left")
            np.add.at(sums, (node // together, column), sign * share)
            np.add.at(moments, (node // together, column), sign * share * times)
        integral = edges * np.cumsum(sums, axis=1)[:, :-1] - np.cumsum(moments, axis=1)[:, :-1]
        members = np.bincount(np.arange(count) // together, minlength=rows) if count else np.zeros(0)
        width = max(self._makespan / MAP_COLUMNS, 1e-12)
        percent = 100 * np.diff(integral, axis=1) / width / np.maximum(members, 1)[:, None]
        return NodeMap(
            seconds=_rounded(edges[:-1], 1),
            nodes_a_row=together,
            rows=[
                MapRow(self._row_name(row * together, together), _rounded(np.clip(percent[row], 0.0, 100.0), 1))
                for row in range(rows)
            ],
        )

    def _row_name(self, first: int, together: int) -> str:
        last = min(first + together, len(self._nodes)) - 1
        return (
            self._nodes[first].name if last == first else f"{self._nodes[first].name} to {self._nodes[last].name}"
        )

    def _gantt(self) -> Gantt:
        total = {name: float(self._has[name].sum()) for name in RESOURCES}

        def size(job: LedgerJob) -> float:
            main = max((getattr(job.asks, name) / total[name] for name in RESOURCES if total[name]), default=0.0)
            return float(main * job.duration)

        largest = sorted(self._jobs, key=size, reverse=True)[:GANTT_ROWS]
        return Gantt(
            of=len(self._jobs),
            jobs=[
                GanttJob(
                    job.name,
                    job.queue,
                    job.pods,
                    job.asks.gpu,
                    round(job.arrival, 3),
                    round(job.started, 3),
                    round(job.ended, 3),
                    job.evictions,
                )
                for job in sorted(largest, key=lambda job: (job.arrival, job.name))
            ],
        )


def _from_first(before: Floats, first: NDArray[np.bool_]) -> Floats:
    """For each line what stood before the first line of its group."""
    groups = np.cumsum(first) - 1
    found: Floats = before[first][groups] if len(before) else before
    return found


def _or(time: float, end: float) -> float:
    return time if time >= 0 else end


def _rounded(values: Floats, places: int = 2) -> list[float]:
    found: list[float] = np.round(values, places).tolist()
    return found


def _waits(waits: Sequence[float]) -> Waits:
    edges = np.array([-np.inf, *WAITS, np.inf])
    # A class has its upper end, so that what did not wait more than a second is in the first one.
    counts = np.diff(np.searchsorted(np.sort(np.asarray(waits, dtype=np.float64)), edges, side="right"))
    return Waits([*WAITS, None], counts.tolist())
