"""Charts: figures in, a scene out.  All are of one width, drawn so that they can be read on a phone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podium.sim.drawing.axes import ceiling, duration, number, ticks, time_ticks
from podium.sim.drawing.palette import dashes, heat, series
from podium.sim.drawing.scene import (
    SMALL,
    TEXT,
    Area,
    Boxes,
    Mark,
    Point,
    Scene,
    Stroke,
    Text,
    shortened,
    text_width,
)

WIDTH = 400.0
_HEIGHT = 170.0  # of what lies between the axes
_RIGHT = 14.0
_QUEUES = 2  # the number of the first queue's ink
_LINE = 18.0  # from one line of text to the next
_LONGEST = 150.0  # a name beside a bar
_LABEL = 88.0  # the room of the names of jobs and nodes
_APART = 6.0  # between words that stand side by side
_OTHERS = "others"

Ticks = Sequence[tuple[float, str]]


class Curve(msgspec.Struct, frozen=True):
    """One line of a chart: what held from each x until the next."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


class Bar(msgspec.Struct, frozen=True):
    """One job of a Gantt chart: it waited from `arrival` to `started` and ran until `ended`."""

    name: str
    arrival: float
    started: float | None
    ended: float | None
    kind: int | None = 0  # its ink
    title: str = ""


class Row(msgspec.Struct, frozen=True):
    """One row of a map: shares from 0 to 1, and the name of the row."""

    name: str
    shares: Sequence[float]


class _Frame:
    """The axes: from figures to places."""

    def __init__(
        self, left: float, top: float, height: float, x: tuple[float, float], y: tuple[float, float]
    ) -> None:
        self.left, self.top, self.height = left, top, height
        self.width = WIDTH - left - _RIGHT
        self._x, self._y = x, y

    def x(self, value: float) -> float:
        low, high = self._x
        return self.left + self.width * (min(max(value, low), high) - low) / ((high - low) or 1)

    def y(self, value: float) -> float:
        low, high = self._y
        return self.top + self.height * (1 - (min(max(value, low), high) - low) / ((high - low) or 1))

    @property
    def bottom(self) -> float:
        return self.top + self.height


def curves(
    name: str,
    title: str,
    about: str,
    lines: Sequence[Curve],
    *,
    x_ticks: Ticks = (),
    x_end: float | None = None,
    unit: str = "",
    top: float | None = None,
) -> Scene:
    """Lines over time, or over whatever `x_ticks` say.  `top` is the end of the upright axis."""
    end = x_end if x_end is not None else max((line.xs[-1] for line in lines if len(line.xs)), default=1.0)
    highest = max((max(line.ys) for line in lines if len(line.ys)), default=0.0)
    upper = top if top is not None else _upper(highest, unit)
    levels = _levels(upper, unit)
    marks, y = _heading(title, [line.name for line in lines], dashed=True)
    frame = _Frame(_gutter(levels), y, _HEIGHT, (0.0, end), (0.0, upper))
    marks += _grid(frame, x_ticks or time_ticks(end, 5), levels)
    for place, line in enumerate(lines):
        points = _steps(frame, line, end)
        if len(lines) == 1 and points:
            marks.append(
                Area(series(place), [(points[0][0], frame.bottom), *points, (points[-1][0], frame.bottom)])
            )
        marks.append(Stroke(series(place), points, 1.8, dashes(place), line.name if len(lines) > 1 else ""))
    return Scene(name, title, about, WIDTH, frame.bottom + 28, marks)


def bars(
    name: str,
    title: str,
    about: str,
    classes: Sequence[str],
    groups: Sequence[tuple[str, Sequence[float]]],
) -> Scene:
    """For each class as many bars as there are groups."""
    highest = _upper(max((max(values, default=0.0) for _, values in groups), default=0.0), "")
    levels = _levels(highest, "")
    marks, y = _heading(title, [group for group, _ in groups])
    frame = _Frame(_gutter(levels), y, _HEIGHT, (0.0, float(len(classes))), (0.0, highest))
    marks += _grid(frame, (), levels)
    room = frame.width / max(1, len(classes))
    widest = max((text_width(reported, SMALL) for reported in classes), default=0.0)
    size = SMALL * min(1.0, room / (widest + _APART))
    thick = min(28.0, 0.78 * room / max(1, len(groups)))
    for place, reported in enumerate(classes):
        middle = frame.x(place + 0.5)
        marks.append(Text((middle, frame.bottom + 18), reported, "muted", "middle", size))
        for number_, (group, values) in enumerate(groups):
            left = middle + (number_ - len(groups) / 2) * thick
            height = frame.bottom - frame.y(values[place])
            box = (left + 0.5, frame.bottom - height, thick - 1, height)
            marks.append(Boxes(series(number_), [box], f"{group}, {reported}: {number(values[place])}"))
    return Scene(name, title, about, WIDTH, frame.bottom + 28, marks)


