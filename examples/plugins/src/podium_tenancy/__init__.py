"""Nodes with owners, and pods with an end.

`Tenancy` is a plugin: a node labelled `example.com/owner` takes pods of that namespace only, and its owner's pods
prefer it.  `Expire` is an action: it evicts what has run for longer than it may.  How long that is, it asks its
own hook, `task_lifetime`, which any plugin may answer; `Tenancy` does, from a label of the pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

import numpy as np

from podium.core.framework.action import Action
from podium.core.framework.arguments import Argument, Arguments
from podium.core.framework.hooks import Hook, Rule
from podium.core.framework.plugin import MAX_NODE_SCORE, Mask, Plugin, Scores
from podium.core.framework.session import Session
from podium.core.model.model import Gang, State, Task

OWNER = "example.com/owner"
MAX_SECONDS = "example.com/max-seconds"

# How many seconds a task may run; the first plugin with a number decides, and without one it may run for ever.
LIFETIME = Hook("task_lifetime", Rule.FIRST, "enableTaskLifetime", "expire")


class Tenancy(Plugin):
    """Whose nodes are whose."""

    name = "tenancy"
    ARGUMENTS = (
        Argument("tenancy.weight", 1, "how much an owner's pods prefer the owner's nodes"),
        Argument("tenancy.max-seconds", 0, "how long pods without a label of their own may run; 0: for ever"),
    )

    def __init__(self, arguments: Arguments, *, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy=hierarchy)
        self._weight = arguments.number("tenancy.weight")
        self._seconds = arguments.number("tenancy.max-seconds")

    def signature(self, task: Task) -> Hashable:
        return task.namespace  # equal pods of two namespaces may go to different nodes

    def mask(self, task: Task, session: Session) -> Mask:
        nodes = session.cluster.nodes.properties
        return nodes.label(OWNER).equal(task.namespace, nodes.count) | ~nodes.labelled(OWNER)

    def score(self, task: Task, session: Session) -> Scores:
        nodes = session.cluster.nodes.properties
        owned = nodes.label(OWNER).equal(task.namespace, nodes.count)
        return np.where(owned, self._weight * MAX_NODE_SCORE, 0.0)

    def task_lifetime(self, task: Task) -> float | None:
        own = task.labels.get(MAX_SECONDS, "")
        return float(own) if own.isdecimal() else self._seconds or None


class Expire(Action):
    """Ends what has run for too long."""

    name = "expire"
    HOOKS = (LIFETIME,)

    def run(self, session: Session) -> Iterator[None]:
        for gang in list(session.gangs):
            session.attempt(gang, partial(self._expire, session, gang), None)
            yield

    def _expire(self, session: Session, gang: Gang) -> None:
        statement = session.statement()
        for task in list(gang.tasks.values()):
            ours = task.state is State.RUNNING and session.may_evict(task)
            seconds = session.ask(LIFETIME, task) if ours else None
            if seconds is not None and session.now - task.started > seconds:
                statement.evict(task, f"ran for longer than {seconds:g} seconds")
        statement.commit()
