"""Reports that were left out because only their numbers had changed: they are written when their time has come.

Whoever waits is not looked at again before something happens that concerns it, so a number that was left out would
stay wrong for as long as that takes.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Late(NamedTuple, Generic[T]):
    due: float
    report: T


class LateReports(Generic[T]):
    """The last report of each that was left out, those that have waited longest first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._late: dict[str, _Late[T]] = {}

    def put(self, id: str, report: T, now: float) -> None:
        """It is left out for now; what was left out before is no longer of interest, but for its time."""
        known = self._late.get(id)
        self._late[id] = _Late(now + self._seconds if known is None else known.due, report)

    def drop(self, id: str) -> None:
        """Something was written about it, or there is nothing more to say."""
        self._late.pop(id, None)

    def take(self, now: float, most: int) -> list[tuple[str, T]]:
        """The first of what is due."""
        found: list[tuple[str, T]] = []
        for id, late in self._late.items():  # in the order of their times: all wait equally long
            if late.due > now or len(found) == most:
                break
            found.append((id, late.report))
        for id, _ in found:
            del self._late[id]
        return found

    @property
    def due(self) -> float | None:
        """When the first of them is due."""
        return next(iter(self._late.values())).due if self._late else None
