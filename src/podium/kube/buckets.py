"""How often something may happen for each of many keys: a burst of times at once, then one in a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

MEMORY_ENTRIES = 4096

K = TypeVar("K", bound=Hashable)


class _Bucket(msgspec.Struct):
    tokens: float
    filled_at: float


class Buckets(Generic[K]):
    """A bucket of tokens for each key.  Those that were used longest ago are forgotten, which makes them full."""

    def __init__(self, burst: int, seconds_per_token: float) -> None:
        self._burst = burst
        self._seconds_per_token = seconds_per_token
        self._buckets: OrderedDict[K, _Bucket] = OrderedDict()

    def has(self, key: K, now: float) -> bool:
        """Whether there is a token left."""
        bucket = self._buckets.get(key)
        return self._burst >= 1 if bucket is None else self._tokens(bucket, now) >= 1.0

    def take(self, key: K, now: float) -> bool:
        """Takes a token; False if there is none."""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(tokens=float(self._burst), filled_at=now)
            if len(self._buckets) > MEMORY_ENTRIES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        bucket.tokens, bucket.filled_at = self._tokens(bucket, now), now
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True

    def _tokens(self, bucket: _Bucket, now: float) -> float:
        gained = max(0.0, now - bucket.filled_at) / self._seconds_per_token
        return min(float(self._burst), bucket.tokens + gained)
