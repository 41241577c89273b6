"""Messages for a Job's users when the server refuses something that was to be made for it."""

from __future__ import annotations

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.types import Job
from podium.dialects.volcano.names import PODGROUPS
from podium.errors import ApiError
from podium.kube.changes import Change, Delete, Patch, Read
from podium.kube.controller import Note
from podium.kube.events import WARNING
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PODS

_REASONS = {PERSISTENTVOLUMECLAIMS: "PVCError", PODGROUPS: "PodGroupError", JOBS: "JobStatusError"}


def refusal_note(job: Job, change: Change, error: ApiError) -> Note | None:
    """One sentence: what was not done, and what the server said.  It is tried again all the same."""
    if isinstance(change, Read):
        return None
    what = change.resource.kind
    if isinstance(change, Patch | Delete):
        name, done = change.name, "deleted" if isinstance(change, Delete) else "changed"
    else:
        name, done = change.document["metadata"]["name"], "created"
    reason = _REASONS.get(change.resource, "PluginError")
    if change.resource == PODS:
        reason = "FailedDelete" if isinstance(change, Delete) else "FailedCreate"
    return Note(JOBS, job, reason, f"{what} {name} could not be {done}: {error}", WARNING)
