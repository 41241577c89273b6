"""Volcano, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from podium.dialects.dialect import Dialect, GroupKind, QueueKind
from podium.dialects.volcano.admission import HOOKS
from podium.dialects.volcano.job_admission import HOOKS as JOB_HOOKS
from podium.dialects.volcano.job_controller import JobController
from podium.dialects.volcano.job_types import JOB
from podium.dialects.volcano.marks import marks_of
from podium.dialects.volcano.names import (
    DEFAULT_QUEUE,
    DIALECT,
    NODE_GROUP,
    PODGROUPS,
    QUEUES,
    ROOT_QUEUE,
    group_id,
    queue_id,
)
from podium.dialects.volcano.podgroup_controller import PodGroupController
from podium.dialects.volcano.queue_controller import QueueController, queue_document
from podium.dialects.volcano.status import group_patch, queue_patch
from podium.dialects.volcano.translate import read_group, read_queue
from podium.dialects.volcano.types import DEFINITIONS


def volcano(
    default_queue: str = DEFAULT_QUEUE, schedulers: Iterable[str] = (), *, grouped: bool = True
) -> Dialect:
    """The family, with the queue of pods that name none, for the scheduler `volcano` and others like it.

    `grouped` says that its controllers run beside the scheduler: pods then wait for the groups that these make.
    """
    names = ("volcano", *schedulers)
    return Dialect(
        name=DIALECT,
        marks=marks_of(names, grouped),
        definitions=(*DEFINITIONS, JOB),
        groups=(GroupKind(PODGROUPS, group_id, read_group, group_patch),),
        queues=(QueueKind(QUEUES, queue_id, read_queue, queue_patch),),
        hooks=(*HOOKS, *JOB_HOOKS),
        node_group=NODE_GROUP,
        objects=(queue_document(ROOT_QUEUE), queue_document(default_queue)),
        default_queues=dict.fromkeys(names, queue_id(default_queue)),
        controllers=(
            partial(QueueController, default_queue),
            partial(PodGroupController, names),
            JobController,
        ),
    )


VOLCANO = volcano()
