"""Gangs that were bound half: by a crash, or because a bind was refused.

Binds of a gang are many writes.  Every one carries the plan it belongs to, and the server copies it onto the pod,
so a half-bound gang is known from the pods alone: members that existed when the plan was made still wait.  (A
gang that was whole once and lost a member later looks different: the replacement is younger than the plan.)

Gangs that start together are bound by one plan, too, and their binds say of how many gangs it is.  So a group of
which one gang is bound and another is not can be found in the same way: all of its gangs are bound half.

Such a gang goes before all others.  If its missing members were tried and found no place, and still find none a
bounded time later, the bound ones are evicted: a gang at rest has no members bound, or enough.  Time alone takes
nothing away: a server that does not answer says nothing about places.

Where only members count that wait, those count, too, that were bound by a plan of which another one still waits.

There is one exception.  A pod that no controller would create again is never deleted here: its gang keeps what it
has, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import msgspec

from podium.core.model import quorum
from podium.core.model.decisions import Bind, Decision, Refuse
from podium.core.model.model import PLACED, Gang, State
from podium.kube.times import parse_time
from podium.kube.wire import Pod, condition
from podium.reasons import FAILED, HALF_BOUND, Refusal, refuse

PATIENCE = 30.0  # seconds that a half-bound gang may hold its places after its other members found none
GIVEN_UP = "could not be made whole"  # the end of its members' condition then


class Plan(msgspec.Struct, frozen=True):
    """What a bind belongs to: when it was made, with how many others, and of how many gangs."""

    time: float
    members: int
    gangs: int = 1
    id: str = ""  # the same in all gangs that were bound by it


def write_plan(gang: str, number: int, members: int, now: float, gangs: int = 1) -> str:
    """The plan as it travels: `<gang>/<id>/<members>`.

    The id begins with the time in milliseconds, and ends with the number of gangs where it is more than one.
    """
    together = f".{gangs}" if gangs > 1 else ""
    return f"{gang}/{int(now * 1000):x}.{number}{together}/{members}"


def read_plan(text: str, bound: float = 0.0) -> Plan | None:
    """A plan from a pod.  Anybody can write annotations: what is no plan counts as none.

    `bound` is when the pod was bound, by the server's clock.  That is the one by which pods are created, too; the
    clock of the scheduler that made the plan may be another one.
    """
    parts = text.rsplit("/", 2)
    if len(parts) != 3:
        return None
    time, *numbers = parts[1].split(".")
    try:
        gangs = int(numbers[1]) if len(numbers) > 1 else 1
        return Plan(bound or int(time, 16) / 1000, int(parts[2]), gangs, parts[1])
    except (ValueError, OverflowError):
        return None


def bound_at(pod: Pod) -> float:
    """When a pod got its node, as the server has written it; 0.0 if it has not."""
    scheduled = condition(pod.status.conditions, "PodScheduled")
    return (
        parse_time(scheduled.last_transition_time) if scheduled is not None and scheduled.status == "True" else 0.0
    )


def is_partially_bound(gang: Gang, plans: Mapping[str, Plan]) -> bool:
    """Whether a gang was bound half."""
    return quorum.partially_bound(gang) and _older_waits(gang, _last(gang, plans))


def was_whole(gang: Gang, plans: Mapping[str, Plan]) -> bool:
    """Whether all were bound that a gang was bound with, by what its pods show: who waits came later."""
    last = _last(gang, plans)
    return last is not None and not _older_waits(gang, last)


def is_torn(group: Sequence[Gang], plans: Mapping[str, Plan], find: quorum.Find) -> bool:
    """Whether of gangs that were to start together some were bound, and one that they waited for was not."""
    for gang in group:
        last = _last(gang, plans, together=True) if gang.together and quorum.bound_enough(gang) else None
        for other in map(find, gang.together) if last is not None else ():
            if other is not None and not quorum.bound_enough(other) and _older_waits(other, last):
                return True
    return False


def unfinished(group: Sequence[Gang], plans: Mapping[str, Plan]) -> set[str]:
    """The plans of which some members are bound, and others wait that were there when they were made: members of
    the same gang, or of one that was to be bound by the same plan and has none that is."""
    found: set[str] = set()
    known: dict[str, Plan] = {}
    bound_by: dict[str, set[str]] = {}  # by plan: the gangs of which it has bound members
    for gang in group:
        bound = Counter(plan.id for plan in _plans_of(gang, plans))
        for plan in {plan.id: plan for plan in _plans_of(gang, plans)}.values():
            known[plan.id] = plan
            bound_by.setdefault(plan.id, set()).add(gang.id)
            if bound[plan.id] < plan.members and _older_waits(gang, plan.time):
                found.add(plan.id)
    # The longest waiting first: anybody can write plans, and thousands of them must not cost their square.
    waiting = sorted((since, gang.id) for gang in group if (since := _waits_since(gang)) is not None)
    for id, plan in known.items():
        other = next((each for each in waiting if each[1] not in bound_by[id]), None)
        if len(bound_by[id]) < plan.gangs and other is not None and other[0] <= plan.time:
            found.add(id)
    return found


def _plans_of(gang: Gang, plans: Mapping[str, Plan]) -> Iterator[Plan]:
    """The plans by which members of a gang were bound: of each member that is."""
    for task in gang.tasks.values():
        plan = plans.get(task.id) if task.state in PLACED else None
        if plan is not None:
            yield plan


def _last(gang: Gang, plans: Mapping[str, Plan], *, together: bool = False) -> float | None:
    """When the last plan was made by which members of a gang were bound; `together`, with other gangs."""
    found = (plan for plan in _plans_of(gang, plans) if plan.gangs > 1 or not together)
    return max((plan.time for plan in found), default=None)


def _older_waits(gang: Gang, last: float | None) -> bool:
    """Whether a member waits that was there when the plan was made."""
    if last is None:
        return False
    since = _waits_since(gang)
    return since is not None and since <= last


def _waits_since(gang: Gang) -> float | None:
    """When the oldest member came that waits.  A slot has no pod that could be bound."""
    waiting = (State.PENDING, State.RESERVED)
    return min(
        (task.created for task in gang.tasks.values() if task.has_pod and task.state in waiting), default=None
    )


def is_half_bound(gang: Gang) -> bool:
    """Whether a gang has, or may have, a part of the places that it needs."""
    return gang.count(PLACED) > 0 and not quorum.bound_enough(gang)


def would_come_again(pod: Pod | None) -> bool:
    """Whether somebody creates a pod anew when it is deleted.  Those of a node are the node's own."""
    owner = pod.metadata.controller if pod is not None else None
    return owner is not None and owner.kind != "Node"


