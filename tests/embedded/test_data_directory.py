"""The lock on a data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from podium.embedded.data_directory import DataDirectory, Lock, default_directory, holder
from podium.errors import StorageError


def test_one_at_a_time(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    assert holder(directory) is None
    lock = Lock(directory)
    assert holder(directory) == os.getpid()
    with pytest.raises(
        StorageError, match=rf"is in use by podium \(pid {os.getpid()}\): stop it with podium down"
    ):
        Lock(directory)
    lock.close()
    assert holder(directory) is None
    Lock(directory).close()


def test_the_directory_is_private(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    Lock(directory).close()
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert directory.lock.stat().st_mode & 0o777 == 0o600


def test_a_lock_ends_with_its_process_and_its_pid_is_not_believed_then(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from podium.embedded.data_directory import *;"
        "Lock(DataDirectory(Path(sys.argv[1]))); import os; os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    directory = DataDirectory(tmp_path)
    assert directory.lock.read_text().strip().isdigit()
    assert holder(directory) is None
    Lock(directory).close()


def test_a_path_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be used as data directory"):
        Lock(DataDirectory(tmp_path / "file"))


def test_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_HOME", "/somewhere")
    assert default_directory() == Path("/somewhere")
    monkeypatch.delenv("PODIUM_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert default_directory() == Path("/home/user/.podium")
