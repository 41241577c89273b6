"""The scheduler: takes in what is observed, and lets profiles take turns at deciding.

    observe / forget / synced   events of the watches: facts for the model (`world.py`)
    run                         goes on with a turn of the profiles that have work; hands out tickets
    done                        the answer to a ticket: `dispatcher.py` knows what it was sent for
    next_wake                   when to call `run` though nothing happened

A turn goes in steps, a gang at a time, so that the first binds leave while the rest is still being decided.  While
a turn is under way, what happens is put into an inbox: the turn sees one state of the world from end to end.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from podium.core.actions.fill_slots import FillSlots
from podium.core.cluster.recount import recount
from podium.core.cycle import cycle
from podium.core.framework.action import Action
from podium.core.model import quorum
from podium.core.model.decisions import Refuse, by_gang
from podium.core.model.model import Gang, State
from podium.core.profiles.profile import Profile
from podium.engine.backlog import Backlog
from podium.engine.backoff import Backoff
from podium.engine.clashes import Clashes
from podium.engine.counters import Counters
from podium.engine.decision_log import DecisionLog
from podium.engine.dispatcher import Dispatcher
from podium.engine.disruptions import Disruptions
from podium.engine.null_status_writer import NullStatusWriter
from podium.engine.periods import Periods
from podium.engine.quick_fit import QuickFit
from podium.engine.recovery import GIVEN_UP, Recovery, would_come_again
from podium.engine.requeue import FLUSH, PACE, Look, Requeue
from podium.engine.status_writer import StatusWriter
from podium.engine.world import World
from podium.kube.controller import Ticket
from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod
from podium.reasons import BAD_SPEC, refuse

log = logging.getLogger(__name__)

# The least time between two looks at everything when nothing has come free: Volcano's period.
PERIOD = 1.0
CHECK_SECONDS = 300.0  # between two self-checks, at least
_PORTION = 100  # gangs that are counted anew in one step of a turn
_FILLING = (FillSlots(),)  # what profiles with a period do between two turns


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
        flush: float = FLUSH,
        check: float = CHECK_SECONDS,
        quiet: bool = False,
    ) -> None:
        """`turns` limits how often the profiles are asked: one is a single look at the cluster.

        `pace` is the least time between two turns, `period` between two looks at everything; `flush` is how long
        time alone may change an answer unseen, and `check` how long a wrong sum may stand.  A `quiet` one does its
        work without a word.
        """
        self.counters = Counters()
        self.decision_log = DecisionLog()
        self.clashes = Clashes()
        self._world = world
        self._status_writer = NullStatusWriter(world) if quiet else StatusWriter(world)
        self._cluster = world.cluster
        self._profiles = dict(profiles)
        world.serve(self._profiles)
        world.reports.serve(self._profiles)
        self._requeue = Requeue(period, pace, flush)
        self._listed: set[Resource] = set()
        self._turns_left = turns
        self._turn: Iterator[int] | None = None
        self._preparing = False  # for a turn, and not done with it
        self._inbox: deque[Callable[[], None]] = deque()
        self._plans = 0
        self._backoff = Backoff()
        self._periods = Periods()
        self._periods.serve(self._profiles)
        self._backlog = Backlog(self._cluster)
        self._backlog.serve(self._profiles)
        self._partially_bound = Recovery(world.plans)
        self._disruptions = Disruptions(world)
        self._dispatcher = Dispatcher(
            world, self._status_writer, self._backoff, self._partially_bound, self.counters, self.clashes
        )
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
    def profiles(self) -> Mapping[str, Profile]:
        """Those in force, by scheduler name."""
        return self._profiles

    @property
    def settled(self) -> bool:
        """Whether everything it has seen has been taken in, and nothing is being tried."""
        return self._turn is None and not self._inbox

    @property
    def turning(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None

    @property
    def holding(self) -> bool:
        """Whether binds wait for volumes."""
        return self._dispatcher.holding

    @property
    def reporting(self) -> bool:
        """Whether conditions or events are still to be written."""
        return self._status_writer.waiting > 0

    def standing_of(self, gang: str) -> str:
        """Whether a gang that waits is about to be looked at, found no place, or is left alone for a while."""
        if gang in self._backoff.gangs:
            return "backoff"
        return "unschedule" if gang in self._requeue.stuck else "active"

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
        self._world.reports.serve(self._profiles)
        self._periods.serve(self._profiles)
        self._backlog.serve(self._profiles)
        self._requeue.forget()

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

    def _take_in(self, cluster_events: Callable[[], None]) -> None:
        if self._turn is None and not self._inbox:
            cluster_events()
        else:
            self._inbox.append(cluster_events)

    def _observe(self, resource: Resource, obj: Object) -> None:
        before = self._cluster.tasks.get(obj.uid) if self._backoff else None
        left = before.gang.id if before is not None else ""
        if isinstance(obj, Pod) and obj.spec.node_name:
            known = self._world.cache.find(resource, Pod, (obj.namespace, obj.name))
            self.clashes.observed(known, obj, self._profiles)
        try:
            self._world.observe(resource, obj)
        except Exception as error:
            # Nothing that can be written may stop the loop: what was not foreseen is reported, and the rest goes
            # on.
            log.exception("%s %s/%s could not be taken in", resource.kind, obj.namespace, obj.name)
            self._world.blame(resource, obj, refuse(BAD_SPEC, field=resource.kind, detail=repr(error)))
        self._dispatcher.touched(resource, obj)
        self._disruptions.touched(resource, obj)
        after = self._cluster.tasks.get(obj.uid) if left else None
        if after is not None:
            self._backoff.follow(left, after.gang.id)

    def _forget(self, resource: Resource, obj: Object) -> None:
        gang = self._gang_of(resource, obj)
        self._world.forget(resource, obj)
        if gang and gang not in self._cluster.gangs:
            self.decision_log.forget(gang)
        self._status_writer.forget(obj.uid)
        self._dispatcher.forget(resource, obj)
        self._disruptions.forget(resource, obj)

    def _gang_of(self, resource: Resource, obj: Object) -> str:
        """The id of the gang that an object is, or is a member of; "" if it is neither."""
        kind = self._world.groups.get(resource)
        if kind is not None:
            return kind.id(obj.namespace, obj.name)
        task = self._cluster.tasks.get(obj.uid)
        return task.gang.id if task is not None else ""

    def _answered(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        reported = self._dispatcher.answered(ticket, result, error, now)
        if reported is not None:
            self._observe(ticket.change.resource, reported)

    # --- what to do --------------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        """Does about `budget` small things, and hands out what has to be written."""
        left = budget
        if self._turn is None:
            while self._inbox and left > 0:
                self._inbox.popleft()()
                left -= 1
            if not self._inbox:
                self._dispatcher.follow_volumes(now)
                self._begin_turn(now)
        while self._turn is not None and left > 0:
            done = next(self._turn, None)
            if done is None:
                self._turn = None
            else:
                left -= done
        if self._listed >= self.resources:
            for clash in self.clashes.take(now):
                self._status_writer.clashed(clash, now)
            if self._turn is None:  # within a turn the model also has what is only being tried
                self._status_writer.progress(now)
                self._status_writer.count_queues(now)
        return self._dispatcher.take(now)

    def finish_turn(self) -> None:
        """Takes the turn under way to its end: who looks at the model sees nothing that is only being tried."""
        while self._turn is not None:
            if next(self._turn, None) is None:
                self._turn = None

    def take_in_changes(self, most: int) -> bool:
        """Between two turns: the sums follow some of the gangs that have changed; whether there were any."""
        if self._turn is not None or not self._cluster.changes.waiting:
            return False
        self._cluster.take_in_changes(most)
        return True

    def next_wake(self, now: float) -> float | None:
        if self._inbox or self._turn is not None or (self._preparing and self._may_turn):
            return now
        times = [
            # Before everything has been listed there is nothing to say, whatever has been noted.
            self._status_writer.next_wake(now) if self._listed >= self.resources else None,
            self._dispatcher.next_wake(now),
            self._backoff.next_wake,
            self._periods.next_wake,
        ]
        if self._may_turn and self._backlog:
            return now
        if self._may_turn:
            self._requeue.cluster_events.add(self._world.take_cluster_events())
            times.append(self._requeue.next_due(self._waiting))
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
        self._world.cluster_events.gangs.update(self._backoff.due(now))
        self._world.cluster_events.gangs.update(self._periods.due(now))
        if not self._may_turn:
            return
        # In portions: thousands of pods may hang on one object.
        self._preparing = not self._world.settle(_PORTION)
        if self._preparing:
            return
        self._dispatcher.mark_expired()
        # Before the turn: what it finds to say of a pod must not be taken for the fault that is no more.
        self._preparing = not self._status_writer.bad_objects(self._profiles, now)
        if self._preparing:
            return
        requeue = self._requeue
        requeue.cluster_events.add(self._world.take_cluster_events())
        look = Look.FLUSH if self._turns_left is not None else requeue.due(now, self._waiting)
        if look is Look.NOTHING and self._backlog:
            look = Look.SOME
        if look is Look.NOTHING:
            return
        if self._turns_left is not None:
            self._turns_left -= 1
        self.counters.turns += 1
        self._turn = self._take_turns(look, now)

    def _check_now_and_then(self, now: float) -> None:
        """The self-check, before a turn that is due anyway: a scheduler at rest is left to it."""
        if self._checked is None:
            self._checked = now  # everything has just been counted for the first time
        if now < self._checked + self._check:
            return
        self._checked = now
        wrong = recount(self._cluster)
        self.counters.drift += wrong
        if wrong:
            log.error("the self-check found and corrected %d wrong sums: this is a bug", wrong)

    def _take_turns(self, look: Look, now: float) -> Iterator[int]:
        """Every profile that has work, the one whose gang waits longest first, so that none starves another.

        Half-bound gangs have a turn of their own before that.
        """
        self._check_now_and_then(now)
        for task, why in self._disruptions.unfinished():
            self._cluster.assign(task, State.RELEASING, task.row)
            self._dispatcher.evict(task, why, now)
        yield from self._cluster.settling(_PORTION)
        backlog = self._backlog if self._turns_left is None and self._backlog.used else None
        quick_fit = QuickFit(self._cluster, self._profiles)
        chosen = self._requeue.begin(look, self._cluster, now, quick_fit, backlog)
        active = self._cluster.accounts.active
        asked = self._in_portions(self._with_partners(chosen) - self._backoff.gangs, active, backlog)
        by_profile: dict[str, list[str]] = {}
        for id in asked:
            by_profile.setdefault(active[id].profile, []).append(id)
        heads = {name: min(active[id].created for id in ids) for name, ids in by_profile.items()}
        between_turns: dict[str, list[str]] = {}
        for name in sorted(by_profile):
            # The period is for deciding: pods are bound to places that were found for them at any time.
            filling = {id for id in by_profile[name] if quorum.may_fill_slots(active[id])}
            later = {id for id in by_profile[name] if id not in filling or active[id].counts[State.PENDING]}
            if self._turns_left is None and later and not self._periods.may_begin(name, sorted(later), now):
                asked = [id for id in asked if id not in later]
                between_turns[name] = sorted(filling)
                del heads[name]
        names = sorted(heads, key=lambda each: (heads[each], each))
        accounts = self._cluster.accounts
        self._partially_bound.look(accounts.split, accounts.tied, self._cluster.gangs.get)
        if self._partially_bound:
            first = sorted(self._partially_bound.gangs - self._backoff.gangs)
            for name in names:
                yield from self._turn_of(name, first, now)
        for name, ids in between_turns.items():
            yield from self._turn_of(name, ids, now, _FILLING)
        for name in names:
            yield from self._turn_of(name, by_profile[name], now)
        self._give_up_partially_bound(now)
        yield from self._cluster.settling(_PORTION)
        self._requeue.ended(id for id in asked if id in active)
        yield from self._status_writer.turn_ended(now)

    def _in_portions(self, chosen: set[str], active: Mapping[str, Gang], backlog: Backlog | None) -> list[str]:
        """The gangs that are asked.  Of profiles whose queues do not feel each other, the first of each queue."""
        few = 4 * len(chosen) < len(active)
        ordered = sorted(chosen) if few else [id for id in active if id in chosen]
        served = [id for id in ordered if active[id].profile in self._profiles]
        if backlog is None:
            return served
        promised, asked = self._cluster.nominations.gangs, []
        for id in served:
            # Who was promised a place is there in every turn, to defend it.
            if backlog.keeps(active[id]) and id not in promised:
                backlog.put(active[id])
                self._requeue.handed_over(id)
            else:
                asked.append(id)
        return asked + sorted(backlog.take() - self._backoff.gangs - set(asked))

    def _with_partners(self, chosen: set[str]) -> set[str]:
        """Gangs that start together are looked at together, or not at all while one of them is left alone."""
        accounts = self._cluster.accounts
        for tied in quorum.components(accounts.tied.values(), self._cluster.gangs.get):
            group = {each.id for each in tied}
            if group & self._backoff.gangs:
                chosen -= group
            elif group & chosen or not group <= accounts.active.keys():
                chosen |= group & accounts.active.keys()
        return chosen

    def _turn_of(
        self, name: str, asked: Iterable[str], now: float, actions: Sequence[Action] | None = None
    ) -> Iterator[int]:
        profile = self._profiles[name]
        self._plans += 1
        steps = cycle(self._cluster, profile, now, name=name, asked=asked, actions=actions)
        for decisions in (part for step in steps for part in by_gang(step, self._cluster.tasks, _PORTION)):
            self._dispatcher.carry_out(decisions, profile, self._plans, now)
            self.counters.decided(decisions, self._cluster.gangs, now)
            self.decision_log.decided(decisions, self._cluster, profile=name, turn=self.counters.turns, now=now)
            self._requeue.decided(decisions)
            self._partially_bound.decided(decisions, now)
            self._status_writer.decided(self._partially_bound.worded(decisions, self._cluster.gangs), now)
            yield 1 + len(decisions)

    def _give_up_partially_bound(self, now: float) -> None:
        """A gang that cannot be made whole in time gives its places back, if its pods would be made again."""
        for gang, deadline in self._partially_bound.judge(self._cluster.gangs):
            if now < deadline:
                self._backoff.wake(gang.id, deadline)
                continue
            bound = [each for each in gang.tasks.values() if each.state in (State.BOUND, State.RUNNING)]
            if not all(would_come_again(self._world.pod_of(task)) for task in bound):
                kept = self._partially_bound.keep(gang)
                if kept is not None:
                    log.warning("%s/%s: %s", gang.namespace, gang.name, kept)
                    self._status_writer.decided([Refuse(gang.id, kept)], now)
                continue
            for task in bound:
                self._cluster.assign(task, State.RELEASING, task.row)
                self._dispatcher.evict(task, f"{gang.namespace}/{gang.name} {GIVEN_UP}", now)
