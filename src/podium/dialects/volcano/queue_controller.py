"""Queues: whether they take jobs, and how many groups they have in each phase.

A Command opens or closes a queue; it is deleted before it is obeyed, so it is obeyed at most once.  A queue that
is closed while it has groups is Closing until they have gone.  What is closed closes everything below it; opened
again, it opens those that were closed because of it and no others (an annotation remembers which).

The scheduler writes what queues hold, this controller everything else of their status: no field has two writers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from podium.dialects.volcano.names import (
    CLOSED_BY_PARENT,
    COMMANDS,
    DEFAULT_QUEUE,
    PODGROUPS,
    QUEUES,
    ROOT_QUEUE,
)
from podium.dialects.volcano.types import PHASES, Command, PodGroup, Queue
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import WARNING
from podium.kube.resources import Resource
from podium.kube.wire import Object

OPEN, CLOSED, CLOSING = "Open", "Closed", "Closing"
OPEN_QUEUE, CLOSE_QUEUE = "OpenQueue", "CloseQueue"

# Groups come and go by the hundred; a queue's counts are for people.
_REST = 1.0

Document = dict[str, Any]


def queue_document(name: str) -> Document:
    """A queue that has to be there from the start."""
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": name != ROOT_QUEUE},
    }


class QueueController:
    """Keyed by queue."""

    name = "queue"

    def __init__(self, default_queue: str = DEFAULT_QUEUE) -> None:
        self._kept = (ROOT_QUEUE, default_queue)
        self.watches: Mapping[Resource, Mapper] = {
            QUEUES: _itself_and_below,
            PODGROUPS: _queue_of_group,
            COMMANDS: _queue_of_command,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        queue = cache.find(QUEUES, Queue, key)
        if queue is None:
            missed = key[1] in self._kept
            return Outcome((Create(QUEUES, "", queue_document(key[1])),)) if missed else NOTHING
        if queue.deleting:
            return NOTHING
        counts = _counts(queue.name, cache)
        door = _Door(queue, cache)
        commands = _commands(queue.name, cache)
        for command in commands:
            door.obey(command)
        door.follow_parent()
        state = CLOSED if door.state == CLOSING and not any(counts.values()) else door.state
        changes: list[Change] = [Delete(COMMANDS, each.namespace, each.name, uid=each.uid) for each in commands]
        changes += _marks(queue, door.by_parent)
        changes += _status(queue, state, counts)
        return Outcome(tuple(changes), notes=tuple(door.notes), rest=_REST if counts else 0.0)


class _Door:
    """Whether a queue is open, as orders and the queue above it move it."""

    def __init__(self, queue: Queue, cache: Cache) -> None:
        self.state = queue.status.state or OPEN
        self.by_parent = queue.annotations.get(CLOSED_BY_PARENT) == "true"
        self.notes: list[Note] = []
        self._queue = queue
        self._parent = cache.find(QUEUES, Queue, ("", _parent(queue))) if _parent(queue) else None

    @property
    def _parent_shut(self) -> bool:
        return self._parent is not None and self._parent.status.state in (CLOSED, CLOSING)

    def obey(self, command: Command) -> None:
        if command.action == CLOSE_QUEUE and self._queue.name == ROOT_QUEUE:
            self._refuse(command, "the root of all queues cannot be closed")
        elif command.action == CLOSE_QUEUE:
            self._turn(command, self.state if self.state == CLOSED else CLOSING)
        elif command.action == OPEN_QUEUE and self._parent is not None and self._parent_shut:
            self._refuse(command, f"the queue above it, {self._parent.name}, is closed: open that one first")
        elif command.action == OPEN_QUEUE:
            self._turn(command, OPEN)
        else:
            self._refuse(command, f"a queue knows {OPEN_QUEUE} and {CLOSE_QUEUE}")

    def _turn(self, command: Command, state: str) -> None:
        if state != self.state:
            reported = f"command {command.namespace}/{command.name} says so"
            self.notes.append(Note(QUEUES, self._queue, command.action, reported))
        self.state, self.by_parent = state, False

    def follow_parent(self) -> None:
        if self._parent_shut and self.state == OPEN:
            self.state, self.by_parent = CLOSING, True
        elif self.by_parent and not self._parent_shut:
            self.state, self.by_parent = OPEN, False

    def _refuse(self, command: Command, why: str) -> None:
        message = f"command {command.namespace}/{command.name} ({command.action}) is not obeyed: {why}"
        self.notes.append(Note(QUEUES, self._queue, "CommandRefused", message, WARNING))


def _parent(queue: Queue) -> str:
    if queue.name == ROOT_QUEUE:
        return ""
    return queue.spec.parent or ROOT_QUEUE


# --- what concerns a queue -------------------------------------------------------------------------------------


def _itself_and_below(obj: Object, cache: Cache) -> Iterator[Key]:
    yield "", obj.name
    for each in cache.having(QUEUES, _above, obj.name):
        yield "", each.name


# By what objects are looked up: there may be thousands of queues, and as many groups in them.


def _above(obj: Object) -> Iterable[str]:
    return (_parent(obj),) if isinstance(obj, Queue) else ()


def _named_by_group(obj: Object) -> Iterable[str]:
    return (obj.spec.queue or DEFAULT_QUEUE,) if isinstance(obj, PodGroup) else ()


def _named_by_command(obj: Object) -> Iterable[str]:
    if isinstance(obj, Command) and obj.target is not None and obj.target.kind == QUEUES.kind:
        return (obj.target.name,)
    return ()


def _queue_of_group(obj: Object, cache: Cache) -> Iterable[Key]:
    return (("", name) for name in _named_by_group(obj))


def _queue_of_command(obj: Object, cache: Cache) -> Iterable[Key]:
    return (("", name) for name in _named_by_command(obj))


def _commands(queue: str, cache: Cache) -> list[Command]:
    """Orders to a queue, the oldest first."""
    found = [
        each
        for each in cache.having(COMMANDS, _named_by_command, queue)
        if isinstance(each, Command) and not each.deleting
    ]
    return sorted(found, key=lambda each: (each.metadata.creation_timestamp or "", each.namespace, each.name))


def _counts(queue: str, cache: Cache) -> Counter[str]:
    """A queue's groups by phase; one that the scheduler has not seen yet is pending."""
    return Counter(
        each.status.phase or PHASES[0]
        for each in cache.having(PODGROUPS, _named_by_group, queue)
        if isinstance(each, PodGroup)
    )


# --- what is written -------------------------------------------------------------------------------------------


def _marks(queue: Queue, by_parent: bool) -> list[Change]:
    """The parent that nothing was said of, and why the queue is closed."""
    patch: Document = {}
    if _parent(queue) and not queue.spec.parent:
        patch["spec"] = {"parent": ROOT_QUEUE}
    known = queue.annotations.get(CLOSED_BY_PARENT) == "true"
    if by_parent != known:
        patch["metadata"] = {"annotations": {CLOSED_BY_PARENT: "true" if by_parent else None}}
    return [Patch(QUEUES, "", queue.name, patch, uid=queue.uid)] if patch else []


def _status(queue: Queue, state: str, counts: Counter[str]) -> list[Change]:
    wanted: Document = {"state": state, **{phase.lower(): counts[phase] for phase in PHASES}}
    seen = msgspec.structs.asdict(queue.status)
    patch = {field: value for field, value in wanted.items() if seen[field] != value}
    if not patch:
        return []
    return [Patch(QUEUES, "", queue.name, {"status": patch}, subresource="status", uid=queue.uid)]
