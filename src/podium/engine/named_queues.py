"""The queue of a gang whose own API has none: the one that its object or the templates of its pods name, else the
one that its members name, else the one that their scheduler has for pods that name none.

A gang whose API has queues, and that names none of them, is in the usual one of its API, unless somebody names one
that goes before that.

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
    over: bool  # it goes before the usual queue of the gang's API


_NOBODY = _Naming(True, 0.0, "", "", False)


class NamedQueues:
    """Who names which queue."""

    def __init__(self) -> None:
        # By gang, of those that may be in any queue: what its object names, and where it is if nobody names any.
        self._objects: dict[str, tuple[str, str]] = {}
        self._members: dict[str, dict[str, _Naming]] = {}  # by gang and task
        self._gangs: dict[str, str] = {}  # by task: the gang that it names a queue for

    def put_group(self, gang: str, named: str, usual: str = "") -> str:
        """Takes what the object of a gang names ("" for nothing), and the usual queue of its API: the queue that
        the gang is in."""
        self._objects[gang] = named, usual
        return self._of(gang)

    def drop_group(self, gang: str) -> None:
        self._objects.pop(gang, None)

    def put_member(self, task: TaskFacts, queue: str, usual: str = "", *, over: bool = False) -> None:
        """Takes what a member names ("" for nothing), and the queue of those of its scheduler that name none."""
        if not queue and not usual:
            self.drop_member(task.id)
            return
        if self._gangs.get(task.id) != task.gang:
            self.drop_member(task.id)
        self._gangs[task.id] = task.gang
        self._members.setdefault(task.gang, {})[task.id] = _Naming(
            not queue, task.created, task.name, queue or usual, over
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

    def of_stranger(self, gang: str) -> str:
        """The queue of a gang that is not there: what goes before any that its API may have, or else what its
        members name; "" for none."""
        members = self._members.get(gang, {}).values()
        return min(members, key=lambda each: (not each.over, each), default=_NOBODY).queue

    def _of(self, gang: str) -> str:
        named, usual = self._objects[gang]
        if named:
            return named
        members = self._members.get(gang, {}).values()
        return min((each for each in members if each.over or not usual), default=_NOBODY).queue or usual
