"""Volcano, as the registry lists it."""

from __future__ import annotations

from functools import partial

from podium.dialects.dialect import Dialect, GroupKind, QueueKind, Setting
from podium.dialects.volcano.admission import HOOKS
from podium.dialects.volcano.job.admission import HOOKS as JOB_HOOKS
from podium.dialects.volcano.job.controller import JobController
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.types import JOB
from podium.dialects.volcano.marks import marks_of
from podium.dialects.volcano.names import (
    COMMANDS,
    DEFAULT_QUEUE,
    DIALECT,
    NAMESPACE_WEIGHT,
    NODE_GROUP,
    PODGROUPS,
    QUEUES,
    ROOT_QUEUE,
    SCHEDULER,
    group_id,
    queue_id,
)
from podium.dialects.volcano.podgroup_controller import PodGroupController
from podium.dialects.volcano.profile import PROFILE
from podium.dialects.volcano.progress import job_progress
from podium.dialects.volcano.queue_controller import QueueController, queue_document
from podium.dialects.volcano.rewriting import hold_job, rewrite_group, rewrite_queue
from podium.dialects.volcano.rights import RIGHTS
from podium.dialects.volcano.status import group_patch, queue_patch
from podium.dialects.volcano.translate import read_group, read_queue
from podium.dialects.volcano.types import DEFINITIONS
from podium.dialects.volcano.workloads import AUTHORING, SURROUNDINGS, WORKLOADS


def volcano(setting: Setting) -> Dialect:
    """The dialect.  Where its controllers run beside the scheduler, pods wait for the groups that these make."""
    default_queue = setting.default_queue or DEFAULT_QUEUE
    names = (SCHEDULER, *setting.schedulers)
    return Dialect(
        name=DIALECT,
        marks=marks_of(names, setting.with_controllers),
        definitions=(*DEFINITIONS, JOB),
        groups=(GroupKind(PODGROUPS, group_id, read_group, group_patch, rewrite=rewrite_group),),
        queues=(QueueKind(QUEUES, queue_id, read_queue, queue_patch, rewrite=rewrite_queue, make=queue_document),),
        hooks=(*HOOKS, *JOB_HOOKS),
        node_group=NODE_GROUP,
        objects=(queue_document(ROOT_QUEUE), queue_document(default_queue)),
        default_queues=dict.fromkeys(names, queue_id(default_queue)),
        orders=frozenset({COMMANDS}),
        namespace_weight=NAMESPACE_WEIGHT,
        controllers=(
            partial(QueueController, default_queue),
            partial(PodGroupController, names, setting.named_groups),
            partial(JobController, setting.profiles),
        ),
        rights=RIGHTS,
        profiles={SCHEDULER: PROFILE},
        workloads=WORKLOADS,
        surroundings=SURROUNDINGS,
        authoring=AUTHORING,
        progress={JOBS: job_progress},
        holding={JOBS: hold_job},
        tour="03-pytorch.yaml",
    )
