"""The objects, in memory: the truth for reads.  Every write gets the next version and goes to the log.

An object is kept as its whole encoded document.  It is decoded when a write changes it or a selector looks into
it; a get, a list or a watch sends the bytes as they are.

The recent writes of each resource are kept as a history with absolute positions.  Watches read it at their own
pace (`embedded.feeds`), so a watcher costs one integer, and a page of a list can be answered as of the version
at which the list began.

A write is seen here before it is on the disk.  Whoever is in this process may act on it at once: what they write
comes later in the log.  What leaves the process must be durable: answers wait, and watches show writes up to
`Store.durable` and are woken when that moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec
from sortedcontainers import SortedDict

from podium.kube.cache import Key
from podium.kube.resources import Resource

Document = dict[str, Any]

# How much history a resource may have: in bytes that nothing else keeps, and in entries.
HISTORY_BYTES = 64 << 20
HISTORY_ENTRIES = 100_000


class Record(msgspec.Struct, gc=False):
    """One version of one object.  Never changed: a write makes a new record."""

    id: int
    namespace: str
    name: str
    uid: str
    version: int
    labels: dict[str, str] | None
    data: bytes

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    def document(self) -> Document:
        """A fresh copy that the caller may change."""
        decoded: Document = msgspec.json.decode(self.data)
        return decoded

    def outline(self) -> Document:
        """The same with nothing but type and metadata decoded: the rest is encoded, and will be as it is."""
        outline: Document = _raw_fields.decode(self.data)
        for field in ("apiVersion", "kind", "metadata"):
            outline[field] = msgspec.json.decode(outline[field])
        return outline


_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Write(msgspec.Struct, gc=False):
    """One entry of the history.  `new` of a deletion is the object's last state with the deletion's version."""

    version: int
    old: Record | None
    new: Record
    deleted: bool

    @property
    def size(self) -> int:
        """The bytes that only the history keeps: what was before, and the last state of what is gone."""
        before = 0 if self.old is None else len(self.old.data)
        return before + len(self.new.data) if self.deleted else before


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A stretch of the history as watch events.  `view` says which ones: the API version and the namespace."""

    view: tuple[str, str]
    start: int
    end: int
    data: bytes


class Log(Protocol):
    """Where writes are made durable.  `append` returns the number to wait for."""

    keeps: bool  # False: nothing will ever be on a disk, and nobody need wait for it

    def append(self, resource: Resource, record: Record, deleted: bool) -> int: ...


