"""WATCH: a position in a resource's history, and what lies after it as lines of JSON.

Nothing is queued for a watcher.  `take` walks the shared history from the watcher's position and joins the stored
documents to lines; watchers without a selector who stand at the same position are given the same joined bytes.  A
watcher that falls behind the kept history gets 410 and ends.  One outside of this process is shown what is on
the disk: nobody may act on a write that a crash then takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from podium.embedded import options
from podium.embedded.reading import Filter, served_bytes, too_large
from podium.embedded.registry import Kind
from podium.embedded.store import Passage, Record, Store, Write
from podium.errors import ApiError
from podium.kube import status
from podium.kube.transport import Request

DEFAULT_TIMEOUT = 3600.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

# An event is one of these, the object, and the end.
_ADDED, _MODIFIED, _DELETED = (b'{"type":"%s","object":' % kind for kind in (b"ADDED", b"MODIFIED", b"DELETED"))
_END = b"}\n"

# From the record of an event, and whether it is the watch's first, to the encoded object that stands in it.
Render = Callable[[Record, bool], bytes]


class Watch:
    """One watch, as a Feed."""

    content_type = "application/json;stream=watch"

    def __init__(
        self,
        store: Store,
        kind: Kind,
        namespace: str,
        request: Request,
        render: Render | None = None,
    ) -> None:
        self.finished = False
        self.timeout = _timeout(request)
        self._store = store
        self._kind = kind
        self._namespace = namespace
        self._filter = Filter(kind, request.param("labelSelector"), request.param("fieldSelector"))
        self._unfiltered = self._filter.everything
        self._render = render
        self._shares = self._unfiltered and render is None
        self._view = (kind.resource.api_version, namespace)
        self._first = True
        self._bucket = store.bucket(kind.storage)
        self._bookmarks = request.flag("allowWatchBookmarks")
        self._callback: Callable[[], None] | None = None
        self._armed = False
        self._outside = False
        self._began = store.version  # durable before a carrier to the outside starts the feed
        self._initial: Iterator[Record] | None = None
        self._ends_initial = False
        self._error: ApiError | None = None
        self._position = self._start(request)

    def _start(self, request: Request) -> int:
        """Where to begin: with the current state as ADDED events, or after a version."""
        initial = request.param("sendInitialEvents")
        self._ends_initial = initial == "true"
        version = options.version(request)
        if version > self._store.version:
            raise too_large(version, self._store.version)
        if self._ends_initial or (version == 0 and initial != "false"):
            self._initial = iter(list(self._store.scan(self._kind.storage, self._namespace)))
            return self._bucket.end
        position = self._bucket.position_after(version or self._store.version)
        if position is None:
            self._error = _expired(version, self._bucket.oldest)
            return self._bucket.end
        return position

    # --- the Feed --------------------------------------------------------------------------------------------

    def hold_back(self) -> None:
        self._outside = True

    def on_ready(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._listeners.append(self._notify)
        callback()  # there may be something from the start

    def take(self, limit: int = 1 << 18) -> bytes:
        if self.finished:
            return b""
        lines: list[bytes] = []
        room = limit
        if self._error is not None:
            self._fail(lines, self._error)
        elif self._initial is not None:
            room = self._take_initial(lines, room)
        if self._initial is None and not self.finished and room > 0:
            if self._shares and not lines:
                return self._take_passage(limit)
            self._take_history(lines, room)
        return b"".join(lines)

    def bookmark(self) -> bytes:
        """A line that moves the reader's version on, when it asked for such."""
        if not self._bookmarks or self.finished or self._position < self._end():
            return b""
        return self._bookmark_line({})

    def close(self) -> None:
        self.finished = True
        if self._notify in self._listeners:
            self._listeners.remove(self._notify)

    # --- inside ----------------------------------------------------------------------------------------------

    @property
    def _listeners(self) -> list[Callable[[], None]]:
        return self._bucket.outside if self._outside else self._bucket.listeners

    def _end(self) -> int:
        """The position after the newest entry that this watcher may see."""
        bucket = self._bucket
        if not self._outside or not bucket.history or bucket.history[-1].version <= self._store.durable:
            return bucket.end
        return bucket.position_after(self._store.durable) or bucket.trimmed

    def _notify(self) -> None:
        if self._armed and self._callback is not None:
            self._armed = False
            self._callback()

    def _take_initial(self, lines: list[bytes], room: int) -> int:
        assert self._initial is not None
        for record in self._initial:
            if self._filter.admits(record):
                room -= self._tell(lines, _ADDED, record)
                if room <= 0:
                    return 0
        self._initial = None
        if self._ends_initial:
            lines.append(self._bookmark_line({INITIAL_EVENTS_END: "true"}))
        return room

    def _take_passage(self, limit: int) -> bytes:
        """What follows, as another watcher was given it just now, or else left for the others to find."""
        bucket, start, end = self._bucket, self._position, self._end()
        known = bucket.passage
        if (
            known is not None
            and known.start == start
            and known.view == self._view
            and (known.end == end or (known.end < end and len(known.data) >= limit))
            and start >= bucket.trimmed
        ):
            self._move_to(known.end)
            return known.data
        lines: list[bytes] = []
        self._take_history(lines, limit)
        data = b"".join(lines)
        if data and not self.finished:
            bucket.passage = Passage(self._view, start, self._position, data)
        return data

    def _take_history(self, lines: list[bytes], room: int) -> None:
        bucket = self._bucket
        if self._position < bucket.trimmed:
            self._fail(lines, _expired(0, bucket.oldest))
            return
        history, index, end = bucket.history, self._position - bucket.trimmed, self._end() - bucket.trimmed
        while index < end and room > 0:
            event = self._event(history[index])
            index += 1
            if event is not None:
                room -= self._tell(lines, *event)
        self._move_to(bucket.trimmed + index)

    def _move_to(self, position: int) -> None:
        self._position = position
        self._armed = position >= self._end()
        if self._armed and self._bucket.closed:
            self.finished = True

    def _event(self, write: Write) -> tuple[bytes, Record] | None:
        """How the event begins that a write is to this watcher, and the object in it; None if it is none."""
        if self._namespace and write.new.namespace != self._namespace:
            return None
        if self._unfiltered:
            return _DELETED if write.deleted else _ADDED if write.old is None else _MODIFIED, write.new
        was = write.old is not None and self._filter.admits(write.old)
        if not write.deleted and self._filter.admits(write.new):
            return _MODIFIED if was else _ADDED, write.new
        if not was:
            return None
        if write.deleted:
            return _DELETED, write.new
        # It only left the selection: the reader gets what it knew, at the version of leaving.
        assert write.old is not None
        return _DELETED, _at_version(write.old, write.version)

    def _tell(self, lines: list[bytes], begin: bytes, record: Record) -> int:
        """Adds an event's parts to those that will be joined; returns how many bytes they are."""
        if self._render is not None:
            data = self._render(record, self._first)
            self._first = False
        else:
            data = served_bytes(self._kind, record)
        lines += (begin, data, _END)
        return len(begin) + len(data) + len(_END)

    def _bookmark_line(self, annotations: dict[str, str]) -> bytes:
        version = max(self._store.durable, self._began) if self._outside else self._store.version
        metadata: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._kind.resource
        body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": body}) + b"\n"

    def _fail(self, lines: list[bytes], error: ApiError) -> None:
        lines.append(msgspec.json.encode({"type": "ERROR", "object": status.status_document(error)}) + b"\n")
        self.finished = True


def _timeout(request: Request) -> float:
    seconds = options.number(request, "timeoutSeconds")
    return float(seconds) if seconds is not None and seconds > 0 else DEFAULT_TIMEOUT


def _expired(version: int, oldest: int) -> ApiError:
    return status.gone(f"too old resource version: {version} ({oldest})")


def _at_version(record: Record, version: int) -> Record:
    document = record.document()
    document["metadata"]["resourceVersion"] = str(version)
    return Record(
        record.id,
        record.namespace,
        record.name,
        record.uid,
        version,
        record.labels,
        msgspec.json.encode(document),
    )
