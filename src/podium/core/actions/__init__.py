"""The steps of a cycle, one file each."""

from __future__ import annotations

from podium.core.actions.allocate import Allocate
from podium.core.actions.backfill import Backfill
from podium.core.actions.borrow import Borrow
from podium.core.actions.elastic import Elastic
from podium.core.actions.enqueue import Enqueue
from podium.core.actions.gang_evict import GangPreempt, GangReclaim
from podium.core.actions.preempt import Preempt
from podium.core.actions.reclaim import Reclaim
from podium.core.actions.take_back import TakeBack
from podium.core.framework.action import Action

BUILT_IN: dict[str, type[Action]] = {
    action.name: action
    for action in (
        Enqueue,
        Elastic,
        Allocate,
        Backfill,
        Preempt,
        Reclaim,
        GangPreempt,
        GangReclaim,
        TakeBack,
        Borrow,
    )
}
