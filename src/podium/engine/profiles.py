"""By which profile each gang is placed: its members say it, by the scheduler that they ask for."""

from __future__ import annotations

from collections.abc import Container, Iterator


class Profiles:
    """The profiles of gangs.  A gang has one, that of the first member that asks for one which there is."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._served: Container[str] | None = None  # the profiles that there are; None: all

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def serve(self, served: Container[str]) -> None:
        """Says which profiles there are."""
        self._served = served

    def of(self, gang: str, otherwise: str = "") -> str:
        return self._of.get(gang, otherwise)

    def ask(self, gang: str, asked: str) -> bool:
        """Takes the word of a member; whether that has given the gang another profile than it had."""
        known = self._of.setdefault(gang, asked)
        if known == asked or self._serves(known) or not self._serves(asked):
            return False
        self._of[gang] = asked
        return True

    def foreign(self, gang: str, asked: str) -> bool:
        """Whether a member that asks for this is left to another scheduler, while its gang is placed here."""
        return self._of.get(gang) != asked and not self._serves(asked)

    def forget(self, gang: str) -> None:
        self._of.pop(gang, None)

    def _serves(self, profile: str) -> bool:
        return self._served is None or profile in self._served
