"""What the scheduler says in the API: why pods wait, how groups stand, what queues hold.

It speaks when something changed that a reader would want to know: another reason, another limiting party, another
phase.  Numbers alone are told again once a minute at the most.  And it yields to binds: what is to be said waits
in a queue with a budget, the latest word on an object replacing the one before it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from podium.core.decisions import Bind, Decision, Evict, GangPhase, Nominate, Refuse
from podium.core.model import HOLDING, Gang, State, Task
from podium.dialects.dialect import Verdict
from podium.engine import effects
from podium.engine.world import World
from podium.kube.changes import Patch
from podium.reasons import Refusal

WORDS_A_SECOND = 50.0
REPEAT_SECONDS = 60.0
QUEUE_SECONDS = 1.0  # between two counts of what queues hold

# (resource's plural, namespace, name): what a word is about.
About = tuple[str, str, str]


class _Told(msgspec.Struct):
    """The last word on a pod."""

    code: str
    sentence: str
    at: float


class Voice:
    """Collects words during a turn, and lets them out within the budget."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: OrderedDict[About, Patch] = OrderedDict()
        self._told: dict[str, _Told] = {}
        self._budget = WORDS_A_SECOND
        self._refilled = 0.0
        self._turns = 0
        self._counted = 0.0

    def turn_ended(self, decisions: Iterable[Decision], now: float) -> None:
        """Takes in what a turn decided and refused."""
        self._turns += 1
        verdicts: dict[str, Verdict] = {}
        concerned: set[str] = set()
        cluster = self._world.cluster
        for decision in decisions:
            if isinstance(decision, Refuse):
                verdicts.setdefault(decision.gang, Verdict(decision.refusal, decision.task))
                concerned.add(decision.gang)
            elif isinstance(decision, GangPhase):
                concerned.add(decision.gang)
            elif isinstance(decision, Bind | Evict | Nominate):
                concerned.add(cluster.tasks[decision.task].gang.id)
        for id in concerned:
            gang = cluster.gangs.get(id)
            if gang is None:
                continue
            verdict = verdicts.get(id)
            self._speak_of_group(gang, verdict, now)
            if verdict is not None:
                for task in gang.tasks.values():
                    if task.state is State.PENDING and not task.gated:
                        self._speak_of_pod(task, verdict.refusal, now)
        self._count_queues(now)

    def forget(self, task: str) -> None:
        self._told.pop(task, None)

    def take(self, now: float) -> list[Patch]:
        """As many words as the budget allows now."""
        self._budget = min(WORDS_A_SECOND, self._budget + (now - self._refilled) * WORDS_A_SECOND)
        self._refilled = now
        words: list[Patch] = []
        while self._waiting and self._budget >= 1:
            words.append(self._waiting.popitem(last=False)[1])
            self._budget -= 1
        return words

    def next_wake(self, now: float) -> float | None:
        if not self._waiting:
            return None
        missing = max(0.0, 1 - self._budget)
        return max(now, self._refilled + missing / WORDS_A_SECOND)

    def _speak_of_pod(self, task: Task, refusal: Refusal, now: float) -> None:
        last = self._told.get(task.id)
        sentence = str(refusal)
        known = last is not None and last.code == refusal.code
        if last is not None and known and (last.sentence == sentence or now < last.at + REPEAT_SECONDS):
            return
        self._told[task.id] = _Told(refusal.code, sentence, now)
        self._say(effects.unschedulable(task, sentence, now))

    def _speak_of_group(self, gang: Gang, verdict: Verdict | None, now: float) -> None:
        for resource, kind in self._world.groups.items():
            obj = self._world.cache.get(resource, gang.namespace, gang.name)
            if obj is not None and kind.id(gang.namespace, gang.name) == gang.id:
                patch = kind.patch(obj, gang, verdict, f"turn-{self._turns}", now)
                if patch is not None:
                    self._say(patch)

    def _count_queues(self, now: float) -> None:
        if not self._world.queues or now < self._counted + QUEUE_SECONDS:
            return
        self._counted = now
        held = held_by_queue(self._world)
        for resource, kind in self._world.queues.items():
            for obj in self._world.cache.all(resource):
                patch = kind.patch(obj, held.get(kind.id(obj.name), {}))
                if patch is not None:
                    self._say(patch)

    def _say(self, patch: Patch) -> None:
        about = (patch.resource.plural, patch.namespace, patch.name)
        self._waiting[about] = patch


def held_by_queue(world: World) -> dict[str, Mapping[str, int]]:
    """What the tasks of each queue hold, by resource."""
    names = world.cluster.dimensions.names
    held: dict[str, dict[str, int]] = {}
    for gang in world.cluster.gangs.values():
        if not gang.count(HOLDING):
            continue
        sums = held.setdefault(gang.queue, {})
        for task in gang.tasks.values():
            if task.state in HOLDING:
                for column, amount in task.cls.request.pairs:
                    sums[names[column]] = sums.get(names[column], 0) + amount
    return dict(held)