class Recovery:
    """The gangs that are bound half, and what became of the tries to complete them."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = plans
        self._partially_bound: dict[str, None] = {}
        self._groups: dict[str, tuple[str, ...]] = {}  # of gangs that start together: all that were torn with one
        self._since: dict[str, float] = {}  # the first try that was refused, when none succeeded after it
        self._refused: dict[str, Refusal] = {}  # those whose last try was refused
        self._kept: set[str] = set()  # those that keep what they have
        self._in_part: dict[Gang, int] = {}  # how many members count that are bound, though only others do

    def __bool__(self) -> bool:
        return bool(self._partially_bound)

    @property
    def gangs(self) -> Set[str]:
        return self._partially_bound.keys()

    def look(self, split: Mapping[str, Gang], tied: Mapping[str, Gang], find: quorum.Find) -> None:
        """Finds them among gangs of which a part has places, and among those that start together with others."""
        partially_bound = {id for id, gang in split.items() if is_partially_bound(gang, self._plans)}
        by_waiting = {id: gang for id, gang in split.items() if quorum.counts_waiting_only(gang)}
        self._groups = {}
        before, self._in_part = self._in_part, {}
        for gangs in quorum.components({**by_waiting, **tied}.values(), find):
            if is_torn(gangs, self._plans, find):
                group = tuple(sorted(each.id for each in gangs))
                self._groups |= dict.fromkeys(group, group)
            self._count_in_part([each for each in gangs if quorum.counts_waiting_only(each)], gangs)
        for gang in before | self._in_part:
            gang.count_in_part(self._in_part.get(gang, 0))
        self._partially_bound = dict.fromkeys(sorted(partially_bound | self._groups.keys()))

    def _count_in_part(self, by_waiting: Sequence[Gang], group: Sequence[Gang]) -> None:
        """Where only members count that wait, those count with whom one that waits still was to be bound."""
        if not by_waiting:
            return
        ids = unfinished(group, self._plans)
        for gang in by_waiting:
            self._in_part[gang] = sum(plan.id in ids for plan in _plans_of(gang, self._plans))

    # --- tries -------------------------------------------------------------------------------------------------

    def decided(self, decisions: Iterable[Decision], now: float) -> None:
        """What a step of a turn decided.  That a plugin failed says nothing about places."""
        if not self._partially_bound and not self._refused:
            return
        for decision in decisions:
            if isinstance(decision, Bind):
                self._refused.pop(decision.gang, None)
            elif not isinstance(decision, Refuse) or decision.gang not in self._partially_bound:
                continue
            elif decision.refusal.reason != FAILED:
                self.refused(decision.gang, decision.refusal, now)

    def refused(self, gang: str, refusal: Refusal, now: float) -> None:
        """Members were tried, and have no place: there is none, or the server does not let them have it."""
        self._since.setdefault(gang, now)
        self._refused[gang] = refusal

    def succeeded(self, gang: str) -> None:
        """A member was bound."""
        if gang in self._since:
            self._since.pop(gang)
            self._refused.pop(gang, None)
            self._kept.discard(gang)

    def judge(self, gangs: Mapping[str, Gang]) -> Iterator[tuple[Gang, float]]:
        """Those whose last try was refused, each with when its time is over."""
        for id in [each for each in self._since if each not in gangs]:
            self.succeeded(id)
        for id in list(self._partially_bound):
            gang = gangs.get(id)
            group = [found for each in self._groups.get(id, ()) if (found := gangs.get(each)) is not None]
            if gang is None or not (
                is_partially_bound(gang, self._plans) or is_torn(group, self._plans, gangs.get)
            ):
                del self._partially_bound[id]
                continue
            refused = [each for each in self._groups.get(id, (id,)) if each in self._refused]
            if refused:
                yield gang, min(self._since[each] for each in refused) + PATIENCE

    # --- gangs that keep what they have ------------------------------------------------------------------------

    def keep(self, gang: Gang) -> Refusal | None:
        """A gang keeps its places; what there is to say about it, the first time."""
        if gang.id in self._kept:
            return None
        self._kept.add(gang.id)
        refused = (self._refused.get(each) for each in self._groups.get(gang.id, (gang.id,)))
        return _keeping(gang, next(each for each in refused if each is not None))

    def worded(self, decisions: list[Decision], gangs: Mapping[str, Gang]) -> list[Decision]:
        """What there is to say of gangs that keep what they have says that, too."""
        if not self._kept:
            return decisions
        return [
            Refuse(each.gang, _keeping(gangs[each.gang], each.refusal), each.task)
            if isinstance(each, Refuse) and each.gang in self._kept and each.gang in gangs
            else each
            for each in decisions
        ]


def _keeping(gang: Gang, cause: Refusal) -> Refusal:
    return refuse(HALF_BOUND, bound=gang.count(PLACED), need=gang.minimum, cause=cause)
