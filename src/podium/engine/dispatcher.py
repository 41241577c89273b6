"""What the scheduler has sent, and what becomes of it.

    carry_out, evict     decisions become writes, one ticket each; binds of a gang that lacks volumes are held
    take                 the tickets that go out now, with those that go once more, and what there is to say
    answered             every answer: it confirms, gives back, sends what follows, or asks how things stand
    touched, forget      events of the watches, for whoever waits for them
    follow_volumes       held gangs whose waiting is over

A bind is done, refused, or its outcome is unknown.  A refused one gives its room back, and its gang rests.  An
unknown one keeps it until the pod itself has been read.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import assert_never

from podium.core.model import quorum
from podium.core.model.decisions import (
    Bind,
    Decision,
    Evict,
    LookAgain,
    ModelOnly,
    Nominate,
    Refuse,
    Report,
    TimeOut,
    Ungate,
)
from podium.core.model.model import Gang, QuotaGate, State, Task
from podium.core.profiles.profile import Profile
from podium.engine import effects
from podium.engine.backoff import Backoff
from podium.engine.clashes import Clashes
from podium.engine.counters import Counters
from podium.engine.outcomes import Outcome, is_doubtful, is_no, outcome, wanted_pause
from podium.engine.records import Bound
from podium.engine.recovery import Recovery, is_half_bound, write_plan
from podium.engine.retries import Retries
from podium.engine.status_writer import StatusWriter
from podium.engine.volumes import Held, VolumeBinder, bind_timeout
from podium.engine.world import World
from podium.errors import ApiError
from podium.kube.changes import Change, Patch
from podium.kube.controller import Ticket
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, Pod
from podium.reasons import BIND_FAILED, Refusal, refuse

_MOST_REFUSALS = 5  # of an eviction, before its victim is left where it is


class CallType(StrEnum):
    """What a ticket was sent for."""

    BIND = "bind"
    DISRUPT = "mark a group that leaves as one"
    MARK = "mark for eviction"
    EVICT = "evict"
    NOMINATE = "nominate"
    STATUS = "write status"
    ASK = "ask"
    VOLUME = "give a claim its volume"
    UNGATE = "lift a gate"
    EXPIRE = "mark a pod whose gang has timed out"


# Their answers are taken in like events of a watch: what others make of them must not be seen before them.
_TAKEN_IN = (CallType.VOLUME, CallType.UNGATE, CallType.EXPIRE)


class Dispatcher:
    """Follows every write from the decision to its last answer."""

    def __init__(
        self,
        world: World,
        status_writer: StatusWriter,
        backoff: Backoff,
        recovery: Recovery,
        counters: Counters,
        clashes: Clashes,
    ) -> None:
        self._world = world
        self._cluster = world.cluster
        self._status_writer = status_writer
        self._backoff = backoff
        self._recovery = recovery
        self._counters = counters
        self._clashes = clashes
        self._volumes = VolumeBinder(world)
        self._retries = Retries()
        self._nominating: set[str] = set()  # tasks whose promise is being written
        self._doubts: dict[str, str] = {}  # tasks whose binds were not answered, and why
        self._leaving: dict[str, list[Ticket]] = {}  # members of gangs that leave as one, until the group says so
        self._binding = 0  # binds that have not been answered
        self._out: list[Ticket] = []

    @property
    def holding(self) -> bool:
        """Whether binds wait for volumes."""
        return bool(self._volumes)

    # --- what is sent ------------------------------------------------------------------------------------------

    def carry_out(self, decisions: Iterable[Decision], profile: Profile, number: int, now: float) -> None:
        """What a step of a profile's turn has decided.  The number is that of the turn."""
        placed: list[Task] = []
        for decision in decisions:
            match decision:
                case Bind():
                    task = self._cluster.tasks[decision.task]
                    plan = write_plan(decision.gang, number, decision.members, now, decision.gangs)
                    self._cluster.assign(task, State.BINDING, task.row)
                    self._world.assumed[task.id] = Bound(decision.node, plan)
                    placed.append(task)
                case Evict():
                    self.evict(self._cluster.tasks[decision.task], decision.why, now, decision.grace)
                case Nominate():
                    self._nominate(self._cluster.tasks[decision.task], decision.node)
                case Ungate():
                    self._lift_gates(self._cluster.tasks[decision.task])
                case TimeOut():
                    self._mark(self._world.expire(decision.gang))
                case LookAgain():
                    self._backoff.look_again(decision.gang, decision.at)
                case ModelOnly() | Report():
                    pass  # what is to be written of it, the status writer knows
                case _:
                    assert_never(decision)
        self._bind(placed, profile, now)

    def evict(self, task: Task, why: str, now: float, grace: int | None = None) -> None:
        """Evicts a task: a condition says why, then it goes, within this grace period or its own.

        Of a gang that leaves as one the group says so before any member goes: a scheduler that starts anew finds
        it there, and sends the others after them (`disruptions.py`).
        """
        self._world.evicting[task.id] = grace
        mark = Ticket(CallType.MARK, (task.namespace, task.id), effects.disruption_mark(task, why, now))
        gang = task.gang
        if gang.as_one and gang.id not in self._leaving:
            patch = self._disruption_patch(gang, why, now)
            if patch is not None:
                self._leaving[gang.id] = []
                self._out.append(Ticket(CallType.DISRUPT, (gang.namespace, gang.id), patch))
        self._leaving.get(gang.id, self._out).append(mark)

    def _disruption_patch(self, gang: Gang, why: str, now: float) -> Patch | None:
        found = self._world.group_of(gang)
        if found is None or found[1].disrupted is None:
            return None
        return found[1].disrupted(found[2], why, now)

    def take(self, now: float) -> list[Ticket]:
        """What goes out now."""
        tickets, self._out = self._out, []
        tickets += self._retries.take(now)
        for change in self._status_writer.take(now, binding=self._binding > 0):
            tickets.append(Ticket(CallType.STATUS, (change.namespace, change.resource.plural), change))
        return tickets

    def next_wake(self, now: float) -> float | None:
        """When something is to go out, or is over, though nothing happened.  The status writer
        has a time of its own."""
        if self._out:
            return now
        times = (self._volumes.next_wake(now), self._retries.next_wake)
        return min((at for at in times if at is not None), default=None)

    def _nominate(self, task: Task, node: str) -> None:
        """A promise is made anew in every turn, and written when it is another one than the pod shows."""
        pod = self._world.pod_of(task)
        shown = pod is not None and pod.status.nominated_node_name == node
        if not shown or task.id in self._nominating:
            self._nominating.add(task.id)
            self._send(CallType.NOMINATE, task, effects.nomination(task, node))

    def _lift_gates(self, task: Task) -> None:
        pod = self._world.pod_of(task)
        gates = (pod.spec.scheduling_gates if pod is not None else None) or ()
        self._send(CallType.UNGATE, task, effects.ungated(task, (gate.name for gate in gates)))

    def _bind(self, placed: list[Task], profile: Profile, now: float) -> None:
        """Sends binds.  Those of a gang of which one member lacks a volume wait, all of them."""
        waiting: dict[str, list[Task]] = {task.gang.id: [] for task in placed if self._volumes.concerns(task)}
        for task in placed:
            if task.gang.id in waiting:
                waiting[task.gang.id].append(task)
            else:
                self._send_bind(task)
        if waiting:
            deadline = now + bind_timeout(profile)
            for id, tasks in waiting.items():
                self._volumes.hold(id, [(task, self._world.assumed[task.id].node) for task in tasks], deadline)
            self._send_writes()

    def mark_expired(self) -> None:
        """Pods of gangs that have timed out and do not show it yet."""
        patches = self._world.take_marks()
        if patches:
            self._mark(patches)

    def _mark(self, patches: Iterable[Patch]) -> None:
        self._out += (Ticket(CallType.EXPIRE, (patch.namespace, patch.uid), patch) for patch in patches)

    def _send_bind(self, task: Task) -> None:
        sent = self._world.assumed[task.id]
        self._binding += 1
        self._clashes.sent(sent.plan)
        self._send(CallType.BIND, task, effects.binding(task, sent.node, sent.plan))

    def _send_writes(self) -> None:
        for gang, write in self._volumes.take_writes():
            self._out.append(Ticket(CallType.VOLUME, (write.namespace, gang), write))

    def _send(self, purpose: CallType, task: Task, change: Change) -> None:
        self._out.append(Ticket(purpose, (task.namespace, task.id), change))

    # --- events of the watches ---------------------------------------------------------------------------------

    def touched(self, resource: Resource, obj: Object) -> None:
        """An object came or changed."""
        self._volumes.touched(resource, obj)

    def forget(self, resource: Resource, obj: Object) -> None:
        """An object is gone."""
        self._retries.forget(obj.uid)
        self._doubts.pop(obj.uid, None)
        self._nominating.discard(obj.uid)
        self._volumes.touched(resource, obj)

    # --- answers -----------------------------------------------------------------------------------------------

    def answered(
        self, ticket: Ticket, result: Object | None, error: Exception | None, now: float
    ) -> Object | None:
        """What became of an errand.  Gives back the object that is to be taken in, if there is one."""
        purpose, id = CallType(ticket.purpose), ticket.key[1]
        task = self._cluster.tasks.get(id)
        if error is None or (outcome(error) is Outcome.REFUSED and purpose is not CallType.EVICT):
            self._retries.settled(ticket)
        match purpose:
            case CallType.BIND:
                self._bind_answered(id, task, error, now)
            case CallType.ASK:
                self._question_answered(ticket, task, result, error, now)
            case CallType.VOLUME:
                self._volume_answered(ticket, error, now)
            case CallType.STATUS:
                self._status_writer.answered(ticket.change, error, now)
            case CallType.NOMINATE:
                self._nomination_answered(ticket, task, error, now)
            case CallType.DISRUPT:
                self._disruption_answered(ticket, error, now)
            case CallType.MARK:
                # Whether the mark could be written or not, the room is needed.
                if task is not None:
                    self._send(CallType.EVICT, task, effects.eviction(task, self._world.evicting.get(id)))
            case CallType.EVICT:
                self._eviction_answered(ticket, task, error, now)
            case CallType.UNGATE:
                self._ungate_answered(ticket, task, error, now)
            case CallType.EXPIRE:
                if error is not None and task is not None and not _is_gone(error):
                    self._retries.again(ticket, now, wanted_pause(error))  # until then it stays timed out
                else:
                    self._world.marked(id, gone=error is not None)
            case _:
                assert_never(purpose)
        return result if error is None and purpose in _TAKEN_IN else None

    def _nomination_answered(self, ticket: Ticket, task: Task | None, error: Exception | None, now: float) -> None:
        if not is_doubtful(error):
            self._nominating.discard(ticket.key[1])
        elif task is not None:
            self._retries.again(ticket, now, wanted_pause(error))

    def _disruption_answered(self, ticket: Ticket, error: Exception | None, now: float) -> None:
        """Also when the group cannot be written, or is gone, its members' room is needed."""
        if is_doubtful(error):
            self._retries.again(ticket, now, wanted_pause(error))
        else:
            self._out += self._leaving.pop(ticket.key[1], ())

    def _ungate_answered(self, ticket: Ticket, task: Task | None, error: Exception | None, now: float) -> None:
        if task is None:
            return
        if is_doubtful(error):
            self._retries.again(ticket, now, wanted_pause(error))
        elif error is not None:
            task.quota_gate = QuotaGate.CLOSED  # it stands where it stood

    def _eviction_answered(self, ticket: Ticket, task: Task | None, error: Exception | None, now: float) -> None:
        if task is None:
            return
        if is_no(error):
            self._eviction_refused(ticket, task, now)
        elif is_doubtful(error):
            self._retries.again(ticket, now, wanted_pause(error))

    def _bind_answered(self, id: str, task: Task | None, error: Exception | None, now: float) -> None:
        result = outcome(error)
        self._binding -= 1
        self._counters.bind_answered(task, result, error, now)
        if task is not None and result is Outcome.DONE:
            self._status_writer.bound(task, now)
        if task is None or id not in self._world.assumed:
            return  # the watch was faster
        if result is Outcome.DONE:
            if task.state is State.BINDING:
                self._cluster.assign(task, State.BOUND, task.row)
            self._backoff.succeeded(task.gang.id)
            self._recovery.succeeded(task.gang.id)
        elif result is Outcome.UNKNOWN:
            self._doubts[id] = str(error)
            self._send(CallType.ASK, task, effects.question(task))
        else:
            sent = self._world.assumed.pop(id)
            if task.state is State.BINDING:
                self._cluster.assign(task, State.PENDING, -1)
                self._world.cluster_events.room = True
            self._bind_failed(task, sent, str(error), now, wanted_pause(error))
            if is_no(error) and quorum.is_gang(task.gang):
                self._recovery.refused(task.gang.id, _bind_failure(task, sent, str(error)), now)

    def _bind_failed(self, task: Task, sent: Bound, why: str, now: float, at_least: float = 0.0) -> None:
        """A pod has no place after all: once more, a little later."""
        self._leave_alone(task.gang, now, sent.plan, at_least)
        self._status_writer.bind_failed(task, _bind_failure(task, sent, why), now)

    def _leave_alone(self, gang: Gang, now: float, plan: str, at_least: float = 0.0) -> None:
        """A bind of a plan has failed.  Which plan it is says all but the number of its members."""
        plan = plan.rpartition("/")[0]
        self._backoff.leave_alone(gang.id, now, at_least, plan=plan, half_bound=is_half_bound(gang))

    def _question_answered(
        self, ticket: Ticket, task: Task | None, pod: Object | None, error: Exception | None, now: float
    ) -> None:
        if task is None:
            return
        if isinstance(pod, Pod) and pod.uid == task.id:
            sent = self._world.assumed.pop(task.id, None)
            why = self._doubts.pop(task.id, "")
            self._world.reread(pod)
            task = self._cluster.tasks.get(pod.uid)  # it may be in another gang by now
            if sent is not None and task is not None and task.state is State.PENDING:
                self._bind_failed(task, sent, why, now)
        elif error is None or (isinstance(error, ApiError) and error.code == 404):
            self._gone(task)
        else:
            # Busy, starting, or not yet sure of our rights: that says nothing of the pod.
            self._retries.again(ticket, now, wanted_pause(error))

    def _gone(self, task: Task) -> None:
        """The server has no such pod, and the watch has not come that far."""
        pod = self._world.pod_of(task)
        if pod is not None and pod.uid == task.id:
            self._world.forget(PODS, pod)
            self._status_writer.forget(pod.uid)
            self.forget(PODS, pod)
        else:
            self._world.assumed.pop(task.id, None)
            self._cluster.remove_task(task.id)
            self._world.cluster_events.room = True

    def _eviction_refused(self, ticket: Ticket, task: Task, now: float) -> None:
        """The others of its gang may be gone by now, so it is asked more than once.  Then the task stays: whoever
        wanted its room looks elsewhere, until the pod itself is news."""
        if self._retries.failures(ticket) < _MOST_REFUSALS:
            self._retries.again(ticket, now)
            return
        self._retries.settled(ticket)
        self._world.evicting.pop(task.id, None)
        pod = self._world.pod_of(task)
        if pod is not None and pod.uid == task.id:
            self._world.reread(pod)
            task.preemptable = False
        self._world.cluster_events.room = True

    def _volume_answered(self, ticket: Ticket, error: Exception | None, now: float) -> None:
        if outcome(error) is Outcome.UNKNOWN:
            self._retries.again(ticket, now, wanted_pause(error))  # a second time it is refused, or does no harm
        elif isinstance(error, ApiError):
            assert isinstance(ticket.change, Patch)
            self._volumes.refused(ticket.change, error)

    # --- gangs that were held ----------------------------------------------------------------------------------

    def follow_volumes(self, now: float) -> None:
        """Gangs whose volumes are there are bound; those whose are not to be had give their places back."""
        for held, refusal in self._volumes.due(now):
            tasks = self._still_held(held)
            if not tasks:
                continue
            gang = tasks[0].gang
            whole = len(tasks) == len(held.nodes) or quorum.satisfied(gang)
            if refusal is None and whole and gang.id in self._cluster.gangs:
                for task in tasks:
                    self._send_bind(task)
            else:
                self._give_back(gang, tasks, refusal, now)
        self._send_writes()

    def _still_held(self, held: Held) -> list[Task]:
        """What is left of a gang that was held: some may have ended, or been evicted."""
        found = (self._cluster.tasks.get(id) for id in held.nodes)
        return [task for task in found if task is not None and task.id in self._world.assumed]

    def _give_back(self, gang: Gang, tasks: list[Task], refusal: Refusal | None, now: float) -> None:
        """A gang that was held is decided on anew, a little later."""
        for task in tasks:
            del self._world.assumed[task.id]
            self._cluster.assign(task, State.PENDING, -1)
            pod = self._world.pod_of(task)
            if pod is not None:
                self._world.reread(pod)
        self._world.cluster_events.room = True
        self._backoff.leave_alone(gang.id, now)
        if refusal is not None:
            self._recovery.refused(gang.id, refusal, now)
            self._status_writer.decided([Refuse(gang.id, refusal)], now)


def _is_gone(error: Exception) -> bool:
    """Whether there is no such pod any more."""
    return isinstance(error, ApiError) and error.code in (404, 409, 422)


def _bind_failure(task: Task, sent: Bound, why: str) -> Refusal:
    return refuse(BIND_FAILED, pod=task.name, node=sent.node, detail=why)
