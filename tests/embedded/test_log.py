"""The log: what was acknowledged is there again, and a file that cannot be used is left as it is."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.embedded.commits import LastCommit
from podium.embedded.log import GATHER_SECONDS, VERSION_GAP, SqliteLog
from podium.errors import StorageError
from podium.kube.resources import CONFIGMAPS, PODS


def document(name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def state(log: SqliteLog) -> dict[tuple[str, str, str], tuple[str, int, Any]]:
    store = log.restore()
    log.close()
    return {
        (resource.plural, *record.key): (record.uid, record.version, record.labels)
        for resource, bucket in store.buckets()
        for record in bucket.objects.values()
    }


async def test_a_waited_for_write_is_on_the_disk_before_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    store = log.restore()
    first = store.put(CONFIGMAPS, document("a"), None)
    store.put(PODS, document("b"), None)
    store.put(CONFIGMAPS, document("a", data={"k": "v"}), first)
    await log.wait(store.last_entry)
    # Another reader sees it without the log being closed: this is what a start after kill -9 would find.
    reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    assert reader.execute("SELECT count(*) FROM objects").fetchone() == (2,)
    reader.close()
    log.close()
    assert state(SqliteLog(path)) == {
        ("configmaps", "default", "a"): ("uid-a", 4, {"app": "a"}),
        ("pods", "default", "b"): ("uid-b", 3, {"app": "b"}),
    }


async def test_versions_are_never_used_twice(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    gone = store.put(CONFIGMAPS, document("a"), None)
    last = store.remove(CONFIGMAPS, gone, gone.document()).version
    log.close()
    again = SqliteLog(tmp_path / "state.db")
    store = again.restore()
    assert store.version == last + VERSION_GAP
    assert not list(store.scan(CONFIGMAPS))
    assert store.put(CONFIGMAPS, document("a"), None).id >= 1
    again.close()


async def test_many_writers_share_a_commit(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()

    async def write(number: int) -> None:
        store.put(CONFIGMAPS, document(f"c{number}"), None)
        await log.wait(store.last_entry)

    await asyncio.gather(*(write(number) for number in range(1000)))
    log.close()
    assert len(state(SqliteLog(tmp_path / "state.db"))) == 1000


async def test_a_stream_of_writes_shares_commits_and_a_lone_write_does_not_wait(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    began = time.monotonic()
    waiting = []
    for number in range(100):
        store.put(CONFIGMAPS, document(f"c{number}"), None)
        waiting.append(asyncio.create_task(log.wait(store.last_entry)))
        await asyncio.sleep(0.0005)
    await asyncio.gather(*waiting)
    assert log.commits <= (time.monotonic() - began) / GATHER_SECONDS + 2
    commits = log.commits
    await asyncio.sleep(2 * GATHER_SECONDS)
    store.put(CONFIGMAPS, document("alone"), None)
    await log.wait(store.last_entry)
    assert log.commits == commits + 1
    log.close()


async def test_an_object_changed_and_deleted_in_one_batch_is_gone(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    for number in range(300):
        record = store.put(CONFIGMAPS, document(f"c{number}"), None)
        record = store.put(CONFIGMAPS, document(f"c{number}", data={}), record)
        if number % 2:
            store.remove(CONFIGMAPS, record, record.document())
    log.close()
    assert len(state(SqliteLog(tmp_path / "state.db"))) == 150


def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    store = log.restore()
    for number in range(500):
        store.put(CONFIGMAPS, document(f"c{number}", data={"pad": "x" * 500}), None)
    log.close()
    data = bytearray(path.read_bytes())
    data[5000:9000] = b"\xff" * 4000
    path.write_bytes(bytes(data))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StorageError, match=r"state\.db is damaged .*; nothing was changed"):
        SqliteLog(path).restore()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_a_row_that_is_gone_is_missed(tmp_path: Path) -> None:
    """Every row that is left is whole, and so is the file: the sum of the last commit is another one."""
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    store = log.restore()
    for number in range(3):
        store.put(CONFIGMAPS, document(f"c{number}"), None)
    log.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM objects WHERE id = (SELECT max(id) FROM objects)")
    with pytest.raises(StorageError, match=r"damaged .*objects are missing, or older than its last commit"):
        SqliteLog(path).restore()


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough" * 100, b"SQLite format 3\x00" + b"\0" * 9]
)
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(StorageError):
        SqliteLog(path)
    assert path.read_bytes() == content


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(StorageError, match="is not a podium database"):
        SqliteLog(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    log.restore()
    log.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="newer podium"):
        SqliteLog(path)


async def test_the_file_can_be_copied_while_running(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    store.put(CONFIGMAPS, document("a"), None)
    await log.wait(store.last_entry)
    source = sqlite3.connect(tmp_path / "state.db")
    copy = sqlite3.connect(tmp_path / "copy.db")
    source.backup(copy)
    source.close()
    copy.close()
    store.put(CONFIGMAPS, document("b"), None)
    log.close()
    assert len(state(SqliteLog(tmp_path / "copy.db"))) == 1


async def test_a_full_disk_is_told_to_everybody_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    reported: list[StorageError] = []
    log.on_failure = reported.append

    def full(batch: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(log, "_commit", full)
    store.put(CONFIGMAPS, document("a"), None)
    with pytest.raises(StorageError, match="cannot be written: database or disk is full"):
        await log.wait(store.last_entry)
    with pytest.raises(StorageError):
        await log.wait(store.last_entry)
    assert len(reported) == 1
    log.close()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), MemoryError(), RuntimeError("a bug")])
async def test_whatever_the_writer_meets_is_told_to_everybody_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    reported: list[StorageError] = []
    log.on_failure = reported.append

    def fail(batch: object) -> None:
        raise error

    monkeypatch.setattr(log, "_commit", fail)
    store.put(CONFIGMAPS, document("a"), None)
    with pytest.raises(StorageError, match="cannot be written: "):
        await asyncio.wait_for(log.wait(store.last_entry), 10)
    store.put(CONFIGMAPS, document("b"), None)
    with pytest.raises(StorageError):
        await asyncio.wait_for(log.wait(store.last_entry), 10)
    assert len(reported) == 1
    log.close()


async def test_a_failure_is_told_though_nobody_waits_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    reported = asyncio.Event()
    log.on_failure = lambda error: reported.set()

    def fail(batch: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "_commit", fail)
    store.put(CONFIGMAPS, document("a"), None)
    await asyncio.wait_for(reported.wait(), 10)
    log.close()


def test_a_file_without_checksums_is_taken_over_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(FIRST_SCHEMA)
    for number in range(300):
        encoded = msgspec.json.encode(document(f"c{number}", data={"pad": "x" * number}))
        connection.execute("INSERT INTO objects VALUES (?, ?, ?)", (number + 1, 1, encoded))
    connection.execute("INSERT INTO resources VALUES (1, ?)", (msgspec.json.encode(CONFIGMAPS),))
    connection.execute("UPDATE meta SET value = 4321")
    connection.close()
    log = SqliteLog(path)
    store = log.restore()
    assert store.version == 4321 + VERSION_GAP
    assert len(list(store.scan(CONFIGMAPS))) == 300
    store.put(CONFIGMAPS, document("new"), None)
    log.close()
    assert caplog.text.count("was written by a podium without checksums and has them from now on") == 1
    caplog.clear()
    assert len(state(SqliteLog(path))) == 301
    assert not caplog.records
    data = bytearray(path.read_bytes())
    place = data.index(b"x" * 200) + 100
    data[place] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(StorageError, match=r"damaged \(the checksum of object \d+ does not match\)"):
        SqliteLog(path).restore()


async def test_the_record_of_the_last_commit_comes_to_the_disk_in_a_while(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    store = log.restore()
    store.put(CONFIGMAPS, document("a"), None)
    await log.wait(store.last_entry)
    assert log._record.read() == LastCommit(1, store.version, log._head.chain)
    async with asyncio.timeout(10):
        while log._record.dirty:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    log.close()


def test_a_damaged_record_of_the_last_commit_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    log.restore().put(CONFIGMAPS, document("a"), None)
    log.close()
    record = path.with_name("state.db-commit")
    for content in (b"", b"\xff" * 60, record.read_bytes().replace(b"1 ", b"2 ", 1), b"no record at all\n"):
        record.write_bytes(content)
        assert len(state(SqliteLog(path))) == 1
        assert "state.db-commit is damaged" in caplog.text
        caplog.clear()


FIRST_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE resources (id INTEGER PRIMARY KEY, resource BLOB NOT NULL);
CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    resource INTEGER NOT NULL,
    data BLOB NOT NULL
);
INSERT INTO meta VALUES ('version', 1);
PRAGMA application_id = 0x706F6469;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
"""


async def test_a_closed_log_is_one_file_and_a_failed_one_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    store = log.restore()
    store.put(CONFIGMAPS, document("a"), None)
    log.close()
    wal = path.with_name("state.db-wal")
    assert not wal.exists() or wal.stat().st_size == 0
    again = SqliteLog(path)
    assert again.restore().get(CONFIGMAPS, "default", "a") is not None
    again.close()
