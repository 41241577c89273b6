"""The queue of a gang whose own API has none: the one that its object or the templates of its pods name, else the
one that its members name, else the one that their scheduler has for pods that name none.

Where members name different ones, the oldest member's counts, and of equally old ones that of the first name: a
member that comes later does not move the gang.
"""

from __future__ import annotations

import msgspec

from podium.core.model.facts import TaskFacts


class _Naming(msgspec.Struct, frozen=True, order=True):
    """What one member names."""

    usual: bool  # it names none: this is its scheduler's for such pods
    created: float
    name: str
    queue: str


class NamedQueues:
    """Who names which queue."""

    def __init__(self) -> None:
        self._objects: dict[str, str] = {}  # by gang, of those whose API has no queues: what its object names
        self._members: dict[str, dict[str, _Naming]] = {}  # by gang and task
        self._gangs: dict[str, str] = {}  # by task: the gang that it names a queue for

    def put_group(self, gang: str, named: str) -> str:
        """Takes what the object of a gang names ("" for nothing): the queue that the gang is in."""
        self._objects[gang] = named
        return self._of(gang)

    def drop_group(self, gang: str) -> None:
        self._objects.pop(gang, None)

    def put_member(self, task: TaskFacts, queue: str, usual: str = "") -> None:
        """Takes what a member names ("" for nothing), and the queue of those of its scheduler that name none."""
        if not queue and not usual:
            self.drop_member(task.id)
            return
        if self._gangs.get(task.id) != task.gang:
            self.drop_member(task.id)
        self._gangs[task.id] = task.gang
        self._members.setdefault(task.gang, {})[task.id] = _Naming(
            not queue, task.created, task.name, queue or usual
        )

    def drop_member(self, task: str) -> None:
        gang = self._gangs.pop(task, None)
        if gang is not None:
            del self._members[gang][task]
            if not self._members[gang]:
                del self._members[gang]

    def of(self, gang: str) -> str | None:
        """The queue of a gang; None if that is not for its object and members to name."""
        return self._of(gang) if gang in self._objects else None

    def _of(self, gang: str) -> str:
        named = self._objects[gang]
        if named:
            return named
        members = self._members.get(gang)
        return min(members.values()).queue if members else ""
