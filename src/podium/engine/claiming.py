"""Pods that are read with objects of storage: which of them are to be read again when one of those changes."""

from __future__ import annotations

from collections.abc import Iterable

from podium.kube.cache import Cache, Key, claims_of, key_of
from podium.kube.wire import Object, PersistentVolumeClaim, Pod


class ClaimingPods:
    """The pods that wait, and have claims: what serves a claim may change any time."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._waiting: dict[str, Key] = {}  # by UID
        self._volumes_moved = False

    def follow(self, pod: Pod, new: bool, *, waits: bool) -> Iterable[Key]:
        """Takes a pod in; which others are to be read again."""
        self._waiting.pop(pod.uid, None)
        found: list[Key] = []
        for claim in claims_of(pod):
            if waits:
                self._waiting[pod.uid] = key_of(pod)
            if new:
                # A claim that several pods use is another matter to each of them.
                found += (key_of(other) for other in self._cache.pods_using(claim) if other.uid != pod.uid)
        return found

    def forget(self, uid: str) -> None:
        self._waiting.pop(uid, None)

    def changed(self, obj: Object) -> Iterable[Key]:
        """An object of storage has changed: who is to be read again now.  Volumes concern all, before a turn."""
        if isinstance(obj, PersistentVolumeClaim):
            return map(key_of, self._cache.pods_using(key_of(obj)))
        self._volumes_moved = True
        return ()

    def take_moved(self) -> dict[str, Key] | None:
        """The pods that other volumes concern, if there are any since the last time."""
        moved, self._volumes_moved = self._volumes_moved, False
        return self._waiting if moved else None