class Bucket:
    """The objects and the history of one resource."""

    def __init__(self) -> None:
        self.objects: SortedDict = SortedDict()  # Key -> Record
        self.history: list[Write] = []
        self.trimmed = 0  # position of history[0]
        self.oldest = 0  # watches from this version on can be served
        self.listeners: list[Callable[[], None]] = []  # called at every write
        self.outside: list[Callable[[], None]] = []  # called when writes have become durable
        self.closed = False  # the resource is no longer served
        self.passage: Passage | None = None  # what was read last: other watchers will ask for the same
        self._bytes = 0

    @property
    def end(self) -> int:
        """The position after the newest entry."""
        return self.trimmed + len(self.history)

    def remember(self, write: Write) -> None:
        self.history.append(write)
        self._bytes += write.size
        if self._bytes > HISTORY_BYTES or len(self.history) > HISTORY_ENTRIES:
            self._trim()

    def _trim(self) -> None:
        """Drops the older half: in one go, because dropping from a list's front costs its whole length."""
        count = max(0, len(self.history) - HISTORY_ENTRIES // 2)
        kept = self._bytes - sum(write.size for write in self.history[:count])
        newest = len(self.history) - 1  # stays: it has not been read yet
        while kept > HISTORY_BYTES // 2 and count < newest:
            kept -= self.history[count].size
            count += 1
        if count == 0:
            return
        self.oldest = self.history[count - 1].version
        del self.history[:count]
        self.trimmed += count
        self._bytes = kept

    def position_after(self, version: int) -> int | None:
        """Where a watch from `version` begins to read; None if that part of the history is gone."""
        if version < self.oldest:
            return None
        low, high = 0, len(self.history)
        while low < high:
            middle = (low + high) // 2
            if self.history[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return self.trimmed + low

    def as_of(self, version: int) -> dict[Key, Record | None] | None:
        """What stood differently at `version`: by key the record of then, None for not there.  None if too old."""
        position = self.position_after(version)
        if position is None:
            return None
        then: dict[Key, Record | None] = {}
        for write in self.history[position - self.trimmed :]:
            then.setdefault(write.new.key, write.old)
        return then


class Store:
    """All objects of the cluster.  Not thread-safe: one loop owns it."""

    def __init__(self, log: Log, first_version: int = 1) -> None:
        self.version = first_version
        self.durable = first_version  # the newest version that is on the disk
        self.last_entry = 0  # of the log, for answers that must wait
        self._log = log
        self._next_id = 1
        self._first_version = first_version
        self._buckets: dict[Resource, Bucket] = {}
        self._unseen: set[Bucket] = set()  # have writes that are not durable yet

    def restore(self, resource: Resource, record: Record) -> None:
        """Puts an object back as the log had it."""
        self.bucket(resource).objects[record.key] = record
        self._next_id = max(self._next_id, record.id + 1)

    def bucket(self, resource: Resource) -> Bucket:
        found = self._buckets.get(resource)
        if found is None:
            found = self._buckets[resource] = Bucket()
            found.oldest = self._first_version
        return found

    def drop(self, resource: Resource) -> None:
        """Forgets a resource that is no longer served; its objects must be gone already."""
        bucket = self._buckets.pop(resource, None)
        if bucket is not None:
            bucket.closed = True
            for listener in (*bucket.listeners, *bucket.outside):
                listener()

    def buckets(self) -> Iterator[tuple[Resource, Bucket]]:
        return iter(self._buckets.items())

    def get(self, resource: Resource, namespace: str, name: str) -> Record | None:
        found: Record | None = self.bucket(resource).objects.get((namespace, name))
        return found

    def scan(self, resource: Resource, namespace: str = "", after: Key | None = None) -> Iterator[Record]:
        """Records in order of their keys, of one namespace or of all, beginning after a key."""
        objects = self.bucket(resource).objects
        low: Key = after if after is not None else (namespace, "")
        high: Key | None = (namespace, "\U0010ffff") if namespace else None
        for key in objects.irange(low, high, inclusive=(after is None, True)):
            yield objects[key]

    def put(self, resource: Resource, document: Document, old: Record | None) -> Record:
        """Writes a created or changed object.  The document gets its version and must not be used afterwards."""
        self.version += 1
        metadata = document["metadata"]
        metadata["resourceVersion"] = str(self.version)
        if old is None:
            number = self._next_id
            self._next_id += 1
        else:
            number = old.id
        record = Record(
            number,
            metadata.get("namespace", ""),
            metadata["name"],
            metadata.get("uid", ""),
            self.version,
            metadata.get("labels"),
            msgspec.json.encode(document),
        )
        bucket = self.bucket(resource)
        bucket.objects[record.key] = record
        self._tell(resource, bucket, Write(self.version, old, record, deleted=False))
        return record

    def remove(self, resource: Resource, old: Record, last: Document) -> Record:
        """Deletes an object; `last` is how it looked at the end."""
        self.version += 1
        last["metadata"]["resourceVersion"] = str(self.version)
        record = Record(
            old.id, old.namespace, old.name, old.uid, self.version, old.labels, msgspec.json.encode(last)
        )
        bucket = self.bucket(resource)
        del bucket.objects[old.key]
        self._tell(resource, bucket, Write(self.version, old, record, deleted=True))
        return record

    def _tell(self, resource: Resource, bucket: Bucket, write: Write) -> None:
        bucket.remember(write)
        self.last_entry = self._log.append(resource, write.new, write.deleted)
        for listener in bucket.listeners:
            listener()
        if not self._log.keeps:
            self.durable = self.version
            for listener in bucket.outside:
                listener()
        else:
            self._unseen.add(bucket)

    def made_durable(self, entry: int) -> None:
        """The log has brought everything up to `entry` to the disk.  Called on the loop."""
        durable = self._first_version + entry  # every write is one version and one entry
        if durable == self.durable:
            return
        self.durable = durable
        for bucket in list(self._unseen):
            if bucket.history[-1].version <= durable:
                self._unseen.discard(bucket)
            for listener in bucket.outside:
                listener()
