"""The base of every action: one pass over a session, in the order the profile lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from podium.core.framework.arguments import Argument
from podium.core.framework.hooks import Hook
from podium.core.framework.session import Session


class Action(ABC):
    """One kind of step of a cycle."""

    name: ClassVar[str] = ""
    ARGUMENTS: ClassVar[tuple[Argument, ...]] = ()
    HOOKS: ClassVar[tuple[Hook, ...]] = ()  # those that it asks beside the built-in ones
    # What others may rely on.  An action says it of itself; nobody knows actions by name.
    ADMITS: ClassVar[bool] = False  # it lets gangs in; without such an action they are all let in
    PEACEFUL: ClassVar[bool] = False  # it takes from nobody: to a gang of a profile with others, room is not all

    @abstractmethod
    def run(self, session: Session) -> Iterable[None] | None:
        """Decides on what the actions before it have left.

        It may pause after each gang, by yielding: what it has decided by then is carried out while it goes on, and
        whoever shares the process gets a turn.  No statement is open while it pauses.

        What it does about one gang it does in `session.attempt`, so that a plugin's failure concerns that gang.
        """
