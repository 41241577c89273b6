"""What a benchmark found: a table on the terminal, JSON and a small picture in bench/results/."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from podium.sim.drawing.scene import Boxes, Mark, Scene, Stroke, Text
from podium.sim.drawing.svg import standalone

RESULTS = Path(__file__).with_name("results")


class Figure(msgspec.Struct, frozen=True):
    """One number, and what it must be: at least or at most `target`; without a target it is told for interest."""

    name: str
    value: float
    unit: str = ""
    target: float | None = None
    at_least: bool = True

    @property
    def good(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def wanted(self) -> str:
        if self.target is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {_number(self.target)} {self.unit}".strip()


class Report(msgspec.Struct, frozen=True):
    """The figures of one benchmark."""

    name: str
    title: str
    figures: list[Figure]

    @property
    def good(self) -> bool:
        return all(figure.good for figure in self.figures)


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def publish(report: Report) -> None:
    """Prints a report and writes its files."""
    table = Table(title=report.title, title_justify="left")
    for heading in ("figure", "measured", "wanted", ""):
        table.add_column(heading, justify="right" if heading in ("measured", "wanted") else "left")
    for figure in report.figures:
        verdict = "" if figure.target is None else "[green]ok[/]" if figure.good else "[red]missed[/]"
        table.add_row(figure.name, f"{_number(figure.value)} {figure.unit}".strip(), figure.wanted, verdict)
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    one_minute, *_ = os.getloadavg()
    document = {
        "benchmark": report.name,
        "title": report.title,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "load": one_minute,  # with much more than the benchmark's own, the figures say little
        "figures": [msgspec.to_builtins(figure) | {"good": figure.good} for figure in report.figures],
    }
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    (RESULTS / f"{report.name}.json").write_bytes(text + b"\n")
    (RESULTS / f"{report.name}.svg").write_text(standalone(picture(report)))


def picture(report: Report) -> Scene:
    """Each figure that has a target as a bar whose length is its value, with the target as a line."""
    shown = [figure for figure in report.figures if figure.target is not None]
    row, left, width = 44, 20, 520
    marks: list[Mark] = [Text((left, 22), report.title, bold=True)]
    for index, figure in enumerate(shown):
        assert figure.target is not None
        top = 40 + index * row
        scale = width / (1.15 * max(figure.value, figure.target, 1e-9))
        label = f"{figure.name}: {_number(figure.value)} {figure.unit} (wanted {figure.wanted})"
        target = left + figure.target * scale
        marks += [
            Text((left, top + 10), label, size=12),
            Boxes("good" if figure.good else "bad", [(left, top + 16, figure.value * scale, 12)]),
            Stroke("text", [(target, top + 13), (target, top + 31)]),
        ]
    about = "Each figure as a bar as long as its value, with what is wanted as a line."
    return Scene(report.name, report.title, about, width + 2 * left, row * len(shown) + 40, marks)


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
