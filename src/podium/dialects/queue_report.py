"""How a queue stands, for whoever writes it on an object, prints it or serves it as figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from podium.dialects.kubernetes.quantities import format_amount

Document = dict[str, Any]


class QueueReport(msgspec.Struct, frozen=True):
    """How a queue stands: what its tasks hold and wait for; of one that owns nodes also what these have."""

    held: Mapping[str, int] = {}  # what its tasks hold, wherever they are
    pending: Mapping[str, int] = {}  # what those of its tasks ask for that wait
    nodes: tuple[str, ...] = ()  # by name, in order
    capacity: Mapping[str, int] = {}
    allocatable: Mapping[str, int] = {}
    used: Mapping[str, int] = {}  # what all tasks on its nodes hold
    shared: Mapping[str, int] = {}  # the part of it that is not its own tasks'
    system: Mapping[str, int] = {}  # the part of it that tasks of other schedulers hold
    borrowed: Mapping[str, int] = {}  # what its own tasks hold on nodes of others
    pods: int = 0  # tasks on its nodes
    at: float = 0.0  # when it was counted


# What is said of a queue that owns nodes, by resource.
LISTS = ("capacity", "allocatable", "used", "shared", "system", "borrowed", "pending")
_ALWAYS = ("cpu", "memory", "pods")


def report_document(report: QueueReport) -> Document:
    """A report on a queue that owns nodes, as a document."""
    document: Document = {name: amounts_document(getattr(report, name)) for name in LISTS}
    return document | {"nodes": list(report.nodes), "nodeCount": len(report.nodes), "pods": report.pods}


def amounts_document(amounts: Mapping[str, int]) -> dict[str, str]:
    """What there is; of what every node has also that there is none."""
    found = {**dict.fromkeys(_ALWAYS, 0), **amounts}
    return {name: format_amount(name, found[name]) for name in sorted(found) if found[name] or name in _ALWAYS}


def total_of(reports: Iterable[QueueReport]) -> dict[str, int]:
    """What all nodes of some queues have for pods, and how many nodes these are."""
    total: dict[str, int] = {"nodes": 0}
    for report in reports:
        total["nodes"] += len(report.nodes)
        for name, amount in report.allocatable.items():
            total[name] = total.get(name, 0) + amount
    return total
