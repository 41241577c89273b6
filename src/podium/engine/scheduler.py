"""The scheduler: keeps the model in step with what is observed, lets profiles take turns, and follows its writes.

    observe / forget / synced   what the watches tell: facts for the model
    run                         a turn of the profiles that have work; hands out tickets
    done                        the answer to a ticket: confirms, gives back, or asks how things stand
    next_wake                   when to call `run` though nothing happened

Usage is level-triggered: what is observed plus what is under way.  A watch that is behind cannot take a place back
that a bind has been sent for; the bind's own answer, or the pod itself, does.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Mapping
from enum import Enum

from podium.core.cycle import run_cycle
from podium.core.decisions import Bind, Decision, Evict, Nominate
from podium.core.model import Gang, State, Task
from podium.core.profile import Profile
from podium.engine import effects
from podium.engine.flights import Bound, Outcome, outcome, rest
from podium.engine.recovery import PATIENCE, is_torn, write_plan
from podium.engine.voice import Voice
from podium.engine.world import World
from podium.kube.changes import Change
from podium.kube.controller import Ticket
from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod

# A burst of events is decided on together: the first after a silence at once, the next ones this much later.
PACE = 0.005


class Errand(Enum):
    """What a ticket was sent for."""

    BIND = "bind"
    MARK = "mark for eviction"
    EVICT = "evict"
    NOMINATE = "nominate"
    TELL = "tell"
    ASK = "ask"


class Scheduler:
    """The machine."""

    def __init__(self, world: World, profiles: Mapping[str, Profile], turns: int | None = None) -> None:
        """`turns` limits how often the profiles are asked: one is a single look at the cluster."""
        self._world = world
        self._voice = Voice(world)
        self._cluster = world.cluster
        self._profiles = dict(profiles)
        self._listed: set[Resource] = set()
        self._turns_left = turns
        self._dirty = False
        self._last_turn = float("-inf")
        self._plans = 0
        self._sent: dict[str, Bound] = {}  # binds under way, by task
        self._failures: dict[str, int] = {}  # by gang
        self._resting: dict[str, float] = {}  # gangs that are left alone until then
        self._torn: dict[str, float] = {}  # half-bound gangs, since when
        self._timers: list[tuple[float, str]] = []
        self._out: list[Ticket] = []

    @property
    def resources(self) -> set[Resource]:
        return self._world.resources

    def serve(self, resource: Resource) -> None:
        """Custom resources of others are no concern of the scheduler's."""

    def withdraw(self, resource: Resource) -> None:
        """See `serve`."""

    # --- what happened -----------------------------------------------------------------------------------------

    def synced(self, resource: Resource) -> None:
        self._listed.add(resource)
        self._dirty = True

    def observe(self, resource: Resource, obj: Object) -> None:
        if self._world.observe(resource, obj, self._sent):
            self._dirty = True
        task = self._cluster.tasks.get(obj.uid)
        if task is not None and task.state not in (State.PENDING, State.BINDING):
            self._sent.pop(obj.uid, None)  # the pod itself tells where it is

    def forget(self, resource: Resource, obj: Object) -> None:
        self._sent.pop(obj.uid, None)
        self._voice.forget(obj.uid)
        if self._world.forget(resource, obj):
            self._dirty = True

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        """The answer to a ticket."""
        errand = Errand(ticket.controller)
        task = self._cluster.tasks.get(ticket.key[1])
        if errand is Errand.BIND:
            self._bind_answered(ticket.key[1], task, outcome(error), now)
        elif errand is Errand.ASK:
            self._question_answered(ticket, task, result, error, now)
        elif errand is Errand.MARK and task is not None:
            # Whether the mark could be written or not, the room is needed.
            self._send(Errand.EVICT, task, effects.eviction(task))
        elif error is not None and outcome(error) is Outcome.UNKNOWN and task is not None:
            self._send(errand, task, ticket.change)

    def _bind_answered(self, id: str, task: Task | None, result: Outcome, now: float) -> None:
        sent = self._sent.get(id)
        if sent is None or task is None:
            return  # the watch was faster
        if result is Outcome.DONE:
            if task.state is State.BINDING:
                self._cluster.assign(task, State.BOUND, task.row)
            self._failures.pop(task.gang.id, None)
            return
        if result is Outcome.UNKNOWN:
            sent.doubts += 1
            self._send(Errand.ASK, task, effects.question(task))
            return
        del self._sent[id]
        if task.state is State.BINDING:
            self._cluster.assign(task, State.PENDING, -1)
        self._leave_alone(task.gang, now)

    def _question_answered(
        self, ticket: Ticket, task: Task | None, pod: Object | None, error: Exception | None, now: float
    ) -> None:
        if task is None:
            return
        if isinstance(pod, Pod) and pod.uid == task.id:
            sent = self._sent.pop(task.id, None)
            self._world.reread(pod, self._sent)
            if sent is not None and task.state is State.PENDING:
                self._leave_alone(task.gang, now)  # it was never bound: once more, a little later
        elif outcome(error) is Outcome.UNKNOWN:
            self._send(Errand.ASK, task, ticket.change)
        else:
            self._sent.pop(task.id, None)
            self._cluster.remove_task(task.id)
        self._dirty = True

    def _leave_alone(self, gang: Gang, now: float) -> None:
        count = self._failures.get(gang.id, 0)
        self._failures[gang.id] = count + 1
        until = now + rest(count)
        self._resting[gang.id] = until
        heapq.heappush(self._timers, (until, gang.id))

    # --- what to do --------------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        while self._timers and self._timers[0][0] <= now:
            until, gang = heapq.heappop(self._timers)
            if self._resting.get(gang) == until:
                del self._resting[gang]
            self._dirty = True
        if self._may_turn and now >= self._last_turn + PACE:
            self._dirty = False
            self._last_turn = now
            if self._turns_left is not None:
                self._turns_left -= 1
            self._take_turns(now)
        for change in self._voice.take(now):
            self._out.append(Ticket(Errand.TELL.value, (change.namespace, change.name), change))
        tickets, self._out = self._out, []
        return tickets

    def next_wake(self, now: float) -> float | None:
        if self._out:
            return now
        if self._may_turn:
            return max(now, self._last_turn + PACE)
        due = [
            at
            for at in (self._voice.next_wake(now), self._timers[0][0] if self._timers else None)
            if at is not None
        ]
        return min(due, default=None)

    @property
    def _may_turn(self) -> bool:
        """Nothing is decided before everything has been listed."""
        return self._dirty and self._turns_left != 0 and self._listed >= self.resources

    def _take_turns(self, now: float) -> None:
        """Every profile that has work, the one whose gang waits longest first, so that none starves another.

        Half-bound gangs have a turn of their own before that.
        """
        waiting: dict[str, float] = {}
        for gang in self._cluster.gangs.values():
            if gang.counts[State.PENDING] or gang.counts[State.PIPELINED]:
                waiting[gang.profile] = min(waiting.get(gang.profile, now), gang.created)
        self._look_for_torn(now)
        names = sorted(waiting.keys() & self._profiles.keys(), key=lambda each: (waiting[each], each))
        if self._torn:
            others = self._cluster.gangs.keys() - (self._torn.keys() - self._resting.keys())
            for name in names:
                self._turn(name, others, now)
        for name in names:
            self._turn(name, self._resting.keys(), now)
        self._give_up_torn(now)

    def _turn(self, name: str, resting: Container[str], now: float) -> None:
        decisions = run_cycle(self._cluster, self._profiles[name], now, name=name, resting=resting)
        self._carry_out(decisions, now)

    def _look_for_torn(self, now: float) -> None:
        plans = self._world.plans
        torn = {id for id, gang in self._cluster.gangs.items() if is_torn(gang, plans)}
        self._torn = {id: self._torn.get(id, now) for id in torn}

    def _give_up_torn(self, now: float) -> None:
        """A gang that cannot be made whole in time gives its places back."""
        for id, since in list(self._torn.items()):
            gang = self._cluster.gangs[id]
            if not is_torn(gang, self._world.plans):
                del self._torn[id]
            elif now < since + PATIENCE:
                heapq.heappush(self._timers, (since + PATIENCE, id))
            else:
                for task in [each for each in gang.tasks.values() if each.state in (State.BOUND, State.RUNNING)]:
                    self._cluster.assign(task, State.RELEASING, task.row)
                    why = f"{gang.namespace}/{gang.name} could not be made whole"
                    self._send(Errand.MARK, task, effects.disruption_mark(task, why, now))

    def _carry_out(self, decisions: list[Decision], now: float) -> None:
        self._plans += 1
        for decision in decisions:
            if isinstance(decision, Bind):
                task = self._cluster.tasks[decision.task]
                plan = write_plan(decision.gang, self._plans, decision.members, now)
                self._cluster.assign(task, State.BINDING, task.row)
                self._sent[task.id] = Bound(decision.node, plan)
                self._send(Errand.BIND, task, effects.binding(task, decision.node, plan))
            elif isinstance(decision, Evict):
                task = self._cluster.tasks[decision.task]
                self._send(Errand.MARK, task, effects.disruption_mark(task, decision.why, now))
            elif isinstance(decision, Nominate):
                task = self._cluster.tasks[decision.task]
                self._send(Errand.NOMINATE, task, effects.nomination(task, decision.node))
        self._voice.turn_ended(decisions, now)

    def _send(self, errand: Errand, task: Task, change: Change) -> None:
        self._out.append(Ticket(errand.value, (task.namespace, task.id), change))
