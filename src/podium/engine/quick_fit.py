"""Who could have a place at all: a quick look at the room before anybody is asked.

When something leaves, all that wait for room may be helped, and most of them are not: the room is for one, and a
thousand wait.  Whether the nodes together have room for enough tasks of a class is one vector operation for the
class, whoever waits with it.  A gang for which they have not need not have its turn.  And where they have room for
two gangs of equal tasks, only the first two in line need it; whether these find their places, the turn will show.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Set
from functools import cached_property

import numpy as np

from podium.core.cluster import devices
from podium.core.cluster.cluster import Cluster
from podium.core.model.model import Gang, TaskClass
from podium.core.profiles.profile import Profile


class QuickFit:
    """The room at the beginning of a turn, counting what others are leaving."""

    def __init__(self, cluster: Cluster, profiles: Mapping[str, Profile]) -> None:
        self._nodes = cluster.nodes
        self._equal_demand = cluster.accounts.equal_demand
        self._profiles = profiles
        self._places: dict[TaskClass, int] = {}

    # Most turns have nobody to leave out, and need neither of these.

    @cached_property
    def _peaceful(self) -> set[str]:
        return {name for name, profile in self._profiles.items() if profile.peaceful}

    @cached_property
    def _plain(self) -> set[str]:
        return {name for name in self._peaceful if self._profiles[name].plain_order}

    def without(self, waiting: Set[str]) -> set[str]:
        """Of the gangs that wait for room, those without a prospect.

        Nobody is without one who has not been let in, who waits with several classes of tasks, of which the room
        for each says little, or who may take from others.
        """
        found: set[str] = set()
        for demand, line in self._equal_demand.items():
            members: Set[str] = line.keys() & waiting if demand.profile in self._peaceful else set()
            if not members:
                continue
            most = self._room(demand.cls) // demand.need
            if most == 0:
                found |= members
            elif len(members) > most and demand.fresh and demand.profile in self._plain:
                first = heapq.nsmallest(most, (_order(line[id]) for id in members))
                found |= members - {id for *_, id in first}
        return found

    def _room(self, cls: TaskClass) -> int:
        found = self._places.get(cls)
        if found is None:
            nodes = self._nodes
            nodes.widen()
            count = nodes.count
            by_row = (nodes.future_idle(cls.columns) // cls.amounts).min(axis=1)
            if cls.constraints.devices is not None:
                free = nodes.devices.free(np.arange(count, dtype=np.int64), later=True)
                by_row = np.minimum(by_row, devices.room(cls.constraints.devices, free))
            found = self._places[cls] = int(np.maximum(by_row, 0)[nodes.live[:count]].sum())
        return found


def _order(gang: Gang) -> tuple[float, float, float, str]:
    return -gang.priority, -gang.sub_priority, gang.created, gang.id
