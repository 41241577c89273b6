"""The tables of `podium queue`, `podium nodes` and `podium top`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podium.cli.printing import age, columns, count, encoded, node_list
from podium.explain.answers import NodeRow, QueueList, QueueStanding, WorkloadRow


def queue_answer(
    found: QueueList,
    form: str | None,
    now: float,
    width: int,
    *,
    queue: str = "",
    state: str | None = None,
    with_namespace: bool = False,
) -> str:
    """`podium queue` in one of its forms."""
    rows = [
        row
        for row in found.workloads
        if (not queue or row.queue == queue) and (state is None or row.state == state)
    ]
    queues = [each for each in found.queues if not queue or each.name == queue]
    if form in ("json", "yaml"):
        return encoded(QueueList(tuple(rows), tuple(queues)), form)
    if form == "name":
        return "\n".join(f"{row.kind.lower()}/{row.name}" for row in rows)
    wide = form == "wide"
    if rows:
        parts = [workload_table(rows, now, 0 if wide else width, with_namespace=with_namespace, wide=wide)]
    else:
        parts = [_nothing(queue, state, somewhere=not with_namespace)]
    parts.append(queue_table(queues))
    return "\n\n".join(part for part in parts if part)


def _nothing(queue: str, state: str | None, *, somewhere: bool) -> str:
    """That there is nothing of what was asked for: elsewhere there may be."""
    which = {"R": "nothing runs", "PD": "nothing waits"}.get(state or "", "nothing runs and nothing waits")
    return which + (f" in queue {queue}" if queue else "") + (" in this namespace: see -A" if somewhere else "")


def workload_table(
    rows: Sequence[WorkloadRow], now: float, width: int, *, with_namespace: bool, wide: bool = False
) -> str:
    headings = ["NAME", "KIND", "QUEUE", "ST", "GPUS", "PODS", "SINCE", "POS", "WHERE/WHY"]
    if with_namespace:
        headings.insert(0, "NAMESPACE")
    if wide:
        headings[-1:] = ["PRIO", "REQUESTS", "WHERE/WHY"]
    cells = []
    for row in rows:
        where = node_list(row.nodes)
        why = row.message if wide else row.why
        line = [
            row.name,
            row.kind.lower(),
            row.queue or "-",
            row.state,
            count(row.gpus),
            f"{row.placed}/{row.pods}",
            age(now - row.since) if row.since else "-",
            str(row.position) if row.position is not None else "-",
        ]
        if with_namespace:
            line.insert(0, row.namespace)
        if wide:
            line += [str(row.priority), ",".join(f"{key}={value}" for key, value in row.requests.items()) or "-"]
        if row.state == "R":
            line.append(f"{where} ({why})" if why else where)
        else:
            line.append(f"({why})" if why else "-")
        cells.append(line)
    return columns(headings, cells, width)


def queue_table(queues: Sequence[QueueStanding]) -> str:
    if not queues:
        return ""
    rows = []
    for each in queues:
        gpus = next((amounts for amounts in each.amounts if amounts.resource.endswith("gpu")), None)
        held = (
            (gpus.used, gpus.deserved, gpus.borrowed, gpus.limit or "-")
            if gpus is not None
            else ("0", "-", "-", "-")
        )
        share = "-" if each.share is None else f"{each.share:.0%}"
        rows.append(
            [
                each.name,
                "open" if each.open else "closed",
                *held,
                gpus.waiting if gpus is not None else "0",
                share,
                str(each.weight),
                str(each.running),
                str(each.waiting),
            ]
        )
    headings = (
        "QUEUE",
        "STATE",
        "GPUS",
        "DESERVED",
        "BORROWED",
        "LIMIT",
        "WANTED",
        "SHARE",
        "WEIGHT",
        "RUNNING",
        "WAITING",
    )
    return columns(headings, rows)


# --- nodes -------------------------------------------------------------------------------------------------------

_ORDER = ("idle", "mix", "alloc", "drain", "down")


class NodeGroup(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes that are alike: in state, GPUs, model, owner and taints."""

    state: str
    nodes: int
    gpus: float
    gpus_free: float
    model: str
    queue: str
    taints: tuple[str, ...]
    names: tuple[str, ...]


def node_groups(rows: Sequence[NodeRow]) -> list[NodeGroup]:
    groups: dict[tuple[str, float, str, str, tuple[str, ...]], list[NodeRow]] = {}
    for row in rows:
        groups.setdefault((row.state, row.gpus, row.model, row.queue, row.taints), []).append(row)
    found = [
        NodeGroup(
            state,
            len(members),
            sum(row.gpus for row in members),
            0.0 if state in ("drain", "down") else sum(row.gpus - row.gpus_used for row in members),
            model,
            queue,
            taints,
            tuple(row.name for row in members),
        )
        for (state, _, model, queue, taints), members in groups.items()
    ]
    return sorted(found, key=lambda each: (_ORDER.index(each.state), -each.gpus, each.names))


def nodes_answer(rows: Sequence[NodeRow], form: str | None, width: int) -> str:
    """`podium nodes` in one of its forms."""
    if form in ("json", "yaml"):
        return encoded(list(rows), form)
    if form == "name":
        return "\n".join(f"node/{row.name}" for row in rows)
    if not rows:
        return "there are no nodes"
    if form == "wide":
        cells = [
            [
                row.name,
                row.state,
                f"{count(row.gpus_used)}/{count(row.gpus)}",
                row.model or "-",
                f"{row.cpu_used}/{row.cpu}",
                f"{row.memory_used}/{row.memory}",
                str(row.pods),
                row.queue or "-",
                ",".join(row.taints) or "-",
            ]
            for row in rows
        ]
        return columns(("NAME", "STATE", "GPUS", "MODEL", "CPU", "MEMORY", "PODS", "QUEUE", "TAINTS"), cells)
    cells = [
        [
            each.state,
            str(each.nodes),
            count(each.gpus),
            count(each.gpus_free),
            each.model or "-",
            each.queue or "-",
            ",".join(each.taints) or "-",
            node_list(each.names),
        ]
        for each in node_groups(rows)
    ]
    return columns(("STATE", "NODES", "GPUS", "FREE", "MODEL", "QUEUE", "TAINTS", "NODELIST"), cells, width)
