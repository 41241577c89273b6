"""The configuration in force, and the file that may replace it while the scheduler runs.

The file is looked at, not listened to: mounts of ConfigMaps swap a link, editors swap the file, network file
systems have no notification.  Its place, time and size are compared each second, and its content when these have
moved and come to rest: a file that is being written is not read half.  What cannot be used changes nothing but
what is said.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec

from podium.core.profiles.profile import Profile
from podium.errors import UsageError
from podium.runtime.configuration import default_profiles, read_file, read_profiles, serving_all

log = logging.getLogger(__name__)

BUILT_IN = "built-in"
_VERSION_LENGTH = 12
_LOOK_SECONDS = 1.0


class Refused(msgspec.Struct, frozen=True):
    """A version of the file that could not be used, and why."""

    version: str
    why: str


class Configuration:
    """What is in force, where it came from, and what became of later versions."""

    def __init__(self, path: Path | None = None, names: Sequence[str] = (), *, alone: bool = False) -> None:
        """Reads the file.  UsageError if it cannot be used: there is nothing older to stay with.

        `alone` is for the only scheduler of a cluster: pods that name none are its own, too.
        """
        self._path = path
        self._names = tuple(names)
        self._alone = alone
        self.accepted = 0
        self.refusals = 0
        self.refused: Refused | None = None
        self.version = BUILT_IN
        self.profiles: Mapping[str, Profile] = {}
        self._seen = self._moved = self._signature()
        if path is None:
            self.profiles = self._completed(default_profiles(self._names))
        else:
            content = read_file(path)
            self.profiles = self._read(content)
            self.version = _version(content)

    @property
    def source(self) -> str:
        return str(self._path) if self._path is not None else BUILT_IN

    def look(self) -> bool:
        """Looks at the file; whether there is something to report.  `refused` says which of the two it is."""
        if self._path is None:
            return False
        signature = self._signature()
        if signature != self._moved:
            self._moved = signature  # it may still be written: the next look sees whether it is at rest
            return False
        if signature == self._seen:
            return False
        self._seen = signature
        return self._read_again()

    async def changes(self) -> AsyncIterator[Refused | None]:
        """Looks for ever, and says each time what became of a file that has changed: None if it is in force."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self.look():
                yield self.refused

    def _read(self, content: str) -> dict[str, Profile]:
        return self._completed(read_profiles(content, self.source, self._names))

    def _completed(self, profiles: dict[str, Profile]) -> dict[str, Profile]:
        return serving_all(profiles) if self._alone else profiles

    def _read_again(self) -> bool:
        assert self._path is not None
        try:
            content = read_file(self._path)
        except UsageError as error:
            return self._refuse("none", str(error))
        version = _version(content)
        if version == self.version:
            self.refused = None  # back to what is in force
            return False
        if self.refused is not None and version == self.refused.version:
            return False
        try:
            self.profiles = self._read(content)
        except UsageError as error:
            return self._refuse(version, str(error))
        log.info("%s: version %s is in force instead of %s", self._path, version, self.version)
        self.version = version
        self.refused = None
        self.accepted += 1
        return True

    def _refuse(self, version: str, why: str) -> bool:
        log.error("%s; version %s stays in force", why, self.version)
        self.refused = Refused(version, why)
        self.refusals += 1
        return True

    def _signature(self) -> tuple[int, ...] | None:
        """What moves when the file does; links are followed."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _version(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:_VERSION_LENGTH]
