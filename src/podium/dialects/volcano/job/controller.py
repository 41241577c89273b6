"""Jobs: from their submission to their end.

One look at a Job asks what has happened (`job_policies`, or a Command), what that means in the Job's phase
(`job_state`), and then takes pods away, or makes what is missing: the plugins' objects, claims, the PodGroup and,
once the scheduler has let that into its queue, the pods.

The status is the controller's memory, so it is written first.  What follows from it (deleting the pods of an older
version, making what is missing) is done at every look until it is done; a controller that ends in between is no
more than a pause.  The scheduler writes the status of PodGroups, this controller that of Jobs: no field has two
writers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from podium.dialects.volcano.job.admission import check_queue_of
from podium.dialects.volcano.job.depends_on import front_of
from podium.dialects.volcano.job.groups import group_changes, group_of, pods_due
from podium.dialects.volcano.job.names import ANSWERED_GENERATION, JOBS
from podium.dialects.volcano.job.objects import KEPT, leftover_objects, object_changes, plugin_records, plugins_of
from podium.dialects.volcano.job.plan import PodsToCreate, counts_stay, doubts, pods_to_create, pods_to_delete
from podium.dialects.volcano.job.plugin import JobPlugin
from podium.dialects.volcano.job.pod_counts import PodCounts, is_looked_at
from podium.dialects.volcano.job.policies import JOB_UPDATED, Answer, Request, answer
from podium.dialects.volcano.job.reading import Reader
from podium.dialects.volcano.job.refusals import refusal_note
from podium.dialects.volcano.job.registry import UnusablePluginError
from podium.dialects.volcano.job.scale import carry_over, first_number
from podium.dialects.volcano.job.state import (
    ENDING,
    FAILED,
    FINISHED,
    PENDING,
    RESTARTING,
    RUNNING,
    SYNC_JOB,
    TARGETED,
    Do,
    next_phase,
    step_for,
)
from podium.dialects.volcano.job.status import Move, record_change, status_change
from podium.dialects.volcano.job.types import Job
from podium.dialects.volcano.job.volumes import claim_name, volume_changes, volume_records
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES, SCHEDULER
from podium.dialects.volcano.status import LACKS_PODS
from podium.dialects.volcano.types import Command, PodGroup
from podium.errors import ApiError
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Delete, Patch
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import WARNING
from podium.kube.fields import FieldError
from podium.kube.job_members import Member, delete_pod
from podium.kube.mapping import controlled_by, itself, nobody
from podium.kube.observed import Observed
from podium.kube.resources import NAMESPACES, PERSISTENTVOLUMECLAIMS, PODS, PRIORITYCLASSES, Resource
from podium.kube.times import parse_time
from podium.kube.wire import Object

# Watches of different kinds are not in step: a queue may be seen after the Jobs that name it.
PATIENCE = 5.0
# While its pods start one by one, a Job's counts are written this often at the most.
_REST = 0.2
# After this long without a phase a group is one that no scheduler knows of.
_UNSEEN = 30.0
# Pods of others that are in the way concern nobody here when they go, nor does a plugin say when it works again.
_BLOCKED_AGAIN = 10.0
_INVALID = "InvalidSpec"


class JobController:
    """Keyed by Job."""

    name = "volcano-job"
    component = "vc-controller-manager"

    def __init__(self, grouping: Container[str] = (SCHEDULER,)) -> None:
        """`grouping` are schedulers that are sure to look at groups, and say whether one is let into its queue."""
        self._grouping = grouping
        self._reader = Reader()
        owned = controlled_by(JOBS)
        self.watches: Mapping[Resource, Mapper] = {
            JOBS: itself,
            PODS: owned,
            PODGROUPS: owned,
            **dict.fromkeys(KEPT, owned),
            COMMANDS: _job_of_command,
            PERSISTENTVOLUMECLAIMS: _jobs_of_claim,
            QUEUES: _new_jobs_of_queue,
            PRIORITYCLASSES: nobody,
            NAMESPACES: nobody,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        stored = cache.find(JOBS, Job, key)
        if stored is None:
            return _orders_to_nobody(key, cache, now)
        home = cache.get(NAMESPACES, "", stored.namespace)
        if stored.deleting or (home is not None and home.deleting):
            return NOTHING  # in a namespace that goes nothing can be made, and everything is taken away
        scaled = carry_over(stored)
        if scaled is not None:
            return scaled
        job, errors = self._reader.read(stored)
        expiry = _expiry(job)
        if expiry is not None and expiry <= now:
            return Outcome((Delete(JOBS, job.namespace, job.name, uid=job.uid, propagation="Foreground"),))
        look = _Look(job, cache, now, self._grouping)
        if not job.status.state.phase:
            errors = errors or tuple(check_queue_of(job, Observed(cache)))
            if errors:
                return _refused(look, errors)
        questions = doubts(look.pod_counts, cache) if job.status.state.phase not in ENDING else ()
        if questions:
            return Outcome(questions)
        outcome = look.outcome(_sentence(errors))
        again = min((at for at in (outcome.again_at, expiry) if at is not None), default=None)
        return Outcome(outcome.changes, again, outcome.notes, outcome.rest)

    def refused(self, key: Key, change: Change, error: ApiError, cache: Cache) -> Note | None:
        job = cache.find(JOBS, Job, key)
        return refusal_note(job, change, error) if job is not None else None


def _expiry(job: Job) -> float | None:
    """When a Job that is over is deleted."""
    state, seconds = job.status.state, job.spec.ttl_seconds_after_finished
    if seconds is None or state.phase not in FINISHED:
        return None
    return parse_time(state.last_transition_time) + seconds


def _refused(look: _Look, errors: tuple[FieldError, ...]) -> Outcome:
    """A Job that cannot run as it is fails with what a hook would have said."""
    job, reported = look.job, _sentence(errors)
    until = parse_time(job.metadata.creation_timestamp) + PATIENCE
    if all(error.path == "spec.queue" for error in errors) and look.now < until:
        return Outcome(again_at=until)
    note = Note(JOBS, job, _INVALID, reported, WARNING)
    return Outcome(look.status(Move(FAILED, _INVALID, reported), []), notes=(note,))


def _sentence(errors: tuple[FieldError, ...]) -> str:
    return "; ".join(map(str, errors))


class _Look:
    """One look at one Job."""

    def __init__(self, job: Job, cache: Cache, now: float, grouping: Container[str]) -> None:
        self.job, self.now = job, now
        self._grouping = grouping
        self._cache = cache
        self._phase = job.status.state.phase
        self.pod_counts = PodCounts(job, cache)
        self._front = front_of(self.pod_counts)
        self._group = group_of(job, cache)
        self._notes: list[Note] = []
        self._again_at: list[float] = []

    def outcome(self, wrong: str) -> Outcome:
        """What to do.  While something is wrong with what was right before, only orders are obeyed."""
        job = self.job
        commands, outdated = _commands(job, self._cache)
        if wrong and not commands and self._phase in (PENDING, RUNNING):
            return self._held(wrong)
        found = self._answer(commands)
        request = found.request
        step = step_for(self._phase, request.action)
        victims = pods_to_delete(self.pod_counts, step, request)
        restarts_all = step.do is Do.KILL and (bool(step.to) or self._kills_a_restart(victims))
        version = job.status.version + restarts_all
        retries = job.status.retry_count + step.retry
        move = (
            Move(step.to, request.action, request.message) if step.to else self._by_itself(victims, retries, found)
        )
        if restarts_all and not move.phase:
            move = Move(RESTARTING, request.action, request.message)
        self._report_action(request, move)

        before: list[Change] = []
        after: list[Change] = []
        if step.do is Do.SYNC and self._phase not in ENDING and self._phase != RESTARTING:
            before, after = self._build(found, move)
        elif self._phase in ENDING or restarts_all or (self._phase == RESTARTING and not self._group_is_right):
            after = self._clear()
        changes = [*before, *self.status(move, victims, version, retries, counts_stay(request, step, victims))]
        changes += [_taken(each) for each in (*commands[:1], *outdated)]
        changes += [delete_pod(each.pod) for each in victims]
        own = [*first_number(job), *after]
        changes += own
        if not any(isinstance(each, Patch) and each.resource == JOBS and "spec" in each.patch for each in own):
            changes += self._answered()
        busy = len(changes) == 1 and not move.phase
        again = min((at for at in (found.again_at, *self._again_at) if at is not None), default=None)
        return Outcome(tuple(changes), again, tuple(self._notes), _REST if busy else 0.0)

    def _held(self, wrong: str) -> Outcome:
        """Until it is mended nothing is made and nothing is taken away."""
        reported = f"{wrong}; nothing is made or taken away until this is mended"
        if reported != self.job.status.state.message:
            self._note(_INVALID, reported, WARNING)
        return Outcome(self.status(Move(self._phase, _INVALID, reported), []), notes=tuple(self._notes))

    def _answer(self, commands: list[Command]) -> Answer:
        if commands:
            command = commands[0]
            reported = command.message or f"command {command.name} says so"
            self._note("CommandIssued", f"{command.action}: {reported}")
            return Answer(Request(command.action, reported))
        if self._phase in ENDING:
            return Answer()
        return answer(self.pod_counts, self._group, self.now)

    # --- phases --------------------------------------------------------------------------------------------

    def _by_itself(self, victims: list[Member], retries: int, found: Answer) -> Move:
        """Where the phase leads without an action."""
        counts = self.pod_counts.count({each.pod.uid for each in victims})
        phase, why = next_phase(self._phase, self.job, counts, self._front, retries)
        if phase == FAILED and self._phase == RUNNING and found.again_at is not None:
            phase = ""  # a policy still waits to act on what has failed
        if not phase and not self._phase:
            return Move(PENDING)
        if not phase and self.job.status.state.reason == _INVALID and self._phase not in ENDING:
            return Move(self._phase)  # it was mended
        if self._phase == RESTARTING and phase == PENDING and (victims or not self._group_is_right):
            return Move()  # first everything has to be taken away
        return Move(phase, "", why)

    @property
    def _group_is_right(self) -> bool:
        """Whether the group belongs to what comes next: a whole restart goes through its queue again."""
        return self._group is None or self.job.status.state.reason in TARGETED

    def _kills_a_restart(self, victims: list[Member]) -> bool:
        return self._phase == RESTARTING and any(self.pod_counts.current(each) for each in victims)

    def status(
        self,
        move: Move,
        victims: list[Member],
        version: int | None = None,
        retries: int | None = None,
        as_before: str = "",
    ) -> tuple[Change, ...]:
        job = self.job
        uids = {each.pod.uid for each in victims}
        tasks = self.pod_counts.by_task(uids)
        if as_before:
            tasks[as_before] = (job.status.task_status_count or {})[as_before]
        return status_change(
            job,
            move,
            self.pod_counts.count(uids),
            tasks,
            job.status.version if version is None else version,
            job.status.retry_count if retries is None else retries,
            self.now,
        )

    # --- what is made --------------------------------------------------------------------------------------

    def _build(self, found: Answer, move: Move) -> tuple[list[Change], list[Change]]:
        """What comes before the status is written, and what after it."""
        if move.phase in ENDING:
            return [], []
        try:
            return self._missing(found)
        except UnusablePluginError as error:
            self._note("PluginError", str(error), WARNING)
            self._again_at.append(self.now + _BLOCKED_AGAIN)
            return [], []

    def _missing(self, found: Answer) -> tuple[list[Change], list[Change]]:
        job, cache = self.job, self._cache
        plugins = plugins_of(job)
        self._report_arguments(plugins)
        claims, missing = volume_changes(job, cache)
        if missing:
            self._note("PVCError", missing, WARNING)
            return [], claims
        ready = [*claims, *object_changes(job, plugins, cache)]
        group = self._group
        if group is None or not group.deleting:
            ready += group_changes(job, self._front, group, cache)
        ready += record_change(job, {**plugin_records(job), **volume_records(job)})
        due = pods_due(job, group, self._grouping)
        if due is not None and due > self.now:
            self._again_at.append(due)
        if group is None or due is None or due > self.now:
            self._report_waiting(group)
            return [], ready
        if self._phase in ("", PENDING):
            self._report_waiting(group)
        pods = pods_to_create(self.pod_counts, self._front, cache, group.name, plugins, found.waiting, self.now)
        self._report_created(pods)
        return [*pods.first], [*ready, *pods.then]

    def _clear(self) -> list[Change]:
        """What goes with the pods: the group, and at the end what the plugins have made."""
        changes: list[Change] = []
        group = self._group
        if group is not None and not group.deleting:
            changes.append(Delete(PODGROUPS, group.namespace, group.name, uid=group.uid))
        if self._phase in ENDING:
            changes += leftover_objects(self.job, self._cache)
        return changes

    def _answered(self) -> list[Change]:
        """Remembers up to where changes of the Job have been answered, if a policy asks about them.

        What the controller itself writes into the spec is no such change, so this comes after it.
        """
        job = self.job
        lists = [job.spec.policies, *(task.policies for task in job.spec.tasks)]
        asked = any(JOB_UPDATED in policy.all_events for some in lists for policy in some or ())
        generation = str(job.metadata.generation)
        if not asked or job.annotations.get(ANSWERED_GENERATION) == generation:
            return []
        patch = {"metadata": {"annotations": {ANSWERED_GENERATION: generation}}}
        return [Patch(JOBS, job.namespace, job.name, patch, uid=job.uid)]

    # --- status and events---------------------------------------------------------------------------------

    def _note(self, reason: str, message: str, type: str = "Normal") -> None:
        self._notes.append(Note(JOBS, self.job, reason, message, type))

    def _report_action(self, request: Request, move: Move) -> None:
        if request.action != SYNC_JOB and move.phase:
            self._note("ExecuteAction", f"{request.action}: {request.message}")
        elif move.phase in FINISHED:
            self._note(move.phase, move.message or "it was asked to end")

    def _report_arguments(self, plugins: list[JobPlugin]) -> None:
        """Once, what the plugins of a new Job make nothing of."""
        for plugin in plugins if not self._phase else ():
            for each in plugin.flags.complaints:
                self._note("PluginError", f"plugin {plugin.name}: {each}", WARNING)

    def _report_created(self, pods: PodsToCreate) -> None:
        made = [each.document["metadata"]["name"] for each in (*pods.first, *pods.then)]
        if made:
            shown = ", ".join(made[:5]) + (" ..." if len(made) > 5 else "")
            others = f"; {self._front.obstacle}" if self._front.obstacle else ""
            self._note("SuccessfulCreate", f"Created {len(made)} pods: {shown}{others}")
        if pods.blocked:
            self._again_at.append(self.now + _BLOCKED_AGAIN)
            reported = f"pods of other owners have the names {', '.join(pods.blocked[:5])}; delete or rename them"
            self._note("FailedCreate", reported, WARNING)

    def _report_waiting(self, group: PodGroup | None) -> None:
        """Why the group waits, in the scheduler's words.  That pods are missing is known here, and mended."""
        if group is None:
            return
        if not group.status.phase and not group.deleting:
            self._report_unseen(group)
        for each in reversed(group.status.conditions or []):
            if each.status == "True" and each.type != "Scheduled" and each.reason not in LACKS_PODS:
                self._note("PodGroupPending", each.message, WARNING)
                return

    def _report_unseen(self, group: PodGroup) -> None:
        """A scheduler gives the group its phase, or the pods their places or a reason; one that is not there
        cannot say so."""
        name = self.job.spec.scheduler_name
        members = self.pod_counts.all
        if name not in self._grouping and members and all(map(is_looked_at, members)):
            return
        due = parse_time(group.metadata.creation_timestamp) + _UNSEEN
        if self.now < due:
            self._again_at.append(due)
            return
        reported = f"no scheduler has looked at group {group.name}: is there one called {name}, and does it run?"
        self._note("PodGroupPending", reported, WARNING)


