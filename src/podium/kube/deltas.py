"""What changed: deltas, and the mirror of a collection that yields them.

The mirror makes the difference between a new list and what was known before, so that a consumer never misses a
deletion that happened while nobody was watching.  Replaying all deltas in order gives the mirror's content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from podium.kube.cache import Key, key_of
from podium.kube.wire import Object

T = TypeVar("T", bound=Object)


class Added(msgspec.Struct, Generic[T], frozen=True):
    """An object that was not readable before: new, or seen for the first time."""

    obj: T


class Modified(msgspec.Struct, Generic[T], frozen=True):
    """A known object in a newer version."""

    obj: T
    old: T


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """An object that is gone, in its last known state; None if no version of it could be read."""

    key: Key
    obj: T | None


class Undecodable(msgspec.Struct, frozen=True):
    """An object that exists but does not fit the struct.  It takes the place of an earlier readable version."""

    key: Key
    error: str
    raw: bytes
    uid: str = ""
    version: str = ""


Delta = Added[T] | Modified[T] | Deleted[T] | Undecodable


class Mirror(Generic[T]):
    """The objects of one collection, as far as they have been seen."""

    def __init__(self) -> None:
        self._known: dict[Key, T | Undecodable] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[T]:
        """All readable objects."""
        return (each for each in self._known.values() if not isinstance(each, Undecodable))

    def get(self, key: Key) -> T | Undecodable | None:
        return self._known.get(key)

    def take(self, new: T | Undecodable) -> list[Delta[T]]:
        """An object exists in this version."""
        key = entry_key(new)
        if isinstance(new, Undecodable) and not key[1]:
            return [new]  # nameless: it can be passed on, but never found again
        old = self._known.get(key)
        if old is not None and entry_version(old) == entry_version(new) != "":
            return []
        self._known[key] = new
        if isinstance(new, Undecodable):
            return [new]
        if old is None or isinstance(old, Undecodable):
            return [Added(new)]
        if old.uid != new.uid:
            # Deleted and created again while we were not looking: two objects that share a name.
            return [Deleted(key, old), Added(new)]
        return [Modified(new, old)]

    def drop(self, gone: T | Undecodable) -> list[Delta[T]]:
        """An object was deleted; `gone` is how the server saw it last."""
        key = entry_key(gone)
        known = self._known.pop(key, None)
        if known is None:
            return []
        if isinstance(known, Undecodable):
            return [Deleted(key, None)]
        return [Deleted(key, known if isinstance(gone, Undecodable) else gone)]

    def replace(self, entries: Iterable[T | Undecodable]) -> list[Delta[T]]:
        """The whole collection as listed: what is missing has been deleted, what is the same is left out."""
        listed = {entry_key(entry): entry for entry in entries}
        deltas: list[Delta[T]] = []
        for key in [key for key in self._known if key not in listed]:
            known = self._known.pop(key)
            deltas.append(Deleted(key, None if isinstance(known, Undecodable) else known))
        for entry in listed.values():
            deltas += self.take(entry)
        return deltas


def entry_key(entry: Object | Undecodable) -> Key:
    return entry.key if isinstance(entry, Undecodable) else key_of(entry)


def entry_version(entry: Object | Undecodable) -> str:
    return entry.version if isinstance(entry, Undecodable) else entry.metadata.resource_version
