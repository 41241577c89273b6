"""What users would write so that a job starts with less: for the commands."""

from __future__ import annotations

from podium.dialects.arranger.names import TYJOBS
from podium.dialects.dialect import Document, GangWish, Rewrite
from podium.kube.changes import Patch


def rewrite_job(job: Document, wish: GangWish) -> Rewrite | None:
    """Fewer workers without which it does not start; the leader is always needed."""
    if wish.minimum is None or wish.minimum < 1 or wish.without:
        return None
    metadata, spec = job["metadata"], {"minWorkersNum": wish.minimum - 1}
    return Rewrite(Patch(TYJOBS, metadata.get("namespace", ""), metadata["name"], {"spec": spec}))
