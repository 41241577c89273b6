"""What the API's core gives back to whoever carries bytes: an answer, an answer to hold back, or a feed.

The core (`embedded.api`) is synchronous and knows no socket.  Its two carriers are the HTTPS server and the
in-process transport; the simulator calls it directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from podium.errors import ApiError
from podium.kube.status import status_document
from podium.kube.transport import Response


class Held(msgspec.Struct, frozen=True):
    """An answer to a write: it may be sent once the log has made entry `entry` durable, not before."""

    response: Response
    entry: int


class Feed(Protocol):
    """An answer without an end: a watch or a followed log.

    Pulled, not pushed: a feed holds a position in history that is shared, so a slow reader costs no memory.
    `on_ready` registers the one callback that is called when `take` has something new; it is called again only
    after a `take` that returned everything.
    """

    content_type: str
    timeout: float  # seconds after which the carrier ends it
    finished: bool  # nothing will follow what `take` still returns

    def hold_back(self) -> None:
        """Called first by a carrier that leads out of the process: only what is durable is shown."""
        ...

    def on_ready(self, callback: Callable[[], None]) -> None: ...

    def take(self, limit: int = 1 << 18) -> bytes:
        """The next bytes, about `limit` at the most.  Fewer than that mean that this was everything for now."""
        ...

    def bookmark(self) -> bytes:
        """What to send when a while has passed in silence; may be empty."""
        ...

    def close(self) -> None: ...


Reply = Response | Held | Feed


def refusal(error: ApiError) -> Response:
    """An ApiError as the answer it stands for, with the waiting time repeated where HTTP clients look for it."""
    if error.code == 404 and not error.reason:
        return Response(404, f"{error.message}\n".encode(), "text/plain; charset=utf-8")
    retry = error.details.get("retryAfterSeconds")
    headers = (("Retry-After", str(retry)),) if retry is not None else ()
    return Response(error.code, msgspec.json.encode(status_document(error)), headers=headers)
