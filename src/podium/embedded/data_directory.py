"""The directory that an embedded cluster lives in, and the lock that keeps a second one out.

    <data-dir>/lock               held while a cluster runs; its text is the pid of the holder
    <data-dir>/cluster.db         the objects (SQLite; -wal and -shm beside it while running)
    <data-dir>/cluster.db-commit  the last acknowledged commit, by which a loss is noticed
    <data-dir>/pki/               certificates, keys and the token
    <data-dir>/kubeconfig         how to reach the cluster, mode 0600

The lock is the kernel's: it ends with its process, however that ends, so it is never stale.  The pid in it is
only for people and for `podium down`, and it is right whenever the lock is held.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from podium.errors import StorageError


def default_directory() -> Path:
    """$PODIUM_HOME, or ~/.podium."""
    return Path(os.environ.get("PODIUM_HOME") or "~/.podium").expanduser()


class DataDirectory(msgspec.Struct, frozen=True):
    """The names of the files in it."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def database(self) -> Path:
        return self.path / "cluster.db"

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"


def in_use(directory: DataDirectory, pid: int) -> StorageError:
    """Another podium has it; a `pid` of 0 is unknown."""
    by = f"podium (pid {pid})" if pid else "another podium"
    stop = f"stop it with podium down --data-dir {directory.path}"
    return StorageError(f"{directory.path} is in use by {by}: {stop}, or choose another --name or --data-dir")


class Lock:
    """A held lock.  Close it last."""

    def __init__(self, directory: DataDirectory) -> None:
        """Makes the directory if needed and locks it; StorageError if another podium has it."""
        try:
            directory.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{directory.path} cannot be used as data directory: {error.strerror}") from None
        while not self._taken():
            pid = holder(directory)
            if pid is None:
                continue  # it was only somebody asking, as `podium down` does
            os.close(self._descriptor)
            raise in_use(directory, pid)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Empties the file but leaves it: a removed file could be locked by one that still has it open."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder(directory: DataDirectory) -> int | None:
    """The pid of the podium that runs on this directory; None if none does."""
    try:
        descriptor = os.open(directory.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # A shared lock, given back at once: two who only ask do not take each other for a cluster.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0).strip()
        return int(text) if text.isdigit() else 0
    else:
        return None
    finally:
        os.close(descriptor)
