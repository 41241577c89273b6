"""Keys of objects by what is said of them, so that a question about a few does not look at all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Index(Generic[K, T]):
    """Keys by value.  An object keeps its place among those of a value for as long as it has that value."""

    def __init__(self, values_of: Callable[[T], Iterable[str]]) -> None:
        self._values_of = values_of
        self._keys: dict[str, dict[K, None]] = {}
        self._values: dict[K, tuple[str, ...]] = {}

    def put(self, key: K, obj: T) -> None:
        values = tuple(self._values_of(obj))
        if values == self._values.get(key, ()):
            return
        self.drop(key)
        if values:
            self._values[key] = values
            for value in values:
                self._keys.setdefault(value, {})[key] = None

    def drop(self, key: K) -> None:
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            keys.pop(key, None)
            if not keys:
                del self._keys[value]

    def keys(self, value: str) -> list[K]:
        return list(self._keys.get(value, ()))
