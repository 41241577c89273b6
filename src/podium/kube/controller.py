"""The shape of every controller: a pure function from what is observed to what should be written.

    reconcile(key, cache, now) -> Outcome(changes, again_at)

Which keys to look at, and what becomes of the changes, is the business of `kube.manager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

import msgspec

from podium.errors import ApiError
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change
from podium.kube.events import NORMAL
from podium.kube.resources import Resource
from podium.kube.wire import Object


class Note(msgspec.Struct, frozen=True):
    """A sentence for the users of an object, an Event once the outcome's changes have been made."""

    resource: Resource
    about: Object
    reason: str
    message: str
    type: str = NORMAL


class Outcome(msgspec.Struct, frozen=True):
    """What a reconcile() wants: writes in order, when to be asked again without an event, and what to report."""

    changes: tuple[Change, ...] = ()
    again_at: float | None = None
    notes: tuple[Note, ...] = ()
    rest: float = 0.0  # seconds in which events cause no further look: for keys that are costly to look at


NOTHING = Outcome()

# From an observed object to the keys of the controller's own objects that it may concern.
Mapper = Callable[[Object, Cache], Iterable[Key]]


class Controller(Protocol):
    """One controller.  `watches` says which objects concern which keys."""

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> Mapping[Resource, Mapper]: ...

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome: ...


@runtime_checkable
class Universal(Controller, Protocol):
    """A controller of every resource that the server has, like garbage collection.

    Its `watches` grow and shrink with what is served.  It does not rest until all of them have been listed, as
    one broken custom resource would then stop it for all others; it must ask `cache.synced` itself.
    """

    def serve(self, resource: Resource) -> None: ...

    def withdraw(self, resource: Resource) -> None: ...


@runtime_checkable
class Complaining(Controller, Protocol):
    """A controller that reports to users what a server refuses: they cannot read its log."""

    def refused(self, key: Key, change: Change, error: ApiError, cache: Cache) -> Note | None: ...


@runtime_checkable
class Paced(Controller, Protocol):
    """A controller that writes for people to read: so many changes a second, over all its keys, and no more.

    Whoever waits for a server is then not kept waiting by a thousand of these.  A look for which there is nothing
    to write is free.
    """

    @property
    def writes_a_second(self) -> float: ...


class Ticket(msgspec.Struct, frozen=True):
    """A change handed out to the driver, with the key to report its result under.

    Events for users have no controller: whatever becomes of them, nobody waits for it.
    """

    purpose: str
    key: Key
    change: Change
