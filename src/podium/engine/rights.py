"""What the scheduler and the controllers beside it may do on a cluster, gathered from who declares it.

Nothing is listed here: `effects` says what the scheduler writes, a dialect's record what the dialect needs, and
watches are read off what is watched.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.dialects.dialect import Dialect, rights_of
from podium.engine import effects
from podium.engine.world import World
from podium.kube import events
from podium.kube.resources import CUSTOMRESOURCEDEFINITIONS
from podium.kube.rights import Right, reading


def base_rights() -> tuple[Right, ...]:
    """What is needed whatever dialects are spoken."""
    watched = (*sorted(World(()).resources, key=lambda each: each.group_resource), CUSTOMRESOURCEDEFINITIONS)
    return (*reading(watched), *effects.RIGHTS, *events.RIGHTS)


def cluster_rights(dialects: Iterable[Dialect]) -> tuple[Right, ...]:
    """What is needed on the whole cluster where these dialects are spoken."""
    return (*base_rights(), *(right for dialect in dialects for right in rights_of(dialect)))
