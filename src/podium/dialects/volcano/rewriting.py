"""What users would write so that a group or a queue is read otherwise, or that a Job is held: for the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core.model.model import Queue
from podium.dialects.dialect import Document, GangWish, Rewrite
from podium.dialects.kubernetes.quantities import format_amount
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES
from podium.kube.changes import Create, Patch
from podium.kube.conditions import owner_reference


def rewrite_group(group: Document, wish: GangWish) -> Rewrite | None:
    """Another minimum.  That of a Job's group is the Job's: its controller writes the group."""
    if wish.minimum is None or wish.without:
        return None
    namespace, name = group["metadata"].get("namespace", ""), group["metadata"]["name"]
    patch = Patch(PODGROUPS, namespace, name, {"spec": {"minMember": wish.minimum}})
    for owner in group["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and (owner.get("apiVersion"), owner.get("kind")) == (
            JOBS.api_version,
            JOBS.kind,
        ):
            job = Patch(JOBS, namespace, owner["name"], {"spec": {"minAvailable": wish.minimum}})
            return Rewrite(job, (patch,))
    return Rewrite(patch)


def rewrite_queue(document: Document, before: Queue, after: Queue) -> Rewrite | None:
    """Other limits, another weight or order; or an open queue instead of a closed one."""
    name = document["metadata"]["name"]
    if before.open != after.open:
        state = {"status": {"state": "Open" if after.open else "Closed"}}
        return Rewrite(Patch(QUEUES, "", name, state, subresource="status"))
    spec: dict[str, Any] = {}
    if before.weight != after.weight:
        spec["weight"] = after.weight
    if before.reclaimable != after.reclaimable:
        spec["reclaimable"] = after.reclaimable
    if before.fifo != after.fifo:
        spec["dequeueStrategy"] = "fifo" if after.fifo else "traverse"
    for field in ("capability", "deserved"):
        changed = _amounts(getattr(before, field), getattr(after, field))
        if changed:
            spec[field] = changed
    guarantee = _amounts(before.guarantee, after.guarantee)
    if guarantee:
        spec["guarantee"] = {"resource": guarantee}
    return Rewrite(Patch(QUEUES, "", name, {"spec": spec})) if spec else None


def _amounts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, str | None]:
    """What differs, as a merge patch has it."""
    changed: dict[str, str | None] = {
        name: format_amount(name, amount) for name, amount in after.items() if before.get(name) != amount
    }
    return changed | dict.fromkeys(before.keys() - after.keys())


def hold_job(job: Document, hold: bool) -> Create:
    """A Command that ends a Job's pods and keeps the Job, or lets it go on."""
    action = "AbortJob" if hold else "ResumeJob"
    reference = owner_reference(job, JOBS)
    metadata = {"generateName": f"{job['metadata']['name']}-{action.lower()}-", "ownerReferences": [reference]}
    order = {"apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": metadata}
    return Create(COMMANDS, job["metadata"]["namespace"], {**order, "target": reference, "action": action})
