"""The base of every action: one pass over a session, in the order the profile lists them."""

from __future__ import annotations

from typing import ClassVar

from podium.core.session import Session


class Action:
    """One kind of step of a cycle."""

    name: ClassVar[str] = ""

    def run(self, session: Session) -> None:
        raise NotImplementedError
