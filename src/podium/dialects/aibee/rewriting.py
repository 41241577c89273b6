"""What users would write so that a pool lends, borrows or preempts where it did not: for the commands."""

from __future__ import annotations

from podium.core.model.model import Queue
from podium.dialects.aibee.names import POOLS
from podium.dialects.dialect import Document, Rewrite
from podium.kube.changes import Patch

_SWITCHES = {"lends": "disableSharing", "borrows": "disableBorrowing", "preempts": "disablePreemption"}


def rewrite_pool(pool: Document, before: Queue, after: Queue) -> Rewrite | None:
    """The switches of a pool say what is off."""
    changed = [field for field in _SWITCHES if getattr(before, field) != getattr(after, field)]
    spec = {_SWITCHES[field]: not getattr(after, field) for field in changed}
    return Rewrite(Patch(POOLS, "", pool["metadata"]["name"], {"spec": spec})) if spec else None
