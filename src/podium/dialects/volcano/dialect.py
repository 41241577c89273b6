"""Volcano, as the registry lists it."""

from __future__ import annotations

from typing import Any

from podium.dialects.dialect import Dialect, GroupKind, QueueKind
from podium.dialects.volcano.admission import HOOKS
from podium.dialects.volcano.marks import MARKS
from podium.dialects.volcano.names import DEFAULT_QUEUE, PODGROUPS, QUEUES, ROOT_QUEUE, group_id, queue_id
from podium.dialects.volcano.status import group_patch, queue_patch
from podium.dialects.volcano.translate import read_group, read_queue
from podium.dialects.volcano.types import DEFINITIONS


def _queue(name: str, *, reclaimable: bool) -> dict[str, Any]:
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable},
    }


VOLCANO = Dialect(
    name="volcano",
    marks=MARKS,
    definitions=DEFINITIONS,
    groups=(GroupKind(PODGROUPS, group_id, read_group, group_patch),),
    queues=(QueueKind(QUEUES, queue_id, read_queue, queue_patch),),
    hooks=HOOKS,
    objects=(_queue(ROOT_QUEUE, reclaimable=False), _queue(DEFAULT_QUEUE, reclaimable=True)),
    default_queues={"volcano": queue_id(DEFAULT_QUEUE)},
)
