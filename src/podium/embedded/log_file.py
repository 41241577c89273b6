"""The database file of the log: opened, read back, checked, and brought up to the current schema.

Everything is read and checked over a connection that cannot write.  Only a file that is found good is opened for
writing: opening and closing would fold the write-ahead log into it, and with that destroy what somebody might
still want to look at.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from podium.embedded.commits import CommitRecord, Head, resource_checksum, row_checksum
from podium.errors import StorageError
from podium.kube.resources import Resource

log = logging.getLogger(__name__)

APPLICATION_ID = 0x706F6469  # "podi": distinguishes our file from any other SQLite database
SCHEMA_VERSION = 2
_NEW, _WITHOUT_CHECKSUMS = 0, 1

# Pods are 2 to 4 KB: of SQLite's usual pages of 4 KB each would fill one by itself and leave half of it empty.
_PAGE = 8192

_TABLES = """
CREATE TABLE head (
    id INTEGER PRIMARY KEY,
    commits INTEGER NOT NULL,
    version INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    before INTEGER NOT NULL,
    chain INTEGER NOT NULL
);
CREATE TABLE resources (id INTEGER PRIMARY KEY, resource BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    resource INTEGER NOT NULL,
    data BLOB NOT NULL,
    checksum INTEGER NOT NULL
);
"""

# From a file of the first schema: the tables get new names while their rows are taken over.
_SET_ASIDE = """
ALTER TABLE resources RENAME TO old_resources;
ALTER TABLE objects RENAME TO old_objects;
"""
_TAKE_OVER = """
INSERT INTO resources SELECT id, resource, resource_checksum(id, resource) FROM old_resources;
INSERT INTO objects SELECT id, resource, data, row_checksum(id, resource, data) FROM old_objects;
DROP TABLE old_resources;
DROP TABLE old_objects;
DROP TABLE meta;
"""


class Row(msgspec.Struct, gc=False):
    """A stored object."""

    number: int
    resource: Resource
    data: bytes
    checksum: int


class Contents(msgspec.Struct):
    """All that a file holds, checked."""

    head: Head
    resources: dict[Resource, int]
    rows: list[Row]
    schema: int = SCHEMA_VERSION


def inspect(path: Path) -> None:
    """Refuses what is not ours, not whole, or from a newer podium."""
    if _size(path) == 0:
        return
    try:
        with closing(_read_only(path)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = _schema_version(connection)
            tables = set(_tables(connection))
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    except Exception as error:  # damaged bytes may be taken for anything
        raise damaged(path, error) from error
    if tables and application != APPLICATION_ID:
        raise StorageError(f"{path} is not a podium database; choose another --data-dir")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} was written by a newer podium (schema {version}, this one knows {SCHEMA_VERSION}); "
            "nothing was changed: use that version, or choose another --data-dir"
        )
    if verdict != "ok":
        raise damaged(path, verdict.splitlines()[-1])
    if not tables:
        raise damaged(path, "its tables are missing")


def read(path: Path, record: CommitRecord) -> Contents:
    """The state in the file; StorageError if it is damaged, or behind what was acknowledged."""
    try:
        if _size(path) > 0:
            with closing(_read_only(path)) as connection:
                contents = _contents(connection)
        else:
            if _size(path.with_name(f"{path.name}-wal")) > 0:
                raise ValueError("it is empty, and its write-ahead log is not")
            contents = Contents(Head.first(1, 0), {}, [], schema=_NEW)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    except Exception as error:  # damaged bytes may be taken for anything
        raise damaged(path, error) from error
    _compare(path, contents, record)
    return contents


def open_for_writing(path: Path, contents: Contents) -> sqlite3.Connection:
    """The connection of the writer; makes the tables, or brings an old file up to date."""
    try:
        if contents.schema == _NEW:
            _create(path, contents)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA busy_timeout = 5000")
        if contents.schema == _WITHOUT_CHECKSUMS:
            _bring_up_to_date(connection, contents)
    except OSError as error:
        raise StorageError(f"{path} cannot be made: {error.strerror}") from error
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    if contents.schema == _WITHOUT_CHECKSUMS:
        log.warning(
            "%s was written by a podium without checksums and has them from now on; "
            "whether it was damaged before is not known",
            path,
        )
    return connection


def damaged(path: Path, error: object) -> StorageError:
    why = " ".join(str(error).split())  # it may repeat a part of the file
    return StorageError(
        f"{path} is damaged ({why}); nothing was changed: restore a copy of it or choose another --data-dir"
    )


def unusable(path: Path, error: sqlite3.Error) -> StorageError:
    """The disk's fault and the file's are different sentences: only one of them asks for a copy."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY")):
        return StorageError(f"{path} cannot be used: {error} ({name}); is the disk full or read-only?")
    return damaged(path, error)


