"""Going through all gangs of a turn in portions.

There may be ten thousand of them.  Whoever looks at each, or gives each its key in an order, pauses after every
hundred, so that others get their turn in between: what is slow is what plugins say of a gang, not the sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from podium.core.framework.session import Session
from podium.core.model.model import Gang, Phase

PORTION = 100


def chosen(gangs: Iterable[Gang], wanted: Callable[[Gang], bool]) -> Generator[None, None, list[Gang]]:
    """Those of which something is true."""
    found = []
    for number, gang in enumerate(gangs, 1):
        if wanted(gang):
            found.append(gang)
        if number % PORTION == 0:
            yield
    return found


def in_order(session: Session, gangs: Iterable[Gang]) -> Generator[None, None, list[Gang]]:
    """In the order of the session."""
    key, keyed = session.job_key, []
    for number, gang in enumerate(gangs, 1):
        keyed.append((key(gang), gang))
        if number % PORTION == 0:
            yield
    return [gang for _, gang in sorted(keyed, key=lambda each: each[0])]


def may_be_placed(session: Session, gang: Gang) -> bool:
    """Whether it has been let in, and nothing is wrong with it."""
    return gang.phase is not Phase.PENDING and session.invalid(gang) is None


def is_starving(session: Session, gang: Gang) -> bool:
    """Whether a gang that may be placed has too little, in the eyes of those who take from others for it."""
    return may_be_placed(session, gang) and session.starving(gang)
