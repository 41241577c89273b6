"""What is written on a Pool: what it has, who uses it, and whether it is well."""

from __future__ import annotations

from typing import Any

from podium.dialects.aibee.names import POOLS
from podium.dialects.aibee.translate import read_pool
from podium.dialects.aibee.types import Pool
from podium.dialects.queue_report import LISTS, QueueReport, report_document
from podium.kube.changes import Patch
from podium.kube.times import format_time

Document = dict[str, Any]

READY = "Ready"


def pool_patch(pool: Pool, report: QueueReport) -> Patch | None:
    """How a pool stands; None when that is known."""
    said = report_document(report)
    known: Document = {name: getattr(pool.status, name) or {} for name in LISTS}
    known |= {"nodes": pool.status.nodes or [], "nodeCount": pool.status.node_count, "pods": pool.status.pods}
    changed: Document = {name: value for name, value in said.items() if known[name] != value}
    for name in LISTS:
        if name in changed:  # a merge patch leaves alone what it does not name
            changed[name] = {**dict.fromkeys(known[name]), **changed[name]}
    condition = _condition(pool, report.at)
    if condition is not None:
        changed["conditions"] = [condition]
    if not changed:
        return None
    return Patch(POOLS, "", pool.name, {"status": changed}, subresource="status", uid=pool.uid)


def _condition(pool: Pool, now: float) -> Document | None:
    """Whether the pool is as its spec says; None when that stands there already."""
    faults = read_pool(pool)[1]
    status, reason = ("False", faults[0].code) if faults else ("True", "Understood")
    message = "; ".join(map(str, faults))
    for known in pool.status.conditions or ():
        if known.type == READY and (known.status, known.reason, known.message) == (status, reason, message):
            return None
    said: Document = {"type": READY, "status": status, "reason": reason, "message": message}
    return said | {"lastTransitionTime": format_time(now)}
