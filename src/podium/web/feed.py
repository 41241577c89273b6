"""What has been said to pages, as server-sent events, for those who are a little behind.

A frame is encoded once, whoever listens.  A listener is a position; one that has fallen behind what is kept is
given everything anew.  So a page that does not read costs nothing but its socket.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

import msgspec

from podium.web.view import Document

KEPT_BYTES = 8 << 20

_encode = msgspec.json.Encoder().encode


def frame(document: Document) -> bytes:
    """One event; JSON has no raw line ends, so a document is one line."""
    kind: str = document["is"]
    return b"event: " + kind.encode() + b"\ndata: " + _encode(document) + b"\n\n"


class Feed:
    """The frames, by position."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._frames: deque[bytes] = deque()
        self._kept = kept
        self._bytes = 0
        self._first = 0  # the position of the oldest frame
        self._news = asyncio.Event()
        self.listeners = 0

    @property
    def end(self) -> int:
        """Where the next frame will be."""
        return self._first + len(self._frames)

    def say(self, documents: Iterable[Document]) -> None:
        """Adds frames.  Nothing is encoded while nobody listens."""
        if not self.listeners:
            return
        for document in documents:
            data = frame(document)
            self._frames.append(data)
            self._bytes += len(data)
        while self._bytes > self._kept:
            self._bytes -= len(self._frames.popleft())
            self._first += 1
        self._wake()

    def restart(self) -> None:
        """All that was said is no longer true: everybody is given everything anew."""
        self._first = self.end + 1
        self._frames.clear()
        self._bytes = 0
        self._wake()

    def since(self, position: int) -> list[bytes] | None:
        """The frames from a position on; None if some of them are gone."""
        if position < self._first:
            return None
        skip = position - self._first
        return [each for at, each in enumerate(self._frames) if at >= skip]

    async def changed(self, seconds: float) -> None:
        """Until something is said, or some time has passed."""
        news = self._news
        try:
            await asyncio.wait_for(news.wait(), seconds)
        except TimeoutError:
            return

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