# --- inside ------------------------------------------------------------------------------------------------


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def _contents(connection: sqlite3.Connection) -> Contents:
    tables = set(_tables(connection))
    schema = _schema_version(connection)
    if (schema == _WITHOUT_CHECKSUMS) == ("head" in tables) or schema < _WITHOUT_CHECKSUMS:
        raise ValueError("its schema version does not fit its tables")
    if schema == _WITHOUT_CHECKSUMS:
        return _without_checksums(connection)
    (stored,) = connection.execute("SELECT commits, version, digest, before, chain FROM head").fetchall()
    head = Head(*stored)
    if not head.whole:
        raise ValueError("the checksum of its last commit does not match")
    resources: dict[Resource, int] = {}
    digest = 0
    for number, encoded, checksum in connection.execute("SELECT id, resource, checksum FROM resources"):
        if checksum != resource_checksum(number, encoded):
            raise ValueError(f"the checksum of resource {number} does not match")
        resources[msgspec.json.decode(encoded, type=Resource)] = number
        digest += checksum
    by_number = {number: resource for resource, number in resources.items()}
    rows: list[Row] = []
    for number, resource, data, checksum in connection.execute("SELECT id, resource, data, checksum FROM objects"):
        if checksum != row_checksum(number, resource, data):
            raise ValueError(f"the checksum of object {number} does not match")
        rows.append(Row(number, by_number[resource], data, checksum))
        digest += checksum
    if digest != head.digest:
        raise ValueError("objects are missing, or older than its last commit")
    return Contents(head, resources, rows)


def _without_checksums(connection: sqlite3.Connection) -> Contents:
    """A file of the first schema, with the checksums that it is going to have."""
    version = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0]
    numbers: dict[int, Resource] = {}
    digest = 0
    for number, encoded in connection.execute("SELECT id, resource FROM resources"):
        numbers[number] = msgspec.json.decode(encoded, type=Resource)
        digest += resource_checksum(number, encoded)
    rows: list[Row] = []
    for number, resource, data in connection.execute("SELECT id, resource, data FROM objects"):
        checksum = row_checksum(number, resource, data)
        rows.append(Row(number, numbers[resource], data, checksum))
        digest += checksum
    resources = {resource: number for number, resource in numbers.items()}
    return Contents(Head.first(version, digest), resources, rows, schema=_WITHOUT_CHECKSUMS)


def _compare(path: Path, contents: Contents, record: CommitRecord) -> None:
    """Holds the database against the record of what was acknowledged."""
    head = contents.head
    try:
        last = record.read()
    except (OSError, ValueError) as error:
        log.warning("%s is damaged (%s): whether %s lacks its last writes is not known", record.path, error, path)
        return
    if last is None:
        if contents.schema == SCHEMA_VERSION:
            log.warning("%s is missing: whether %s lacks its last writes is not known", record.path, path)
        return
    if last.commit > head.commit:
        raise StorageError(
            f"{path} lacks acknowledged writes: it ends with commit {head.commit} (version {head.version}), but "
            f"commit {last.commit} (version {last.version}) was the last; {path.name}-wal was cut, damaged or "
            "removed, or an older copy put in place; nothing was changed: restore what is missing, "
            f"or remove {record.path.name} to go on without those writes"
        )
    if last.commit == head.commit and last.chain != head.chain:
        raise StorageError(
            f"{path} is not the database that {record.path.name} belongs to: its commit {head.commit} is another "
            f"one; nothing was changed: if it is a copy that was put in place, remove {record.path.name}"
        )


def _create(path: Path, contents: Contents) -> None:
    """Makes the file whole or not at all, so that one without tables is never taken for a new one."""
    made = path.with_name(f"{path.name}.new")
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))  # it will hold secrets
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        _bring_up_to_date(connection, contents)
    made.replace(path)


def _bring_up_to_date(connection: sqlite3.Connection, contents: Contents) -> None:
    old = contents.schema == _WITHOUT_CHECKSUMS
    connection.create_function("row_checksum", 3, row_checksum, deterministic=True)
    connection.create_function("resource_checksum", 2, resource_checksum, deterministic=True)
    head = ", ".join(str(value) for value in msgspec.structs.astuple(contents.head))
    connection.executescript(
        f"BEGIN;{_SET_ASIDE if old else ''}{_TABLES}{_TAKE_OVER if old else ''}"
        f"INSERT INTO head VALUES (0, {head});"
        f"PRAGMA application_id = {APPLICATION_ID};"
        f"PRAGMA user_version = {SCHEMA_VERSION};"
        "COMMIT;"
    )


def _schema_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _tables(connection: sqlite3.Connection) -> Iterator[str]:
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        yield name
