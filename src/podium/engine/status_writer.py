"""What the scheduler says in the API: why pods wait, where they went, how groups stand, what queues hold.

It speaks when something changed that a reader would want to know: another reason, another limiting party, another
phase.  Numbers alone are told again once a minute at the most, on pods and groups alike.  And it yields to binds:
what is to be said waits in a queue with a budget, the latest word on an object replacing the one before it.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Hashable, Iterable
from itertools import islice
from typing import Any, assert_never

import msgspec

from podium.core.model import quorum
from podium.core.model.decisions import (
    Bind,
    Decision,
    Evict,
    Failure,
    GangPhase,
    Journal,
    LookAgain,
    Nominate,
    QueueFault,
    Refuse,
    Release,
    Reserve,
    Resize,
    Ungate,
)
from podium.core.model.model import Gang, Phase, QuotaGate, State, Task
from podium.dialects.dialect import Verdict
from podium.engine import effects
from podium.engine.world import World
from podium.kube.changes import Change, Create, Patch
from podium.kube.events import NORMAL, WARNING, Recorder, Regarding, regarding
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object
from podium.reasons import GROUP_AWAITED, HELD, Refusal, refuse

log = logging.getLogger(__name__)

WORDS_A_SECOND = 50.0
YIELDING = 0.1  # the part of it that is left while binds are under way
REPEAT_SECONDS = 60.0
QUEUE_SECONDS = 1.0  # between two counts of what queues hold
AWAITED_SECONDS = 5.0  # how long the controllers may take for the group of a new pod before that is told
GROUP_SECONDS = 1.0  # between two reports on how far the pods of groups have come
PODS_WITH_EVENTS = 5  # of a group; all of its pods have a condition
LONGEST_LINE = 100  # words waiting beyond which good news is no longer told

COMPONENT = "podium-scheduler"

# (resource, namespace, name): the object that a word is about, or that it is.
About = tuple[str, str, str]


class _LastStatus(msgspec.Struct):
    """The last word on a pod or a group: why it waits, all that was said with it, and when."""

    why: Hashable  # a refusal without its numbers
    states: frozenset[State]  # of a group's members
    said: Hashable
    at: float
    sentence: str = ""

    def stands(self, new: _LastStatus) -> bool:
        """Whether there is nothing new to say; numbers alone are told again once in a while."""
        if (self.why, self.states) != (new.why, new.states):
            return False
        return self.said == new.said or new.at < self.at + REPEAT_SECONDS


class StatusWriter:
    """Collects words during a turn, and lets them out within the budget."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recorder = Recorder(COMPONENT)
        self._waiting: dict[About, Change] = {}
        self._spoken: dict[About, Change] = {}  # under way
        self._at_once: dict[About, Change] = {}  # what others wait for: a group that was let in gets its pods
        self._reported: dict[str, _LastStatus] = {}
        self._groups_reported: dict[str, _LastStatus] = {}
        self._blamed: dict[str, set[str]] = {}  # by object: the sentences that it knows
        self._budget = self._rate = WORDS_A_SECOND
        self._refilled = 0.0
        self._turns = 0
        self._counted = 0.0
        self._followed = 0.0
        self._awaiting: dict[str, float] = {}  # new pods without their group, and when to tell
        self._complained: dict[str, float] = {}  # when a failure was last logged, by who failed

    # --- what there is to say ----------------------------------------------------------------------------------

    def heard(self, decisions: Iterable[Decision], now: float) -> None:
        """Takes in what a step of a turn decided and refused."""
        verdicts: dict[str, Verdict] = {}
        concerned: dict[str, None] = {}
        phases: set[str] = set()
        decided: set[str] = set()  # gangs whose controllers wait for what was decided
        cluster = self._world.cluster
        for decision in decisions:
            match decision:
                case Refuse():
                    verdicts.setdefault(decision.gang, Verdict(decision.refusal, decision.task))
                    concerned[decision.gang] = None
                case GangPhase():
                    concerned[decision.gang] = None
                    phases.add(decision.gang)
                case Bind():
                    concerned[decision.gang] = None
                    if self._reported:
                        self._take_back(cluster.tasks[decision.task])
                case Nominate():
                    concerned[cluster.tasks[decision.task].gang.id] = None
                case Evict():
                    task = cluster.tasks[decision.task]
                    concerned[task.gang.id] = None
                    self._event(_pod(task), NORMAL, "Preempted", decision.why, now)
                case Reserve() | Release() | Resize():
                    concerned[decision.gang] = None
                    decided.add(decision.gang)
                case QueueFault():
                    self._blame_queue(decision, now)
                case Failure():
                    self._complain(decision, now)
                case LookAgain() | Ungate() | Journal():
                    pass  # nobody has to read that
                case _:
                    assert_never(decision)
        for id in concerned:
            gang = cluster.gangs.get(id)
            if gang is None:
                continue
            # A group that was let in knows that its pods are yet to come; one that was not must learn why.
            verdict = verdicts.get(id) if gang.tasks or gang.phase is Phase.PENDING else None
            awaited = id in phases and quorum.awaits_members(gang)  # its controller creates them when it is in
            grouped = self._speak_of_group(gang, verdict, now, at_once=awaited or id in decided)
            if verdict is not None:
                waiting = (
                    task
                    for task in gang.tasks.values()
                    if task.state is State.PENDING
                    and not (task.gated and task.quota_gate is not QuotaGate.CLOSED)
                    and task.id not in self._world.refused
                )
                for number, task in enumerate(waiting):
                    event = not grouped or number < PODS_WITH_EVENTS
                    self._speak_of_pod(task, verdict.refusal, now, event=event)
            for task in gang.tasks.values() if gang.counts[State.RESERVED] else ():
                if task.state is State.RESERVED and task.has_pod:
                    self._speak_of_pod(task, self._held(task), now, event=False)

    def bad_objects(self, profiles: Container[str], now: float) -> None:
        """Tells what is wrong with objects themselves: on pods of the profiles, and in events on others."""
        for task, profile, refusal in self._world.take_changed_refusals():
            if profile not in profiles:
                continue
            self._awaiting.pop(task.id, None)
            if refusal is not None and refusal.reason == GROUP_AWAITED and now < task.created + AWAITED_SECONDS:
                self._awaiting[task.id] = task.created + AWAITED_SECONDS
            elif refusal is not None:
                self._speak_of_pod(task, refusal, now, event=True)
            else:
                self._waiting.pop((PODS.group_resource, task.namespace, task.name), None)
        while self._awaiting and (first := next(iter(self._awaiting.items())))[1] <= now:
            del self._awaiting[first[0]]
            waits, why = self._world.cluster.tasks.get(first[0]), self._world.refused.get(first[0])
            if waits is not None and why is not None:
                self._speak_of_pod(waits, why, now, event=True)
        for fault in self._world.take_faults():
            self._blame(fault.resource, fault.obj, fault.refusal, now)

    def _blame(self, resource: Resource, obj: Object, refusal: Refusal, now: float) -> None:
        """Once for each sentence: an object may be written often, and a bad one every time."""
        sentence = str(refusal)
        reported = self._blamed.setdefault(obj.uid, set())
        if sentence not in reported:
            reported.add(sentence)
            self._event(regarding(resource, obj), WARNING, refusal.code, sentence, now)

    def turn_ended(self, now: float) -> None:
        self._turns += 1
        self._count_queues(now)

    def progress(self, now: float) -> None:
        """Now and then: how far the pods of groups have come.  Of those that wait for a place, turns tell."""
        if not self._world.moved or now < self._followed + GROUP_SECONDS:
            return
        self._followed = now
        for id in self._world.take_moved():
            gang = self._world.cluster.gangs.get(id)
            if gang is not None and not (gang.counts[State.PENDING] and not quorum.started(gang)):
                self._speak_of_group(gang, None, now)

    def _blame_queue(self, fault: QueueFault, now: float) -> None:
        for resource, kind in self._world.queues.items():
            for obj in self._world.cache.all(resource):
                if kind.id(obj.name) == fault.queue:
                    self._blame(resource, obj, fault.refusal, now)

    def bound(self, task: Task, now: float) -> None:
        """A pod has its node.  In a burst of binds it goes without saying: the pod itself tells."""
        if task.row >= 0 and len(self._waiting) < LONGEST_LINE:
            node = self._world.cluster.nodes.name(task.row)
            reported = f"Successfully assigned {task.namespace}/{task.name} to {node}"
            self._event(_pod(task), NORMAL, "Scheduled", reported, now)

    def bind_failed(self, task: Task, refusal: Refusal, now: float) -> None:
        """A pod could not be bound: it says so, and the log does once in a while."""
        if now >= self._complained.get(refusal.code, float("-inf")) + REPEAT_SECONDS:
            self._complained[refusal.code] = now
            log.warning("%s/%s: %s; the pod is tried again", task.namespace, task.name, refusal)
        self._speak_of_pod(task, refusal, now, event=True)

    def forget(self, task: str) -> None:
        self._reported.pop(task, None)
        self._blamed.pop(task, None)

    # --- saying it ---------------------------------------------------------------------------------------------

    def take(self, now: float, *, binding: bool = False) -> list[Change]:
        """As many words as the budget allows now, which is smaller while binds are under way."""
        self._rate = WORDS_A_SECOND * (YIELDING if binding else 1)
        self._budget = min(self._rate, self._budget + (now - self._refilled) * self._rate)
        self._refilled = now
        words = self._let_out(self._at_once, len(self._at_once))
        # Times are large numbers, and what is due to the moment may come out a little short of one.
        reported = self._let_out(self._waiting, int(self._budget + 0.001))
        self._budget -= len(reported)
        return words + reported

    def _let_out(self, words: dict[About, Change], count: int) -> list[Change]:
        """The first words of a line, but none about an object of which another one is under way: of two, a server
        might see the last one first."""
        first = islice(words, count + len(self._spoken))
        ready = [about for about in first if about not in self._spoken][:count]
        self._spoken |= {about: words[about] for about in ready}
        return [words.pop(about) for about in ready]

    def answered(self, change: Change, *, lost: bool) -> None:
        """A word has arrived: the next one on the same object may go.  One that was lost is said again."""
        about = _about(change)
        if self._spoken.get(about) is change:
            del self._spoken[about]
            if lost and about not in self._at_once:
                self._waiting.setdefault(about, change)

    @property
    def waiting(self) -> int:
        """How many words wait for their turn."""
        return len(self._waiting)

    def next_wake(self, now: float) -> float | None:
        if any(about not in self._spoken for about in self._at_once):
            return now
        times = [next(iter(self._awaiting.values()))] if self._awaiting else []
        if self._world.moved:
            times.append(self._followed + GROUP_SECONDS)
        if any(about not in self._spoken for about in self._waiting):
            times.append(self._refilled + max(0.0, 1 - self._budget) / self._rate)
        return max(now, min(times)) if times else None

    def _complain(self, failure: Failure, now: float) -> None:
        """The log gets the trace of what a plugin raised; it would raise it in every turn."""
        if now >= self._complained.get(failure.who, float("-inf")) + REPEAT_SECONDS:
            self._complained[failure.who] = now
            log.error("%s failed: %s\n%s", failure.who, failure.error, failure.trace)

    def _speak_of_pod(self, task: Task, refusal: Refusal, now: float, *, event: bool) -> None:
        """In a condition, on every member; in an event on all of them, or on some where a group carries it."""
        last, reported = self._reported.get(task.id), _LastStatus(refusal.shape, frozenset(), refusal, now)
        if last is not None and last.stands(reported):
            return
        sentence = reported.sentence = str(refusal)
        self._reported[task.id] = reported
        if last is not None and last.sentence == sentence:
            return  # what has moved is not among what is said
        reason = HELD.code if refusal.reason is HELD else "Unschedulable"
        self._say(effects.unschedulable(task, sentence, now, reason))
        if event:
            self._event(_pod(task), WARNING, "FailedScheduling", sentence, now)

    def _take_back(self, task: Task) -> None:
        """A pod has a place: what is still to be said about why it waits is no longer true."""
        if self._reported.pop(task.id, None) is not None:
            self._waiting.pop((PODS.group_resource, task.namespace, task.name), None)

    def _speak_of_group(self, gang: Gang, verdict: Verdict | None, now: float, *, at_once: bool = False) -> bool:
        """Whether there is a group object that can carry what is to be said."""
        found = self._world.group_of(gang)
        if found is None:
            return False
        resource, kind, obj = found
        last = self._groups_reported.pop(gang.id, None)
        if verdict is not None:
            reported = _reported_to(gang, verdict.refusal, now)
            repeated = last is not None and last.stands(reported)
            verdict = msgspec.structs.replace(verdict, repeated=repeated)
            self._groups_reported[gang.id] = last if last is not None and repeated else reported
            if last is None or last.why != reported.why:
                self._event(regarding(resource, obj), WARNING, "Unschedulable", str(verdict.refusal), now)
        patch = kind.patch(obj, gang, verdict, f"turn-{self._turns}", now)
        if kind.decided is not None:
            patch = _both(patch, kind.decided(obj, gang, self._world.places_of(gang)))
        if patch is not None:
            self._say(patch, at_once=at_once)
        return True

    def _held(self, task: Task) -> Refusal:
        """What a pod waits for that holds a place."""
        gang, node = task.gang, self._world.cluster.nodes.name(task.row)
        return refuse(HELD, node, f"{gang.namespace}/{gang.name}", gang.ready, gang.minimum)

    def _count_queues(self, now: float) -> None:
        if not self._world.queues or now < self._counted + QUEUE_SECONDS:
            return
        self._counted = now
        accounts, names = self._world.cluster.accounts, self._world.cluster.dimensions.names
        for resource, kind in self._world.queues.items():
            for obj in self._world.cache.all(resource):
                account = accounts.queues.get(kind.id(obj.name))
                held = {} if account is None else account.allocated
                patch = kind.patch(obj, {names[column]: amount for column, amount in held.items() if amount})
                if patch is not None:
                    self._say(patch)

    def _event(self, about: Regarding, type: str, reason: str, message: str, now: float) -> None:
        change = self._recorder.record(about, type, reason, message, now)
        if change is not None:
            self._say(change)

    def _say(self, change: Change, *, at_once: bool = False) -> None:
        about = _about(change)
        if at_once or about in self._at_once:
            self._waiting.pop(about, None)
            self._at_once[about] = change
        else:
            self._waiting[about] = change


