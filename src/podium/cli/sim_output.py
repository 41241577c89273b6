"""How `podium sim` shows its figures: a table for people, JSON and CSV for programs, a page with pictures."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from podium.cli.sim_options import Output
from podium.errors import UsageError
from podium.sim.drawing.svg import standalone
from podium.sim.report.answer import answer
from podium.sim.report.page import page
from podium.sim.report.pictures import pictures
from podium.sim.report.rows import best, lines_of, queue_named, shown, starving, value_of
from podium.sim.runs import Answer, compared

Document = dict[str, Any]

_WIDE = 1000


def check(outputs: Sequence[Output], plots: Path | None) -> None:
    """A wrong place for results is reported before anything is run."""
    plain = [output for output in outputs if output.file is None]
    if len(plain) > 1:
        reported = " and ".join(output.form for output in plain)
        raise click.UsageError(
            f"-o: {reported} cannot both go to stdout: give all but one a file, as in -o html=report.html"
        )
    if plain and plain[0].form == "html" and sys.stdout.isatty():
        raise click.UsageError("-o html: a page is no text for a terminal: say -o html=report.html")
    for file in (output.file for output in outputs if output.file is not None):
        if not file.parent.is_dir():
            raise click.UsageError(f"-o: there is no directory {file.parent} for {file.name}")
        if file.is_dir():
            raise click.UsageError(f"-o: {file} is a directory; name a file")
    if plots is not None and plots.exists() and not plots.is_dir():
        raise click.UsageError(f"--plots: {plots} is no directory")


def show(answers: Mapping[str, Answer], outputs: Sequence[Output], plots: Path | None, *, several: bool) -> None:
    """The figures in every form that is wanted; a table if nothing else goes to stdout."""
    for output in outputs:
        if output.file is not None:
            _write(output.file, _text(answers, output.form, several))
    plain = next((output.form for output in outputs if output.file is None), "table")
    if plain == "table":
        console = Console()
        _print(console if console.is_terminal else Console(width=_WIDE), answers)
    else:
        click.echo(_text(answers, plain, several), nl=False)
    if plots is not None:
        _draw(answers, plots)


def document(answers: Mapping[str, Answer], several: bool) -> Document:
    """What `-o json` prints."""
    if several:
        return {"runs": runs(answers)}
    answer = next(iter(answers.values()))
    return {**answer.summary, "details": answer.details}


def runs(answers: Mapping[str, Answer]) -> list[Document]:
    return [{"run": name, **answer.summary} for name, answer in answers.items()]


def _text(answers: Mapping[str, Answer], form: str, several: bool) -> str:
    match form:
        case "json":
            encoded = msgspec.json.encode(document(answers, several))
            return msgspec.json.format(encoded, indent=2).decode() + "\n"
        case "csv":
            if several:
                lines = compared(answers)
                return _csv(dict.fromkeys(name for line in lines for name in line), lines)
            answer = next(iter(answers.values()))
            return _csv(answer.columns, answer.details)
        case "html":
            return page(runs(answers))
    console = Console(width=_WIDE, file=io.StringIO())
    _print(console, answers)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _print(console: Console, answers: Mapping[str, Answer]) -> None:
    """The answer in words, and the figures that it is made from."""
    for line in answer(runs(answers)):
        console.print(line, markup=False, highlight=False)
    console.print()
    console.print(_table(answers))


def _table(answers: Mapping[str, Answer]) -> Table:
    """The figures of the runs side by side; what is best is marked."""
    found = [each.summary for each in answers.values()]
    left_out = starving(found)
    table = Table("figure", box=None, pad_edge=False)
    for name in answers:
        table.add_column(name if len(answers) > 1 else "value", justify="right")
    for line in lines_of(found):
        values = [value_of(each, line.path) for each in found]
        marked = best(values, line, left_out)
        reported = (
            f"[bold]{shown(v, line.unit)}[/]" if n in marked else shown(v, line.unit) for n, v in enumerate(values)
        )
        table.add_row(line.words, *reported)
    queues = list(dict.fromkeys(queue["name"] for each in found for queue in each.get("queues", ())))
    for queue in queues if len(queues) > 1 else ():
        mine, called = [_queue(each, queue) for each in found], f"queue {queue}" if queue else queue_named(queue)
        table.add_row(f"{called}: weight", *(shown(each.get("weight"), "") for each in mine))
        for part in ("mean", "p50", "p95"):
            waits = (shown(each["wait_seconds"][part], "s") if each else "–" for each in mine)
            table.add_row(f"{called}: wait, {part}", *waits)
    table.add_row("history", *(str(each["trace_hash"])[:12] for each in found))
    table.add_row("took", *(shown(each["wall_seconds"], "s") for each in found))
    return table


def _queue(summary: Document, name: str) -> Document:
    return next((queue for queue in summary.get("queues", ()) if queue["name"] == name), {})


def _csv(columns: Iterable[str], lines: Iterable[Document]) -> str:
    names = list(columns)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([line.get(name, "") for name in names] for line in lines)
    return file.getvalue()


def _draw(answers: Mapping[str, Answer], directory: Path) -> None:
    """Each picture, as SVG and, where Pillow is installed, as PNG."""
    try:
        from podium.sim.drawing.png import png
    except ImportError:
        png = None  # type: ignore[assignment]
        click.echo("--plots: pictures are written as SVG only; for PNG as well, install Pillow", err=True)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--plots: {directory} cannot be made: {error.strerror}") from None
    for scene in pictures(runs(answers)):
        _write(directory / f"{scene.name}.svg", standalone(scene))
        if png is not None:
            _write(directory / f"{scene.name}.png", png(scene))


def _write(file: Path, content: str | bytes) -> None:
    try:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None
