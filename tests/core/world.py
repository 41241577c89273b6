"""Small clusters for tests, in a few words: nodes, queues, gangs, and what a profile makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cycle import run_cycle
from podium.core.framework.session import Session
from podium.core.model.constraints import Constraints, PodSelection, PodTerm, Requirement
from podium.core.model.decisions import Bind, Decision, Evict, Failure, Nominate, Refuse
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.labels import Taint
from podium.core.model.model import Budget, Phase, Queue, Quota, State, Task
from podium.core.profiles.profile import Profile, read_profile

NOW = 1_000_000.0
GIB = 1 << 30
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def profile(
    *tiers: Sequence[str | Mapping[str, Any]],
    actions: str = "allocate",
    arguments: Mapping[str, Any] | None = None,
) -> Profile:
    """A profile from tiers of plugin names, or of entries as a configuration file has them."""
    document = {
        "actions": actions,
        "tiers": [
            {"plugins": [{"name": each} if isinstance(each, str) else dict(each) for each in tier]}
            for tier in tiers
        ],
        "configurations": [
            {"name": name, "arguments": dict(values)} for name, values in (arguments or {}).items()
        ],
    }
    return read_profile(document)


def named(namespace: str = "ns", **labels: str) -> PodSelection:
    """Tasks of a namespace with these labels."""
    return PodSelection((namespace,), tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


def near(key: str, **labels: str) -> PodTerm:
    return PodTerm(key, named(**labels))


class World:
    """A cluster under construction."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cluster.put_queue(Queue("q", "q"))
        self.decisions: list[Decision] = []

    def node(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        *,
        cpu: int = 10_000,
        memory: int = 100 * GIB,
        pods: int = 110,
        taints: Iterable[Taint] = (),
        more: Mapping[str, int] | None = None,
        **facts: Any,
    ) -> None:
        room = {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})}
        every = {HOST: name, **(labels or {})}
        self.cluster.put_node(NodeFacts(name, "", room, every, tuple(taints), **facts))

    def queue(self, id: str, **fields: Any) -> None:
        self.cluster.put_queue(Queue(id, id, **fields))

    def budget(self, id: str, allowed: int, **labels: str) -> None:
        self.cluster.put_budget(Budget(id, named(**labels), allowed))

    def quota(self, id: str, hard: Mapping[str, int], used: Mapping[str, int] | None = None) -> None:
        self.cluster.put_quota(Quota(id, "ns", hard, used or {}))

    def gang(self, name: str, *, queue: str = "q", minimum: int = 1, **facts: Any) -> str:
        facts = {"phase": Phase.INQUEUE, **facts}
        self.cluster.put_gang(GangFacts(f"ns/{name}", "ns", name, queue, minimum, **facts))
        return f"ns/{name}"

    def task(
        self,
        name: str,
        wanted: Constraints | None = None,
        *,
        at: str = "",
        gang: str = "",
        cpu: int = 1000,
        memory: int = GIB,
        more: Mapping[str, int] | None = None,
        queue: str = "q",
        gang_priority: int = 0,
        **facts: Any,
    ) -> Task:
        """A task, running when it is told where; of a gang of its own unless one is named."""
        if not gang:
            gang = self.gang(name, queue=queue, minimum=0 if at else 1, priority=gang_priority)
        state = facts.pop("state", State.RUNNING if at else State.PENDING)
        amounts = {key: value for key, value in {"cpu": cpu, "memory": memory, **(more or {})}.items() if value}
        return self.cluster.put_task(
            TaskFacts(
                f"ns/{name}", "ns", name, gang, amounts, wanted or Constraints(), state=state, node=at, **facts
            )
        )

    def session(self, by: Profile) -> Session:
        return Session(self.cluster, by.plugins(), NOW, by.arguments, by.actions)

    def run(self, by: Profile, *, failing: bool = False) -> World:
        """One turn.  No plugin may raise in it, unless the test is about that."""
        self.decisions = run_cycle(self.cluster, by, NOW)
        self.cluster.validate()
        failures = [each.trace for each in self.decisions if isinstance(each, Failure)]
        assert failing or not failures, failures[0]
        return self

    @property
    def placed(self) -> dict[str, str]:
        return {_short(each.task): each.node for each in self.decisions if isinstance(each, Bind)}

    @property
    def evicted(self) -> set[str]:
        return {_short(each.task) for each in self.decisions if isinstance(each, Evict)}

    @property
    def promised(self) -> dict[str, str]:
        return {_short(each.task): each.node for each in self.decisions if isinstance(each, Nominate)}

    def refusal(self, gang: str) -> str:
        """What a gang was told, as text."""
        return " ".join(
            str(each.refusal) for each in self.decisions if isinstance(each, Refuse) and each.gang == f"ns/{gang}"
        )


def _short(id: str) -> str:
    return id.removeprefix("ns/")
