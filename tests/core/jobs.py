"""Elastic jobs for tests: how long their trainers have run so far, and what a plan makes of their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.core.cluster.slots import any_slot, slot_id
from podium.core.model.decisions import Resize
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Size, State
from podium.core.profiles.profile import Profile
from tests.core.world import GIB, NOW, World, profile

GPU = "nvidia.com/gpu"
ROLE = "trainer"


def plan_profile(actions: str = "elastic, allocate", **arguments: Any) -> Profile:
    return profile(
        ["gang", "predicates", "nodeorder"],
        actions=actions,
        arguments={"elastic": arguments} if arguments else None,
    )


class Jobs(World):
    """Nodes, and jobs that run on them or wait."""

    def room(self, name: str, cpu: float = 0, memory: int = 64, gpu: int = 0, used: float = 0) -> None:
        """A node, of which somebody else may use a part."""
        self.node(name, cpu=int(cpu * 1000), memory=memory * GIB, more={GPU: gpu} if gpu else {})
        if used:
            self.task(f"used-{name}", at=name, cpu=int(used * 1000))

    def job(
        self,
        name: str,
        times: Sequence[float] = (),
        *,
        level: int = 100,
        least: int = 1,
        most: int = 1,
        cpu: float = 1,
        memory: float = 1,
        gpu: int = 0,
        window: float = 0.0,
        scaled: float = 0.0,
        user: str = "",
        submitted: float = NOW - 10,
        at: str = "",
        fixed: Mapping[str, float] | None = None,
        wanted: int | None = None,
        served: float | None = None,
    ) -> None:
        """A job whose trainers have run for so long; none, if it waits.  `fixed`: other roles, by their cores."""
        size = Size(
            least, most, len(times) if wanted is None else wanted, ROLE, level, window, user, scaled=scaled,
            served=served if served is not None else sum(times), counted=NOW,
        )  # fmt: skip
        roles = {ROLE: min(least, size.wanted or least), **dict.fromkeys(fixed or {}, 1)}
        self.cluster.put_gang(
            GangFacts(
                f"ns/{name}", "ns", name, "q", sum(roles.values()), roles, size=size, phase=Phase.INQUEUE,
                created=submitted,
            )
        )  # fmt: skip
        amounts = {"cpu": int(cpu * 1000), "memory": int(memory * GIB), **({GPU: gpu} if gpu else {})}
        slots = [self._slot(name, ROLE, index, amounts) for index in range(max(len(times), size.wanted or least))]
        for role, cores in (fixed or {}).items():
            slots.append(self._slot(name, role, 0, {"cpu": int(cores * 1000)}))
        self.cluster.slots.put_all(slots)
        node = at or next(iter(self.cluster.nodes.rows), "")
        for role in (*([ROLE] * len(times)), *(fixed or {} if times else ())):
            self.trainer(name, node, amounts if role == ROLE else {"cpu": int((fixed or {})[role] * 1000)}, role)

    def trainer(self, job: str, node: str, amounts: Mapping[str, int], role: str = ROLE, **facts: Any) -> None:
        number = sum(1 for each in self.cluster.tasks.values() if each.gang.name == job and each.has_pod)
        name = facts.pop("name", f"{job}-{role}-x{number}")
        state = State.RUNNING if node else State.PENDING
        self.cluster.put_task(
            TaskFacts(
                f"ns/{name}", "ns", name, f"ns/{job}", amounts, role=role, slot=any_slot(job, role),
                **{"state": state, "node": node, "started": NOW, **facts},
            )
        )  # fmt: skip

    def _slot(self, job: str, role: str, index: int, amounts: Mapping[str, int]) -> TaskFacts:
        slot = slot_id(job, role, index)
        return TaskFacts(
            slot, "ns", f"{job}-{role}-{index}", f"ns/{job}", amounts, role=role, slot=slot, has_pod=False
        )

    def plan(self, **arguments: Any) -> dict[str, int]:
        """By how much each job is to be larger, after a whole plan."""
        self.cluster.planned.setdefault(None, (NOW - 60, -1))
        before = {gang.name: gang.size.wanted for gang in self.cluster.gangs.values() if gang.size is not None}
        self.run(plan_profile(**arguments))
        told = {each.gang.removeprefix("ns/"): each.size for each in self.decisions if isinstance(each, Resize)}
        return {name: told.get(name, size) - size for name, size in before.items()}
