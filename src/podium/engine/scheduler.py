"""The scheduler: takes in what is observed, and lets profiles take turns at deciding.

    observe / forget / synced   what the watches tell: facts for the model (`world.py`)
    run                         goes on with a turn of the profiles that have work; hands out tickets
    done                        the answer to a ticket: `errands.py` knows what it was sent for
    next_wake                   when to call `run` though nothing happened

A turn goes in steps, a gang at a time, so that the first binds leave while the rest is still being decided.  While
a turn is under way, what happens is put into an inbox: the turn sees one state of the world from end to end.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial

from podium.core import quorum
from podium.core.cycle import cycle
from podium.core.decisions import Refuse
from podium.core.model import State
from podium.core.profile import Profile
from podium.core.recount import recount
from podium.engine.attention import PACE, PATROL, Attention, Look
from podium.engine.errands import Errands
from podium.engine.periods import Periods
from podium.engine.prospects import Prospects
from podium.engine.recovery import GIVEN_UP, Recovery, would_come_again
from podium.engine.rests import Rests
from podium.engine.tally import Tally
from podium.engine.voice import Silence, Voice
from podium.engine.world import World
from podium.kube.controller import Ticket
from podium.kube.resources import Resource
from podium.kube.wire import Object
from podium.reasons import BAD_SPEC, refuse

log = logging.getLogger(__name__)

# The least time between two looks at everything when nothing has come free: Volcano's period.
PERIOD = 1.0
CHECK_SECONDS = 300.0  # between two self-checks, at least
_PORTION = 100  # gangs that are counted anew in one step of a turn


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
        world.serve(self._profiles)
        self._attention = Attention(period, pace, patrol)
        self._listed: set[Resource] = set()
        self._turns_left = turns
        self._turn: Iterator[int] | None = None
        self._inbox: deque[Callable[[], None]] = deque()
        self._plans = 0
        self._rests = Rests()
        self._periods = Periods()
        self._periods.serve(self._profiles)
        self._torn = Recovery(world.plans)
        self._errands = Errands(world, self._voice, self._rests, self._torn, self.tally)
        self._check = check
        self._checked: float | None = None

    @property
    def resources(self) -> set[Resource]:
        return self._world.resources

    @property
    def world(self) -> World:
        """What it knows."""
        return self._world

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
        return self._errands.holding

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
        self._world.serve(self._profiles)
        self._periods.serve(self._profiles)
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
            self._world.observe(resource, obj)
        except Exception as error:
            # Nothing that can be written may stop the loop: what was not foreseen is told, and the rest goes on.
            log.exception("%s %s/%s could not be taken in", resource.kind, obj.namespace, obj.name)
            self._world.blame(resource, obj, refuse(BAD_SPEC, field=resource.kind, detail=repr(error)))
        self._errands.touched(resource, obj)
        after = self._cluster.tasks.get(obj.uid) if left else None
        if after is not None:
            self._rests.follow(left, after.gang.id)

    def _forget(self, resource: Resource, obj: Object) -> None:
        self._world.forget(resource, obj)
        self._voice.forget(obj.uid)
        self._errands.forget(resource, obj)

    def _answered(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        told = self._errands.answered(ticket, result, error, now)
        if told is not None:
            self._observe(ticket.change.resource, told)

    # --- what to do --------------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        """Does about `budget` small things, and hands out what has to be written."""
        left = budget
        if self._turn is None:
            while self._inbox and left > 0:
                self._inbox.popleft()()
                left -= 1
            if not self._inbox:
                self._errands.follow_volumes(now)
                self._begin_turn(now)
        while self._turn is not None and left > 0:
            done = next(self._turn, None)
            if done is None:
                self._turn = None
            else:
                left -= done
        if self._listed >= self.resources:
            self._voice.progress(now)
        return self._errands.take(now)

    def next_wake(self, now: float) -> float | None:
        if self._inbox or self._turn is not None:
            return now
        times = [
            # Before everything has been listed there is nothing to say, whatever has been noted.
            self._voice.next_wake(now) if self._listed >= self.resources else None,
            self._errands.next_wake(now),
            self._rests.next_wake,
            self._periods.next_wake,
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
        self._world.news.gangs.update(self._periods.due(now))
        if not self._may_turn:
            return
        self._world.settle()
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
        spared = self._with_partners(spared)
        active = self._cluster.accounts.active
        asked = [id for id, gang in active.items() if id not in spared and gang.profile in self._profiles]
        by_profile: dict[str, list[str]] = {}
        for id in asked:
            by_profile.setdefault(active[id].profile, []).append(id)
        heads = {name: min(active[id].created for id in ids) for name, ids in by_profile.items()}
        for name in sorted(by_profile):
            if self._turns_left is None and not self._periods.may_begin(name, by_profile[name], now):
                del heads[name]
                asked = [id for id in asked if active[id].profile != name]
        names = sorted(heads, key=lambda each: (heads[each], each))
        accounts = self._cluster.accounts
        self._torn.look(accounts.split, accounts.tied, self._cluster.gangs.get)
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

    def _with_partners(self, spared: set[str]) -> set[str]:
        """Gangs that start together are looked at together, or not at all while one of them is left alone."""
        find, known = self._cluster.gangs.get, self._cluster.accounts.tied
        for gang in known.values():
            group = {each.id for each in quorum.component(gang, find)}
            if group & self._rests.gangs:
                spared = spared | group
            elif not group <= spared:
                spared = spared - group
        return spared

    def _turn_of(self, name: str, spared: Container[str], now: float) -> Iterator[int]:
        profile = self._profiles[name]
        self._plans += 1
        for decisions in cycle(self._cluster, profile, now, name=name, resting=spared):
            self._errands.carry_out(decisions, profile, self._plans, now)
            self.tally.decided(decisions, self._cluster.gangs, now)
            self._attention.heard(decisions)
            self._torn.heard(decisions, now)
            self._voice.heard(self._torn.worded(decisions, self._cluster.gangs), now)
            yield 1 + len(decisions)

    def _give_up_torn(self, now: float) -> None:
        """A gang that cannot be made whole in time gives its places back, if its pods would be made again."""
        for gang, deadline in self._torn.judge(self._cluster.gangs):
            if now < deadline:
                self._rests.wake(gang.id, deadline)
                continue
            bound = [each for each in gang.tasks.values() if each.state in (State.BOUND, State.RUNNING)]
            if not all(would_come_again(self._world.pod_of(task)) for task in bound):
                kept = self._torn.keep(gang)
                if kept is not None:
                    log.warning("%s/%s: %s", gang.namespace, gang.name, kept)
                    self._voice.heard([Refuse(gang.id, kept)], now)
                continue
            for task in bound:
                self._cluster.assign(task, State.RELEASING, task.row)
                self._errands.evict(task, f"{gang.namespace}/{gang.name} {GIVEN_UP}", now)
