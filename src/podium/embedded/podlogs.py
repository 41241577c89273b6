"""pods/log: what a simulated container has printed, once or followed until it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.embedded.exchange import Reply
from podium.embedded.nodes.logs import simulated_log
from podium.embedded.options import number
from podium.embedded.store import Store
from podium.kube import status
from podium.kube.resources import PODS
from podium.kube.transport import Request, Response

Document = dict[str, Any]

TEXT = "text/plain"
FOLLOW_TIMEOUT = 4 * 3600.0


def read_log(store: Store, namespace: str, name: str, request: Request, clock: Callable[[], float]) -> Reply:
    """The log a request asks for: whole, or as a feed with `follow`."""
    record = store.get(PODS, namespace, name)
    if record is None:
        raise status.not_found(PODS, name)
    text = _print(record.document(), request, clock())
    if not request.flag("follow") or request.flag("previous"):
        return Response(200, text, TEXT)
    return _Followed(store, namespace, name, record.uid, text, request, clock)


def _print(pod: Document, request: Request, now: float) -> bytes:
    return simulated_log(
        pod,
        request.param("container"),
        previous=request.flag("previous"),
        tail_lines=_count(request, "tailLines"),
        since_seconds=_count(request, "sinceSeconds"),
        timestamps=request.flag("timestamps"),
        limit_bytes=_count(request, "limitBytes"),
        now=now,
    )


def _count(request: Request, name: str) -> int | None:
    found = number(request, name)
    if found is not None and found < 0:
        raise status.bad_request(f"{name} must be a whole number that is not negative, not {found}")
    return found


class _Followed:
    """A log that grows as its pod changes, as a Feed.  Ends with the pod's containers."""

    content_type = TEXT
    timeout = FOLLOW_TIMEOUT

    def __init__(
        self,
        store: Store,
        namespace: str,
        name: str,
        uid: str,
        text: bytes,
        request: Request,
        clock: Callable[[], float],
    ) -> None:
        self.finished = False
        self._store = store
        self._key = (namespace, name)
        self._uid = uid
        self._text = text
        self._sent = 0
        # A tail is cut once; what grows afterwards is measured against the whole log.
        self._request = Request("GET", request.path, tuple(q for q in request.query if q[0] != "tailLines"))
        self._whole = len(text)
        self._clock = clock
        self._bucket = store.bucket(PODS)
        self._outside = False
        self._callback: Callable[[], None] | None = None
        self._cut = request.param("tailLines") != ""
        if self._cut:
            record = store.get(PODS, *self._key)
            assert record is not None
            self._whole = len(_print(record.document(), self._request, clock()))
        self._refresh()

    def hold_back(self) -> None:
        self._outside = True

    def on_ready(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._listeners.append(self._changed)
        callback()

    def take(self, limit: int = 1 << 18) -> bytes:
        chunk = self._text[self._sent : self._sent + limit]
        self._sent += len(chunk)
        return chunk

    def bookmark(self) -> bytes:
        return b""

    def close(self) -> None:
        self.finished = True
        if self._changed in self._listeners:
            self._listeners.remove(self._changed)

    @property
    def _listeners(self) -> list[Callable[[], None]]:
        return self._bucket.outside if self._outside else self._bucket.listeners

    def _changed(self) -> None:
        record = self._store.get(PODS, *self._key)
        if record is not None and (
            record is self._seen or (self._outside and record.version > self._store.durable)
        ):
            return
        self._refresh()
        if self._callback is not None:
            self._callback()

    def _refresh(self) -> None:
        self._seen = record = self._store.get(PODS, *self._key)
        if record is None or record.uid != self._uid:
            self.finished = True
            return
        pod = record.document()
        whole = _print(pod, self._request, self._clock())
        self._text += whole[self._whole :]
        self._whole = max(self._whole, len(whole))
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            self.finished = True
