"""How damage is noticed: a checksum a row, a chain over commits, and a second record of the last one.

A row's checksum is over its number, its resource and its data.  The sum of all of them is the digest of a state,
so a row that is changed, missing or old is noticed whichever page it was on.  Every commit writes a `Head`: its
number, the digest, and a chain in which each commit goes on from the one before.

SQLite drops what is torn at the end of its write-ahead log without a word.  That is right for a commit that nobody
was shown, and wrong for one that was acknowledged.  So after each commit, and before anybody is shown it, its
number and chain go into a small file of their own: a database that is behind this file has lost something.  The
file is written into the kernel's cache, which outlives the process, and is brought to the disk about once a
second: another wait for the disk would double the time of a commit.  After a power cut it may thus be a second
behind the database, which is allowed; it is never ahead.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from pathlib import Path

import msgspec

# How long the record may be in the kernel's cache alone.
SYNC_SECONDS = 1.0


def row_checksum(number: int, resource: int, data: bytes) -> int:
    """The checksum of an object as it is stored; the starting value ties the data to its place."""
    return zlib.crc32(data, (number ^ resource << 24) & 0xFFFFFFFF)


def resource_checksum(number: int, encoded: bytes) -> int:
    return zlib.crc32(encoded, ~number & 0xFFFFFFFF)


class Head(msgspec.Struct, frozen=True):
    """The state after a commit in a few numbers, the fields in the order of the database's columns."""

    commit: int = 0
    version: int = 1  # the newest resource version
    digest: int = 0  # the sum of the checksums of all rows
    before: int = 0  # the chain up to the commit before
    chain: int = 0

    @classmethod
    def first(cls, version: int, digest: int) -> Head:
        return cls(0, version, digest, 0, _chain(0, version, digest, 0))

    def next(self, version: int, digest: int) -> Head:
        number = self.commit + 1
        return Head(number, version, digest, self.chain, _chain(number, version, digest, self.chain))

    @property
    def whole(self) -> bool:
        """Whether its own numbers belong together."""
        return self.chain == _chain(self.commit, self.version, self.digest, self.before)


def _chain(commit: int, version: int, digest: int, before: int) -> int:
    return zlib.crc32(struct.pack("<QQQQ", commit, version, digest, before))


class LastCommit(msgspec.Struct, frozen=True):
    """What the record beside the database says."""

    commit: int
    version: int
    chain: int


class CommitRecord:
    """The file with the last acknowledged commit: one line of fixed length, overwritten within one sector."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}-commit")
        self._descriptor = -1
        self._synced_at = 0.0
        self._dirty = False

    def read(self) -> LastCommit | None:
        """None if the file is missing; ValueError if it is damaged."""
        try:
            text = self.path.read_bytes().decode("ascii")
        except FileNotFoundError:
            return None
        fields = text.split()
        if len(fields) != 4 or text != _line(*(int(field, 16) for field in fields[:3])):
            raise ValueError("its checksum does not match")
        commit, version, chain, _ = (int(field, 16) for field in fields)
        return LastCommit(commit, version, chain)

    def open(self, head: Head) -> None:
        """Begins to write, with the commit that the database is at."""
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        line = _line(head.commit, head.version, head.chain).encode()
        os.pwrite(self._descriptor, line, 0)
        os.ftruncate(self._descriptor, len(line))
        os.fsync(self._descriptor)
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        self._synced_at = time.monotonic()

    def write(self, head: Head) -> None:
        """Notes a commit that is on the disk.  Only afterwards may anybody see it."""
        os.pwrite(self._descriptor, _line(head.commit, head.version, head.chain).encode(), 0)
        self._dirty = True
        if time.monotonic() - self._synced_at > SYNC_SECONDS:
            self.sync()

    @property
    def dirty(self) -> bool:
        return self._dirty

    def sync(self) -> None:
        if self._dirty:
            os.fdatasync(self._descriptor)
            self._dirty = False
        self._synced_at = time.monotonic()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _line(commit: int, version: int, chain: int) -> str:
    text = f"{commit:016x} {version:016x} {chain:08x}"
    return f"{text} {zlib.crc32(text.encode()):08x}\n"
