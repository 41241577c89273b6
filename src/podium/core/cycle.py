"""One scheduling cycle: a profile's actions, one after the other, over one session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podium.core.actions.quota_gates import lift_gates
from podium.core.cluster.cluster import Cluster
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.model.decisions import Decision
from podium.core.profiles.profile import Profile


def cycle(
    cluster: Cluster,
    profile: Profile,
    now: float,
    *,
    name: str | None = None,
    asked: Iterable[str] | None = None,
    actions: Sequence[Action] | None = None,
) -> Iterator[list[Decision]]:
    """What a profile decides now, gang by gang.

    The model keeps the tentative state: placed tasks hold their room.  Whoever takes the steps may pause between
    two of them, and carry out what has been decided by then; facts must wait until the last step has been taken.

    `name` is the profile's: it decides on the gangs that ask for it.  With `asked` it looks at
    these gangs alone, with `actions` it takes these instead of the profile's.
    """
    actions = profile.actions if actions is None else actions
    # 1. Plugins take in what they need: shares, limits, the order of things.
    session = Session(
        cluster,
        profile.plugins(),
        now,
        profile.arguments,
        actions,
        profile=name,
        asked=asked,
    )
    # 2. Each action decides on what the ones before it have left.
    for action in actions:
        for _ in session.steps(action):
            yield session.take_decisions()
    # 3. Tasks that are held back for their queue's quota are let through, as far as it has room.
    for _ in lift_gates(session):
        yield session.take_decisions()
    # 4. What waits for others to leave gives its room back but keeps its nomination.
    session.close()
    yield session.take_decisions()
    session.dismiss()


def run_cycle(cluster: Cluster, profile: Profile, now: float) -> list[Decision]:
    """A whole cycle at once."""
    return [each for step in cycle(cluster, profile, now) for each in step]