def lanes(
    name: str, title: str, about: str, rows: Sequence[str], groups: Sequence[tuple[str, Sequence[float]]]
) -> Scene:
    """For each row as many lying bars as there are groups, of so many seconds.  Long names have room here."""
    label = 12 + min(_LONGEST, max((text_width(reported, SMALL) for reported in rows), default=0.0))
    thick = 12.0 if len(groups) < 3 else 8.0
    row = thick * max(1, len(groups)) + 6
    end = max((max(values, default=0.0) for _, values in groups), default=0.0) or 1.0
    marks, y = _heading(title, [group for group, _ in groups])
    frame = _Frame(label, y, row * max(1, len(rows)), (0.0, end), (0.0, 1.0))
    marks += _grid(frame, time_ticks(end, 5), ())
    for place, reported in enumerate(rows):
        top = frame.top + row * place + 3
        middle = frame.top + row * (place + 0.5) + 4
        marks.append(Text((label - 6, middle), shortened(reported, label - 12, SMALL), "muted", "end", SMALL))
        for number_, (group, values) in enumerate(groups):
            box = (frame.left, top + number_ * thick, frame.x(values[place]) - frame.left, thick - 1)
            marks.append(Boxes(series(number_), [box], f"{group}, {reported}: {duration(values[place])}"))
    return Scene(name, title, about, WIDTH, frame.bottom + 28, marks)


def gantt(
    name: str,
    title: str,
    about: str,
    rows: Sequence[Bar],
    end: float,
    kinds: Sequence[str] = (),
) -> Scene:
    """A row a job: thin and pale while it waits, thick while it runs.

    Queues have other inks than runs, which are compared in the charts beside this one.  Those of no kind, because
    there are more than inks, are all drawn alike.
    """
    row, thick = 15.0, 10.0
    first = _QUEUES if kinds else 0
    named = {reported: series(first + place) for place, reported in enumerate(kinds or ("running",))}
    if any(bar.kind is None for bar in rows):
        named[_OTHERS] = "axis"
    marks, y = _heading(title, [*named, "waiting"], inks=[*named.values(), "wait"])
    frame = _Frame(_LABEL, y, row * max(1, len(rows)), (0.0, end), (0.0, 1.0))
    marks += _grid(frame, time_ticks(end, 5), ())
    waiting: list[tuple[float, float, float, float]] = []
    for place, bar in enumerate(rows):
        top = frame.top + row * place + (row - thick) / 2
        shown = shortened(bar.name, _LABEL - 12, SMALL)
        marks.append(Text((_LABEL - 6, top + thick - 0.5), shown, "muted", "end", SMALL))
        began = bar.started if bar.started is not None else end
        left, middle = frame.x(bar.arrival), frame.x(began)
        if middle > left:
            waiting.append((left, top + thick / 4, middle - left, thick / 2))
        if bar.started is not None:
            right = frame.x(bar.ended if bar.ended is not None else end)
            marks.append(
                Boxes(
                    "axis" if bar.kind is None else series(first + bar.kind),
                    [(middle, top, max(1.5, right - middle), thick)],
                    bar.title or bar.name,
                )
            )
    if waiting:
        marks.append(Boxes("wait", waiting))
    return Scene(name, title, about, WIDTH, frame.bottom + 28, marks)


def heat_map(name: str, title: str, about: str, rows: Sequence[Row], x_ticks: Ticks, x_end: float) -> Scene:
    """A row a node, a column a stretch of time; the stronger its ink, the fuller.  Equal neighbours are one."""
    columns = max((len(row.shares) for row in rows), default=0)
    row = max(5.0, min(16.0, 380.0 / max(1, len(rows))))
    marks: list[Mark] = [Text((0, 16), title, bold=True)]
    frame = _Frame(_LABEL, 46.0, row * max(1, len(rows)), (0.0, x_end), (0.0, 1.0))
    marks += _scale(frame)
    wide = frame.width / max(1, columns)
    gap = 1.0 if row >= 8 else 0.0
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    every = max(1, round(SMALL * 1.15 / row + 0.49))
    for place, each in enumerate(rows):
        top = frame.top + row * place
        if place % every == 0:
            shown = shortened(each.name, _LABEL - 12, SMALL)
            marks.append(Text((_LABEL - 6, top + row / 2 + 4), shown, "muted", "end", SMALL))
        inks = [heat(share) for share in each.shares]
        start = 0
        for column in range(1, len(inks) + 1):
            if column == len(inks) or inks[column] != inks[start]:
                box = (frame.left + start * wide, top, (column - start) * wide, row - gap)
                found.setdefault(inks[start], []).append(box)
                start = column
    marks += [Boxes(ink, boxes) for ink, boxes in sorted(found.items())]
    marks += _below(frame, x_ticks)
    return Scene(name, title, about, WIDTH, frame.bottom + 28, marks)


