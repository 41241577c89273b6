"""The journal of speed: which way each gang took to its places, and which hook forced a slow one.

batch          equal tasks in one vector pass
node by node   the same, with a hook that had to be asked about single nodes
one by one     a task at a time, because a hook looks at all nodes together or has no batch form
"""

from __future__ import annotations

from collections.abc import Iterable

BATCH, NODE_BY_NODE, ONE_BY_ONE = "batch", "node by node", "one by one"


class Paths:
    """By gang: the slowest way that any of its tasks went, with the hooks that forced it."""

    def __init__(self) -> None:
        self._forced: dict[str, dict[str, dict[str, None]]] = {}

    def took(self, gang: str, way: str = BATCH, hooks: Iterable[str] = ()) -> None:
        self._forced.setdefault(gang, {}).setdefault(way, {}).update(dict.fromkeys(hooks))

    def __bool__(self) -> bool:
        return bool(self._forced)

    def __contains__(self, gang: str) -> bool:
        return gang in self._forced

    def __getitem__(self, gang: str) -> str:
        ways = self._forced[gang]
        for way in (ONE_BY_ONE, NODE_BY_NODE):
            if way in ways:
                return f"{way}: {', '.join(ways[way])}"
        return BATCH

    def items(self) -> Iterable[tuple[str, str]]:
        return ((gang, self[gang]) for gang in self._forced)
