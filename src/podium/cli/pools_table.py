"""Pools as text: the table, or documents for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from podium.core.model.model import Queue
from podium.dialects.kubernetes.devices import GPU
from podium.dialects.kubernetes.quantities import format_amount
from podium.dialects.queue_report import QueueReport, report_document, total_of

Document = dict[str, Any]

_WIDTH = 20
_RESOURCES = (
    ("cpu", "cpu"),
    ("gpu", GPU),
    ("mem", "memory"),
    ("storage", "ephemeral-storage"),
    ("nodes", "nodes"),
    ("pods", "pods"),
)
_COLUMNS = ("Capacity", "Allocatable", "Used", "Shared", "Pending", "Total")
_MORE = ("Borrowed", "System")


class Pool(msgspec.Struct, frozen=True):
    """A queue that owns nodes, and how it stands."""

    queue: Queue
    report: QueueReport


def printed(pools: Sequence[Pool], output: str) -> str:
    if output == "json":
        return json.dumps(_document(pools), indent=2)
    if output == "yaml":
        return str(yaml.safe_dump(_document(pools), sort_keys=False)).rstrip()
    if output == "name":
        return "\n".join(each.queue.name for each in pools)
    return _table(pools, (*_COLUMNS, *(_MORE if output == "wide" else ())))


def _document(pools: Sequence[Pool]) -> Document:
    total = total_of(each.report for each in pools)
    return {
        "pools": [
            {
                "name": each.queue.name,
                "flags": {
                    "preemption": each.queue.preempts,
                    "borrowing": each.queue.borrows,
                    "sharing": each.queue.lends,
                },
                **report_document(each.report),
            }
            for each in pools
        ],
        "total": {name: format_amount(name, amount) for name, amount in sorted(total.items())},
    }


def _table(pools: Sequence[Pool], columns: Sequence[str]) -> str:
    """The name of a pool stands beside its memory, and what it may do below."""
    head = ("Pools", "Resource(w)", *columns)
    rule = "-" * (_WIDTH * len(head))
    total = total_of(each.report for each in pools)
    lines = [rule, _line(head), rule]
    for each in pools:
        for shown, resource in _RESOURCES:
            beside = {"mem": each.queue.name, "storage": _flags(each.queue)}.get(shown, "")
            lines.append(_line((beside, shown, *(_cell(each.report, total, resource, name) for name in columns))))
        lines.append(rule)
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "".join(f"{cell:<{_WIDTH}}" for cell in cells).rstrip()


def _cell(report: QueueReport, total: dict[str, int], resource: str, column: str) -> str:
    if column == "Total":
        return str(total.get(resource, 0))
    if resource == "nodes":
        return str(len(report.nodes)) if column in ("Capacity", "Allocatable") else "-"
    return str(getattr(report, column.lower()).get(resource, 0))


def _flags(queue: Queue) -> str:
    marks = {"p": queue.preempts, "b": queue.borrows, "s": queue.lends}
    return "(" + ",".join(f"{name}={'√' if on else 'x'}" for name, on in marks.items()) + ")"
