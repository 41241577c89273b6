"""Another scheduler for the same pods: noticed by what it does, and said.

Two schedulers that serve one scheduler name book the same room twice, and nobody tells them of each other.  What
can be seen is a pod that waited, asked for one of this scheduler's names, and was bound by a binding that this
process has not sent.  A binding without a gang plan is none of podium's; one with a plan of somebody else is that
of a second podium, or of the leader before this one, whose last binds may show for a while.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Container, Iterable, Iterator

import msgspec

from podium.engine.effects import GANG_PLAN
from podium.engine.recovery import bound_at
from podium.kube.wire import Pod

ANOTHER_SCHEDULER = "AnotherScheduler"  # the reason of the event

SETTLING_SECONDS = 30.0  # after the start, in which binds of the leader before this one may still show
REPEAT_SECONDS = 60.0
_REMEMBERED = 4096  # plans of one's own whose binds may arrive late


class Clash(msgspec.Struct, frozen=True):
    """A pod that somebody else has bound, and how many of its scheduler name since this was last said."""

    pod: Pod
    count: int
    other_podium: bool

    def __str__(self) -> str:
        name, pod = self.pod.spec.scheduler_name, self.pod
        who = "another podium" if self.other_podium else "another scheduler"
        counted = f"{self.count} pods, the last one {pod.name}," if self.count > 1 else f"the pod {pod.name}"
        were = "were" if self.count > 1 else "was"
        advice = "let them share the lease podium-scheduler" if self.other_podium else "stop one of the two"
        return (
            f"{who} serves the scheduler name {name}: {counted} {were} bound by it "
            f"(to {pod.spec.node_name}); both count the same room as free: {advice}, or give them different names"
        )


class Clashes:
    """Counts what others have bound."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # by scheduler name
        self._plans: OrderedDict[str, None] = OrderedDict()
        self._since: float | None = None
        self._new: list[Pod] = []
        self._unsaid: dict[tuple[str, bool], tuple[Pod, int]] = {}
        self._said: dict[tuple[str, bool], float] = {}

    def sent(self, plan: str) -> None:
        """A bind of this plan leaves."""
        self._plans[plan] = None
        self._plans.move_to_end(plan)
        if len(self._plans) > _REMEMBERED:
            self._plans.popitem(last=False)

    def observed(self, before: Pod | None, pod: Pod, served: Container[str]) -> None:
        """A pod as it was known, and as it is now."""
        waited = before is not None and before.uid == pod.uid and not before.spec.node_name
        if not waited or not pod.spec.node_name or pod.spec.scheduler_name not in served:
            return
        if pod.annotations.get(GANG_PLAN) not in self._plans:
            self._new.append(pod)

    def take(self, now: float) -> Iterator[Clash]:
        """What is to be said now: at once for the first time, then once a minute for each name."""
        if self._since is None:
            self._since = now
        new, self._new = self._new, []
        for pod in new:
            other_podium = GANG_PLAN in pod.annotations
            if other_podium and now < self._since + SETTLING_SECONDS:
                continue
            name = pod.spec.scheduler_name
            self.counts[name] += 1
            count = self._unsaid.get((name, other_podium), (pod, 0))[1]
            self._unsaid[name, other_podium] = pod, count + 1
        for key in [key for key in self._unsaid if now >= self._said.get(key, float("-inf")) + REPEAT_SECONDS]:
            pod, count = self._unsaid.pop(key)
            self._said[key] = now
            yield Clash(pod, count, key[1])


def foreign_binds(pods: Iterable[Pod], served: Container[str], since: float) -> list[Pod]:
    """Pods of these scheduler names that have been bound since then, and not by a podium: for who asks later.

    What was bound before podium came, as by the scheduler that it replaced, is nobody's fault.
    """
    return [
        pod
        for pod in pods
        if pod.spec.scheduler_name in served
        and pod.spec.node_name
        and GANG_PLAN not in pod.annotations
        and bound_at(pod) >= since
    ]
