"""Which tasks wait for a node that others are leaving.

The API says so of pods (`nominatedNodeName`), and a pod may name a node that is not there, or not yet.
"""

from __future__ import annotations

from podium.core.cluster.nodes import Nodes
from podium.core.model.model import Task


class Nominations:
    """Tasks and the nodes that they wait for."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._by_task: dict[str, tuple[Task, str]] = {}
        self._by_node: dict[str, dict[str, Task]] = {}

    def put(self, task: Task, node: str) -> None:
        """Notes the node whose room a task waits for, or that it waits for none."""
        _, old = self._by_task.pop(task.id, (task, ""))
        if old:
            del self._by_node[old][task.id]
            if not self._by_node[old]:
                del self._by_node[old]
        if node:
            self._by_task[task.id] = task, node
            self._by_node.setdefault(node, {})[task.id] = task
        task.nominated = self._nodes.rows.get(node, -1)

    def move(self, node: str, row: int) -> None:
        """A node has come, and has this row; or it has gone, and the next node in its row is another one."""
        for task in self._by_node.get(node, {}).values():
            task.nominated = row

    @property
    def tasks(self) -> list[Task]:
        return [task for task, _ in self._by_task.values()]

    @property
    def gangs(self) -> set[str]:
        """The gangs of these tasks."""
        return {task.gang.id for task, _ in self._by_task.values()}
