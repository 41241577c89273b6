"""Who is asked about, when that is as wanted, and what a scheduler does about it now."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import msgspec

from podium.core.model import quorum
from podium.core.model.decisions import Decision, Evict, Nominate, Refuse
from podium.core.model.model import HOLDING, READY, Gang, Phase, State, Task
from podium.explain.model import Model
from podium.numbers import HalfBound, Incomplete, Places
from podium.reasons import FILTERED, MEMBERS_HELD, Refusal, refuse

_HAS_ITS_PLACE = READY | {State.FAILED}


class Goal(msgspec.Struct, frozen=True):
    """Gangs that are to start; or, of one gang, some tasks that are to have their places."""

    profile: str
    gangs: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()  # gangs that had enough members when they were asked about
    outside: frozenset[str] = frozenset()  # those that had none yet, and had not been let in

    @classmethod
    def of(cls, model: Model, gangs: Iterable[Gang], tasks: Iterable[Task] = ()) -> Goal:
        chosen = tuple(gangs)
        whole = frozenset(gang.id for gang in chosen if quorum.satisfied(gang) and gang.ready)
        outside = frozenset(gang.id for gang in chosen if not gang.tasks and gang.phase is Phase.PENDING)
        ids = tuple(gang.id for gang in chosen)
        return cls(chosen[0].profile, ids, tuple(task.id for task in tasks), whole, outside)

    def waiting(self, model: Model) -> Iterator[Task]:
        """The tasks that have no place yet."""
        for id in self.gangs:
            gang = model.cluster.gangs.get(id)
            for task in gang.tasks.values() if gang is not None else ():
                if task.state is State.PENDING and (not self.tasks or task.id in self.tasks):
                    yield task

    def reached(self, model: Model) -> bool:
        return all(self._started(model.cluster.gangs.get(id)) for id in self.gangs)

    def _started(self, gang: Gang | None) -> bool:
        if gang is None:
            return False
        tasks = gang.tasks
        if self.tasks and not all(id in tasks and tasks[id].state in _HAS_ITS_PLACE for id in self.tasks):
            return False
        if gang.id in self.outside:
            return gang.phase is not Phase.PENDING  # its controller makes the members then
        if not quorum.satisfied(gang):
            return False
        held = (task for task in tasks.values() if task.state is State.RESERVED and task.has_pod)
        if next(held, None) is not None:
            return False  # its places are kept, and those it starts with are not ready
        return bool(self.tasks) or gang.id not in self.whole or not gang.counts[State.PENDING]


class Outcome(msgspec.Struct, frozen=True):
    """What a scheduler does about a goal."""

    reached: bool
    refusals: tuple[Refusal, ...] = ()
    nodes: tuple[str, ...] = ()  # that its tasks get
    placed: int = 0
    promised: tuple[str, ...] = ()  # nodes that some of them have once others have left
    evicts: int = 0

    @property
    def causes(self) -> dict[Refusal, str]:
        """What keeps it, each once, in words: reasons that have no reason of their own."""
        return dict(leaf for refusal in self.refusals for leaf in leaves(refusal))

    @property
    def shape(self) -> frozenset[object]:
        """Which causes there are, whatever their numbers."""
        return frozenset(cause.shape for cause in self.causes)


def leaves(refusal: Refusal) -> Iterator[tuple[Refusal, str]]:
    """The causes of a refusal; in words with the number of nodes, where they are about nodes."""
    numbers = refusal.numbers
    if isinstance(numbers, Incomplete | HalfBound):
        yield from leaves(numbers.cause)
    elif isinstance(numbers, Places):
        for cause in numbers.causes:
            yield cause.refusal, f"{cause.nodes} {cause.refusal}"
        if not numbers.causes:
            yield Refusal(FILTERED, FILTERED.numbers()), ""
    else:
        yield refusal, str(refusal)
    for other in refusal.others:
        yield from leaves(other)


def try_out(model: Model, goal: Goal, left_alone: Container[str] = ()) -> Outcome:
    """What becomes of a goal in the model as it is now, if nothing is decided on some other gangs."""

    def look(decisions: list[Decision]) -> tuple[bool, Outcome]:
        reached = goal.reached(model)
        return reached, _outcome(model, goal, decisions, reached)

    if goal.profile not in model.profiles:
        return Outcome(False)
    return model.turns(goal.profile, look, left_alone)


def _outcome(model: Model, goal: Goal, decisions: list[Decision], reached: bool) -> Outcome:
    cluster = model.cluster
    groups = (
        quorum.component(gang, cluster.accounts.tied.values(), cluster.gangs.get) for gang in _gangs(model, goal)
    )
    tied = {each.id for group in groups for each in group}
    members = {task.id for gang in _gangs(model, goal) for task in gang.tasks.values()}
    refusals: dict[Refusal, None] = {}
    of_others: dict[Refusal, None] = {}  # of the gangs that start together with it
    promised: dict[str, None] = {}
    evicts = 0
    for decision in decisions:
        match decision:
            case Refuse() if decision.gang in tied and (
                not decision.task or not goal.tasks or decision.task in goal.tasks
            ):
                (refusals if decision.gang in goal.gangs else of_others)[decision.refusal] = None
            case Nominate() if decision.task in members and decision.node:
                promised[decision.node] = None
            case Evict():
                evicts += 1
    own = [task for task in members if task in cluster.tasks and cluster.tasks[task].state in HOLDING]
    nodes = dict.fromkeys(cluster.nodes.name(cluster.tasks[id].row) for id in own if cluster.tasks[id].row >= 0)
    for id in members:
        if id in model.world.refused:
            refusals[model.world.refused[id]] = None
    refusals |= of_others
    held = sum(1 for id in members if cluster.tasks[id].gated and cluster.tasks[id].state is State.PENDING)
    if held and not reached and not promised and not refusals:
        refusals[refuse(MEMBERS_HELD, count=held)] = None  # nothing of it is for a scheduler to decide on yet
    return Outcome(reached, tuple(refusals), tuple(nodes), len(own), tuple(promised), evicts)


def _gangs(model: Model, goal: Goal) -> list[Gang]:
    return [gang for id in goal.gangs if (gang := model.cluster.gangs.get(id)) is not None]