class NullStatusWriter(StatusWriter):
    """Says nothing, for whoever watches the model itself: a simulation.  What fails is still complained of."""

    def heard(self, decisions: Iterable[Decision], now: float) -> None:
        decided: dict[str, None] = {}
        for decision in decisions:
            if isinstance(decision, Failure):
                self._complain(decision, now)
            elif isinstance(decision, Reserve | Release | Resize):
                decided[decision.gang] = None  # no word to a user, but what controllers act on
        for id in decided:
            gang = self._world.cluster.gangs.get(id)
            found = self._world.group_of(gang) if gang is not None else None
            if gang is not None and found is not None and found[1].decided is not None:
                patch = found[1].decided(found[2], gang, self._world.places_of(gang))
                if patch is not None:
                    self._say(patch, at_once=True)

    def bad_objects(self, profiles: Container[str], now: float) -> None:
        self._world.take_changed_refusals()
        self._world.take_faults()

    def bound(self, task: Task, now: float) -> None:
        return

    def bind_failed(self, task: Task, refusal: Refusal, now: float) -> None:
        return

    def turn_ended(self, now: float) -> None:
        return

    def progress(self, now: float) -> None:
        self._world.take_moved()


def _about(change: Change) -> About:
    name = change.document["metadata"]["name"] if isinstance(change, Create) else change.name
    return change.resource.group_resource, change.namespace, name


def _both(first: Patch | None, second: Patch | None) -> Patch | None:
    """Two patches of one object as one."""
    if first is None or second is None:
        return first or second
    assert first.subresource == second.subresource, "what is written together is written to one place"
    return msgspec.structs.replace(first, patch=_merged(first.patch, second.patch))


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What both say; patches of one object say different things."""
    both = dict(first)
    for key, value in second.items():
        known = both.get(key)
        both[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return both


def _reported_to(gang: Gang, refusal: Refusal, now: float) -> _LastStatus:
    """What is said of a group: why it waits, and how its members stand."""
    states = frozenset(state for state in State if gang.counts[state])
    return _LastStatus(refusal.shape, states, (refusal, tuple(gang.counts), gang.minimum), now)


def _pod(task: Task) -> Regarding:
    return Regarding(PODS, task.namespace, task.name, task.id)
