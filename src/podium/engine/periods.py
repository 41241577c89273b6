"""Profiles with a period of their own: they take a turn when it has passed, on all that has come up meanwhile.

Others take a turn at once.  So do pods for which places are reserved: that was decided before.  What comes up
before the time is kept, so that nothing is missed; without anything to look at there is no turn, and nobody is
woken up for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podium.core.profiles.profile import Profile


class Periods:
    """When each profile with a period had its last turn, and the gangs that wait for the next one."""

    def __init__(self) -> None:
        self._profiles: Mapping[str, Profile] = {}
        self._last: dict[str, float] = {}
        self._waiting: dict[str, dict[str, None]] = {}

    def serve(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles

    def due(self, now: float) -> Iterator[str]:
        """The gangs that have waited for a turn that may begin now."""
        for name in [each for each in self._waiting if self._at(each) <= now]:
            yield from self._waiting.pop(name)

    def may_begin(self, name: str, gangs: Iterable[str], now: float) -> bool:
        """Whether a profile may take a turn now; if not, the gangs are kept for the next one."""
        if self._at(name) <= now:
            if self._profiles[name].period:
                self._last[name] = now
            return True
        self._waiting.setdefault(name, {}).update(dict.fromkeys(gangs))
        return False

    @property
    def next_wake(self) -> float | None:
        return min((self._at(name) for name in self._waiting), default=None)

    def _at(self, name: str) -> float:
        """When a profile may take its next turn."""
        profile, last = self._profiles.get(name), self._last.get(name)
        return float("-inf") if profile is None or last is None else last + profile.period
