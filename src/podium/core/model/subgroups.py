"""Groups inside a gang: members that start together, several such groups of each policy.

A policy says which members it is about (by their labels), what distinguishes its groups (the values of some
labels), how many members a group needs, and how many groups must be whole before the gang may start.  A member
belongs to the first policy that is about it; those that none is about form one group that any number of members
makes whole.

A policy's wish about the network between members is kept with it and not acted on yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.core.model.labels import all_hold
from podium.core.model.model import READY, Gang, State, SubGroupPolicy, Task


class SubGroup:
    """One group of a gang: the members that one policy is about and that have equal values of its labels."""

    def __init__(self, gang: Gang, policy: SubGroupPolicy | None, values: tuple[str, ...]) -> None:
        self.gang = gang
        self.policy = policy  # None: of those that no policy is about
        self.values = values
        self.tasks: list[Task] = []
        first = values[0] if values else ""
        self.index = int(first) if first.isdecimal() else 0  # numbered groups go in their order

    @property
    def id(self) -> str:
        name = self.policy.name if self.policy is not None else ""
        return f"{self.gang.id}/{name}-{'-'.join(self.values)}"

    @property
    def minimum(self) -> int:
        """How many members make it whole."""
        return self.policy.size if self.policy is not None else 1

    @property
    def priority(self) -> int:
        return max((task.priority for task in self.tasks), default=0)

    def missing(self, states: Iterable[State] = READY) -> int:
        """How many members in one of these states it lacks; those that ask for no room are never in the way."""
        wanted = frozenset(states)
        have = sum(
            1
            for task in self.tasks
            if task.state in wanted or (task.state is State.PENDING and task.best_effort and not task.gated)
        )
        return self.minimum - have

    def __repr__(self) -> str:
        return f"<SubGroup {self.id} of {len(self.tasks)}>"


def subgroups_of(gang: Gang) -> list[SubGroup]:
    """A gang's members by group; nothing for a gang without policies."""
    found: dict[tuple[str, tuple[str, ...]] | None, SubGroup] = {}
    if not gang.policies:
        return []
    for task in gang.tasks.values():
        policy, values = _belongs(gang, task)
        key = (policy.name, values) if policy is not None else None
        if key not in found:
            found[key] = SubGroup(gang, policy, values)
        found[key].tasks.append(task)
    return list(found.values())


def _belongs(gang: Gang, task: Task) -> tuple[SubGroupPolicy | None, tuple[str, ...]]:
    for policy in gang.policies:
        if (policy.keys or policy.selector) and all_hold(policy.selector, task.labels):
            values = tuple(task.labels.get(key, "") for key in policy.keys)
            if all(values):
                return policy, values
    return None, ()
