"""The classes of tasks: all tasks with equal requests and constraints are of one, so what fits one fits all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podium.core.cluster.peers import Peers
from podium.core.model.constraints import Constraints
from podium.core.model.facts import TaskFacts
from podium.core.model.model import Task, TaskClass
from podium.core.model.resources import Dimensions, Request

_SEEN_AT_MOST = 4096
_KEPT = 1000  # classes without any task, before they are looked through


class TaskClasses:
    """Those of the tasks that there are, and of some that there were."""

    def __init__(self, dimensions: Dimensions, peers: Peers, tasks: Mapping[str, Task]) -> None:
        self._dimensions = dimensions
        self._peers = peers
        self._tasks = tasks
        self._classes: dict[tuple[Request, Constraints], TaskClass] = {}
        self._made = 0
        # By identity of what they were read from, which is kept here so that nobody else can have it.
        self._seen: dict[tuple[int, int], tuple[Mapping[str, int], Constraints, TaskClass]] = {}

    def __iter__(self) -> Iterator[TaskClass]:
        return iter(self._classes.values())

    def of_facts(self, facts: TaskFacts) -> TaskClass:
        """Whoever reads tasks gives equal ones the same amounts and constraints: then nothing is computed."""
        amounts, constraints = facts.amounts, facts.constraints
        found = self._seen.get((id(amounts), id(constraints)))
        if found is None or found[0] is not amounts or found[1] is not constraints:
            if len(self._seen) >= _SEEN_AT_MOST:
                self._seen.clear()
            cls = self.of(self._dimensions.request(amounts), constraints)
            found = self._seen[id(amounts), id(constraints)] = (amounts, constraints, cls)
        return found[2]

    def of(self, request: Request, constraints: Constraints) -> TaskClass:
        """The one class of all tasks with this request and these constraints."""
        key = (request, constraints)
        found = self._classes.get(key)
        if found is None:
            found = TaskClass(self._made, request, constraints, self._peers.carried(constraints))
            self._made += 1
            self._weed()
            self._classes[key] = found
        return found

    def _weed(self) -> None:
        """Forgets classes that no task is of.  Constraints follow other objects, such as volumes, and may change
        with every one of them: what has been must not be kept for ever."""
        if len(self._classes) >= 2 * len(self._tasks) + _KEPT:
            used = (task.cls for task in self._tasks.values())
            self._classes = {(cls.request, cls.constraints): cls for cls in used}