# --- what concerns a Job -----------------------------------------------------------------------------------


def _job_of_command(obj: Object, cache: Cache) -> Iterable[Key]:
    target = obj.target if isinstance(obj, Command) else None
    if target is None or target.kind != JOBS.kind or target.api_version not in ("", JOBS.api_version):
        return ()
    return ((obj.namespace, target.name),)


def _orders_to(key: Key, cache: Cache) -> list[Command]:
    """Orders to a Job of this name, the oldest first."""
    found = [
        each
        for each in cache.in_namespace(COMMANDS, key[0])
        if isinstance(each, Command) and key in _job_of_command(each, cache) and not each.deleting
    ]
    return sorted(found, key=lambda each: (each.metadata.creation_timestamp or "", each.name))


def _commands(job: Job, cache: Cache) -> tuple[list[Command], list[Command]]:
    """Orders to a Job, and those to an earlier one of the same name."""
    found = _orders_to(key_of(job), cache)
    outdated = [each for each in found if each.target is not None and each.target.uid not in ("", job.uid)]
    return [each for each in found if each not in outdated], outdated


def _orders_to_nobody(key: Key, cache: Cache, now: float) -> Outcome:
    """Orders to a Job that does not exist are dropped, once it cannot be that it has just not been seen."""
    orders = _orders_to(key, cache)
    times = {each.name: parse_time(each.metadata.creation_timestamp) + PATIENCE for each in orders}
    dropped = tuple(_taken(each) for each in orders if times[each.name] <= now)
    return Outcome(dropped, min((at for at in times.values() if at > now), default=None))


def _taken(command: Command) -> Delete:
    return Delete(COMMANDS, command.namespace, command.name, uid=command.uid)


def _jobs_of_claim(obj: Object, cache: Cache) -> Iterator[Key]:
    for job in cache.in_namespace(JOBS, obj.namespace):
        if isinstance(job, Job) and any(
            claim_name(job, index) == obj.name for index in range(len(job.spec.volumes or ()))
        ):
            yield key_of(job)


def _new_jobs_of_queue(obj: Object, cache: Cache) -> Iterator[Key]:
    """Jobs that have not been let in: whether their queue takes them may have changed."""
    for job in cache.all(JOBS):
        if isinstance(job, Job) and not job.status.state.phase and (job.spec.queue or "default") == obj.name:
            yield key_of(job)
