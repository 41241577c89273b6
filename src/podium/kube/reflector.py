"""The reflector: keeps a mirror of one resource by listing and then watching, whatever happens on the way.

Sans-IO.  A driver (`kube.watching`) asks `next` what to do, does it, and hands the result back:

    next(now)  ->  Ask(request)      fetch it, then call `page(status, body, now)`; before that, `next_page(body)`
                                     what will be asked for next, so that it can be fetched meanwhile
                   Follow(request)   open it, call `opened(now)` when the server agrees, `line(data, now)` for each
                                     line while `following`, `stalled(now)` after `stall` seconds of silence
                   Pause(until)      nothing to do before that time, unless poked
    closed(error, now)               no answer came, the watch ended (None) or was refused (ApiError)

The rules, in the order in which a cluster teaches them:
- A list comes in pages.  If its history is compacted meanwhile (410), all of it is asked for at once.
- The watch starts at the list's version and resumes from the last version seen, moved on by bookmarks.
- A version that is gone (410, Expired) or that the server has not reached (it was restored from a backup) means
  a new list; the difference to what was known is passed on, including the objects that vanished in the gap.
- A list that is older than what was seen comes from a server that lags behind the one before, and would bring
  back what is gone and hide what is new.  It is refused, and asked for again until it is new enough.  A server
  that stays behind for minutes has been restored from a backup: then it is the truth.
- Other failures mean waiting, longer each time, and then going on from where we were.
- A kind that the server does not have (404) is an empty kind, and asked for again later; if it had objects, they
  are gone.  A kind that we may not see (403) does not hold anybody up either, but what was known stays: servers
  refuse for a moment while their own caches fill, and nothing is worse than believing that all pods vanished.
"""

from __future__ import annotations

import zlib
from typing import Generic, TypeVar

import msgspec

from podium.errors import ApiError
from podium.kube.backoff import Backoff, Dice
from podium.kube.deltas import Delta, Mirror, Undecodable, entry_key, entry_version
from podium.kube.list_watch import Bookmark, Changed, Reader, peek_more
from podium.kube.resources import Resource
from podium.kube.status import error_from_body
from podium.kube.transport import Request
from podium.kube.wire import Object

T = TypeVar("T", bound=Object)

PAGE_SIZE = 500
WATCH_SECONDS = (300.0, 600.0)  # spread, so that not all watches of all clients end together
STALL_SECONDS = 90.0  # servers send a bookmark about once a minute
ABSENT_SECONDS = 30.0
BEHIND_SECONDS = 120.0
# A kind that was just defined is served a moment later, and a server that has just started knows its roles a
# moment later: so often it is looked at again, a second apart.
HOPES = 10
SHORT_WATCH_SECONDS = 1.0


class Ask(msgspec.Struct, frozen=True):
    """Fetch one page of the list."""

    request: Request


class Follow(msgspec.Struct, frozen=True):
    """Open the watch; `stall` seconds without a line mean that the connection is dead."""

    request: Request
    stall: float


class Pause(msgspec.Struct, frozen=True):
    """Wait until that time."""

    until: float


Step = Ask | Follow | Pause


class Counters(msgspec.Struct):
    """How a reflector has fared: for metrics."""

    lists: int = 0
    relists: int = 0
    watches: int = 0
    errors: int = 0
    stalls: int = 0
    replays: int = 0


