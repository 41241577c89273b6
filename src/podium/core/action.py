"""The base of every action: one pass over a session, in the order the profile lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from podium.core.session import Session


class Action(ABC):
    """One kind of step of a cycle."""

    name: ClassVar[str] = ""

    @abstractmethod
    def run(self, session: Session) -> None:
        """Decides on what the actions before it have left."""
