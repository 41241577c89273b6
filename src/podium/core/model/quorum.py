"""What a gang must have before it starts, what it still lacks, and what it can lose: the only place that knows.

    in all        at least `minimum` members
    by role       at least so many of each role; binds only where the minimum in all is not below their sum
    sub-groups    of each policy so many groups, each with its size of members
    best effort   members that wait and ask for no room are in nobody's way: they count as if they had their places
    together      gangs that start together: none is kept before those that it names have enough
    match policy  which members count, and whether the minimum holds once it has been reached
    as one        gangs of which nothing is to spare: all members are disturbed, or none

Whoever counts names the states that count: those with a place (`READY`), those with a place or the promise of one
(`PROMISED`), those that hold room now (`HOLDING`).  A gang with too few members is refused before anything else
(`lacking`); the rest is asked while it is placed, bound, disturbed and reported on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from podium.core.model.attributes import MINIMUM_FIELD, TOGETHER_FIELD
from podium.core.model.model import HOLDING, PLACED, READY, Gang, MatchPolicy, State, SubGroupPolicy, Task
from podium.core.model.subgroups import SubGroup, subgroups_of
from podium.numbers import MOST_PARTNERS
from podium.reasons import GROUP_INCOMPLETE, TOO_FEW, TOO_FEW_GROUPS, TOO_FEW_OF_ROLE, Refusal, refuse

PROMISED = READY | {State.PIPELINED}
_BOUND = READY - {State.RESERVED}  # a place that is only reserved is not bound
_ONLY_WAITING = frozenset({State.ALLOCATED, State.RESERVED, State.PIPELINED})
# Members that exist and may still come to a place.
_EXISTING = frozenset(State) - {State.RELEASING, State.FAILED, State.UNKNOWN}

States = Collection[State]
Groups = Sequence[SubGroup]


# --- whether the minimum holds -----------------------------------------------------------------------------------


def released(gang: Gang) -> bool:
    """Whether it was satisfied once and its minimum holds no longer: its members are placed one by one."""
    return gang.satisfied_once and gang.match is MatchPolicy.ONCE_SATISFIED


def counts_waiting_only(gang: Gang) -> bool:
    """Whether members that are bound count no longer: as many as it needs must find places at one time.

    Those count with whom one that waits still was to be bound.
    """
    return gang.match is MatchPolicy.ONLY_WAITING


def counted(gang: Gang, placed: int) -> int:
    """Of so many members with a place, bound ones among them, those that count."""
    if not counts_waiting_only(gang):
        return placed
    return placed - gang.count(READY - _ONLY_WAITING) + gang.bound_in_part


# --- enough members ----------------------------------------------------------------------------------------------


def lacking(gang: Gang, groups: Groups | None = None) -> Refusal | None:
    """Why a gang cannot start, whatever the room: it has too few members."""
    if released(gang):
        return None
    for role, least in _by_role(gang).items():
        have = gang.count_role(role, _EXISTING)
        if have < least:
            return refuse(TOO_FEW_OF_ROLE, role=role, need=least, have=have)
    for policy in gang.policies:
        have = sum(each.policy is policy for each in _groups(gang, groups))
        if have < policy.minimum:
            return refuse(TOO_FEW_GROUPS, policy=policy.name, need=policy.minimum, have=have)
    have = gang.count(_EXISTING)
    if have < gang.minimum:
        return too_few(gang, have)
    return None


def too_few(gang: Gang, have: int) -> Refusal:
    """Why a gang cannot start that has only so many members, or places."""
    return refuse(TOO_FEW, need=gang.minimum, have=have, field=gang.attributes.get(MINIMUM_FIELD, ""))


def is_gang(gang: Gang) -> bool:
    """Whether it takes more than one task to start it."""
    return gang.minimum > 1 or bool(gang.together)


def awaits_members(gang: Gang) -> bool:
    """Whether members are yet to be created: its controller does that when the gang has been let in."""
    return len(gang.tasks) < gang.minimum


# --- enough places -----------------------------------------------------------------------------------------------


def missing(gang: Gang, states: States = READY, also: Collection[Task] = ()) -> int:
    """How many members it lacks, in all or in the role that lacks most; zero or less when it has enough.

    Tasks in `also` count as well, whatever their state: what would be if they had their places.
    """
    if gang.match is not MatchPolicy.WAITING_AND_RUNNING:
        if released(gang):
            return 0
        if counts_waiting_only(gang):
            return _lacks(gang, frozenset(states) & _ONLY_WAITING, also) - gang.bound_in_part
    return _lacks(gang, states, also)


def starving(gang: Gang) -> bool:
    """Whether it lacks members with a place or the promise of one.

    Here who asks for no room counts as lacking, too: where a node takes no more pods, others have to go for it.
    """
    if released(gang):
        return gang.counts[State.PENDING] > 0
    if gang.minimum > gang.count(PROMISED):
        return True
    return any(gang.count_role(role, PROMISED) < least for role, least in _by_role(gang).items())


def satisfied(gang: Gang, states: States = READY, groups: Groups | None = None) -> bool:
    """Whether it has enough members in these states: in all, by role, and in whole sub-groups."""
    return missing(gang, states) <= 0 and _enough_groups(gang, states, groups)


def to_place(gang: Gang, states: States = READY) -> int:
    """How many tasks must find places together: what it lacks, or one more when it has started."""
    return max(1, missing(gang, states))


def started(gang: Gang) -> bool:
    """Whether some of it, and enough, has places."""
    return gang.ready > 0 and (missing(gang) <= 0 or bound_enough(gang))


def bound_enough(gang: Gang) -> bool:
    """Whether enough members are bound, or being bound, or need not be any longer."""
    return released(gang) or (_lacks(gang, _BOUND) <= 0 and _enough_groups(gang, _BOUND, None))


def yet_to_start(gang: Gang) -> bool:
    """Whether it waits for more than single places: fewer are bound than it needs, or those do not count."""
    if not bound_enough(gang):
        return True
    return counts_waiting_only(gang) and bool(gang.counts[State.PENDING] or gang.counts[State.RESERVED])


def may_fill_slots(gang: Gang) -> bool:
    """Whether pods have come for places that were found before them, and it still has enough places."""
    if not gang.counts[State.RESERVED] or gang.together or not satisfied(gang):
        return False
    return any(fills_slot(task) for task in gang.tasks.values())


def fills_slot(task: Task) -> bool:
    return task.state is State.RESERVED and task.has_pod and bool(task.slot)


def reaches(gang: Gang, count: int) -> bool:
    """Whether so many members are enough in all, of whatever role."""
    return count >= gang.minimum


# --- gangs that start together -----------------------------------------------------------------------------------

Find = Callable[[str], Gang | None]


def partners(gang: Gang) -> Iterable[str]:
    """The gangs for which it waits, by id: nobody, when its minimum holds no longer."""
    return () if released(gang) else (id for id in gang.together if id != gang.id)


def unsatisfied_partners(gang: Gang, find: Find, states: States = READY, *, most: int | None = None) -> list[str]:
    """The gangs for which it waits and that are not there, or have not enough yet, by id; `most`: of so many."""
    found = ((id, find(id)) for id in islice(partners(gang), most))
    return [id for id, other in found if other is None or not satisfied(other, states)]


def incomplete(gang: Gang, awaited: Sequence[str], find: Find) -> Refusal:
    """Why a gang that has enough cannot start: those that it starts with have not."""
    unknown = frozenset(id for id in awaited if find(id) is None)
    field = gang.attributes.get(TOGETHER_FIELD, "")
    first = (find(id) for id in awaited[:MOST_PARTNERS])
    standing = tuple(
        (len(each.tasks), each.ready, each.minimum) if each is not None else (0, 0, 0) for each in first
    )
    return refuse(GROUP_INCOMPLETE, awaited=tuple(awaited), unknown=unknown, field=field, standing=standing)


def components(tied: Iterable[Gang], find: Find) -> Iterator[list[Gang]]:
    """The connected components of gangs that name others: who is placed, ordered and given back together.

    Whom a gang waits for is its own list.  A gang of the same namespace that another one names belongs to it,
    whether it names that one or not; one of another namespace only if it names that one, too.  Anybody may write
    any name, and must not hold up strangers by it, nor make them give back what they have.  Thousands may be tied
    to each other.
    """
    names: dict[str, str] = {}  # towards the first gang of a component
    lists: dict[str, frozenset[str]] = {}  # of those that are named from another namespace

    def belongs(other: Gang, gang: Gang) -> bool:
        if other.namespace == gang.namespace:
            return True
        if other.id not in lists:
            lists[other.id] = frozenset(other.together)
        return gang.id in lists[other.id]

    def first(id: str) -> str:
        while (above := names.setdefault(id, id)) != id:
            names[id] = names[above]
            id = above
        return id

    members: dict[str, Gang] = {}
    for gang in tied:
        members[gang.id] = gang
        for id in gang.together:
            other = find(id)
            if other is not None and belongs(other, gang):
                members[id] = other
                names[first(id)] = first(gang.id)
    found: dict[str, list[Gang]] = {}
    for id, gang in members.items():
        found.setdefault(first(id), []).append(gang)
    yield from found.values()


def component(gang: Gang, tied: Iterable[Gang], find: Find) -> list[Gang]:
    """The component of one gang among those that are tied to others."""
    return next((group for group in components(tied, find) if gang in group), [gang])


Order = tuple[int, int, float, str]


def order_of(group: Iterable[Gang]) -> Order:
    """The place of a component in the one order of all: by priority, then by age, then by name."""
    gangs = list(group)
    return (
        -max(gang.priority for gang in gangs),
        -max(gang.sub_priority for gang in gangs),
        min(gang.created for gang in gangs),
        min(gang.id for gang in gangs),
    )


# --- bound in part -----------------------------------------------------------------------------------------------


def partially_bound(gang: Gang) -> bool:
    """Whether some members have been bound, and fewer than it needs, while others wait."""
    waits = bool(gang.counts[State.PENDING] or gang.counts[State.RESERVED])
    return waits and gang.count(PLACED) > 0 and not bound_enough(gang)


# --- what it can lose --------------------------------------------------------------------------------------------


class Spare:
    """What gangs can lose and still have enough, counted down as victims are named."""

    def __init__(self) -> None:
        self._in_all: dict[str, int] = {}
        self._in_role: dict[tuple[str, str], int] = {}
        self._groups: dict[str, _GroupSpare] = {}

    def take(self, task: Task) -> bool:
        """Whether one more task of its gang can go; if so, it counts as gone."""
        gang = task.gang
        if gang.as_one:
            return False
        in_all = self._in_all.get(gang.id)
        if in_all is None:
            in_all = self._in_all[gang.id] = gang.ready - gang.minimum
            for role, least in _by_role(gang).items():
                self._in_role[gang.id, role] = gang.count_role(role, HOLDING) - least
            if gang.policies:
                self._groups[gang.id] = _GroupSpare(subgroups_of(gang))
        in_role = self._in_role.get((gang.id, task.role))
        groups = self._groups.get(gang.id)
        if in_all <= 0 or (in_role is not None and in_role <= 0) or (groups is not None and not groups.take(task)):
            return False
        self._in_all[gang.id] = in_all - 1
        if in_role is not None:
            self._in_role[gang.id, task.role] = in_role - 1
        return True


class _GroupSpare:
    """The same for the sub-groups of one gang: a group that is needed stays whole."""

    def __init__(self, groups: Groups) -> None:
        self._group_of = {task.id: group for group in groups for task in group.tasks}
        self._beyond = {group.id: -group.missing() for group in groups}
        self._whole: dict[SubGroupPolicy, int] = {}
        for group in groups:
            if group.policy is not None and self._beyond[group.id] >= 0:
                self._whole[group.policy] = self._whole.get(group.policy, 0) + 1

    def take(self, task: Task) -> bool:
        group = self._group_of[task.id]
        policy, beyond = group.policy, self._beyond[group.id]
        if policy is not None and beyond == 0:
            if self._whole[policy] <= policy.minimum:
                return False
            self._whole[policy] -= 1
        self._beyond[group.id] = beyond - 1
        return True


def beyond_minimum(tasks: Iterable[Task]) -> list[Task]:
    """Of some tasks, first first, those that their gangs can lose."""
    spare = Spare()
    return [task for task in tasks if spare.take(task)]


# --- parts -------------------------------------------------------------------------------------------------------


def _lacks(gang: Gang, states: States, also: Collection[Task] = ()) -> int:
    """How many members in these states it lacks, whatever its match policy."""
    have = gang.ready if states is READY else gang.count(states)  # the first is asked far more often
    lacks = gang.minimum - have - gang.pending_best_effort - len(also)
    for role, least in _by_role(gang).items():
        extra = sum(1 for task in also if task.role == role) if also else 0
        lacks = max(lacks, least - gang.count_role(role, states) - gang.role_best_effort[role] - extra)
    return lacks


_NO_ROLES: dict[str, int] = {}


def _by_role(gang: Gang) -> dict[str, int]:
    """The minimums by role, where they bind: not when the minimum in all is below their sum."""
    roles = gang.minimum_by_role
    return roles if roles and gang.minimum >= sum(roles.values()) else _NO_ROLES


def _groups(gang: Gang, known: Groups | None) -> Groups:
    return subgroups_of(gang) if known is None else known


def _enough_groups(gang: Gang, states: States, known: Groups | None) -> bool:
    """Whether enough sub-groups of each policy are whole."""
    if not gang.policies or not any(policy.minimum for policy in gang.policies):
        return True
    groups = _groups(gang, known)
    return all(
        sum(each.policy is policy and each.missing(states) <= 0 for each in groups) >= policy.minimum
        for policy in gang.policies
        if policy.minimum
    )