class Reflector(Generic[T]):
    """One resource, all of it, from the newest state of the server on."""

    def __init__(
        self,
        resource: Resource,
        struct: type[T],
        *,
        page_size: int = PAGE_SIZE,
        stall: float = STALL_SECONDS,
        seed: int = 0,
    ) -> None:
        self.resource = resource
        self.objects: Mirror[T] = Mirror()
        self.counters = Counters()
        self.synced = False
        self.absent = False
        self.forbidden = False
        self.trouble = ""  # why the mirror may be behind, in words; empty while all is well
        self.version = ""
        self._path = resource.path()
        self._page_size = page_size
        self._stall = stall
        self._reader = Reader(struct)
        self._dice = Dice(seed ^ zlib.crc32(self._path.encode()))
        self._failures = Backoff(self._dice)
        # Apart from failures: a history that is gone after an outage is no reason to wait for the new list.
        self._surprises = Backoff(self._dice)
        self._wake_at = float("-inf")
        self._hopes = 0
        # The list under way.
        self._listing = True
        self._entries: list[T | Undecodable] = []
        self._more = ""
        self._paged = True
        self._behind_since: float | None = None  # since when lists are older than what was seen
        # The watch under way.
        self._watch: Request | None = None
        self._opened_at = 0.0
        self._lines = 0

    @property
    def following(self) -> bool:
        """Whether the watch that `next` asked for is still wanted."""
        return self._watch is not None

    # --- what to do ----------------------------------------------------------------------------------------

    def next(self, now: float) -> Step:
        if now < self._wake_at:
            return Pause(self._wake_at)
        if self._listing:
            return Ask(self._list_request(self._more))
        if self._watch is None:
            self._watch = self._watch_request()
            self._opened_at = now
            self._lines = 0
            self.counters.watches += 1
        return Follow(self._watch, self._stall)

    def poke(self) -> None:
        """The kind may have appeared, or become visible: do not wait to find out."""
        if self.absent or self.forbidden:
            self._wake_at = float("-inf")
            self._hopes = HOPES

    def next_page(self, body: bytes) -> Request | None:
        """What will be asked for after this page: a server may work on it while the page is being read."""
        more = peek_more(body)
        return self._list_request(more) if more else None

    def _list_request(self, more: str) -> Request:
        query = []
        if self._paged:
            query.append(("limit", str(self._page_size)))
        if more:
            query.append(("continue", more))
        return Request("GET", self._path, tuple(query))

    def _watch_request(self) -> Request:
        seconds = int(self._dice.between(*WATCH_SECONDS))
        query = (
            ("watch", "true"),
            ("resourceVersion", self.version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(seconds)),
        )
        return Request("GET", self._path, query)

    # --- what happened -------------------------------------------------------------------------------------

    def page(self, status: int, body: bytes, now: float) -> list[Delta[T]]:
        """The answer to an `Ask`.  Deltas come with the last page, all at once."""
        if status != 200:
            return self._list_refused(error_from_body(status, body), now)
        try:
            page = self._reader.page(body)
        except msgspec.DecodeError as error:
            self._fail(f"the list cannot be read: {error}", now)
            return []
        if self._is_behind(page.version, now):
            return []
        self._entries += page.entries
        self._more = page.more
        if page.more:
            return []
        entries = self._entries
        self._restart_list()
        self._listing = False
        self._paged = True
        self.version = page.version
        self.counters.relists += self.counters.lists > 0
        self.counters.lists += 1
        self.synced = True
        self.absent = self.forbidden = False
        self.trouble = ""
        return self.objects.replace(entries)

    def opened(self, now: float) -> None:
        """The server has accepted the watch."""
        self._opened_at = now
        self.trouble = ""

    def line(self, data: bytes, now: float) -> list[Delta[T]]:
        """One line of the watch.  Check `following` afterwards: an error event ends it."""
        if self._watch is None or not data.strip():
            return []
        try:
            event = self._reader.event(data)
        except msgspec.DecodeError as error:
            self._watch = None
            self._fail(f"the watch cannot be read: {error}", now)
            return []
        if isinstance(event, ApiError):
            self._watch_refused(event, now)
            return []
        self._lines += 1
        if isinstance(event, Bookmark):
            self._advance(event.version)
        elif isinstance(event, Changed):
            return self._changed(event)
        return []

    def closed(self, error: Exception | None, now: float) -> None:
        """The watch ended, or a request failed: None for an orderly end."""
        if self._watch is None:
            if error is not None:
                self._fail(str(error), now)
        elif isinstance(error, ApiError):
            self._watch_refused(error, now)
        else:
            self._watch = None
            short = now - self._opened_at < SHORT_WATCH_SECONDS
            if error is not None or (short and not self._lines):
                self._fail(str(error or "the watch ended at once"), now)
            elif short:
                self._wake_at = now + self._surprises.after_surprise(now)

    def stalled(self, now: float) -> None:
        """Not a line for too long.  It takes that long to notice, so there is no need to wait further."""
        self._watch = None
        self._wake_at = now
        self.counters.stalls += 1

    def _changed(self, event: Changed[T]) -> list[Delta[T]]:
        entry = event.entry
        version = entry_version(entry)
        if event.gone:
            # Compared with the object, not with the stream: some servers send a deletion with the last version
            # of the object.  Only a namesake that was created later outlives it.
            known = self.objects.get(entry_key(entry))
            replayed = known is not None and _newer(entry_version(known), version)
        else:
            replayed = bool(version) and not _newer(version, self.version)
        if replayed:
            self.counters.replays += 1
            return []
        self._advance(version)
        return self.objects.drop(entry) if event.gone else self.objects.take(entry)

    def _advance(self, version: str) -> None:
        if version and _newer(version, self.version):
            self.version = version

    # --- what went wrong -----------------------------------------------------------------------------------

    def _list_refused(self, error: ApiError, now: float) -> list[Delta[T]]:
        if error.code == 404:
            self._restart_list()
            self.version = ""
            self.absent, self.forbidden = True, False
            self._set_aside("the server does not have this kind", now)
            return self.objects.replace(())
        if error.code == 403:
            self._restart_list()
            self._forbid(error.message, now)
        elif _version_unusable(error) and self._more:
            self._restart_list()
            self._paged = False
        else:
            self._fail(error.message, now, _retry_after(error))
        return []

    def _watch_refused(self, error: ApiError, now: float) -> None:
        self._watch = None
        if _version_unusable(error):
            self._listing = True
            self._wake_at = now + self._surprises.after_surprise(now)
        elif error.code == 404:
            self._listing = True  # the list finds out whether the kind is gone
            self._wake_at = now + self._surprises.after_surprise(now)
        elif error.code == 403:
            self._forbid(error.message, now)
        else:
            self._fail(error.message, now, _retry_after(error))

    def _is_behind(self, version: str, now: float) -> bool:
        """Whether a list is older than what has been seen: it is asked for again, later."""
        if not (version.isdigit() and self.version.isdigit() and int(version) < int(self.version)):
            self._behind_since = None
            return False
        if self._behind_since is None:
            self._behind_since = now
        elif now - self._behind_since >= BEHIND_SECONDS:
            self._behind_since = None
            return False
        self._restart_list()
        self._fail(f"the server is behind: it lists version {version}, and {self.version} has been seen", now)
        return True

    def _restart_list(self) -> None:
        self._entries = []
        self._more = ""

    def _forbid(self, why: str, now: float) -> None:
        """What could be seen before is asked for again soon: it may be a server whose caches fill."""
        if self.version and not self.forbidden:
            self._hopes = HOPES
        self.forbidden, self.absent = True, False
        self._set_aside(why, now)

    def _set_aside(self, why: str, now: float) -> None:
        """Counts as synced, so that nobody waits for this kind; looked at again from time to time."""
        self.synced = True
        self._listing = True
        self._paged = True
        self._wake_at = now + (1.0 if self._hopes else ABSENT_SECONDS)
        self._hopes = max(0, self._hopes - 1)
        self.trouble = why

    def _fail(self, why: str, now: float, asked: float = 0.0) -> None:
        """Waits as long as the server asked for (one that is starting up says a second), or by our own rule."""
        self.counters.errors += 1
        self.trouble = why
        delay = asked * self._dice.between(1.0, 1.5) if asked else self._failures.after_failure(now)
        self._wake_at = now + delay


def _newer(version: str, than: str) -> bool:
    """Versions of one resource may be compared as numbers; what is no number is newer if it differs."""
    if version.isdigit() and than.isdigit():
        return int(version) > int(than)
    return version != than


def _version_unusable(error: ApiError) -> bool:
    """The version asked for is too old, or one that the server has not come to."""
    if error.code == 410 or error.reason in ("Expired", "Gone"):
        return True
    causes = error.details.get("causes")
    reasons = (
        [cause.get("reason") for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    )
    return "ResourceVersionTooLarge" in reasons or "too large resource version" in error.message.lower()


def _retry_after(error: ApiError) -> float:
    seconds = error.details.get("retryAfterSeconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0
