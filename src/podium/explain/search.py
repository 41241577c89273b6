"""What would unblock something, found by trying: each change is made to the model, and the scheduler asked again.

First every kind of change that the causes suggest is tried alone, as large as it goes.  Where none is enough, the
causes that are left suggest what to add.  What helps is then made as small as it can be, step by step: nothing
that is proposed is larger than needed, and all of it has been tried as a whole.

On a large cluster a trial may take a tenth of a second.  So whoever asks may say how long the search has been
going on: after a while what was found must do, and later nothing more is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice
from math import comb

import msgspec
import numpy as np

from podium.core.model import quorum
from podium.core.model.model import Gang, Task
from podium.explain.admission_ladders import admission_ladders
from podium.explain.goal import Goal, Outcome, try_out
from podium.explain.model import Model
from podium.explain.nodes_ladders import node_ladders
from podium.explain.proposals import Ladder, Proposal, choosing
from podium.explain.queue_ladders import budget_ladders, lower_minimum, other_ladders
from podium.explain.standings import Standings
from podium.kube.changes import Change

DEPTH = 3
TRIALS = 400  # at most, for one question
REMEDIES = 5
BRANCHES = 6  # of changes that help in part, and are added to
COMBINATIONS = 64  # of things that are looked through for a smaller choice
# Seconds after which no further remedy is looked for: where one was found, and in any case.
SOON, LATE = 0.5, 5.0

Elapsed = Callable[[], float]  # seconds since the search was asked for


def at_leisure() -> float:
    """For who can wait until everything has been tried."""
    return 0.0


class Remedy(msgspec.Struct, frozen=True):
    """Changes that together unblock something, the smallest of their kinds."""

    steps: tuple[Proposal, ...]
    causes: tuple[str, ...] = ()  # what was in the way that the refusal at the beginning does not say

    @property
    def sentence(self) -> str:
        return ", and ".join(step.sentence for step in self.steps)

    @property
    def kinds(self) -> frozenset[tuple[str, int, tuple[str, ...]]]:
        """What is changed, in whichever order it was found."""
        return frozenset((step.what, step.size, step.chosen) for step in self.steps)

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(command for step in self.steps for command in step.commands)


class _Step(msgspec.Struct, frozen=True):
    ladder: Ladder
    size: int
    chosen: tuple[str, ...] = ()  # of kinds that are made to some of many things: to which
    after: tuple[str, ...] = ()  # what showed only once the steps before had been made

    @property
    def proposal(self) -> Proposal:
        if self.chosen and self.ladder.pick is not None:
            return self.ladder.pick(self.chosen)
        return self.ladder.at(self.size)


class Search:
    """One question: what would unblock a goal?"""

    def __init__(self, model: Model, goal: Goal, trials: int = TRIALS, elapsed: Elapsed = at_leisure) -> None:
        self._model = model
        self._goal = goal
        self._left = trials
        self._elapsed = elapsed
        self._behind = _behind(model, goal)

    def remedies(self, outcome: Outcome) -> list[Remedy]:
        """What helps, by what its causes suggest; changes to what there is before more hardware."""
        found: list[tuple[bool, Remedy]] = []
        level: list[tuple[tuple[_Step, ...], Outcome]] = [((), outcome)]
        for _ in range(DEPTH):
            following: list[tuple[tuple[_Step, ...], Outcome]] = []
            for steps, before in level[:BRANCHES]:
                tried = {step.ladder.what for step in steps}
                new = (text for cause, text in before.causes.items() if cause.shape not in outcome.shape)
                came_up = tuple(islice(new, 1))  # the others are of nodes, and concern fewer
                with self._model.changed(_changes(steps)):
                    ladders = list(self._ladders(before))
                for ladder in ladders:
                    cheap = any(not costly for costly, _ in found)
                    if ladder.what in tried or self._spent(cheap) or len(found) >= REMEDIES:
                        continue
                    grown = (*steps, _Step(ladder, ladder.most, after=came_up))
                    after = self._try(grown)
                    if after.reached:
                        remedy = self._smallest(grown, after)
                        costly = any(step.ladder.costly for step in grown)
                        known = [other.kinds for _, other in found]
                        if remedy.kinds not in known and self._stands(remedy):
                            found.append((costly, remedy))
                    elif after.shape != before.shape or after.placed > before.placed:
                        following.append((grown, after))
            if any(not costly for costly, _ in found):
                break
            level = following
        return [remedy for _, remedy in sorted(found, key=lambda each: each[0])]

    def _spent(self, found: bool = False) -> bool:
        """Whether nothing more is tried; where something was found that needs no hardware, sooner."""
        return self._left <= 0 or self._elapsed() >= (SOON if found else LATE)

    @property
    def cut(self) -> bool:
        """Whether there may be more that helps, or less that is enough."""
        return self._spent()

    def _ladders(self, outcome: Outcome) -> Iterator[Ladder]:
        model, goal = self._model, self._goal
        gangs = [gang for id in goal.gangs if (gang := model.cluster.gangs.get(id)) is not None]
        if not gangs:
            return
        cluster = model.cluster
        groups = (quorum.component(gang, cluster.accounts.tied.values(), cluster.gangs.get) for gang in gangs)
        tied = list({each.id: each for group in groups for each in group}.values())
        tasks = list(goal.waiting(model)) or [task for gang in tied for task in _pending(gang)]
        yield from other_ladders(model, tied, tasks, outcome.causes)
        yield from budget_ladders(model)
        placeable = [task for task in tasks if not task.gated and not task.best_effort]
        if placeable:
            missing = max(len(goal.tasks), *(_missing(gang) for gang in tied), len(goal.gangs))
            yield from node_ladders(model, placeable, missing, outcome.causes, self._matching(placeable[0]))
        else:
            yield from admission_ladders(model, tied, outcome.causes)
        if not goal.tasks or any(gang.id not in goal.whole for gang in gangs):
            for gang in tied:
                yield from lower_minimum(model, gang)

    def _matching(self, task: Task) -> list[int]:
        """The rows that a task could go to if there were room."""
        session = self._model.session(self._goal.profile)
        mask = session.candidates(task).static
        session.dismiss()
        return [int(row) for row in np.flatnonzero(mask & self._model.cluster.nodes.live[: len(mask)])]

    def _try(self, steps: Sequence[_Step]) -> Outcome:
        self._left -= 1
        with self._model.changed(_changes(steps)):
            return try_out(self._model, self._goal, self._behind)

    def _stands(self, remedy: Remedy) -> bool:
        """Whether it helps when everybody is looked at, also those who are served later."""
        if not self._behind:
            return True
        with self._model.changed([change for step in remedy.steps for change in step.changes]):
            return try_out(self._model, self._goal).reached

    # --- as small as it can be -----------------------------------------------------------------------------------

    def _smallest(self, steps: tuple[_Step, ...], outcome: Outcome) -> Remedy:
        """The same kinds of change in their smallest sizes.

        Nodes are changed in some order: those with the most room first, or those that the scheduler took first.
        Whichever comes to less is proposed, without those of which fewer would do.
        """
        best = self._shrunk(steps)
        others = tuple(_reordered(step, outcome.nodes) for step in steps)
        if others != steps:
            best = min((best, self._shrunk(others)), key=_size)
        while True:
            fewer = self._without_one(best)
            if fewer is None:
                return _remedy(best)
            best = fewer

    def _shrunk(self, steps: tuple[_Step, ...]) -> tuple[_Step, ...]:
        kept = list(steps)
        for number in range(len(kept)):
            rest = (*kept[:number], *kept[number + 1 :])
            if rest and self._try(rest).reached:
                return self._shrunk(rest)
            kept[number] = msgspec.structs.replace(kept[number], size=self._least(kept, number), chosen=())
        return tuple(kept)

    def _without_one(self, steps: tuple[_Step, ...]) -> tuple[_Step, ...] | None:
        """The same with one step, one node or one pod less, whichever: None if nothing of that is enough."""
        for number, step in enumerate(steps):
            rest = (*steps[:number], *steps[number + 1 :])
            if rest and self._try(rest).reached:
                return rest
            for chosen in _fewer(step):
                other = msgspec.structs.replace(step, size=len(chosen), chosen=chosen)
                tried = (*steps[:number], other, *steps[number + 1 :])
                if self._spent():
                    return None
                if self._try(tried).reached:
                    return tried
        return None

    def _least(self, steps: Sequence[_Step], number: int) -> int:
        """The smallest size of one step with which the others are enough."""
        ladder = steps[number].ladder

        def enough(size: int) -> bool:
            if self._elapsed() >= LATE:
                return False
            return self._try([*steps[:number], _Step(ladder, size), *steps[number + 1 :]]).reached

        low, high = 0, steps[number].size  # not enough, enough
        if low < ladder.hint < high:
            if enough(ladder.hint):
                high = ladder.hint
                if high - 1 > low and not enough(high - 1):
                    return high
            else:
                low = ladder.hint
        return _halve(low, high, enough)


def _remedy(steps: Sequence[_Step]) -> Remedy:
    steps = sorted(steps, key=lambda step: step.ladder.room)
    proposals = tuple(step.proposal for step in steps)
    causes = dict.fromkeys(text for step in steps for text in (*step.after, step.proposal.cause) if text)
    return Remedy(proposals, tuple(causes))


def _changes(steps: Sequence[_Step]) -> list[Change]:
    return [change for step in steps for change in step.proposal.changes]


def _halve(low: int, high: int, enough: Callable[[int], bool]) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _reordered(step: _Step, first: Sequence[str]) -> _Step:
    """The same with the nodes that the scheduler took at the front."""
    ladder = step.ladder
    wanted = [name for name in first if name in ladder.among]
    if not wanted or ladder.pick is None:
        return step
    order = (*wanted, *(name for name in ladder.among if name not in wanted))
    return msgspec.structs.replace(
        step, ladder=choosing(ladder.what, order, ladder.pick, room=ladder.room), chosen=()
    )


def _fewer(step: _Step) -> Iterator[tuple[str, ...]]:
    """One thing less to change: without one of those that were chosen, or other ones if there are not many."""
    if step.ladder.pick is None:
        return
    chosen = step.chosen or step.proposal.chosen
    if len(chosen) < 2:
        return
    yield from (tuple(each for each in chosen if each != left) for left in chosen)
    if comb(len(step.ladder.among), len(chosen) - 1) <= COMBINATIONS:
        yield from combinations(step.ladder.among, len(chosen) - 1)


def _size(steps: Sequence[_Step]) -> int:
    return sum(step.proposal.size for step in steps)


def _behind(model: Model, goal: Goal) -> frozenset[str]:
    """Who is served after the goal in its queue: nothing of what they get comes before it."""
    standings = Standings(model)
    gangs = [gang for id in goal.gangs if (gang := model.cluster.gangs.get(id)) is not None]
    find, named = model.cluster.gangs.get, model.cluster.accounts.tied.values()
    tied = {each.id for gang in gangs for each in quorum.component(gang, named, find)}
    found: set[str] = set()
    for queue in {gang.queue for gang in gangs}:
        own = [gang for gang in gangs if gang.queue == queue]
        line = [gang.id for gang in standings.line(own[0])]
        last = max((line.index(id) for id in tied if id in line), default=len(line))
        found.update(line[last + 1 :])
    return frozenset(found - tied)


def _pending(gang: Gang) -> Iterator[Task]:
    return (task for task in gang.tasks.values() if task.row < 0)


def _missing(gang: Gang) -> int:
    return max(1, quorum.missing(gang))
