"""Binds that fail, are lost or take their time: what a scenario can say of them, and how it is drawn."""

from __future__ import annotations

import msgspec

from podium.errors import ApiError, TransportError
from podium.kube.status import too_many_requests
from podium.sim.rng import Rng

_LONGEST = 86400.0  # seconds that a bind may take
_LONGEST_PAUSE = 15  # seconds that a server asks for


class Binds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How binds fare.  All is well by default."""

    fail: float = 0.0  # which part of them is refused, or never arrives
    lose: float = 0.0  # of the others, which part is carried out without an answer
    seconds: float = 0.0  # how long each takes

    def complaint(self) -> str:
        """What is wrong with it, as a field and a sentence; empty if nothing is."""
        for field in ("fail", "lose"):
            if not 0 <= (value := getattr(self, field)) <= 1:
                return f"{field}: want a part from 0 to 1, got {value:g}"
        if not 0 <= self.seconds <= _LONGEST:
            return f"seconds: want none or more, up to {_LONGEST:,.0f}, got {self.seconds:g}"
        return ""


def failure(rng: Rng) -> Exception:
    """Some way for a bind to fail without having been carried out."""
    return rng.pick(
        (
            ApiError(409, "Conflict", "somebody was faster"),
            too_many_requests("slow down", rng.whole(1, _LONGEST_PAUSE)),
            ApiError(500, "InternalError", "etcdserver: request timed out"),
            TransportError("no answer in time"),
        )
    )


class BindTrouble:
    """The binds of a run."""

    def __init__(self, seed: int) -> None:
        self.binds = Binds()
        self._rng = Rng(seed, "binds")

    @property
    def seconds(self) -> float:
        return self.binds.seconds

    def before(self) -> Exception | None:
        return failure(self._rng) if self.binds.fail and self._rng.chance(self.binds.fail) else None

    def after(self) -> Exception | None:
        lost = self.binds.lose and self._rng.chance(self.binds.lose)
        return TransportError("the connection was reset") if lost else None
