"""The durable log: SQLite in WAL mode behind one writer thread with group commit.

Writes are queued by the loop and committed in batches; an answer to a client waits for its batch, so an
acknowledged write survives kill -9.  The table holds the current state of every object, so a start reads it once
and replays nothing.  What is read is checked (`embedded.commits`): a start with anything else than the state after
the last acknowledged commit is refused.

Order is the safety argument: batches are committed in the order of the writes, so whatever a client did because
of something it saw is never durable before the thing it saw.  Versions that were handed out but not yet durable
at a crash are never used again: a start skips `VERSION_GAP`, and every watch from before it must list anew.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from podium.embedded import log_file
from podium.embedded.commits import SYNC_SECONDS, CommitRecord, Head, resource_checksum, row_checksum
from podium.embedded.store import Record, Store
from podium.errors import StorageError
from podium.kube.resources import Resource

log = logging.getLogger(__name__)

VERSION_GAP = 100_000

# One statement for many rows: each step of a statement gives up the interpreter's lock and has to win it back
# from a busy loop, so a batch must be a handful of steps and not a row each.
_ROWS_A_STATEMENT = 128
_VALUES_A_STATEMENT = 4 * _ROWS_A_STATEMENT

# Commits begin at least so far apart: two threads have to wake up for each, and a stream of single writes would
# have that done for every one of them.  A write after a pause is committed at once.
GATHER_SECONDS = 0.004


class _Outline(msgspec.Struct, rename="camel", gc=False):
    """What a record needs from a stored document."""

    class Metadata(msgspec.Struct, rename="camel", gc=False):
        name: str
        namespace: str = ""
        uid: str = ""
        resource_version: str = "0"
        labels: dict[str, str] | None = None

    metadata: Metadata


class MemoryLog:
    """A log that forgets: for `--in-memory`, tests and the simulator."""

    failure: StorageError | None = None
    on_failure: Callable[[StorageError], None] | None = None
    commits = 0
    commit_seconds = 0.0
    last = 0
    keeps = False

    def append(self, resource: Resource, record: Record, deleted: bool) -> int:
        return 0

    def is_durable(self, entry: int) -> bool:
        return True

    async def wait(self, entry: int) -> None:
        return

    def close(self) -> None:
        return


class SqliteLog:
    """The log in a file.  `append` and `wait` belong to the loop, `_write` to the writer thread."""

    keeps = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure: StorageError | None = None
        self.on_failure: Callable[[StorageError], None] | None = None  # called once, on the loop
        self.commits = 0
        self.commit_seconds = 0.0
        log_file.inspect(path)
        self._record = CommitRecord(path)
        self._connection: sqlite3.Connection | None = None
        self._head = Head()
        self._checksums: dict[int, int] = {}  # of the rows as they are stored, by their numbers
        self._resource_ids: dict[Resource, int] = {}
        self._on_durable: Callable[[int], None] = lambda entry: None
        self._last = 0
        self._durable = 0
        self._queue: deque[tuple[Resource, Record, bool]] = deque()
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._work = threading.Event()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write, name="podium-log", daemon=True)

    def restore(self) -> Store:
        """Reads the whole state back and starts the writer."""
        contents = log_file.read(self.path, self._record)
        store = self._restore(contents)
        self._head = contents.head
        self._resource_ids = contents.resources
        self._checksums = {row.number: row.checksum for row in contents.rows}
        self._connection = log_file.open_for_writing(self.path, contents)
        try:
            self._record.open(self._head)
        except OSError as error:
            self._connection.close()
            raise StorageError(f"{self._record.path} cannot be written: {error.strerror}") from error
        self._on_durable = store.made_durable
        with suppress(RuntimeError):  # without a loop there are no watches to wake either
            self._loop = asyncio.get_running_loop()
        self._thread.start()
        return store

    def _restore(self, contents: log_file.Contents) -> Store:
        version = contents.head.version
        first = version if version == 1 else version + VERSION_GAP
        store = Store(self, first_version=first)
        decode = msgspec.json.Decoder(_Outline).decode
        try:
            for row in contents.rows:
                meta = decode(row.data).metadata
                version = int(meta.resource_version)
                record = Record(row.number, meta.namespace, meta.name, meta.uid, version, meta.labels, row.data)
                store.restore(row.resource, record)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise log_file.damaged(self.path, error) from error
        return store

    # --- the loop's side -----------------------------------------------------------------------------------

    def append(self, resource: Resource, record: Record, deleted: bool) -> int:
        self._queue.append((resource, record, deleted))
        self._last += 1
        if not self._work.is_set():  # setting takes a lock, and a burst needs it once
            self._work.set()
        return self._last

    @property
    def last(self) -> int:
        return self._last

    def is_durable(self, entry: int) -> bool:
        return entry <= self._durable

    async def wait(self, entry: int) -> None:
        """Returns when entry `entry` and all before it are on the disk."""
        if entry <= self._durable:
            return
        self._loop = loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((entry, future))
        # The writer notes its progress first and looks for a loop afterwards; here it is the other way round, so
        # one of the two always sees the other.
        self._committed()
        await future

    def close(self) -> None:
        """Commits what is queued and folds the WAL back into the file."""
        self._closing = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._connection is None:
            return
        try:
            if self.failure is None:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._record.sync()
            self._connection.close()
        except (sqlite3.Error, OSError) as error:
            # Nothing is lost: what was acknowledged is in the WAL, and the next start reads it there.
            log.warning("%s could not be put in order at the end: %s", self.path, error)
        finally:
            self._record.close()

    def _committed(self) -> None:
        """Wakes those whose entries are on the disk, or all if nothing will get there any more."""
        waiting, durable, failure = self._waiting, self._durable, self.failure
        self._on_durable(durable)
        while waiting and (waiting[0][0] <= durable or failure is not None):
            entry, future = waiting.popleft()
            if future.done():
                continue
            if entry <= durable or failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)
        if failure is not None and self.on_failure is not None:
            self.on_failure(failure)
            self.on_failure = None

    # --- the writer's side ---------------------------------------------------------------------------------

    def _write(self) -> None:
        """Whatever goes wrong here ends the log; who waits for it gets the error, and nobody waits for ever."""
        try:
            self._write_batches()
        except Exception as error:
            if not isinstance(error, sqlite3.Error | OSError):
                log.exception("the log's writer failed")
            self.failure = StorageError(f"{self.path} cannot be written: {str(error) or type(error).__name__}")
            self._announce()

    def _write_batches(self) -> None:
        began = -GATHER_SECONDS
        while True:
            if not self._work.wait(SYNC_SECONDS if self._record.dirty else None):
                self._record.sync()
                continue
            time.sleep(max(0.0, began + GATHER_SECONDS - time.perf_counter()))
            self._work.clear()
            closing = self._closing
            batch = [self._queue.popleft() for _ in range(len(self._queue))]
            if batch:
                began = time.perf_counter()
                self._commit(batch)
                self.commits += 1
                self.commit_seconds += time.perf_counter() - began
                self._durable += len(batch)
                self._announce()
            if closing and not self._queue:
                return

    def _announce(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: its waiters are gone with it
                self._loop.call_soon_threadsafe(self._committed)

    def _commit(self, batch: list[tuple[Resource, Record, bool]]) -> None:
        last: dict[int, tuple[Resource, Record] | None] = {}  # within a batch only an object's last state counts
        for resource, record, deleted in batch:
            last[record.id] = None if deleted else (resource, record)
        connection, checksums = self._connection, self._checksums
        assert connection is not None
        connection.execute("BEGIN")
        digest = self._head.digest
        values: list[int | bytes] = []
        gone: list[int] = []
        for number, state in last.items():
            digest -= checksums.pop(number, 0)
            if state is None:
                gone.append(number)
                continue
            resource, record = state
            kind = self._resource_ids.get(resource)
            if kind is None:
                kind, added = self._add_resource(connection, resource)
                digest += added
            checksums[number] = checksum = row_checksum(number, kind, record.data)
            digest += checksum
            values += (number, kind, record.data, checksum)
        for start in range(0, len(values), _VALUES_A_STATEMENT):
            chunk = values[start : start + _VALUES_A_STATEMENT]
            marks = ",".join(["(?,?,?,?)"] * (len(chunk) // 4))
            connection.execute(f"INSERT OR REPLACE INTO objects VALUES {marks}", chunk)
        for start in range(0, len(gone), _ROWS_A_STATEMENT):
            part = gone[start : start + _ROWS_A_STATEMENT]
            connection.execute(f"DELETE FROM objects WHERE id IN ({','.join('?' * len(part))})", part)
        head = self._head.next(batch[-1][1].version, digest)
        connection.execute(
            "UPDATE head SET commits = ?, version = ?, digest = ?, before = ?, chain = ? WHERE id = 0",
            msgspec.structs.astuple(head),
        )
        connection.execute("COMMIT")
        self._record.write(head)
        self._head = head

    def _add_resource(self, connection: sqlite3.Connection, resource: Resource) -> tuple[int, int]:
        """The number and the checksum of a resource that comes for the first time."""
        number = max(self._resource_ids.values(), default=0) + 1
        encoded = msgspec.json.encode(resource)
        checksum = resource_checksum(number, encoded)
        connection.execute("INSERT INTO resources VALUES (?, ?, ?)", (number, encoded, checksum))
        self._resource_ids[resource] = number
        return number, checksum
