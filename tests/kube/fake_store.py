"""A versioned store as an API server shows it: pages of a list at one version, a watch from a version.

It answers requests synchronously, so tests can drive a reflector without a loop, and it can forget its history.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.deltas import Added, Deleted, Delta, Modified, Undecodable
from podium.kube.status import gone, status_document
from podium.kube.transport import Request
from podium.kube.wire import Object

Document = dict[str, Any]


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


class FakeStore:
    """Objects of one namespaced resource in namespace `d`."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, Document] = {}
        self.history: list[tuple[int, bytes]] = []
        self.compacted = 100
        self._uids = 0
        self._snapshots: dict[int, list[Document]] = {}

    # --- writing -------------------------------------------------------------------------------------------

    def put(self, name: str, **fields: Any) -> None:
        self.version += 1
        old = self.objects.get(name)
        if old is None:
            self._uids += 1
        uid = old["metadata"]["uid"] if old else f"uid-{self._uids}"
        metadata = {"name": name, "namespace": "d", "uid": uid, "resourceVersion": str(self.version)}
        self.objects[name] = {"metadata": metadata, **fields}
        self._log("MODIFIED" if old else "ADDED", self.objects[name])

    def delete(self, name: str) -> None:
        if name not in self.objects:
            return
        self.version += 1
        last = self.objects.pop(name)
        self._log("DELETED", {**last, "metadata": {**last["metadata"], "resourceVersion": str(self.version)}})

    def compact(self) -> None:
        """Forgets the history, and the versions that lists under way are being read at."""
        self.compacted = self.version
        self.history.clear()
        self._snapshots.clear()

    def _log(self, type: str, document: Document) -> None:
        self.history.append((self.version, encoded({"type": type, "object": document})))

    # --- reading -------------------------------------------------------------------------------------------

    def page(self, request: Request) -> tuple[int, bytes]:
        limit = int(request.param("limit", "0"))
        token = request.param("continue")
        if token:
            version, start = (int(part) for part in token.split(":"))
            if version not in self._snapshots:
                return 410, encoded(status_document(gone("the continue token is too old")))
        else:
            version, start = self.version, 0
            self._snapshots[version] = [self.objects[name] for name in sorted(self.objects)]
        items = self._snapshots[version]
        end = start + limit if limit else len(items)
        metadata = {"resourceVersion": str(version)}
        if end < len(items):
            metadata["continue"] = f"{version}:{end}"
        return 200, encoded({"kind": "List", "metadata": metadata, "items": items[start:end]})

    def watch(self, request: Request) -> list[bytes]:
        """What a watch would send up to now."""
        since = int(request.param("resourceVersion"))
        if since < self.compacted:
            return [error_line(410, "Expired", "too old resource version")]
        return [line for version, line in self.history if version > since]


def error_line(code: int, reason: str, message: str = "") -> bytes:
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return encoded({"type": "ERROR", "object": status})


def bookmark_line(version: int) -> bytes:
    return encoded({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}})


def versions(objects: dict[str, Document]) -> dict[str, tuple[str, str]]:
    """Name to UID and version: what a mirror must agree with."""
    return {
        name: (document["metadata"]["uid"], document["metadata"]["resourceVersion"])
        for name, document in objects.items()
    }


class Replay:
    """A consumer that knows nothing but the deltas, and insists that each makes sense where it stands."""

    def __init__(self) -> None:
        self.state: dict[str, tuple[str, str]] = {}
        self.unreadable: set[str] = set()
        self.told: list[str] = []

    def __call__(self, deltas: list[Delta[Any]]) -> None:
        for delta in deltas:
            self._apply(delta)

    def _apply(self, delta: Delta[Any]) -> None:
        if isinstance(delta, Undecodable):
            self.told.append(f"? {delta.key[1]}")
            self.state.pop(delta.key[1], None)
            self.unreadable.add(delta.key[1])
        elif isinstance(delta, Deleted):
            name = delta.key[1]
            self.told.append(f"- {name}")
            if delta.obj is None:
                assert name in self.unreadable
            else:
                assert self.state.pop(name)[0] == delta.obj.uid
            self.unreadable.discard(name)
        else:
            self._put(delta)

    def _put(self, delta: Added[Any] | Modified[Any]) -> None:
        obj: Object = delta.obj
        if isinstance(delta, Added):
            self.told.append(f"+ {obj.name}")
            assert obj.name not in self.state
        else:
            self.told.append(f"~ {obj.name}")
            assert self.state[obj.name] == (delta.old.uid, delta.old.metadata.resource_version)
            assert delta.old.uid == obj.uid
        self.unreadable.discard(obj.name)
        self.state[obj.name] = (obj.uid, obj.metadata.resource_version)
