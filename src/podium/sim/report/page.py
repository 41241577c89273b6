"""One HTML file with everything in it: no script, no network, readable on a phone, on paper and without pictures.

It is a function of the JSON document.  The document itself lies in the page, and every number in a table carries
its exact value beside the words, so that the page can be checked against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import msgspec

from podium.sim.drawing.axes import duration, number
from podium.sim.drawing.scene import Scene
from podium.sim.drawing.svg import inline
from podium.sim.report.answer import answer
from podium.sim.report.pictures import pictures, wait_classes
from podium.sim.report.rows import best, lines_of, name_of, queue_named, shown, starving, value_of
from podium.sim.report.style import STYLE

Document = dict[str, Any]

_STRETCHES = 24  # rows of the table beside a curve

# The parts of the page: heading, what it says, and how the names of its pictures begin.
_OF_JOBS = (
    (
        "Over time",
        "A point is the mean of its stretch of time. A job waits from its arrival until its last pod runs.",
        ("utilisation-", "allocation-", "fragmentation", "waiting", "waits", "queues"),
    ),
    ("Jobs", "Thin while a job waits, thick while it runs.", ("gantt",)),
    ("Nodes", "Where the work was, over time.", ("nodes",)),
)
_OF_INFLATIONS = (
    (
        "As pods come",
        "Pods come one by one and never leave. Below each picture stands what they have asked for so far, in per "
        "cent of all GPUs.",
        ("allocation-", "fragmentation"),
    ),
    ("Nodes", "What of their GPUs is given out, as pods come.", ("nodes",)),
)


def page(runs: Sequence[Document], title: str = "") -> str:
    """The whole file.  `runs` are the documents of the runs, each with a name under `run` if there are several."""
    heading = title or ("Simulated runs side by side" if len(runs) > 1 else "A simulated run")
    drawn = pictures(runs)
    body = [
        f"<header><h1>{escape(heading)}</h1><p>{escape(_about(runs))}</p></header>",
        "<main>",
        _section("In short", "", "".join(f"<p class=answer>{escape(line)}</p>" for line in answer(runs))),
        *(_queue_section(runs), _section("Figures", "", _figures(runs)))[:: 1 if _about_queues(runs) else -1],
    ]
    for name, about, beginnings in _OF_INFLATIONS if "curve" in runs[0] else _OF_JOBS:
        mine = [scene for scene in drawn if scene.name.startswith(beginnings)]
        if mine:
            figures = "".join(_figure(scene, runs) for scene in mine)
            body.append(_section(name, about, f'<div class="pictures">{figures}</div>'))
    body += [_section("How it was run", "", _provenance(runs)), "</main>"]
    data = msgspec.json.encode({"runs": list(runs)}).decode().replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(heading)} – podium sim</title><style>{STYLE}</style></head>\n"
        f'<body>{"".join(body)}<script type="application/json" id="figures">{data}</script></body></html>\n'
    )


def _about(runs: Sequence[Document]) -> str:
    run = runs[0]
    parts = [f"trace {run['trace']}" if "trace" in run else ""]
    for key, word in (("jobs", "jobs"), ("pods", "pods")):
        if key in run:
            parts.append(f"{run[key]:,} {word}")
            break
    nodes = sorted({each["nodes"] for each in runs})
    parts.append(f"{' or '.join(f'{count:,}' for count in nodes)} nodes")
    gpus = sorted({each["gpus"] for each in runs if each.get("gpus")})
    parts.append(f"{' or '.join(number(count) for count in gpus)} GPUs" if gpus else "")
    return ", ".join(filter(None, parts))


def _section(name: str, about: str, content: str) -> str:
    place = name.lower().replace(" ", "-")
    reported = f'<p class="about">{escape(about)}</p>' if about else ""
    return f'<section aria-labelledby="{place}"><h2 id="{place}">{escape(name)}</h2>{reported}{content}</section>'


# --- tables ------------------------------------------------------------------------------------------------------


def _table(caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]], numbers: int = 1) -> str:
    """A table whose first cells are headings of their lines; from the column `numbers` on they are numbers."""
    head = "".join(
        f'<th scope="col"{"" if at < numbers else " class=n"}>{escape(each)}</th>' for at, each in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + f'<th scope="row">{line[0]}</th>'
        + "".join(f"<td{'' if at < numbers else ' class=n'}>{cell}</td>" for at, cell in enumerate(line[1:], 1))
        + "</tr>"
        for line in lines
    )
    label = escape(caption, True)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{label}"><table>'
        f"<caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _data(value: float | None, unit: str = "", key: str = "") -> str:
    """A number in words, with its exact value; `key` is its place among the runs of the document."""
    if value is None:
        return "–"
    mark = f' data-key="{escape(key, True)}"' if key else ""
    return f'<data value="{value!r}"{mark}>{escape(shown(value, unit))}</data>'


def _figures(runs: Sequence[Document]) -> str:
    lines = []
    left_out = starving(runs)
    for line in lines_of(runs):
        values = [value_of(run, line.path) for run in runs]
        marked = best(values, line, left_out)
        cells = [
            f"<strong><span class=best>best </span>{_data(value, line.unit, f'{place}.{line.path}')}</strong>"
            if place in marked
            else _data(value, line.unit, f"{place}.{line.path}")
            for place, value in enumerate(values)
        ]
        means = f"<small>{escape(line.means)}</small>" if line.means else ""
        lines.append([escape(line.words) + means, *cells])
    return _table("The figures of each run", ["figure", *map(name_of, runs)], lines)


def _queue_section(runs: Sequence[Document]) -> str:
    if not any(len(run.get("queues", ())) > 1 for run in runs):
        return ""
    lines = []
    for run_place, run in enumerate(runs):
        for place, queue in enumerate(run["queues"]):
            key = f"{run_place}.queues.{place}"
            waits = [
                _data(queue["wait_seconds"][each], "s", f"{key}.wait_seconds.{each}")
                for each in ("mean", "p50", "p95", "p99")
            ]
            lines.append(
                [
                    escape(name_of(run)),
                    escape(queue_named(queue["name"])),
                    _data(queue["weight"], "", f"{key}.weight"),
                    _data(queue["jobs"], "", f"{key}.jobs"),
                    _data(queue.get("never_started", 0), "", f"{key}.never_started"),
                    _data(queue["gpu_hours"], "", f"{key}.gpu_hours"),
                    *waits,
                    _data(queue["slowdown"], "", f"{key}.slowdown"),
                ]
            )
    of_waits = ("wait, mean", "p50", "p95", "p99")
    heads = ("run", "queue", "weight", "jobs", "never start", "GPU hours", *of_waits, "slowdown")
    about = (
        "Waits are of all jobs of a queue: who never starts waits to the end. "
        "Slowdown is from arrival to end, by the run time."
    )
    return _section("Queues", about, _table("What the jobs of each queue met with", heads, lines, 2))


def _about_queues(runs: Sequence[Document]) -> bool:
    """Whether the question was about queues: their weights differ from run to run."""
    weights = {tuple((queue["name"], queue["weight"]) for queue in run.get("queues", ())) for run in runs}
    return len(weights) > 1


def _provenance(runs: Sequence[Document]) -> str:
    lines = [
        [
            escape(name_of(run)),
            escape(str(run.get("profile", ""))),
            escape(str(run.get("seed", ""))),
            _data(run.get("load"), ""),
            _data(run.get("turns"), ""),
            _data(run.get("wall_seconds"), "s"),
            f"<code>{escape(str(run.get('trace_hash', ''))[:12])}</code>",
        ]
        for run in runs
    ]
    heads = ("run", "profile", "seed", "load", "turns", "took", "history")
    return _table("What each run was made with; equal histories are equal runs", heads, lines, 2)


# --- pictures ----------------------------------------------------------------------------------------------------


def _figure(scene: Scene, runs: Sequence[Document]) -> str:
    table = _beside(scene, runs)
    more = f"<details><summary>As a table</summary>{table}</details>" if table else ""
    return f"<figure>{inline(scene)}<figcaption>{escape(scene.about)}</figcaption>{more}</figure>"


def _beside(scene: Scene, runs: Sequence[Document]) -> str:
    """The same as the picture, in a table."""
    names = [name_of(run) for run in runs]
    kind, _, which = scene.name.partition("-")
    if kind == "gantt":
        return _gantt_table(scene.title, runs[int(which or 1) - 1])
    if kind == "nodes":
        rows = runs[int(which or 1) - 1]["map"]["rows"]
        lines = [
            [escape(row["nodes"]), _data(round(sum(row["percent"]) / max(1, len(row["percent"])), 1), "%")]
            for row in rows
        ]
        return _table(f"{scene.title}: how full they were, on average", ["nodes", "mean"], lines)
    if kind == "waits":
        lines = [
            [
                escape(word),
                *(_data(run["waits"]["jobs"][at], "", f"{n}.waits.jobs.{at}") for n, run in enumerate(runs)),
            ]
            for at, word in enumerate(wait_classes(runs[0]))
        ]
        return _table(scene.title, ["waited", *names], lines)
    if kind == "queues":
        return ""  # it has a section of its own
    if "curve" in runs[0]:
        return _curve_table(scene, runs)
    key = {"waiting": "jobs_waiting", "fragmentation": "fragmentation_percent"}.get(scene.name, f"{which}_percent")
    return _series_table(scene.title, key, runs)


def _series_table(title: str, key: str, runs: Sequence[Document]) -> str:
    unit = "%" if key.endswith("_percent") else ""
    end = max(float(run["makespan_seconds"]) for run in runs)
    lines = []
    for stretch in range(_STRETCHES):
        cells = []
        for run in runs:
            values, seconds = run["series"].get(key) or (), run["series"]["seconds"]
            low, high = end * stretch / _STRETCHES, end * (stretch + 1) / _STRETCHES
            mine = [value for value, at in zip(values, seconds, strict=False) if low <= at < high]
            cells.append(_data(round(sum(mine) / len(mine), 2), unit) if mine else "–")
        lines.append([escape(duration(end * stretch / _STRETCHES)), *cells])
    return _table(
        f"{title}, means of stretches of {duration(end / _STRETCHES)}", ["from", *map(name_of, runs)], lines
    )


def _curve_table(scene: Scene, runs: Sequence[Document]) -> str:
    key = (
        "fragmented_percent"
        if scene.name == "fragmentation"
        else f"{scene.name.removeprefix('allocation-')}_allocation_percent"
    )
    points = [{point["arrived_percent"]: point.get(key) for point in run["curve"]} for run in runs]
    end = max((arrived for each in points for arrived in each), default=0)
    lines = [
        [f"{arrived} %", *(_data(each.get(arrived), "%") for each in points)]
        for arrived in sorted({*range(0, end + 1, 10), end})
        if any(each.get(arrived) is not None for each in points)
    ]
    return _table(scene.title, ["asked for", *map(name_of, runs)], lines)


def _gantt_table(title: str, run: Document) -> str:
    lines = []
    for job in run["gantt"]["jobs"]:
        waited = job["started"] - job["arrival"] if job["started"] >= 0 else None
        ran = job["ended"] - job["started"] if job["ended"] >= 0 else None
        lines.append(
            [
                escape(job["name"]),
                escape(queue_named(job["queue"])),
                _data(job["pods"]),
                _data(job["gpus"]),
                _data(job["arrival"], "s"),
                _data(None if waited is None else round(waited, 3), "s"),
                _data(None if ran is None else round(ran, 3), "s"),
                _data(job["evictions"]),
            ]
        )
    return _table(title, ("job", "queue", "pods", "GPUs", "came", "waited", "ran", "evictions"), lines, 2)
