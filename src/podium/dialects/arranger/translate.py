"""Jobs in the core's words: each is a gang of slots, one for the leader and one for each worker.

It starts with its leader and minWorkersNum workers.  How it stands in line and where its pods go, it says itself:
plugins read that from the gang's attributes.
"""

from __future__ import annotations

from podium.core.model.attributes import PLACEMENT_POLICY, QUEUE_POLICY, ROLES, WAITING_SINCE
from podium.core.model.facts import GangFacts
from podium.core.model.model import Phase
from podium.dialects.arranger.checks import errors_of
from podium.dialects.arranger.names import LEADER, SCHEDULER, gang_id, worker_role
from podium.dialects.arranger.pods import slots_of
from podium.dialects.arranger.types import PENDING, TYJob
from podium.dialects.dialect import Slot
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.times import parse_time
from podium.reasons import BAD_SPEC, Refusal, refuse


def read_job(job: TYJob, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
    """A job as it is now, and why it cannot be scheduled as it is."""
    spec = job.spec
    errors = errors_of(job)
    refusal = refuse(BAD_SPEC, field=errors[0].path, detail=errors[0].detail) if errors else None
    attributes = {
        PLACEMENT_POLICY: spec.scheduler_policy.basic_policy,
        QUEUE_POLICY: spec.scheduler_policy.job_queue_policy,
        ROLES: ",".join((LEADER, *(worker_role(each.name) for each in spec.worker_sets))),
    }
    since = waiting_since(job)
    if since is not None:
        attributes[WAITING_SINCE] = f"{since:.3f}"
    facts = GangFacts(
        id=gang_id(job.namespace, job.name),
        namespace=job.namespace,
        name=job.name,
        queue="",
        # What is over needs nothing, whatever is left of it.
        minimum=0 if job.asks_for_nothing else 1 + max(0, spec.min_workers_num),
        minimum_by_role={} if job.asks_for_nothing else {LEADER: 1},
        priority=spec.priority,
        created=parse_time(job.metadata.creation_timestamp),
        phase=Phase.INQUEUE,
        attributes=attributes,
        profile=SCHEDULER,
    )
    return facts, refusal


def waiting_since(job: TYJob) -> float | None:
    """Since when a job waits for the places that it needs; None while it has them."""
    found = job.scheduled
    if found is not None and found.status == "False":
        return parse_time(found.last_transition_time)
    if found is None and job.stage == PENDING:
        return parse_time(job.metadata.creation_timestamp)
    return None


def read_slots(job: TYJob) -> list[Slot]:
    """Those of a job that can be understood."""
    return [] if errors_of(job) else slots_of(job)
