"""Whose each node is, where objects claim nodes by what these are like.

Objects and nodes come and change one by one, and there may be thousands of either.  Which objects claim a node is
kept with it: a new object is asked about every node once, and nothing else is.  A new node is asked about by the
objects that it may be for: most are known by a label that all of their nodes have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from sortedcontainers import SortedList

from podium.dialects.dialect import Ownership
from podium.kube.wire import Node, Object
from podium.reasons import Refusal

Answer = tuple[str, Refusal | None]


class _Known(msgspec.Struct):
    """A node, and the names of the objects that claim it, in order."""

    node: Node
    claimed_by: SortedList
    answer: Answer


class NodeOwners:
    """The nodes of the queues of one kind."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._claims: dict[str, Callable[[Node], bool]] = {}
        self._nodes: dict[str, _Known] = {}
        self._labels: dict[str, tuple[str, str] | None] = {}  # by object
        self._labelled: dict[tuple[str, str] | None, set[str]] = {None: set()}

    def put(self, obj: Object) -> list[str]:
        """An object has come or changed: the nodes that another one owns now, or that are contested otherwise."""
        claim = self._ownership.claims(obj)
        if claim is None:
            return self.drop(obj.name)
        first = obj.name not in self._claims
        self._claims[obj.name] = claim
        self._know(obj.name, self._ownership.label(obj))
        return self._moved(obj.name, lambda node: claim(node), new=first)

    def drop(self, name: str) -> list[str]:
        """An object is gone, or claims nothing any more."""
        if self._claims.pop(name, None) is None:
            return []
        self._unknow(name)
        return self._moved(name, lambda node: False, new=False)

    def _know(self, name: str, label: tuple[str, str] | None) -> None:
        self._unknow(name)
        self._labels[name] = label
        self._labelled.setdefault(label, set()).add(name)

    def _unknow(self, name: str) -> None:
        label = self._labels.pop(name, None)
        alike = self._labelled.get(label, set())
        alike.discard(name)
        if label is not None and not alike:
            self._labelled.pop(label, None)

    def _candidates(self, node: Node) -> Iterator[str]:
        yield from self._labelled[None]
        for label in node.labels.items() if node.labels else ():
            yield from self._labelled.get(label, ())

    def _moved(self, name: str, claim: Callable[[Node], bool], *, new: bool) -> list[str]:
        moved: list[str] = []
        for node, known in self._nodes.items():
            before, after = not new and name in known.claimed_by, claim(known.node)
            if before == after:
                continue
            if after:
                known.claimed_by.add(name)
            else:
                known.claimed_by.remove(name)
            answer = self._ownership.judge(known.claimed_by[:2])
            if answer != known.answer:
                known.answer = answer
                moved.append(node)
        return moved

    def owner(self, node: Node) -> Answer:
        """Whose a node is, and what is wrong with that."""
        known = self._nodes.get(node.name)
        if known is not None and _looks(known.node) == _looks(node):
            return known.answer
        claimed_by = SortedList(name for name in self._candidates(node) if self._claims[name](node))
        known = self._nodes[node.name] = _Known(node, claimed_by, self._ownership.judge(claimed_by[:2]))
        return known.answer

    def forget(self, name: str) -> None:
        self._nodes.pop(name, None)


def _looks(node: Node) -> tuple[Mapping[str, str], Any, Any]:
    """What claims look at."""
    return node.labels, node.status.allocatable, node.status.capacity
