"""What an API family is to the rest of podium: its kinds, its marks on pods, and its words to and from the core.

Whoever runs the scheduler knows families only through this.  A family without kinds of its own (plain Kubernetes)
leaves most of it empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from podium.core.facts import GangFacts
from podium.core.model import Gang, Queue
from podium.dialects.kubernetes.membership import Marks
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.admission import Hook
from podium.kube.changes import Patch
from podium.kube.controller import Controller
from podium.kube.resources import Resource
from podium.kube.schema.crd import Definition
from podium.kube.wire import Object
from podium.reasons import Refusal

Document = dict[str, Any]


class Verdict(msgspec.Struct, frozen=True):
    """Why a gang was not placed in a turn, and which of its tasks it failed for ("" for the gang as a whole)."""

    refusal: Refusal
    task: str = ""
    repeated: bool = False  # it was told a short while ago, with other numbers


class GroupKind(msgspec.Struct, frozen=True):
    """A kind whose objects are gangs."""

    resource: Resource
    id: Callable[[str, str], str]  # from namespace and name
    read: Callable[[Any, Priorities], tuple[GangFacts, Refusal | None]]
    # The object, its gang, why it was not placed, the turn's id and the time.
    patch: Callable[[Any, Gang, Verdict | None, str, float], Patch | None]


class QueueKind(msgspec.Struct, frozen=True):
    """A kind whose objects are queues."""

    resource: Resource
    id: Callable[[str], str]
    read: Callable[[Any], tuple[Queue, tuple[Refusal, ...]]]
    patch: Callable[[Any, Mapping[str, int]], Patch | None]  # the object, and what its tasks hold


class Dialect(msgspec.Struct, frozen=True):
    """An API family."""

    name: str  # also what its ids in the core begin with
    marks: Marks | None = None
    definitions: tuple[Definition, ...] = ()
    groups: tuple[GroupKind, ...] = ()
    queues: tuple[QueueKind, ...] = ()
    hooks: tuple[Hook, ...] = ()
    objects: tuple[Document, ...] = ()  # what has to be there before anybody asks for anything
    views: Mapping[Resource, type[Object]] = {}  # of kinds that servers have without its definitions
    default_queues: Mapping[str, str] = {}  # by scheduler name: the queue of what names none
    controllers: tuple[Callable[[], Controller], ...] = ()

    def documents(self) -> list[Document]:
        """The definitions of its kinds."""
        return [definition.document() for definition in self.definitions]


def views_of(dialects: Iterable[Dialect]) -> dict[Resource, type[Object]]:
    """The structs that the kinds of some families are read through."""
    views: dict[Resource, type[Object]] = {}
    for dialect in dialects:
        views |= {definition.resource: definition.view for definition in dialect.definitions}
        views |= dialect.views
    return views
