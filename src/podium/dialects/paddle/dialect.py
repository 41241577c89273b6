"""Paddle, as the registry lists it."""

from __future__ import annotations

from podium.dialects.dialect import Dialect, GroupKind, Setting
from podium.dialects.paddle.admission import HOOKS
from podium.dialects.paddle.controller import TrainingJobController
from podium.dialects.paddle.marks import MARKS
from podium.dialects.paddle.names import DIALECT, SCHEDULER, TRAININGJOBS, gang_id
from podium.dialects.paddle.profile import PROFILE
from podium.dialects.paddle.progress import job_progress
from podium.dialects.paddle.status import decided, job_patch
from podium.dialects.paddle.translate import read_job, slots_of
from podium.dialects.paddle.types import TRAININGJOB
from podium.dialects.paddle.workloads import WORKLOADS
from podium.kube.resources import JOBS, REPLICASETS, SERVICES, STATEFULSETS
from podium.kube.rights import Right


def paddle(setting: Setting) -> Dialect:
    return Dialect(
        name=DIALECT,
        marks=MARKS,
        definitions=(TRAININGJOB,),
        groups=(GroupKind(TRAININGJOBS, gang_id, read_job, job_patch, slots_of, decided),),
        hooks=HOOKS,
        controllers=(TrainingJobController,),
        rights=(
            Right(TRAININGJOBS, ("patch",), "status"),
            Right(SERVICES, ("create",)),
            *(Right(resource, ("create", "patch")) for resource in (JOBS, REPLICASETS, STATEFULSETS)),
        ),
        profiles={SCHEDULER: PROFILE},
        workloads=WORKLOADS,
        progress={TRAININGJOBS: job_progress},
        tour="01-elastic.yaml",
    )
