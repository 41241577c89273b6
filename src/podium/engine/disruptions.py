"""Gangs that leave as one, and of which only a part has left: a scheduler was stopped in the middle of it.

Before the first member of such a gang goes, its group says that all of them do (`dispatcher.evict`).  So whoever
finds a group that says so, and members that have held their places since before, sends these after the others.  A
member that was bound later belongs to the gang's next start.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.model.model import Disruption, Gang, State, Task
from podium.engine.world import World
from podium.kube.resources import Resource
from podium.kube.wire import Object


class Disruptions:
    """The gangs that leave.  Each is finished once, whatever the server makes of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._found: dict[str, Gang] = {}
        self._finished: dict[str, Disruption] = {}

    def touched(self, resource: Resource, obj: Object) -> None:
        """An object came or changed: it may be a group that leaves."""
        kind = self._world.groups.get(resource)
        if kind is None or kind.disrupted is None:
            return
        gang = self._world.cluster.gangs.get(kind.id(obj.namespace, obj.name))
        if gang is not None and gang.as_one and gang.disruption is not None:
            self._found[gang.id] = gang

    def forget(self, resource: Resource, obj: Object) -> None:
        kind = self._world.groups.get(resource)
        if kind is not None:
            self._finished.pop(kind.id(obj.namespace, obj.name), None)

    def unfinished(self) -> Iterator[tuple[Task, str]]:
        """Members that are still there, each with the reason."""
        found, self._found = self._found, {}
        for id, gang in found.items():
            disruption = gang.disruption
            if disruption is None or self._finished.get(id) == disruption:
                continue
            self._finished[id] = disruption
            for task in list(gang.tasks.values()):
                if task.state in (State.BOUND, State.RUNNING) and self._bound_at(task) < disruption.since:
                    yield task, disruption.why

    def _bound_at(self, task: Task) -> float:
        plan = self._world.plans.get(task.id)
        return plan.time if plan is not None else task.started
