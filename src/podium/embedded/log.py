"""The durable log: SQLite in WAL mode behind one writer thread with group commit.

Writes are queued by the loop and committed in batches; an answer to a client waits for its batch, so an
acknowledged write survives kill -9.  The table holds the current state of every object, so a start reads it once
and replays nothing.

Order is the safety argument: batches are committed in the order of the writes, so whatever a client did because
of something it saw is never durable before the thing it saw.  Versions that were handed out but not yet durable
at a crash are never used again: a start skips `VERSION_GAP`, and every watch from before it must list anew.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from podium.embedded.store import Record, Store
from podium.errors import StorageError
from podium.kube.resources import Resource

APPLICATION_ID = 0x706F6469  # "podi": tells our file from any other SQLite database
SCHEMA_VERSION = 1
VERSION_GAP = 100_000

# One statement for many rows: each step of a statement gives up the interpreter's lock and has to win it back
# from a busy loop, so a batch must be a handful of steps and not a row each.
_ROWS_A_STATEMENT = 128

# Commits begin at least so far apart: two threads have to wake up for each, and a stream of single writes would
# have that done for every one of them.  A write after a pause is committed at once.
GATHER_SECONDS = 0.004

_SCHEMA = f"""
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE resources (id INTEGER PRIMARY KEY, resource BLOB NOT NULL);
CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    resource INTEGER NOT NULL,
    data BLOB NOT NULL
);
INSERT INTO meta VALUES ('version', 1);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


class _Head(msgspec.Struct, rename="camel", gc=False):
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

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure: StorageError | None = None
        self.on_failure: Callable[[StorageError], None] | None = None  # told once, on the loop
        self.commits = 0
        self.commit_seconds = 0.0
        self._connection = _open(path)
        self._resource_ids: dict[Resource, int] = {}
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
        try:
            store = self._restore()
        except (sqlite3.DatabaseError, msgspec.MsgspecError) as error:
            self._connection.close()
            raise _damaged(self.path, error) from error
        self._thread.start()
        return store

    def _restore(self) -> Store:
        version = self._connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0]
        first = version if version == 1 else version + VERSION_GAP
        store = Store(self, first_version=first)
        by_id: dict[int, Resource] = {}
        for number, encoded in self._connection.execute("SELECT id, resource FROM resources"):
            by_id[number] = msgspec.json.decode(encoded, type=Resource)
            self._resource_ids[by_id[number]] = number
        decode = msgspec.json.Decoder(_Head).decode
        for number, resource, data in self._connection.execute("SELECT id, resource, data FROM objects"):
            meta = decode(data).metadata
            record = Record(
                number, meta.namespace, meta.name, meta.uid, int(meta.resource_version), meta.labels, data
            )
            store.restore(by_id[resource], record)
        return store

    # --- the loop's side -----------------------------------------------------------------------------------

    def append(self, resource: Resource, record: Record, deleted: bool) -> int:
        self._queue.append((resource, record, deleted))
        self._last += 1
        if not self._work.is_set():  # setting takes a lock, and a burst needs it once
            self._work.set()
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
        # The writer tells its progress first and looks for a loop afterwards; here it is the other way round, so
        # one of the two always sees the other.
        self._committed()
        await future

    def close(self) -> None:
        """Commits what is queued and folds the WAL back into the file."""
        self._closing = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.failure is None:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _committed(self) -> None:
        """Wakes those whose entries are on the disk, or all if nothing will get there any more."""
        waiting, durable, failure = self._waiting, self._durable, self.failure
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
        written = 0
        began = -GATHER_SECONDS
        while True:
            self._work.wait()
            time.sleep(max(0.0, began + GATHER_SECONDS - time.perf_counter()))
            self._work.clear()
            closing = self._closing
            batch = [self._queue.popleft() for _ in range(len(self._queue))]
            if batch:
                began = time.perf_counter()
                try:
                    self._commit(batch)
                    written += len(batch)
                except sqlite3.Error as error:
                    self.failure = StorageError(f"{self.path} cannot be written: {error}")
                self.commits += 1
                self.commit_seconds += time.perf_counter() - began
                self._durable = written
                if self._loop is not None:
                    with suppress(RuntimeError):  # the loop is closed: its waiters are gone with it
                        self._loop.call_soon_threadsafe(self._committed)
                if self.failure is not None:
                    return
            if closing and not self._queue:
                return

    def _commit(self, batch: list[tuple[Resource, Record, bool]]) -> None:
        last: dict[int, tuple[int, int, bytes] | None] = {}  # within a batch only an object's last state counts
        connection = self._connection
        connection.execute("BEGIN")
        for resource, record, deleted in batch:
            number = self._resource_ids.get(resource) or self._add_resource(resource)
            last[record.id] = None if deleted else (record.id, number, record.data)
        rows = [row for row in last.values() if row is not None]
        for start in range(0, len(rows), _ROWS_A_STATEMENT):
            chunk = rows[start : start + _ROWS_A_STATEMENT]
            marks = ",".join(["(?,?,?)"] * len(chunk))
            values = [value for row in chunk for value in row]
            connection.execute(f"INSERT OR REPLACE INTO objects VALUES {marks}", values)
        gone = [number for number, row in last.items() if row is None]
        for start in range(0, len(gone), _ROWS_A_STATEMENT):
            part = gone[start : start + _ROWS_A_STATEMENT]
            connection.execute(f"DELETE FROM objects WHERE id IN ({','.join('?' * len(part))})", part)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (batch[-1][1].version,))
        connection.execute("COMMIT")

    def _add_resource(self, resource: Resource) -> int:
        number = len(self._resource_ids) + 1
        encoded = msgspec.json.encode(resource)
        self._connection.execute("INSERT INTO resources VALUES (?, ?)", (number, encoded))
        self._resource_ids[resource] = number
        return number


def _damaged(path: Path, error: object) -> StorageError:
    return StorageError(
        f"{path} is damaged ({error}); nothing was changed: restore a copy of it or choose another --data-dir"
    )


def _open(path: Path) -> sqlite3.Connection:
    """Opens the file for writing, after a look at it that changes nothing."""
    if path.exists() and path.stat().st_size > 0:
        _inspect(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA busy_timeout = 5000")
    if not list(_tables(connection)):
        connection.executescript(_SCHEMA)
    return connection


def _inspect(path: Path) -> None:
    """Refuses what is not ours, not whole, or from a newer podium."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = list(_tables(connection))
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    if tables and application != APPLICATION_ID:
        raise StorageError(f"{path} is not a podium database; choose another --data-dir")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer podium (schema {version}, this one knows {SCHEMA_VERSION}); "
            "nothing was changed: use that version, or choose another --data-dir"
        )
    if verdict != "ok":
        raise _damaged(path, verdict.splitlines()[-1])


def _tables(connection: sqlite3.Connection) -> Iterator[str]:
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        yield name