# --- parts -------------------------------------------------------------------------------------------------------


def _heading(
    title: str, names: Sequence[str], *, dashed: bool = False, inks: Sequence[str] = ()
) -> tuple[list[Mark], float]:
    """The title and, where there is more than one thing, which ink is whose; and where the chart begins."""
    marks: list[Mark] = [Text((0, 16), title, bold=True)]
    if len(names) < 2:
        return marks, 32.0
    x, y = 0.0, 16 + _LINE + 2
    for place, name in enumerate(names):
        shown = shortened(name, WIDTH - 30)
        wide = 24 + text_width(shown) + 14
        if x and x + wide > WIDTH:
            x, y = 0.0, y + _LINE
        ink = inks[place] if inks else series(place)
        if dashed:
            marks.append(Stroke(ink, [(x, y - 4), (x + 18, y - 4)], 2.4, dashes(place)))
        else:
            marks.append(Boxes(ink, [(x + 3, y - 10, 11, 11)]))
        marks.append(Text((x + 24, y), shown, "muted"))
        x += wide
    return marks, y + 14


def _upper(highest: float, unit: str) -> float:
    """Where an upright axis ends; what has no unit is counted."""
    return ceiling(highest) if unit else max(1.0, ceiling(highest))


def _levels(upper: float, unit: str) -> Ticks:
    """The lines of an upright axis.  Nobody counts in halves."""
    values = ticks(0.0, upper, 5)
    return [(value, f"{number(value)}{unit}") for value in values if unit or value == round(value)]


def _gutter(levels: Ticks) -> float:
    return 12 + max((text_width(reported, SMALL) for _, reported in levels), default=20.0)


def _grid(frame: _Frame, across: Ticks, levels: Ticks) -> list[Mark]:
    marks: list[Mark] = []
    for value, reported in levels:
        y = frame.y(value)
        marks.append(Stroke("grid", [(frame.left, y), (frame.left + frame.width, y)]))
        marks.append(Text((frame.left - 6, y + 4), reported, "muted", "end", SMALL))
    for value, _ in across if not levels else ():
        marks.append(Stroke("grid", [(frame.x(value), frame.top), (frame.x(value), frame.bottom)]))
    marks.append(Stroke("axis", [(frame.left, frame.bottom), (frame.left + frame.width, frame.bottom)]))
    return marks + _below(frame, across)


def _below(frame: _Frame, across: Ticks) -> list[Mark]:
    marks: list[Mark] = []
    for value, reported in across:
        x = frame.x(value)
        half = text_width(reported, SMALL) / 2
        marks.append(Stroke("axis", [(x, frame.bottom), (x, frame.bottom + 4)]))
        marks.append(Text((min(x, WIDTH - half - 1), frame.bottom + 18), reported, "muted", "middle", SMALL))
    return marks


def _scale(frame: _Frame) -> list[Mark]:
    """What the inks of a map mean."""
    marks: list[Mark] = [Text((frame.left, 36), "0 %", "muted", "start", SMALL)]
    x = frame.left + 30
    for step in range(8):
        marks.append(Boxes(f"heat{step}", [(x + 18 * step, 26, 18, 11)]))
    return [*marks, Text((x + 18 * 8 + 6, 36), "100 %", "muted", "start", SMALL)]


def _steps(frame: _Frame, line: Curve, end: float) -> list[Point]:
    points: list[Point] = []
    for x, y in zip(line.xs, line.ys, strict=True):
        here = (frame.x(x), frame.y(y))
        if points:
            points.append((here[0], points[-1][1]))
        points.append(here)
    if points and line.xs[-1] < end:
        points.append((frame.x(end), points[-1][1]))
    return points


__all__ = ["TEXT", "WIDTH", "Bar", "Curve", "Row", "bars", "curves", "gantt", "heat_map", "lanes"]
