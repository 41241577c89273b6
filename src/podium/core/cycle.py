"""One scheduling cycle: a profile's actions, one after the other, over one session."""

from __future__ import annotations

from collections.abc import Container

from podium.core.cluster import Cluster
from podium.core.decisions import Decision
from podium.core.profile import Profile
from podium.core.session import Session


def run_cycle(
    cluster: Cluster, profile: Profile, now: float, *, name: str | None = None, resting: Container[str] = ()
) -> list[Decision]:
    """What a profile decides now.  The model keeps the tentative state: placed tasks hold their room.

    `name` is the profile's: it decides on the gangs that ask for it.  Gangs in `resting` are left alone.
    """
    # 1. Plugins take in what they need: shares, limits, the order of things.
    session = Session(
        cluster,
        profile.plugins(),
        now,
        profile.arguments,
        [action.name for action in profile.actions],
        profile=name,
        resting=resting,
    )
    # 2. Each action decides on what the ones before it have left.
    for action in profile.actions:
        action.run(session)
    # 3. What waits for others to leave gives its room back but keeps its nomination.
    session.close()
    return session.decisions
