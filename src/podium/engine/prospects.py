"""Who could have a place at all: a quick look at the room before anybody is asked.

When something leaves, all that wait for room may be helped, and most of them are not: the room is for one, and a
thousand wait.  Whether the nodes together have room for enough tasks of a class is one vector operation for the
class, whoever waits with it.  A gang for which they have not need not have its turn.  And where they have room for
two gangs of equal tasks, only the first two in line need it; whether these find their places, the turn will tell.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

import numpy as np

from podium.core import devices
from podium.core.cluster import Cluster
from podium.core.model import Gang, Phase, State, TaskClass
from podium.core.plugins import BUILT_IN as PLUGINS
from podium.core.profile import Profile

# Actions that take from nobody: to a gang of a profile with others, room is not all.
_PEACEFUL = frozenset({"enqueue", "allocate", "backfill"})
# Plugins that order gangs of one queue and namespace, of which nothing runs, by priority and then by age at most.
_PLAIN = frozenset(PLUGINS) - {"sla"}

# What gangs are to have in common for the room to be the same to all of them, with how many tasks they lack.
_Kind = tuple[str, str, str, int, int]


class Prospects:
    """The room at the beginning of a turn, counting what others are leaving."""

    def __init__(self, cluster: Cluster, profiles: Mapping[str, Profile]) -> None:
        self._nodes = cluster.nodes
        self._peaceful = {
            name for name, profile in profiles.items() if {each.name for each in profile.actions} <= _PEACEFUL
        }
        self._plain = {
            name
            for name in self._peaceful
            if {entry.kind.name for tier in profiles[name].tiers for entry in tier} <= _PLAIN
        }
        self._places: dict[int, int] = {}  # by class
        self._lines: dict[_Kind, list[tuple[float, float, str]]] = {}

    def hopeful(self, gang: Gang) -> bool:
        """Whether there is room for what a gang needs to start, or for one task more.

        Who has not been let in yet waits for something else, and who may take from others for more than room.
        """
        if gang.phase is Phase.PENDING or gang.profile not in self._peaceful:
            return True
        cls: TaskClass | None = None
        for task in gang.tasks.values():
            if task.state is not State.PENDING or task.gated:
                continue
            if cls is not None and task.cls is not cls:
                return True  # of several classes the room for each says little
            cls = task.cls
        if cls is None:
            return True
        room, need = self._room(cls), max(1, gang.minimum - gang.ready)
        if room >= need and gang.profile in self._plain and not gang.ready:
            kind = (gang.profile, gang.queue, gang.namespace, cls.number, need)
            self._lines.setdefault(kind, []).append((-gang.priority, gang.created, gang.id))
        return room >= need

    def too_late(self) -> Iterator[str]:
        """Of the gangs that were found hopeful, those behind as many of their like as there is room for."""
        for (*_, cls, need), line in self._lines.items():
            most = self._places[cls] // need
            if len(line) > most:
                first = {id for *_, id in heapq.nsmallest(most, line)}
                yield from (id for *_, id in line if id not in first)

    def _room(self, cls: TaskClass) -> int:
        found = self._places.get(cls.number)
        if found is None:
            nodes = self._nodes
            nodes.widen()
            count = nodes.count
            by_row = (nodes.future_idle(cls.columns) // cls.amounts).min(axis=1)
            if cls.constraints.devices is not None:
                free = nodes.devices.free(np.arange(count, dtype=np.int64), later=True)
                by_row = np.minimum(by_row, devices.room(cls.constraints.devices, free))
            found = self._places[cls.number] = int(np.maximum(by_row, 0)[nodes.live[:count]].sum())
        return found
