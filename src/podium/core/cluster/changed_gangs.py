"""Which gangs have changed since somebody last asked: for whoever shows the cluster and must not read all of it.

The accounts take changed gangs in at every turn, and note them here on the way.  Between two turns gangs change as
well: those have not been taken in yet, and are given each time until they are.  So a gang may be given twice, and
is never left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from podium.core.cluster.accounts import Accounts, Gangs
from podium.core.model.model import Gang


class GangChanges:
    """The gangs that have changed, on their way into the accounts."""

    def __init__(self) -> None:
        self.waiting: dict[Gang, None] = {}  # gangs note themselves here
        self._readers: list[ChangedGangs] = []

    def follow(self) -> ChangedGangs:
        """For whoever shows the cluster: which gangs have changed, from now on."""
        self._readers.append(ChangedGangs(self.waiting))
        return self._readers[-1]

    def take_in(self, accounts: Accounts, known: Gangs, strangers: Gangs, most: int | None = None) -> None:
        """The sums follow the gangs that have changed, or the first ones of them."""
        changed = list(islice(self.waiting, most))
        for gang in changed:
            del self.waiting[gang]
        accounts.settle(changed, known, strangers)
        for reader in self._readers:
            reader.note(changed)


class ChangedGangs:
    """One reader's list."""

    def __init__(self, waiting: dict[Gang, None]) -> None:
        """`waiting` are those that the accounts have not taken in."""
        self._waiting = waiting
        self._noted: dict[Gang, None] = {}

    def note(self, gangs: Iterable[Gang]) -> None:
        self._noted.update(dict.fromkeys(gangs))

    def take(self) -> list[Gang]:
        """All that have changed since the last time."""
        noted, self._noted = self._noted, {}
        noted.update(self._waiting)
        return list(noted)
