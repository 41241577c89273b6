"""Arranger, as the registry lists it."""

from __future__ import annotations

from podium.dialects.arranger.admission import HOOKS
from podium.dialects.arranger.controller import TYJobController
from podium.dialects.arranger.marks import MARKS
from podium.dialects.arranger.names import DIALECT, SCHEDULER, TYJOBS, gang_id
from podium.dialects.arranger.profile import PROFILE
from podium.dialects.arranger.progress import job_progress
from podium.dialects.arranger.rewriting import rewrite_job
from podium.dialects.arranger.status import places_patch, verdict_patch
from podium.dialects.arranger.translate import read_job, read_slots
from podium.dialects.arranger.types import TYJOB
from podium.dialects.arranger.workloads import WORKLOADS
from podium.dialects.dialect import Dialect, GroupKind, Setting
from podium.kube.resources import PODS
from podium.kube.rights import Right


def arranger(setting: Setting) -> Dialect:
    """The dialect."""
    return Dialect(
        name=DIALECT,
        marks=MARKS,
        definitions=(TYJOB,),
        groups=(
            GroupKind(TYJOBS, gang_id, read_job, verdict_patch, read_slots, places_patch, rewrite=rewrite_job),
        ),
        hooks=HOOKS,
        controllers=(TYJobController,),
        rights=(
            Right(TYJOBS, ("patch",)),
            Right(TYJOBS, ("patch",), "status"),
            Right(PODS, ("create", "delete")),
        ),
        profiles={SCHEDULER: PROFILE},
        workloads=WORKLOADS,
        progress={TYJOBS: job_progress},
        tour="*.yaml",
    )
