"""Which pictures there are of some runs.  Everything drawn is a figure of the JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from podium.sim.drawing.axes import duration, number, time_ticks
from podium.sim.drawing.charts import Bar, Curve, Row, bars, curves, gantt, heat_map, lanes
from podium.sim.drawing.palette import SERIES
from podium.sim.drawing.scene import Scene
from podium.sim.report.rows import name_of, queue_named

Document = dict[str, Any]

RESOURCES = {"gpu": "GPUs", "cpu": "CPU", "memory": "Memory"}


def pictures(runs: Sequence[Document]) -> list[Scene]:
    """The pictures of runs of one kind, in the order in which they are shown."""
    if all("curve" in run for run in runs):
        return list(_of_inflations(runs))
    return list(_of_jobs(runs))


# --- jobs --------------------------------------------------------------------------------------------------------


def _of_jobs(runs: Sequence[Document]) -> Iterator[Scene]:
    end = max((float(run["makespan_seconds"]) for run in runs), default=0.0) or 1.0
    for key, word in RESOURCES.items():
        if any(any(run["series"].get(f"{key}_percent") or ()) for run in runs):
            yield _over_time(
                f"utilisation-{key}",
                f"{word} in use",
                f"{word} that running pods ask for, in per cent of the cluster's, over time.",
                runs,
                f"{key}_percent",
                end,
                " %",
            )
    yield _over_time(
        "waiting",
        "Jobs that wait",
        "Jobs that have come and have not started yet, over time.",
        runs,
        "jobs_waiting",
        end,
    )
    yield _waits(runs)
    if any(any(run["series"]["fragmentation_percent"]) for run in runs):
        yield _over_time(
            "fragmentation",
            "GPUs that are free and of no use",
            "Free GPUs that the usual pod cannot use where they are, in per cent of all GPUs, over time.",
            runs,
            "fragmentation_percent",
            end,
            " %",
        )
    if len({queue["name"] for run in runs for queue in run["queues"]}) > 1:
        yield _queues(runs)
    for place, run in enumerate(runs):
        yield _gantt(run, place, len(runs) > 1, end)
    for place, run in enumerate(runs):
        yield _map(run, place, len(runs) > 1)


def _over_time(
    name: str, title: str, about: str, runs: Sequence[Document], key: str, end: float, unit: str = ""
) -> Scene:
    lines = []
    for run in runs:
        values = run["series"].get(key)
        if values:
            own = float(run["makespan_seconds"])
            lines.append(Curve(name_of(run), [*run["series"]["seconds"], own], [*values, 0.0]))
    return curves(
        name,
        title,
        about,
        lines,
        x_end=end,
        unit=unit,
        top=100.0 if key.removesuffix("_percent") in RESOURCES else None,
    )


def wait_classes(run: Document) -> list[str]:
    """The classes of waits in words, as short as they can be."""
    limits = run["waits"]["up_to_seconds"]
    return [f"≤ {duration(limit)}" if limit is not None else f"> {duration(limits[-2])}" for limit in limits]


def _waits(runs: Sequence[Document]) -> Scene:
    words = [each.removeprefix("≤ ") for each in wait_classes(runs[0])]
    # What nobody waits for is left out at the end; a minute is always there, for the eye.
    used = [place for run in runs for place, count in enumerate(run["waits"]["jobs"]) if count]
    shown = max([*used, 1]) + 1
    words = words[:shown]
    groups = [(name_of(run), [float(count) for count in run["waits"]["jobs"][:shown]]) for run in runs]
    about = "How many jobs waited up to so long, and longer than the class before."
    return bars("waits", "Jobs by how long they waited", about, words, groups)


def _queues(runs: Sequence[Document]) -> Scene:
    names = list(dict.fromkeys(queue["name"] for run in runs for queue in run["queues"]))
    groups = []
    for run in runs:
        mean = {queue["name"]: queue["wait_seconds"]["mean"] for queue in run["queues"]}
        groups.append((name_of(run), [float(mean.get(name) or 0.0) for name in names]))
    about = "The mean wait of each queue's jobs."
    return lanes("queues", "Mean wait by queue", about, [queue_named(name) for name in names], groups)


def _gantt(run: Document, place: int, several: bool, end: float) -> Scene:
    jobs = run["gantt"]["jobs"]
    queues = sorted({job["queue"] for job in jobs})
    queues = queues if len(queues) <= SERIES else queues[: SERIES - 1]
    rows = [
        Bar(
            job["name"],
            job["arrival"],
            job["started"] if job["started"] >= 0 else None,
            job["ended"] if job["ended"] >= 0 else None,
            queues.index(job["queue"]) if job["queue"] in queues else None,
            _words(job),
        )
        for job in jobs
    ]
    title = f"Jobs: {name_of(run)}" if several else "Jobs over time"
    about = (
        f"When the {len(jobs)} largest of {run['gantt']['of']:,} jobs, by what they ask for times their run time, "
        "waited and ran; in order of arrival."
    )
    kinds = [queue_named(queue) for queue in queues] if len(queues) > 1 else ()
    return gantt(f"gantt-{place + 1}" if several else "gantt", title, about, rows, end, kinds)


def _words(job: Document) -> str:
    waited = f"waited {duration(job['started'] - job['arrival'])}" if job["started"] >= 0 else "never started"
    ran = f", ran {duration(job['ended'] - job['started'])}" if job["ended"] >= 0 else ""
    pods = f"{job['pods']} pods" if job["pods"] > 1 else "1 pod"
    return f"{job['name']}, {number(job['gpus'])} GPUs in {pods}: {waited}{ran}"


def _map(run: Document, place: int, several: bool) -> Scene:
    found = run["map"]
    together = found["nodes_a_row"]
    title = f"Nodes: {name_of(run)}" if several else "Nodes over time"
    each = "Each row is a node" if together == 1 else f"Each row is {together} nodes"
    about = f"{each}; the stronger the colour, the fuller: GPUs, or CPU where a node has none."
    rows = [Row(row["nodes"], [percent / 100 for percent in row["percent"]]) for row in found["rows"]]
    name = f"nodes-{place + 1}" if several else "nodes"
    if "arrived_percent" in found:
        end = float(found["arrived_percent"][-1]) if found["arrived_percent"] else 1.0
        ticks = [(float(value), f"{value} %") for value in range(0, int(end) + 1, 25)]
        return heat_map(
            name, title, f"{each}; the stronger the colour, the more of its GPUs is given out.", rows, ticks, end
        )
    end = float(run["makespan_seconds"]) or 1.0
    return heat_map(name, title, about, rows, time_ticks(end, 5), end)


# --- inflation ---------------------------------------------------------------------------------------------------

_INFLATION = (
    ("gpu_allocation_percent", "allocation-gpu", "GPUs given out", "GPUs given out, in per cent of the cluster's"),
    ("cpu_allocation_percent", "allocation-cpu", "CPU given out", "CPU given out, in per cent of the cluster's"),
    ("memory_allocation_percent", "allocation-memory", "Memory given out", "Memory given out, in per cent"),
    (
        "fragmented_percent",
        "fragmentation",
        "Free GPUs that are of no use",
        "What of the free GPUs the usual pod cannot use, in per cent",
    ),
)


def _of_inflations(runs: Sequence[Document]) -> Iterator[Scene]:
    end = max((float(point["arrived_percent"]) for run in runs for point in run["curve"]), default=1.0)
    ticks = [(float(value), f"{value} %") for value in range(0, int(end) + 1, 25)]
    for key, name, title, about in _INFLATION:
        lines = [
            Curve(
                name_of(run),
                [float(point["arrived_percent"]) for point in run["curve"]],
                [float(point[key]) for point in run["curve"]],
            )
            for run in runs
            if run["curve"] and key in run["curve"][0]
        ]
        if lines:
            reported = f"{about}, by what has been asked for in per cent of all GPUs."
            yield curves(name, title, reported, lines, x_ticks=ticks, x_end=end, unit=" %", top=100.0)
    for place, run in enumerate(runs):
        if "map" in run:
            yield _map(run, place, len(runs) > 1)
