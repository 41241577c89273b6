"""Conditions and events of the scheduler: why pods wait, where they went, how groups stand, what queues hold.

They are written when something changed that a reader wants to know: another reason, another queue or plugin that
limits, another phase.  Numbers alone are written again once a minute at the most, on pods and groups alike.
Writes wait in a queue with a budget (`write_queue`).
"""

from __future__ import annotations

import logging
from collections.abc import Container, Hashable, Iterable, Iterator
from itertools import islice
from typing import assert_never

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
    TimeOut,
    Ungate,
)
from podium.core.model.model import Gang, Phase, QuotaGate, State, Task
from podium.dialects.dialect import Verdict
from podium.engine import effects
from podium.engine.clashes import ANOTHER_SCHEDULER, Clash
from podium.engine.late_reports import LateReports
from podium.engine.outcomes import is_doubtful, wanted_pause
from podium.engine.queue_status import QueueStatus
from podium.engine.recovery import would_come_again
from podium.engine.world import World
from podium.engine.write_queue import WriteQueue
from podium.kube.changes import Change
from podium.kube.events import NORMAL, WARNING, Recorder, Regarding, regarding
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object
from podium.kube.writing import both_patches
from podium.queue_reasons import QUEUE_REPLACED
from podium.reasons import GROUP_AWAITED, HELD, PROMISED, TIMED_OUT, Refusal, refuse

log = logging.getLogger(__name__)

REPEAT_SECONDS = 60.0
AWAITED_SECONDS = 5.0  # how long the controllers may take for the group of a new pod before that is a condition
GROUP_SECONDS = 1.0  # between two reports on how far the pods of groups have come
PORTION = 100  # pods, groups or other objects that are reported on before others get their turn
PARTNERS_IN_EVENT = 20  # of the gangs that start with one, so many are looked at: thousands may be listed
PODS_WITH_EVENTS = 5  # of a group; all of its pods have a condition
MOST_WAITING = 100  # writes waiting beyond which a bind gets no event

COMPONENT = "podium-scheduler"


class _LastStatus(msgspec.Struct):
    """The last status of a pod or a group: why it waits, all that was written with it, and when."""

    why: Hashable  # a refusal without its numbers
    states: frozenset[State]  # of a group's members
    content: Hashable
    at: float
    sentence: str = ""

    def stands(self, new: _LastStatus, rest: float = REPEAT_SECONDS) -> bool:
        """Whether there is nothing new; numbers alone are written again once in a while."""
        if (self.why, self.states) != (new.why, new.states):
            return False
        return self.content == new.content or new.at < self.at + rest


