"""Places that are reserved, looked at again before they are used."""

from __future__ import annotations

from podium.core.framework.session import Session
from podium.core.model.model import Task


def still_fits(session: Session, task: Task) -> bool:
    """Whether a task could be put again where it is: a node may have been closed, or shrunk."""
    candidates, nodes, row = session.candidates(task, refresh=False), session.cluster.nodes, task.row
    if candidates.room_only and not nodes.promises:
        # It takes its room already: thousands may be asked about in every turn.
        used, most = nodes.used[row], nodes.allocatable[row]
        return bool(candidates.static[row]) and all(used[each] <= most[each] for each in task.cls.columns)
    trial = session.statement()
    trial.release(task, "")
    fits = session.candidates(task).fits(task, row)
    trial.rollback()
    return fits


def queue_allows(session: Session, task: Task) -> bool:
    """Whether a task's queue would let it have its place again: surely if it would let another one have one."""
    queue = session.queues[task.gang.queue]
    if session.headroom(queue, [task]) > 0:
        return True
    trial = session.statement()
    trial.release(task, "")
    allows = session.headroom(queue, [task]) > 0
    trial.rollback()
    return allows
