"""How queues stand and who is in line, in the eyes of the plugins of a profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.core.cluster.accounts import Account
from podium.core.cluster.ownership import Ownership
from podium.core.framework.session import Session
from podium.core.framework.shares import Sharing, Standing, called
from podium.core.model.model import HOLDING, Gang, Phase, Queue, State
from podium.core.model.resources import PODS
from podium.dialects.kubernetes.quantities import format_amount
from podium.explain.answers import Ahead, Amounts, Position, QueueStanding
from podium.explain.model import Model

_AHEAD_SHOWN = 5


def waits(gang: Gang) -> bool:
    """Whether some of a gang has no place yet."""
    if gang.counts[State.PENDING] or gang.counts[State.RESERVED]:
        return True
    return gang.phase is Phase.PENDING and not gang.tasks


class _Estate(NamedTuple):
    """Nodes that a queue owns: how many, what they have, and what the queue holds on nodes of others."""

    nodes: int
    own: NDArray[np.int64]
    borrowed: NDArray[np.int64]


class _Count(msgspec.Struct):
    """The gangs of a queue: how many run and wait, and those that were not let in and wait without pods for what
    they need at least."""

    running: int = 0
    waiting: int = 0
    without_pods: list[Gang] = msgspec.field(default_factory=list)


class Standings:
    """Queues and lines, for the profiles that are asked about."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lines: dict[str, dict[str, list[Gang]]] = {}
        self._standing: dict[str, dict[str, Standing]] = {}
        self._counts: dict[str, _Count] | None = None
        self._ownership: Ownership | None = None  # for as long as nobody changes the model

    def _read(self, profile: str) -> None:
        if profile in self._lines:
            return
        session = self._model.session(profile)
        lines: dict[str, list[Gang]] = {}
        for gang in session.own:
            if waits(gang):
                lines.setdefault(gang.queue, []).append(gang)
        key = session.job_key
        self._lines[profile] = {queue: sorted(gangs, key=key) for queue, gangs in lines.items()}
        self._standing[profile] = _standings(session)
        session.dismiss()

    def line(self, gang: Gang) -> list[Gang]:
        """Who waits in a gang's queue, in the order in which they are served."""
        if gang.profile not in self._model.profiles:
            return []
        self._read(gang.profile)
        return self._lines[gang.profile].get(gang.queue, [])

    def position(self, gang: Gang) -> Position | None:
        line = self.line(gang)
        number = next((index for index, each in enumerate(line) if each.id == gang.id), None)
        if number is None:
            return None
        return Position(number + 1, len(line), tuple(self._ahead(each) for each in line[:number][:_AHEAD_SHOWN]))

    def _ahead(self, gang: Gang) -> Ahead:
        return Ahead(gang.name, gang.namespace, asked_by(self._model, gang), gang.created, gang.priority)

    def queue(self, queue: Queue, profile: str, resources: Iterable[str] | None = None) -> QueueStanding:
        """A queue's arithmetic: in some resources, or in all that it holds, waits for or names."""
        model = self._model
        names = model.cluster.dimensions.names
        standing: Standing | None = None
        if profile in model.profiles:
            self._read(profile)
            standing = self._standing[profile].get(queue.id)
        account = model.cluster.accounts.queues.get(queue.id) or Account()
        estate = self._estate(queue)
        count = self._count().get(queue.id, _Count())
        if resources is None:
            held = {names[c] for c, n in (*account.allocated.items(), *account.waiting.items()) if n and c != PODS}
            resources = held | queue.capability.keys() | queue.deserved.keys()
        rows = []
        for name in sorted(resources):
            column = model.cluster.dimensions.find(name)
            used = account.allocated.get(column, 0) if column is not None else 0
            wanted = account.waiting.get(column, 0) if column is not None else 0
            wanted += sum((gang.minimum_resources or {}).get(name, 0) for gang in count.without_pods)
            deserved = _part(standing.deserved, column) if standing is not None else None
            limit = _part(standing.limit, column) if standing is not None else None
            if deserved is None:
                deserved = queue.deserved.get(name, 0)
            if limit is None and name in queue.capability:
                limit = queue.capability[name]
            over = max(0, used - deserved)
            if estate is not None:  # what its nodes have is its own, and only what it holds elsewhere is borrowed
                deserved = int(estate.own[column]) if column is not None else 0
                over = int(estate.borrowed[column]) if column is not None else 0
            rows.append(
                Amounts(
                    name,
                    format_amount(name, used),
                    format_amount(name, deserved),
                    None if limit is None else format_amount(name, limit),
                    format_amount(name, wanted),
                    format_amount(name, over),
                )
            )
        share = None if standing is None or not np.isfinite(standing.share) else round(standing.share, 3)
        weight, weights = (standing.weight, standing.weights) if standing is not None else (0, 0)
        return QueueStanding(
            called(queue),
            share,
            weight or queue.weight,
            weights,
            queue.open,
            tuple(rows),
            count.running,
            count.waiting,
            nodes=estate.nodes if estate is not None else None,
        )

    def _estate(self, queue: Queue) -> _Estate | None:
        """What a queue that owns nodes has; None of one that takes its share of all."""
        cluster = self._model.cluster
        if self._ownership is None:
            self._ownership = Ownership(cluster.queues, cluster.nodes.properties)
        ownership = self._ownership
        if not ownership.owns(queue.id):
            return None
        nodes = cluster.nodes
        rows = np.flatnonzero(ownership.owned(queue.id)[: nodes.count] & nodes.live[: nodes.count])
        borrowed = np.zeros(nodes.allocatable.shape[1], dtype=np.int64)
        for gang in cluster.gangs.values():
            for task in gang.tasks.values() if gang.queue == queue.id else ():
                if task.state in HOLDING and ownership.borrows(task):
                    for column, amount in task.cls.request.pairs:
                        borrowed[column] += amount
        return _Estate(len(rows), nodes.allocatable[rows].sum(axis=0), borrowed)

    def _count(self) -> dict[str, _Count]:
        """Gangs that run and that wait, by queue."""
        if self._counts is None:
            self._counts = {}
            for gang in self._model.cluster.gangs.values():
                count = self._counts.setdefault(gang.queue, _Count())
                if not waits(gang):
                    count.running += bool(gang.ready)
                    continue
                count.waiting += 1
                if not gang.tasks:
                    count.without_pods.append(gang)
        return self._counts


def _standings(session: Session) -> dict[str, Standing]:
    found: dict[str, Standing] = {}
    for plugin in (plugin for tier in session.tiers("overused") for plugin in tier):
        if not isinstance(plugin, Sharing):
            continue
        for id, queue in session.queues.items():
            try:
                found.setdefault(id, plugin.standing(queue))
            except Exception:
                continue  # a plugin of somebody's own, or a queue that it does not know
    return found


def _part(amounts: np.ndarray[tuple[int, ...], np.dtype[np.float64]], column: int | None) -> int | None:
    if column is None or column >= len(amounts) or not np.isfinite(amounts[column]):
        return None
    return int(amounts[column])


def asked_by(model: Model, gang: Gang) -> dict[str, str]:
    """What a gang asks for: its tasks that wait, or what it says itself if it has none."""
    names = model.cluster.dimensions.names
    sums: dict[str, int] = {}
    for task in gang.tasks.values():
        if task.state is State.PENDING:
            for column, amount in task.cls.request.pairs:
                if column != PODS:
                    sums[names[column]] = sums.get(names[column], 0) + amount
    if not gang.tasks:
        sums = dict(gang.minimum_resources or {})
    return {name: format_amount(name, amount) for name, amount in sums.items() if amount}
