"""How `podium sim` shows its figures: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from podium.sim.runs import Answer, compared

Document = dict[str, Any]

_WIDE = 1000
_BESIDE = ("series", "curve")  # too long for a table


def print_answer(answer: Answer, form: str) -> None:
    """One run.  CSV is its details, line by line."""
    if form == "json":
        _print_json({**answer.summary, "details": answer.details})
    elif form == "csv":
        _print_csv(answer.columns, answer.details)
    else:
        table = Table("figure", "value", box=None, pad_edge=False)
        for name, value in _rows(answer.summary):
            table.add_row(name, value)
        _console().print(table)


def print_comparison(answers: Mapping[str, Answer], form: str) -> None:
    """Several runs side by side."""
    runs = compared(answers)
    if form == "json":
        _print_json({"runs": [{"run": name, **answer.summary} for name, answer in answers.items()]})
        return
    columns = list(dict.fromkeys(name for run in runs for name in run))
    if form == "csv":
        _print_csv(columns, runs)
        return
    table = Table("figure", *(str(run["run"]) for run in runs), box=None, pad_edge=False)
    for name in columns[1:]:
        table.add_row(_words(name), *(_shown(run.get(name)) for run in runs))
    _console().print(table)


def _console() -> Console:
    """As wide as the terminal; into a file or a pipe, as wide as it takes."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def _rows(document: Document) -> Iterable[tuple[str, str]]:
    for name, value in document.items():
        if name in _BESIDE or value is None:
            continue
        if isinstance(value, dict):
            told = "  ".join(f"{inner} {_shown(each)}" for inner, each in value.items())
            yield _words(name), told
        else:
            yield _words(name), _shown(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = "" if value is None else str(value)
    return text[:12] if len(text) == 64 else text  # of a hash the beginning will do


def _print_json(document: Document) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def _print_csv(columns: Iterable[str], lines: Iterable[Document]) -> None:
    names = list(columns)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([line.get(name, "") for name in names] for line in lines)
