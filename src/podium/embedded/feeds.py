"""WATCH: a position in a resource's history, and what lies after it as lines of JSON.

Nothing is queued for a watcher.  `take` walks the shared history from the watcher's position and joins lines that
were encoded once for all watchers; a watcher that falls behind the kept history is told 410 and ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from podium.embedded.conversion import is_served_form
from podium.embedded.reading import Filter, served_bytes, too_large
from podium.embedded.registry import Kind
from podium.embedded.store import Record, Store, Write
from podium.errors import ApiError
from podium.kube import status
from podium.kube.transport import Request

DEFAULT_TIMEOUT = 3600.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

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
        self._first = True
        self._bucket = store.bucket(kind.storage)
        self._bookmarks = request.flag("allowWatchBookmarks")
        self._callback: Callable[[], None] | None = None
        self._armed = False
        self._initial: Iterator[Record] | None = None
        self._ends_initial = False
        self._error: ApiError | None = None
        self._position = self._start(request)

    def _start(self, request: Request) -> int:
        """Where to begin: with the current state as ADDED events, or after a version."""
        wanted = request.param("resourceVersion")
        initial = request.param("sendInitialEvents")
        self._ends_initial = initial == "true"
        if wanted and not wanted.isdigit():
            raise status.bad_request(f'resourceVersion must be a number, not "{wanted}"')
        version = int(wanted or 0)
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

    def on_ready(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._bucket.listeners.append(self._notify)
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
            self._take_history(lines, room)
        return b"".join(lines)

    def bookmark(self) -> bytes:
        """A line that moves the reader's version on, when it asked for such."""
        if not self._bookmarks or self.finished or self._position != self._bucket.end:
            return b""
        return self._bookmark_line({})

    def close(self) -> None:
        self.finished = True
        if self._notify in self._bucket.listeners:
            self._bucket.listeners.remove(self._notify)

    # --- inside ----------------------------------------------------------------------------------------------

    def _notify(self) -> None:
        if self._armed and self._callback is not None:
            self._armed = False
            self._callback()

    def _take_initial(self, lines: list[bytes], room: int) -> int:
        assert self._initial is not None
        for record in self._initial:
            if self._filter.admits(record):
                lines.append(self._encode(b"ADDED", record))
                room -= len(lines[-1])
                if room <= 0:
                    return 0
        self._initial = None
        if self._ends_initial:
            lines.append(self._bookmark_line({INITIAL_EVENTS_END: "true"}))
        return room

    def _take_history(self, lines: list[bytes], room: int) -> None:
        bucket = self._bucket
        if self._position < bucket.trimmed:
            self._fail(lines, _expired(0, bucket.oldest))
            return
        history, index = bucket.history, self._position - bucket.trimmed
        while index < len(history) and room > 0:
            line = self._line(history[index])
            index += 1
            if line:
                lines.append(line)
                room -= len(line)
        self._position = bucket.trimmed + index
        self._armed = self._position == bucket.end
        if self._armed and bucket.closed:
            self.finished = True

    def _line(self, write: Write) -> bytes:
        """The event that a write is to this watcher; empty if it is none."""
        if self._namespace and write.new.namespace != self._namespace:
            return b""
        if self._unfiltered:
            kind = b"DELETED" if write.deleted else b"ADDED" if write.old is None else b"MODIFIED"
        else:
            was = write.old is not None and self._filter.admits(write.old)
            stays = not write.deleted and self._filter.admits(write.new)
            if stays:
                kind = b"MODIFIED" if was else b"ADDED"
            elif was:
                kind = b"DELETED"
            else:
                return b""
            if kind == b"DELETED" and not write.deleted:
                # It only left the selection: the reader gets what it knew, at the version of leaving.
                assert write.old is not None
                return self._encode(kind, _at_version(write.old, write.version))
        if self._render is not None or not is_served_form(self._kind, write.new):
            return self._encode(kind, write.new)
        if write.lines is None:
            write.lines = {}
        line = write.lines.get(kind)
        if line is None:
            line = write.lines[kind] = self._encode(kind, write.new)
        return line

    def _encode(self, kind: bytes, record: Record) -> bytes:
        if self._render is not None:
            data = self._render(record, self._first)
            self._first = False
        else:
            data = served_bytes(self._kind, record)
        return b'{"type":"%s","object":%s}\n' % (kind, data)

    def _bookmark_line(self, annotations: dict[str, str]) -> bytes:
        metadata: dict[str, object] = {"resourceVersion": str(self._store.version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._kind.resource
        body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": body}) + b"\n"

    def _fail(self, lines: list[bytes], error: ApiError) -> None:
        lines.append(msgspec.json.encode({"type": "ERROR", "object": status.status_document(error)}) + b"\n")
        self.finished = True


def _timeout(request: Request) -> float:
    text = request.param("timeoutSeconds")
    return float(text) if text.isdigit() and int(text) > 0 else DEFAULT_TIMEOUT


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
