"""What refusals are about, continued: queues, quotas, and what keeps somebody from taking more."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import Any

from podium.amounts import shown
from podium.refusal import Numbers


class Bound(Enum):
    """What keeps a queue from taking more."""

    SHARE = "share"  # by weight among the queues that want something
    CAPABILITY = "capability"  # its own number
    LEFT = "left"  # nobody shares with it, and this is what is in nobody else's hands
    LIMIT = "limit"  # what the queues above it, and guarantees of others, leave it
    CLUSTER = "cluster"  # there is no more


class QueueName(Numbers, frozen=True):
    queue: str


class QueueUse(Numbers, frozen=True):
    """A queue's arithmetic in one resource: it holds so much of so much, and somebody needs more.

    `weight` of the sum of all `weights` that count is how its share was found; zero if it was not.
    """

    queue: str  # "" for pods that are in none
    resource: str
    need: float
    holds: float
    limit: float
    bound: Bound = Bound.CAPABILITY
    weight: int = 0
    weights: int = 0

    def words(self) -> dict[str, Any]:
        who, its = (f"queue {self.queue} holds", "its") if self.queue else ("pods without a queue hold", "their")
        limit, holds, need = (shown(self.resource, each) for each in (self.limit, self.holds, self.need))
        if self.bound is Bound.CLUSTER:
            use = f"{who} {holds} of the {limit} {self.resource} that the cluster has"
        elif self.bound is Bound.LEFT:
            use = f"{who} {holds} of the {limit} {self.resource} that others leave"
        else:
            use = f"{who} {holds} of {its} {self.bound.value} of {limit} {self.resource}"
        if self.bound is Bound.SHARE and self.weights:
            use += f" (weight {self.weight} of {self.weights})"
        return {"use": use, "need": need}

    def shape(self) -> Hashable:
        return self.queue, self.resource, self.bound


class Ahead(Numbers, frozen=True):
    """A queue that serves strictly in order, and who is before."""

    queue: str
    gang: str


class Admission(Numbers, frozen=True):
    """What a gang needs at least before it is let in, and what of everything is free for it: neither in use nor
    waited for by those that were let in before."""

    resource: str
    need: float
    free: float
    total: float
    admitted: float = 0.0

    def words(self) -> dict[str, Any]:
        amounts = (self.need, self.free, self.total, self.admitted)
        need, free, total, admitted = (shown(self.resource, each) for each in amounts)
        never = self.need > self.total
        room = f"the cluster has {total} in all: it can never start" if never else f"{free} of {total} are free"
        if self.admitted > 0 and not never:
            room += f": those that were let in before wait for {admitted}"
        return {"need": f"{need} {self.resource}", "room": room}


class QuotaUse(Numbers, frozen=True):
    """A ResourceQuota: what it allows, and what is used or has been let in already."""

    quota: str
    resource: str
    need: int
    used: int
    hard: int

    def words(self) -> dict[str, Any]:
        name = self.resource.removeprefix("requests.").removeprefix("limits.")
        amounts = {"need": self.need, "used": self.used, "hard": self.hard}
        return {
            "quota": self.quota,
            "resource": self.resource,
            **{key: shown(name, amount) for key, amount in amounts.items()},
        }


class LoadUse(Numbers, frozen=True):
    """What is used of a resource in the whole cluster, and how much may be."""

    resource: str
    need: int
    used: int
    most: int

    def words(self) -> dict[str, Any]:
        amounts = {"need": self.need, "used": self.used, "most": self.most}
        return {"resource": self.resource, **{key: shown(self.resource, each) for key, each in amounts.items()}}


class CpuForGpu(Numbers, frozen=True):
    """Too few CPUs beside GPUs."""

    role: str
    gpus: float
    cpus: float
    least: float

    def words(self) -> dict[str, Any]:
        amounts = {"gpus": self.gpus, "cpus": self.cpus, "least": self.least}
        return {"role": self.role, **{key: f"{each:g}" for key, each in amounts.items()}}


class QueueParent(Numbers, frozen=True):
    queue: str
    parent: str


class QueueCycle(Numbers, frozen=True):
    queue: str
    cycle: str
    cut: str


class QueueAmount(Numbers, frozen=True):
    """An amount of a queue that cannot be meant, and what was made of it."""

    queue: str
    field: str
    resource: str
    amount: int
    taken: str


class QueuePromise(Numbers, frozen=True):
    """More is guaranteed than there may be."""

    queue: str
    resource: str
    guarantee: int
    limit: int
