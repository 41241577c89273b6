"""The scheduler: keeps the model in step with what is observed, lets profiles take turns, and follows its writes.

    observe / forget / synced   what the watches tell: facts for the model
    run                         goes on with a turn of the profiles that have work; hands out tickets
    done                        the answer to a ticket: confirms, gives back, or asks how things stand
    next_wake                   when to call `run` though nothing happened

A turn goes in steps, a gang at a time, so that the first binds leave while the rest is still being decided.  While
a turn is under way, what happens is put into an inbox: the turn sees one state of the world from end to end.

Usage is level-triggered: what is observed plus what is under way.  A watch that is behind cannot take a place back
that a bind has been sent for; the bind's own answer, or the pod itself, does.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from enum import Enum
from functools import partial

from podium.core.cycle import cycle
from podium.core.decisions import Bind, Decision, Evict, Nominate, Refuse, Ungate
from podium.core.model import Gang, QuotaGate, State, Task
from podium.core.profile import Profile
from podium.core.recount import recount
from podium.engine import effects
from podium.engine.attention import PACE, PATROL, Attention, Look
from podium.engine.flights import Bound, Outcome, is_doubtful, is_no, outcome, wanted_pause
from podium.engine.prospects import Prospects
from podium.engine.recovery import Recovery, write_plan
from podium.engine.rests import Rests
from podium.engine.retries import Retries
from podium.engine.tally import Tally
from podium.engine.voice import Silence, Voice
from podium.engine.volumes import Held, VolumeBinder, bind_timeout
from podium.engine.world import World
from podium.errors import ApiError
from podium.kube.changes import Change, Patch
from podium.kube.controller import Ticket
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.reasons import BAD_SPEC, Refusal, refuse

log = logging.getLogger(__name__)

# The least time between two looks at everything when nothing has come free: Volcano's period.
PERIOD = 1.0
CHECK_SECONDS = 300.0  # between two self-checks, at least
_PORTION = 100  # gangs that are counted anew in one step of a turn
_MOST_REFUSALS = 5  # of an eviction, before its victim is left where it is


class Errand(Enum):
    """What a ticket was sent for."""

    BIND = "bind"
    MARK = "mark for eviction"
    EVICT = "evict"
    NOMINATE = "nominate"
    TELL = "tell"
    ASK = "ask"
    VOLUME = "give a claim its volume"
    UNGATE = "lift a gate"


class Scheduler:
    """The machine."""

    def __init__(
        self,
        world: World,
        profiles: Mapping[str, Profile],
        turns: int | None = None,
        *,
        period: float = PERIOD,
        pace: float = PACE,
        patrol: float = PATROL,
        check: float = CHECK_SECONDS,
        quiet: bool = False,
    ) -> None:
        """`turns` limits how often the profiles are asked: one is a single look at the cluster.

        `pace` is the least time between two turns, `period` between two looks at everything; `patrol` is how long
        time alone may change an answer unseen, and `check` how long a wrong sum may stand.  A `quiet` one does its
        work without a word.
        """
        self.tally = Tally()
        self._world = world
        self._voice = Silence(world) if quiet else Voice(world)
        self._cluster = world.cluster
        self._profiles = dict(profiles)
        self._attention = Attention(period, pace, patrol)
        self._listed: set[Resource] = set()
        self._turns_left = turns
        self._turn: Iterator[int] | None = None
        self._inbox: deque[Callable[[], None]] = deque()
        self._plans = 0
        self._sent: dict[str, Bound] = {}  # binds under way, or held for volumes, by task
        self._binding = 0  # binds that have not been answered
        self._rests = Rests()
        self._torn = Recovery(world.plans)
        self._check = check
        self._checked: float | None = None
        self._volumes = VolumeBinder(world)
        self._retries = Retries()
        self._nominating: set[str] = set()  # tasks whose promise is being written
        self._out: list[Ticket] = []

    @property
    def resources(self) -> set[Resource]:
        return self._world.resources

    @property
    def world(self) -> World:
        """What it knows."""
        return self._world

    @property
    def under_way(self) -> Mapping[str, Bound]:
        """Binds that have been sent and are not seen on their pods yet, by task."""
        return self._sent

    @property
    def settled(self) -> bool:
        """Whether everything it was told has been taken in, and nothing is being tried."""
        return self._turn is None and not self._inbox

    @property
    def turning(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None

    @property
    def holding(self) -> bool:
        """Whether binds wait for volumes."""
        return bool(self._volumes)

    @property
    def speaking(self) -> bool:
        """Whether there is something that has not been told yet."""
        return self._voice.waiting > 0

    def serve(self, resource: Resource) -> None:
        """Custom resources of others are no concern of the scheduler's."""

    def withdraw(self, resource: Resource) -> None:
        """See `serve`."""

    def reconfigure(self, profiles: Mapping[str, Profile]) -> None:
        """Other profiles, from the next turn on.  What was refused by the old ones is looked at again."""
        self._take_in(partial(self._reconfigure, profiles))

    def _reconfigure(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = dict(profiles)
        self._attention.forget()

    # --- what happened -----------------------------------------------------------------------------------------

    def synced(self, resource: Resource) -> None:
        self._listed.add(resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        self._take_in(partial(self._observe, resource, obj))

    def forget(self, resource: Resource, obj: Object) -> None:
        self._take_in(partial(self._forget, resource, obj))

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        """The answer to a ticket."""
        self._take_in(partial(self._answered, ticket, result, error, now))

    def _take_in(self, news: Callable[[], None]) -> None:
        if self._turn is None and not self._inbox:
            news()
        else:
            self._inbox.append(news)

    def _observe(self, resource: Resource, obj: Object) -> None:
        before = self._cluster.tasks.get(obj.uid) if self._rests else None
        left = before.gang.id if before is not None else ""
        try:
            self._world.observe(resource, obj, self._sent)
        except Exception as error:
            # Nothing that can be written may stop the loop: what was not foreseen is told, and the rest goes on.
            log.exception("%s %s/%s could not be taken in", resource.kind, obj.namespace, obj.name)
            self._world.blame(resource, obj, refuse(BAD_SPEC, field=resource.kind, detail=repr(error)))
        self._volumes.touched(resource, obj)
        task = self._cluster.tasks.get(obj.uid)
        if task is None:
            return
        if left:
            self._rests.follow(left, task.gang.id)
        if task.state not in (State.PENDING, State.BINDING):
            self._sent.pop(obj.uid, None)  # the pod itself tells where it is

    def _forget(self, resource: Resource, obj: Object) -> None:
        self._sent.pop(obj.uid, None)
        self._voice.forget(obj.uid)
        self._retries.forget(obj.uid)
        self._nominating.discard(obj.uid)
        self._world.forget(resource, obj)
        self._volumes.touched(resource, obj)

    def _answered(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        errand = Errand(ticket.controller)
        if errand is Errand.NOMINATE and (error is None or not is_doubtful(error)):
            self._nominating.discard(ticket.key[1])
        task = self._cluster.tasks.get(ticket.key[1])
        if error is None or (outcome(error) is Outcome.REFUSED and errand is not Errand.EVICT):
            self._retries.settled(ticket)
        if errand is Errand.BIND:
            self._bind_answered(ticket.key[1], task, error, now)
        elif errand is Errand.ASK:
            self._question_answered(ticket, task, result, error, now)
        elif errand is Errand.VOLUME:
            self._volume_answered(ticket, result, error, now)
        elif errand is Errand.MARK and task is not None:
            # Whether the mark could be written or not, the room is needed.
            self._send(Errand.EVICT, task, effects.eviction(task))
        elif errand is Errand.TELL:
            busy = isinstance(error, ApiError) and error.code == 429
            self._voice.answered(ticket.change, lost=busy or outcome(error) is Outcome.UNKNOWN)
        elif errand is Errand.UNGATE and isinstance(result, Pod):
            self._observe(PODS, result)
        elif errand is Errand.EVICT and task is not None and is_no(error):
            # The others of its gang may be gone by now: it is asked more than once.
            if self._retries.failures(ticket) < _MOST_REFUSALS:
                self._retries.again(ticket, now)
            else:
                self._retries.settled(ticket)
                self._stays(task)
        elif error is not None and is_doubtful(error) and task is not None:
            self._retries.again(ticket, now, wanted_pause(error))
        elif errand is Errand.UNGATE and error is not None and task is not None:
            task.quota_gate = QuotaGate.CLOSED  # it stands where it stood

    def _bind_answered(self, id: str, task: Task | None, error: Exception | None, now: float) -> None:
        sent, result = self._sent.get(id), outcome(error)
        self._binding -= 1
        self.tally.bind_answered(task, result, now)
        if task is not None and result is Outcome.DONE:
            self._voice.bound(task, now)
        if sent is None or task is None:
            return  # the watch was faster
        if result is Outcome.DONE:
            if task.state is State.BINDING:
                self._cluster.assign(task, State.BOUND, task.row)
            self._rests.succeeded(task.gang.id)
            return
        if result is Outcome.UNKNOWN:
            sent.doubts += 1
            self._send(Errand.ASK, task, effects.question(task))
            return
        del self._sent[id]
        if task.state is State.BINDING:
            self._cluster.assign(task, State.PENDING, -1)
            self._world.news.room = True
        self._rests.leave_alone(task.gang.id, now, wanted_pause(error))

    def _question_answered(
        self, ticket: Ticket, task: Task | None, pod: Object | None, error: Exception | None, now: float
    ) -> None:
        if task is None:
            return
        if isinstance(pod, Pod) and pod.uid == task.id:
            sent = self._sent.pop(task.id, None)
            self._world.reread(pod, self._sent)
            if sent is not None and task.state is State.PENDING:
                self._rests.leave_alone(task.gang.id, now)  # it was never bound: once more, a little later
        elif outcome(error) is Outcome.UNKNOWN:
            self._retries.again(ticket, now, wanted_pause(error))
        else:
            self._sent.pop(task.id, None)
            self._cluster.remove_task(task.id)
            self._world.news.room = True

    def _stays(self, task: Task) -> None:
        """A task may not be sent away.  Whoever wanted its room looks elsewhere, until the pod itself is news."""
        self._world.leaving.discard(task.id)
        pod = self._world.cache.find(PODS, Pod, (task.namespace, task.name))
        if pod is not None and pod.uid == task.id:
            self._world.reread(pod, self._sent)
            task.preemptable = False
        self._world.news.room = True

    def _volume_answered(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        change = ticket.change
        if outcome(error) is Outcome.UNKNOWN:
            self._retries.again(ticket, now, wanted_pause(error))  # a second time it is refused, or does no harm
        elif isinstance(error, ApiError):
            assert isinstance(change, Patch)
            self._volumes.refused(change, error)
        elif result is not None:
            self._observe(change.resource, result)  # what others make of it must not be seen before it

    # --- what to do --------------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        """Does about `budget` small things, and hands out what has to be written."""
        left = budget
        if self._turn is None:
            while self._inbox and left > 0:
                self._inbox.popleft()()
                left -= 1
            if not self._inbox:
                self._follow_volumes(now)
                self._begin_turn(now)
        while self._turn is not None and left > 0:
            done = next(self._turn, None)
            if done is None:
                self._turn = None
            else:
                left -= done
        self._out += self._retries.take(now)
        if self._listed >= self.resources:
            self._voice.progress(now)
        for change in self._voice.take(now, binding=self._binding > 0):
            self._out.append(Ticket(Errand.TELL.value, (change.namespace, change.resource.plural), change))
        tickets, self._out = self._out, []
        return tickets

    def next_wake(self, now: float) -> float | None:
        if self._out or self._inbox or self._turn is not None:
            return now
        times = [
            # Before everything has been listed there is nothing to say, whatever has been noted.
            self._voice.next_wake(now) if self._listed >= self.resources else None,
            self._volumes.next_wake(now),
            self._retries.next_wake,
            self._rests.next_wake,
        ]
        if self._may_turn:
            self._attention.news.add(self._world.take_news())
            times.append(self._attention.next_due(self._waiting))
        due = min((at for at in times if at is not None), default=None)
        return None if due is None else max(now, due)

    @property
    def _may_turn(self) -> bool:
        """Nothing is decided before everything has been listed."""
        return self._turns_left != 0 and self._listed >= self.resources

    @property
    def _waiting(self) -> bool:
        """Whether any gang waits for one of the profiles."""
        return any(gang.profile in self._profiles for gang in self._cluster.accounts.active.values())

    def _begin_turn(self, now: float) -> None:
        self._world.news.gangs.update(self._rests.due(now))
        if not self._may_turn:
            return
        self._world.settle(self._sent)
        # Before the turn: what it finds to say of a pod must not be taken for the fault that is no more.
        self._voice.bad_objects(self._profiles, now)
        attention = self._attention
        attention.news.add(self._world.take_news())
        look = Look.PATROL if self._turns_left is not None else attention.due(now, self._waiting)
        if look is Look.NOTHING:
            return
        if self._turns_left is not None:
            self._turns_left -= 1
        self.tally.turns += 1
        self._turn = self._take_turns(look, now)

    def _check_now_and_then(self, now: float) -> None:
        """The self-check, before a turn that is due anyway: a scheduler at rest is left to it."""
        if self._checked is None:
            self._checked = now  # everything has just been counted for the first time
        if now < self._checked + self._check:
            return
        self._checked = now
        wrong = recount(self._cluster)
        self.tally.drift += wrong
        if wrong:
            log.error("the self-check found and corrected %d wrong sums: this is a bug", wrong)

    def _take_turns(self, look: Look, now: float) -> Iterator[int]:
        """Every profile that has work, the one whose gang waits longest first, so that none starves another.

        Half-bound gangs have a turn of their own before that.
        """
        self._check_now_and_then(now)
        yield from self._cluster.settling(_PORTION)
        prospects = Prospects(self._cluster, self._profiles)
        spared = self._attention.begin(look, self._cluster, now, prospects) | self._rests.gangs
        active = self._cluster.accounts.active
        asked = [id for id, gang in active.items() if id not in spared and gang.profile in self._profiles]
        heads: dict[str, float] = {}
        for gang in (active[id] for id in asked):
            heads[gang.profile] = min(heads.get(gang.profile, now), gang.created)
        names = sorted(heads, key=lambda each: (heads[each], each))
        self._torn.look(self._cluster.accounts.split, now)
        if self._torn:
            others = self._cluster.gangs.keys() - (self._torn.gangs - self._rests.gangs)
            for name in names:
                yield from self._turn_of(name, others, now)
        for name in names:
            yield from self._turn_of(name, spared, now)
        self._give_up_torn(now)
        yield from self._cluster.settling(_PORTION)
        self._attention.ended(id for id in asked if id in active)
        self._voice.turn_ended(now)

    def _turn_of(self, name: str, spared: Container[str], now: float) -> Iterator[int]:
        self._plans += 1
        for decisions in cycle(self._cluster, self._profiles[name], now, name=name, resting=spared):
            self._carry_out(decisions, now)
            self.tally.decided(decisions, self._cluster.gangs, now)
            self._attention.heard(decisions)
            self._voice.heard(decisions, now)
            yield 1 + len(decisions)

    def _give_up_torn(self, now: float) -> None:
        """A gang that cannot be made whole in time gives its places back."""
        for gang, deadline in self._torn.judge(self._cluster.gangs, now):
            if now < deadline:
                self._rests.wake(gang.id, deadline)
                continue
            for task in [each for each in gang.tasks.values() if each.state in (State.BOUND, State.RUNNING)]:
                self._cluster.assign(task, State.RELEASING, task.row)
                self._evict(task, f"{gang.namespace}/{gang.name} could not be made whole", now)

    def _evict(self, task: Task, why: str, now: float) -> None:
        self._world.leaving.add(task.id)
        self._send(Errand.MARK, task, effects.disruption_mark(task, why, now))

    def _carry_out(self, decisions: list[Decision], now: float) -> None:
        placed: list[Task] = []
        for decision in decisions:
            if isinstance(decision, Bind):
                task = self._cluster.tasks[decision.task]
                plan = write_plan(decision.gang, self._plans, decision.members, now)
                self._cluster.assign(task, State.BINDING, task.row)
                self._sent[task.id] = Bound(decision.node, plan)
                placed.append(task)
            elif isinstance(decision, Evict):
                self._evict(self._cluster.tasks[decision.task], decision.why, now)
            elif isinstance(decision, Nominate):
                self._nominate(self._cluster.tasks[decision.task], decision.node)
            elif isinstance(decision, Ungate):
                self._lift_gates(self._cluster.tasks[decision.task])
        self._bind(placed, now)

    def _nominate(self, task: Task, node: str) -> None:
        """A promise is made anew in every turn, and written when it is another one than the pod shows."""
        pod = self._world.cache.find(PODS, Pod, (task.namespace, task.name))
        shown = pod is not None and pod.status.nominated_node_name == node
        if not shown or task.id in self._nominating:
            self._nominating.add(task.id)
            self._send(Errand.NOMINATE, task, effects.nomination(task, node))

    def _lift_gates(self, task: Task) -> None:
        pod = self._world.cache.find(PODS, Pod, (task.namespace, task.name))
        gates = (pod.spec.scheduling_gates if pod is not None else None) or ()
        self._send(Errand.UNGATE, task, effects.ungated(task, (gate.name for gate in gates)))

    def _bind(self, placed: list[Task], now: float) -> None:
        """Sends binds.  Those of a gang of which one member lacks a volume wait, all of them."""
        waiting: dict[str, list[Task]] = {task.gang.id: [] for task in placed if self._volumes.concerns(task)}
        for task in placed:
            if task.gang.id in waiting:
                waiting[task.gang.id].append(task)
            else:
                self._send_bind(task)
        for id, tasks in waiting.items():
            timeout = bind_timeout(self._profiles[tasks[0].gang.profile])
            self._volumes.hold(id, [(task, self._sent[task.id].node) for task in tasks], now + timeout)
        self._send_writes()

    def _send_writes(self) -> None:
        for gang, write in self._volumes.take_writes():
            self._out.append(Ticket(Errand.VOLUME.value, (write.namespace, gang), write))

    def _send_bind(self, task: Task) -> None:
        sent = self._sent[task.id]
        self._binding += 1
        self._send(Errand.BIND, task, effects.binding(task, sent.node, sent.plan))

    def _follow_volumes(self, now: float) -> None:
        """Gangs whose volumes are there are bound; those whose are not to be had give their places back."""
        for held, refusal in self._volumes.due(now):
            tasks = self._still_held(held)
            if not tasks:
                continue
            gang = tasks[0].gang
            whole = len(tasks) == len(held.nodes) or gang.ready >= gang.minimum
            if refusal is None and whole and gang.id in self._cluster.gangs:
                for task in tasks:
                    self._send_bind(task)
            else:
                self._give_back(gang, tasks, refusal, now)
        self._send_writes()

    def _still_held(self, held: Held) -> list[Task]:
        """What is left of a gang that was held: some may have ended, or been told to."""
        found = (self._cluster.tasks.get(id) for id in held.nodes)
        return [task for task in found if task is not None and task.id in self._sent]

    def _give_back(self, gang: Gang, tasks: list[Task], refusal: Refusal | None, now: float) -> None:
        """A gang that was held is decided on anew, a little later."""
        for task in tasks:
            del self._sent[task.id]
            self._cluster.assign(task, State.PENDING, -1)
            pod = self._world.cache.find(PODS, Pod, (task.namespace, task.name))
            if pod is not None:
                self._world.reread(pod, self._sent)
        self._world.news.room = True
        self._rests.leave_alone(gang.id, now)
        if refusal is not None:
            self._voice.heard([Refuse(gang.id, refusal)], now)

    def _send(self, errand: Errand, task: Task, change: Change) -> None:
        self._out.append(Ticket(errand.value, (task.namespace, task.id), change))
