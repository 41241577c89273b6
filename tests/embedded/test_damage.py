"""Cut and flipped bytes: a start has the state that was acknowledged, or it says what it lacks, or it is refused.

A sample here; with PODIUM_SOAK=1 every byte of the last 64 KB of the write-ahead log, and a thousand flips.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from podium.embedded.log import SqliteLog
from podium.errors import StorageError
from podium.kube.resources import CONFIGMAPS, PODS

SOAK = bool(os.environ.get("PODIUM_SOAK"))
COMMITS, LAST_START = 300, 288
CUTS = 1 << 16
FLIPS = 1000 if SOAK else 120
STEP = 1 if SOAK else 431  # a prime: the sample meets every place of a frame

State = dict[tuple[str, str, str], tuple[int, bytes]]


def document(name: str, text: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


class Cluster:
    """Files as kill -9 left them, and the state of which every write had been acknowledged."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state: State = {}

    def copy(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.directory, to)
        return to / "cluster.db"


@pytest.fixture
async def killed(tmp_path: Path) -> Cluster:
    """Several hundred commits: some are in the database, the last in the write-ahead log alone."""
    chance = random.Random(5)
    live = tmp_path / "live"
    live.mkdir()
    log = SqliteLog(live / "cluster.db")
    store = log.restore()
    for number in range(COMMITS):
        if number == LAST_START:
            log.close()
            log = SqliteLog(live / "cluster.db")
            store = log.restore()
        resource = CONFIGMAPS if number % 3 else PODS
        name = f"object-{chance.randrange(400 if number < LAST_START else 40)}"  # most rest in the database then
        old = store.get(resource, "default", name)
        if old is not None and chance.random() < 0.2:
            store.remove(resource, old, old.document())
        else:
            store.put(resource, document(name, "x" * chance.randrange(2000)), old)
        await log.wait(store.last_entry)
    cluster = Cluster(tmp_path / "killed")
    shutil.copytree(live, cluster.directory)  # while it runs: nothing is folded into the database
    cluster.state = state_of(store)
    log.close()
    return cluster


def state_of(store: Any) -> State:
    return {
        (resource.plural, *record.key): (record.version, record.data)
        for resource, bucket in store.buckets()
        for record in bucket.objects.values()
    }


def start(path: Path, cluster: Cluster, caplog: pytest.LogCaptureFixture) -> str:
    """What came of a start: refused, said, whole, or silent, which must not be."""
    caplog.clear()
    try:
        log = SqliteLog(path)
        store = log.restore()
    except StorageError as error:
        return "silent: more than a sentence" if "\n" in str(error) else "refused"
    found = state_of(store)
    log.close()
    if found == cluster.state:
        return "whole"
    return "said" if any(each.levelno >= logging.WARNING for each in caplog.records) else "silent"


@pytest.mark.timeout(3600)
def test_no_cut_of_the_write_ahead_log_is_silent(
    killed: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = (killed.directory / "cluster.db-wal").stat().st_size
    assert whole > CUTS
    path = killed.copy(tmp_path / "cut")
    assert start(path, killed, caplog) == "whole"
    path = killed.copy(tmp_path / "cut")
    files = (path, path.with_name("cluster.db-commit"))
    before = [file.read_bytes() for file in files]
    outcomes: Counter[str] = Counter()
    for size in range(whole - 1, whole - 1 - CUTS, -STEP):  # a refusal changes nothing: the same files serve all
        os.truncate(f"{path}-wal", size)
        outcome = start(path, killed, caplog)
        outcomes[outcome] += 1
        assert outcome == "refused", f"cut at {size} of {whole}: {outcome}"
        assert Path(f"{path}-wal").stat().st_size == size
    assert [file.read_bytes() for file in files] == before
    print(f"{whole} bytes, cuts: {dict(outcomes)}")


@pytest.mark.timeout(3600)
def test_no_flipped_byte_is_silent(killed: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(int(os.environ.get("PODIUM_SEED", "11")))
    closed = Cluster(tmp_path / "closed")
    closed.state = killed.state
    log = SqliteLog(killed.copy(closed.directory))
    log.restore()
    log.close()  # everything is in the database now
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(FLIPS):
        path = (closed if number % 2 else killed).copy(tmp_path / "flipped")
        file = path if number % 4 else Path(f"{path}-wal")
        data = bytearray(file.read_bytes())
        # Half of them near the start: headers, the schema and the roots of the tables are there.
        place = chance.randrange(len(data) if chance.random() < 0.5 else min(8192, len(data)))
        data[place] ^= chance.randrange(1, 256)
        file.write_bytes(bytes(data))
        outcome = start(path, killed, caplog)
        outcomes[file.suffix, outcome] += 1
        assert not outcome.startswith("silent"), f"{outcome}: a flip at {place} of {file.name} was not noticed"
    print(f"flips: {dict(outcomes)}")
    assert outcomes[".db", "refused"] > 0
    assert outcomes[".db-wal", "refused"] > 0


def test_without_its_write_ahead_log_a_database_is_refused(
    killed: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = killed.copy(tmp_path / "lost")
    Path(f"{path}-wal").unlink()
    with pytest.raises(StorageError, match=r"lacks acknowledged writes: .*remove cluster\.db-commit to go on"):
        SqliteLog(path).restore()
    # As the sentence says: then it starts, and says what cannot be known.
    path.with_name("cluster.db-commit").unlink()
    assert start(path, killed, caplog) == "said"
    caplog.clear()
    log = SqliteLog(path)
    log.restore()
    log.close()
    assert not caplog.records, "and only once"


def test_a_write_ahead_log_without_its_database_is_refused(killed: Cluster, tmp_path: Path) -> None:
    path = killed.copy(tmp_path / "lost")
    path.unlink()
    with pytest.raises(StorageError, match="it is empty, and its write-ahead log is not"):
        SqliteLog(path).restore()
    Path(f"{path}-wal").unlink()
    with pytest.raises(StorageError, match="lacks acknowledged writes: it ends with commit 0"):
        SqliteLog(path).restore()


def test_an_older_copy_in_place_of_a_database_is_noticed(killed: Cluster, tmp_path: Path) -> None:
    path = killed.copy(tmp_path / "copied")
    log = SqliteLog(path)
    store = log.restore()
    log.close()
    older = path.read_bytes()
    for _ in range(2):
        log = SqliteLog(path)
        store = log.restore()
        store.put(CONFIGMAPS, document("late", str(store.version)), store.get(CONFIGMAPS, "default", "late"))
        log.close()
    path.write_bytes(older)
    with pytest.raises(StorageError, match="lacks acknowledged writes"):
        SqliteLog(path).restore()
    record = path.with_name("cluster.db-commit").read_bytes()
    path.with_name("cluster.db-commit").unlink()
    for text in ("another", "history"):  # as many commits as above, and others
        log = SqliteLog(path)
        store = log.restore()
        store.put(CONFIGMAPS, document(text, text), None)
        log.close()
    path.with_name("cluster.db-commit").write_bytes(record)
    with pytest.raises(StorageError, match=r"is not the database that cluster\.db-commit belongs to"):
        SqliteLog(path).restore()
