"""Ai-Scheduler, as the registry lists it."""

from __future__ import annotations

from podium.dialects.aibee.job_admission import HOOKS
from podium.dialects.aibee.job_controller import JobController
from podium.dialects.aibee.names import DIALECT, POOLS, SCHEDULER, pool_id
from podium.dialects.aibee.profile import PROFILE
from podium.dialects.aibee.rewriting import rewrite_pool
from podium.dialects.aibee.status import pool_patch
from podium.dialects.aibee.translate import DEFAULT, MARKS, OWNERSHIP, read_pool
from podium.dialects.aibee.types import DEFINITION
from podium.dialects.aibee.workloads import SURROUNDINGS, WORKLOADS
from podium.dialects.dialect import Dialect, QueueKind, Setting
from podium.kube.rights import Right


def aibee(setting: Setting) -> Dialect:
    return Dialect(
        name=DIALECT,
        marks=MARKS,
        definitions=(DEFINITION,),
        queues=(
            QueueKind(POOLS, pool_id, read_pool, pool_patch, OWNERSHIP, built_in=(DEFAULT,), rewrite=rewrite_pool),
        ),
        default_queues={SCHEDULER: DEFAULT.id},
        hooks=HOOKS,
        controllers=(JobController,),
        rights=(Right(POOLS, ("patch",), "status"),),
        profiles={SCHEDULER: PROFILE},
        workloads=WORKLOADS,
        surroundings=SURROUNDINGS,
        tour="*.yaml",
    )
