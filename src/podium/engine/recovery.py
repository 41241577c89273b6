"""Gangs that were bound half: by a crash, or because a bind was refused.

Binds of a gang are many writes.  Every one carries the plan it belongs to, and the server copies it onto the pod,
so a half-bound gang can be told from the pods alone: members that existed when the plan was made still wait.  (A
gang that was whole once and lost a member later looks different: the replacement is younger than the plan.)

Such a gang goes before all others.  If its missing members find no place within a bounded time, the bound ones are
evicted: a gang at rest has no members bound, or enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import msgspec

from podium.core.model import HOLDING, Gang, State
from podium.kube.times import parse_time
from podium.kube.wire import Pod, condition

PATIENCE = 30.0  # seconds that a half-bound gang may hold its places


class Plan(msgspec.Struct, frozen=True):
    """What a bind belongs to: when it was made, and with how many others."""

    time: float
    members: int


def write_plan(gang: str, number: int, members: int, now: float) -> str:
    """The plan as it travels: `<gang>/<id>/<members>`; the id begins with the time in milliseconds."""
    return f"{gang}/{int(now * 1000):x}.{number}/{members}"


def read_plan(text: str, bound: float = 0.0) -> Plan | None:
    """A plan from a pod.  Anybody can write annotations: what is no plan counts as none.

    `bound` is when the pod was bound, by the server's clock.  That is the one by which pods are created, too; the
    clock of the scheduler that made the plan may be another one.
    """
    parts = text.rsplit("/", 2)
    if len(parts) != 3:
        return None
    try:
        return Plan(bound or int(parts[1].partition(".")[0], 16) / 1000, int(parts[2]))
    except ValueError:
        return None


def bound_at(pod: Pod) -> float:
    """When a pod got its node, as the server has written it; 0.0 if it has not."""
    scheduled = condition(pod.status.conditions, "PodScheduled")
    return (
        parse_time(scheduled.last_transition_time) if scheduled is not None and scheduled.status == "True" else 0.0
    )


def is_torn(gang: Gang, plans: Mapping[str, Plan]) -> bool:
    """Whether a gang was bound half."""
    if gang.ready >= gang.minimum or not gang.counts[State.PENDING] or not gang.count(HOLDING):
        return False
    times = [
        plan.time
        for task in gang.tasks.values()
        if task.state in HOLDING and (plan := plans.get(task.id)) is not None
    ]
    last = max(times, default=None)
    if last is None:
        return False
    return any(task.state is State.PENDING and task.created <= last for task in gang.tasks.values())


class Recovery:
    """The gangs that are bound half, and since when."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = plans
        self._since: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    @property
    def gangs(self) -> Set[str]:
        return self._since.keys()

    def look(self, gangs: Mapping[str, Gang], now: float) -> None:
        """Finds them among some gangs."""
        torn = sorted(id for id, gang in gangs.items() if is_torn(gang, self._plans))
        self._since = {id: self._since.get(id, now) for id in torn}

    def judge(self, gangs: Mapping[str, Gang], now: float) -> Iterator[tuple[Gang, float]]:
        """Those that are still so, each with when its time is over."""
        for id, since in list(self._since.items()):
            if is_torn(gangs[id], self._plans):
                yield gangs[id], since + PATIENCE
            else:
                del self._since[id]