class StatusWriter:
    """Collects writes during a turn, and hands them out within the budget."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recorder = Recorder(COMPONENT)
        self._writes = WriteQueue()
        self._reported: dict[str, _LastStatus] = {}
        self._groups_reported: dict[str, _LastStatus] = {}
        self._objects_reported: dict[str, set[str]] = {}  # by object: the sentences of its events
        self._turns = 0
        self._queue_status = QueueStatus(world, self._writes)
        self._moved: dict[str, None] = {}  # groups that are being reported on
        self._followed = 0.0
        self._awaiting: dict[str, float] = {}  # new pods without their group, and when that is a condition
        self._acted_on: dict[str, None] = {}  # gangs whose controllers wait for what this turn decides
        self._late_pods: LateReports[Refusal] = LateReports(REPEAT_SECONDS)
        self._late_groups: LateReports[Verdict] = LateReports(REPEAT_SECONDS)
        self._logged: dict[str, float] = {}  # when a failure was last logged, by who failed

    # --- what there is to write --------------------------------------------------------------------------------

    def decided(self, decisions: Iterable[Decision], now: float) -> None:
        """Takes in what a step of a turn decided and refused."""
        verdicts: dict[str, Verdict] = {}
        concerned: dict[str, None] = {}
        promised: dict[
            str, dict[str, str]
        ] = {}  # by gang: tasks that get a place once others have left, and where
        phases: set[str] = set()
        acted_on: set[str] = set()  # gangs whose controllers wait for what was decided
        faults: list[QueueFault] = []
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
                        self._withdraw(cluster.tasks[decision.task])
                case Nominate():
                    of = cluster.tasks[decision.task].gang.id
                    concerned[of] = None
                    if decision.node:
                        promised.setdefault(of, {})[decision.task] = decision.node
                case Evict():
                    task = cluster.tasks[decision.task]
                    concerned[task.gang.id] = None
                    again = would_come_again(self._world.pod_of(task))
                    why = decision.why if again else f"{decision.why}; nothing makes this pod again"
                    self._event(_pod(task), NORMAL, "Preempted", why, now)
                case TimeOut():
                    concerned[decision.gang] = None
                case Reserve() | Release() | Resize():
                    concerned[decision.gang] = None
                    acted_on.add(decision.gang)
                case QueueFault():
                    faults.append(decision)
                case Failure():
                    self._log(decision, now)
                case LookAgain() | Ungate() | Journal():
                    pass  # nobody has to read it
                case _:
                    assert_never(decision)
        self._report_queues(faults, now)
        for id in concerned:
            gang = cluster.gangs.get(id)
            if gang is None:
                continue
            if gang.queue != gang.named_queue:
                self._report_replaced(gang, now)
            # A group that was let in knows that its pods are yet to come; one that was not must learn why.
            verdict = verdicts.get(id) if gang.tasks or gang.phase is Phase.PENDING else None
            if id in acted_on and verdict is None:
                self._acted_on[id] = None  # it may get more in this turn, a task at a time: that is written once
                continue
            urgent = id in acted_on or id in self._acted_on
            self._acted_on.pop(id, None)
            awaited = id in phases and quorum.awaits_members(gang)  # its controller creates them when it is in
            grouped = self._report_group(gang, verdict, now, urgent=awaited or urgent)
            if verdict is not None:
                waiting = (
                    task
                    for task in gang.tasks.values()
                    if task.state is State.PENDING
                    and task.has_pod
                    and task.id not in promised.get(id, ())
                    and not (task.gated and task.quota_gate is not QuotaGate.CLOSED)
                    and task.id not in self._world.refused
                )
                for number, task in enumerate(waiting):
                    event = not grouped or number < PODS_WITH_EVENTS
                    self._report_pod(task, verdict.refusal, now, event=event)
            self._report_held(gang, now)
            for number, (waiter, node) in enumerate(promised.get(id, {}).items()):
                event = number < PODS_WITH_EVENTS
                self._report_pod(cluster.tasks[waiter], refuse(PROMISED, node=node), now, event=event)

    def _report_replaced(self, gang: Gang, now: float) -> None:
        """The queue that a gang names does not exist: its first pod says once which one serves instead."""
        queue, first = self._world.cluster.queues.get(gang.queue), next(iter(gang.tasks.values()), None)
        if queue is None or first is None or not first.has_pod or len(self._writes) >= MOST_WAITING:
            return
        called = self._world.queue_names.get(gang.named_queue, gang.named_queue)
        refusal = refuse(QUEUE_REPLACED, queue=called, owner=queue.name)
        self._report_once(_pod(first), refusal, now)

    def _report_held(self, gang: Gang, now: float) -> None:
        """In a condition on each pod that holds a place; in events on some, which say for whom the gang waits.

        How many there are by now the first ones say at once.
        """
        if not gang.counts[State.RESERVED]:
            return
        held = (task for task in gang.tasks.values() if task.state is State.RESERVED and task.has_pod)
        for number, task in enumerate(held):
            first = number < PODS_WITH_EVENTS
            self._report_pod(task, self._held(task), now, event=first, rest=0.0 if first else REPEAT_SECONDS)

    def bad_objects(self, profiles: Container[str], now: float) -> bool:
        """What is wrong with objects themselves: conditions of the profiles' pods, events on others.

        Some at a time: whether that was all.
        """
        for task, profile, refusal in self._world.take_changed_refusals(PORTION):
            if profile not in profiles:
                continue
            self._awaiting.pop(task.id, None)
            if refusal is not None and refusal.reason == GROUP_AWAITED and now < task.created + AWAITED_SECONDS:
                self._awaiting[task.id] = task.created + AWAITED_SECONDS
            elif refusal is not None:
                self._report_pod(task, refusal, now, event=True)
            else:
                self._writes.withdraw((PODS.group_resource, task.namespace, task.name))
        while self._awaiting and (first := next(iter(self._awaiting.items())))[1] <= now:
            del self._awaiting[first[0]]
            waits, why = self._world.cluster.tasks.get(first[0]), self._world.refused.get(first[0])
            if waits is not None and why is not None:
                self._report_pod(waits, why, now, event=True)
        for fault in self._world.take_faults(PORTION):
            self._report_object(fault.resource, fault.obj, fault.refusal, now)
        return not self._world.reports_waiting

    def _report_object(self, resource: Resource, obj: Object, refusal: Refusal, now: float) -> None:
        """Once for each sentence: an object may be written often, and a bad one every time."""
        self._report_once(regarding(resource, obj), refusal, now)

    def _report_once(self, about: Regarding, refusal: Refusal, now: float) -> None:
        sentence = str(refusal)
        reported = self._objects_reported.setdefault(about.uid, set())
        if sentence not in reported:
            reported.add(sentence)
            self._event(about, WARNING, refusal.code, sentence, now)

    def turn_ended(self, now: float) -> Iterator[int]:
        """What is left to say of a turn, some groups at a time: of how many each time."""
        acted_on, self._acted_on = self._acted_on, {}
        for number, id in enumerate(acted_on, 1):
            gang = self._world.cluster.gangs.get(id)
            if gang is not None:
                self._report_group(gang, None, now, urgent=True)
                self._report_held(gang, now)
            if number % PORTION == 0:
                yield PORTION
        self._turns += 1
        self._queue_status.turn_ended()
        self._queue_status.go_on(now)

    def progress(self, now: float) -> None:
        """Now and then: how far the pods of groups have come, some groups at a time.

        Turns write those that wait for a place.
        """
        self._catch_up(now)
        if not self._moved and self._world.moved and now >= self._followed + GROUP_SECONDS:
            self._followed, self._moved = now, self._world.take_moved()
        for id in list(islice(self._moved, PORTION)):
            del self._moved[id]
            gang = self._world.cluster.gangs.get(id)
            if gang is not None and not (gang.counts[State.PENDING] and not quorum.started(gang)):
                self._report_group(gang, None, now)

    def _catch_up(self, now: float) -> None:
        """Writes numbers that were left out, of those that still wait for the same."""
        cluster = self._world.cluster
        for id, refusal in self._late_pods.take(now, PORTION):
            task = cluster.tasks.get(id)
            if task is not None and task.state in (State.PENDING, State.RESERVED):
                self._report_pod(task, refusal, now, event=False)
        for id, verdict in self._late_groups.take(now, PORTION):
            gang = cluster.gangs.get(id)
            if gang is not None and not quorum.started(gang):
                self._report_group(gang, verdict, now)

    def _report_queues(self, faults: list[QueueFault], now: float) -> None:
        """Every queue may have a fault: the objects are gone through once for all."""
        by_queue: dict[str, list[QueueFault]] = {}
        for fault in faults:
            by_queue.setdefault(fault.queue, []).append(fault)
        for resource, kind in self._world.queues.items() if faults else ():
            for obj in self._world.cache.all(resource):
                for fault in by_queue.get(kind.id(obj.name), ()):
                    self._report_object(resource, obj, fault.refusal, now)

    def bound(self, task: Task, now: float) -> None:
        """A pod has its node.  In a burst of binds there is no event: the pod itself shows it."""
        if task.row >= 0 and len(self._writes) < MOST_WAITING:
            node = self._world.cluster.nodes.name(task.row)
            reported = f"Successfully assigned {task.namespace}/{task.name} to {node}"
            self._event(_pod(task), NORMAL, "Scheduled", reported, now)

    def bind_failed(self, task: Task, refusal: Refusal, now: float) -> None:
        """A pod could not be bound: that is a condition, and a log line once in a while."""
        if now >= self._logged.get(refusal.code, float("-inf")) + REPEAT_SECONDS:
            self._logged[refusal.code] = now
            log.warning("%s/%s: %s; the pod is tried again", task.namespace, task.name, refusal)
        self._report_pod(task, refusal, now, event=True)

    def clashed(self, clash: Clash, now: float) -> None:
        """Another scheduler serves the same pods: one of them says so, and the log does."""
        sentence = str(clash)
        log.warning("%s", sentence)
        self._event(regarding(PODS, clash.pod), WARNING, ANOTHER_SCHEDULER, sentence, now)

    def forget(self, task: str) -> None:
        self._reported.pop(task, None)
        self._late_pods.drop(task)
        self._objects_reported.pop(task, None)

    # --- the queue of writes -----------------------------------------------------------------------------------

    def take(self, now: float, *, binding: bool = False) -> list[Change]:
        """As many writes as the budget allows now, which is smaller while binds are under way."""
        return self._writes.take(now, binding=binding)

    def answered(self, change: Change, error: Exception | None, now: float) -> None:
        self._writes.answered(change, now, lost=is_doubtful(error), at_least=wanted_pause(error))

    @property
    def waiting(self) -> int:
        """How many writes wait for their turn."""
        return len(self._writes)

    def next_wake(self, now: float) -> float | None:
        times = [next(iter(self._awaiting.values()))] if self._awaiting else []
        if self._moved:
            return now
        if self._world.moved:
            times.append(self._followed + GROUP_SECONDS)
        counted = self._queue_status.next_wake(now)
        if counted is not None:
            times.append(counted)
        times += [due for due in (self._late_pods.due, self._late_groups.due) if due is not None]
        writes = self._writes.next_wake(now)
        if writes is not None:
            times.append(writes)
        return max(now, min(times)) if times else None

    def _log(self, failure: Failure, now: float) -> None:
        """The log gets the trace of what a plugin raised; it would raise it in every turn."""
        if now >= self._logged.get(failure.who, float("-inf")) + REPEAT_SECONDS:
            self._logged[failure.who] = now
            log.error("%s failed: %s\n%s", failure.who, failure.error, failure.trace)

    def _report_pod(
        self, task: Task, refusal: Refusal, now: float, *, event: bool, rest: float = REPEAT_SECONDS
    ) -> None:
        """In a condition, on every member; in an event on all of them, or on some where a group carries it.

        `rest`: for how long numbers that have changed are no news.  To events they are none for longer.
        """
        timed_out = refusal.reason is TIMED_OUT
        if timed_out and not self._world.is_marked(task.id):
            return  # first the mark, then the condition: see `gathered`
        last, reported = self._reported.get(task.id), _LastStatus(refusal.shape, frozenset(), refusal, now)
        if last is not None and last.stands(reported, rest):
            if last.content != refusal:
                self._late_pods.put(task.id, refusal, now)
            else:
                self._late_pods.drop(task.id)
            return
        self._late_pods.drop(task.id)
        sentence = reported.sentence = str(refusal)
        self._reported[task.id] = reported
        if last is not None and last.sentence == sentence:
            return  # the numbers that changed are not in the sentence
        reason = refusal.code if timed_out or refusal.reason is HELD else "Unschedulable"
        self._writes.put(effects.unschedulable(task, sentence, now, reason))
        if event and (last is None or not last.stands(reported)):
            held = refusal.reason is HELD
            type, name = (NORMAL, HELD.code) if held else (WARNING, "FailedScheduling")
            self._event(_pod(task), type, name, sentence + (self._awaited(task.gang) if held else ""), now)

    def _withdraw(self, task: Task) -> None:
        """A pod has a place: a condition that is still to be written about why it waits is no longer true."""
        self._late_pods.drop(task.id)
        if self._reported.pop(task.id, None) is not None:
            self._writes.withdraw((PODS.group_resource, task.namespace, task.name))

    def _report_group(self, gang: Gang, verdict: Verdict | None, now: float, *, urgent: bool = False) -> bool:
        """Whether there is a group object that can carry the status."""
        found = self._world.group_of(gang)
        if found is None:
            return False
        resource, kind, obj = found
        last = self._groups_reported.pop(gang.id, None)
        if verdict is None:
            self._late_groups.drop(gang.id)
        else:
            reported = _status_of(gang, verdict.refusal, now)
            repeated = last is not None and last.stands(reported)
            if last is not None and repeated and last.content != reported.content:
                self._late_groups.put(gang.id, verdict, now)
            else:
                self._late_groups.drop(gang.id)
            verdict = msgspec.structs.replace(verdict, repeated=repeated)
            self._groups_reported[gang.id] = last if last is not None and repeated else reported
            if last is None or last.why != reported.why:
                self._event(regarding(resource, obj), WARNING, "Unschedulable", str(verdict.refusal), now)
        patch = kind.patch(obj, gang, verdict, f"turn-{self._turns}", now)
        if kind.decided is not None:
            patch = both_patches(patch, kind.decided(obj, gang, self._world.places_of(gang)))
        if patch is not None:
            self._writes.put(patch, urgent=urgent)
        return True

    def _held(self, task: Task) -> Refusal:
        """What a pod waits for that holds a place."""
        gang, node = task.gang, self._world.cluster.nodes.name(task.row)
        placed = quorum.counted(gang, gang.ready)
        return refuse(HELD, node, f"{gang.namespace}/{gang.name}", placed, gang.minimum)

    def _awaited(self, gang: Gang) -> str:
        """For whom a gang holds its places that is whole itself."""
        find = self._world.cluster.gangs.get
        listed = quorum.unsatisfied_partners(gang, find, most=PARTNERS_IN_EVENT) if quorum.satisfied(gang) else ()
        return f"; {quorum.incomplete(gang, listed, find)}" if listed else ""

    def count_queues(self, now: float) -> None:
        """Between turns, now and then: what queues hold."""
        self._queue_status.go_on(now)

    def _event(self, about: Regarding, type: str, reason: str, message: str, now: float) -> None:
        change = self._recorder.record(about, type, reason, message, now)
        if change is not None:
            self._writes.put(change)


def _status_of(gang: Gang, refusal: Refusal, now: float) -> _LastStatus:
    """The status of a group: why it waits, and how its members stand."""
    states = frozenset(state for state in State if gang.counts[state])
    return _LastStatus(refusal.shape, states, (refusal, tuple(gang.counts), gang.minimum), now)


def _pod(task: Task) -> Regarding:
    return Regarding(PODS, task.namespace, task.name, task.id)
