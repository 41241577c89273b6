"""Waiting longer after each failure, with jitter, without a clock or a random number generator of its own."""

from __future__ import annotations

_MASK = (1 << 64) - 1


class Dice:
    """Reproducible numbers from a seed (the splitmix64 sequence): for jitter, not for secrets."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def between(self, low: float, high: float) -> float:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        mixed ^= mixed >> 31
        return low + (high - low) * mixed / (_MASK + 1)


class Backoff:
    """0.8 s, 1.6 s ... 30 s, each give or take a half, so that many clients do not come back at once.

    A while without failures is forgiven: the series starts again.
    """

    def __init__(
        self, dice: Dice, *, first: float = 0.8, longest: float = 30.0, forgiven_after: float = 120.0
    ) -> None:
        self._dice = dice
        self._first = first
        self._longest = longest
        self._forgiven_after = forgiven_after
        self._failures = 0
        self._quiet_since = 0.0

    def after_failure(self, now: float) -> float:
        """The delay before the next attempt."""
        self._forgive(now)
        delay = min(self._longest, self._first * 2.0 ** min(self._failures, 64)) * self._dice.between(0.5, 1.5)
        self._failed(now + delay)
        return delay

    def after_surprise(self, now: float) -> float:
        """The same for what may happen in good health: at once the first time, later like a failure."""
        self._forgive(now)
        if self._failures:
            return self.after_failure(now)
        self._failed(now)
        return 0.0

    def _forgive(self, now: float) -> None:
        if now - self._quiet_since >= self._forgiven_after:
            self._failures = 0

    def _failed(self, quiet_since: float) -> None:
        self._failures += 1
        self._quiet_since = quiet_since
