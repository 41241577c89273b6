"""Jobs: from their submission to their end.

One look at a job asks how it stands (`members`), what that leads to (`state`), and then makes and deletes pods:

    the leader    once the scheduler has found the places that the job needs
    workers       once the leader has an address, each as soon as it has a place

The scheduler finds the places and drops those that are lost, and this controller follows it.  The scheduler writes
scheduleState, allocations and conditions, this controller the rest of the status: no field has two writers.

The status is the controller's memory of what can no longer be seen: it is written before a pod is taken away that
counts.  The first leader is made before the stage moves, so a leader that is missing in a later stage was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from podium.dialects.arranger.checks import errors_of, sentence
from podium.dialects.arranger.members import JobPods, SetLook, restarts_with
from podium.dialects.arranger.names import LEADER, TYJOBS, worker_role
from podium.dialects.arranger.pods import leader_document, leader_place, worker_document
from podium.dialects.arranger.scale import carry_over, first_number
from podium.dialects.arranger.state import Sign, Standing, next_stage
from podium.dialects.arranger.types import (
    CLEAN_ALL,
    CLEAN_RUNNING,
    FAILED,
    FINISHED,
    PENDING,
    RESCHEDULING,
    RUNNING,
    STARTING,
    TYJob,
    WorkerSetStatus,
)
from podium.errors import ApiError
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Patch, Read
from podium.kube.controller import NOTHING, Mapper, Note, Outcome
from podium.kube.events import NORMAL, WARNING
from podium.kube.job_members import MOST_PODS_AT_ONCE, delete_pod
from podium.kube.mapping import controlled_by, itself, nobody
from podium.kube.resources import NAMESPACES, NODES, PODS, Resource
from podium.kube.times import format_time
from podium.kube.wire import Object, Pod
from podium.kube.writing import status_patch

Document = dict[str, Any]

# While its pods start one by one, a job's counts are written this often at the most.
_REST = 0.2
# Pods of others that are in the way concern nobody here when they go.
_BLOCKED_AGAIN = 10.0


class TYJobController:
    """Keyed by TYJob."""

    name = "arranger-tyjob"
    component = "arranger-controller"

    def __init__(self) -> None:
        self.watches: Mapping[Resource, Mapper] = {
            TYJOBS: itself,
            PODS: controlled_by(TYJOBS),
            NODES: _jobs_on_node,
            NAMESPACES: nobody,
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        job = cache.find(TYJOBS, TYJob, key)
        if job is None or job.deleting:
            return NOTHING  # its pods go with it
        home = cache.get(NAMESPACES, "", job.namespace)
        if home is not None and home.deleting:
            return NOTHING
        if job.over:
            return Outcome(tuple(_cleaned(job, JobPods(job, cache))))
        wrong = sentence(errors_of(job))
        scaled = carry_over(job) if not wrong else None
        return scaled if scaled is not None else _Look(job, cache, now, wrong).outcome()

    def refused(self, key: Key, change: Change, error: ApiError, cache: Cache) -> Note | None:
        """One sentence: what was not done, and what the server said.  It is tried again all the same."""
        job = cache.find(TYJOBS, TYJob, key)
        if job is None or isinstance(change, Read):
            return None
        name = change.document["metadata"]["name"] if isinstance(change, Create) else change.name
        verb = "created" if isinstance(change, Create) else "deleted" if isinstance(change, Delete) else "changed"
        what = f"{change.resource.kind} {name} could not be {verb}: {error}"
        return Note(TYJOBS, job, f"Failed{verb.removesuffix('d').capitalize()}", what, WARNING)


def _jobs_on_node(node: Object, cache: Cache) -> Iterable[Key]:
    """The jobs with pods on a node: it may have been lost."""
    found = controlled_by(TYJOBS)
    return {key for pod in cache.pods_on(node.name) for key in found(pod, cache)}


class _Look:
    """One look at one job that is not over."""

    def __init__(self, job: TYJob, cache: Cache, now: float, wrong: str) -> None:
        self.job, self.now = job, now
        self._cache = cache
        self._wrong = wrong
        self.pods = JobPods(job, cache)
        self.sets = self.pods.sets()
        self._notes: list[Note] = []
        self._again_at: float | None = None

    def outcome(self) -> Outcome:
        job = self.job
        stage, reason, message = next_stage(job.stage, self._standing())
        if self._wrong and not stage:
            return self._held()
        present = stage or job.stage
        making = self._leader() if present in (STARTING, RUNNING) else []
        if self._blocked:
            stage, present, making = "", job.stage, []  # first the name has to be free
        changes: list[Change] = [*making, *self._status(stage, reason, message, present)]
        if present in FINISHED:
            changes += _cleaned(job, self.pods)
        else:
            changes += self._deleted(present)
            changes += self._workers() if present in (STARTING, RUNNING) else []
            changes += first_number(job)
        if stage:
            self._note(stage, message, WARNING if stage == FAILED else NORMAL)
        busy = len(changes) == 1 and not stage
        return Outcome(tuple(changes), self._again_at, tuple(self._notes), _REST if busy else 0.0)

    def _held(self) -> Outcome:
        """Something is wrong with what was right before: until it is mended nothing is made or taken away."""
        message = f"{self._wrong}; nothing is made or taken away until this is mended"
        if message != self.job.status.message:
            self._note(Sign.INVALID.value, message, WARNING)
        status = {"stage": self.job.stage, "reason": Sign.INVALID.value, "message": message}
        return Outcome(status_patch(TYJOBS, self.job, self.job.status, status), notes=tuple(self._notes))

    # --- how it stands -------------------------------------------------------------------------------------

    def _standing(self) -> Standing:
        job, pods, leader = self.job, self.pods, self.pods.leader
        exhausted = [each for each in self.sets if self._exhausted(each)]
        return Standing(
            invalid=self._wrong,
            terminating=job.spec.terminating,
            schedule_state=job.status.schedule_state,
            given_up=job.given_up,
            leader_placed=(LEADER, 0) in pods.nodes,
            leader_up=leader is not None and leader.status.phase == "Running" and not leader.deleting,
            leader_succeeded=leader is not None and leader.status.phase == "Succeeded",
            image_error=pods.image_error(),
            leader_restarts=pods.leader_restarts() + self._restart_due,
            restart_limit=job.spec.restart_limit,
            total=job.spec.workers,
            minimum=job.spec.min_workers_num,
            ready=sum(each.ready for each in self.sets),
            hopeful=sum(each.ready if each in exhausted else each.spec.counts for each in self.sets),
            exhausted=tuple(each.spec.name for each in exhausted),
            leader_lost=pods.leader_away or pods.leader_placeless,
            lost=len(pods.away),
        )

    @property
    def _restart_due(self) -> bool:
        """Whether the leader has to be made again."""
        leader = self.pods.leader
        if leader is None:
            return self.job.stage != PENDING
        return leader.status.phase == "Failed" or leader.deleting or self.pods.leader_lost

    def _exhausted(self, look: SetLook) -> bool:
        return look.restarts > self.job.spec.restart_limit

    # --- the leader ----------------------------------------------------------------------------------------

    def _leader(self) -> list[Change]:
        """The leader, if there is none and it has a place."""
        if self.pods.leader is not None or (LEADER, 0) not in self.pods.nodes:
            return []
        if self._blocked:
            self._again_at = self.now + _BLOCKED_AGAIN
            name = leader_place(self.job).name
            self._note("FailedCreate", f"a pod of another owner is called {name}; delete or rename it", WARNING)
            return []
        restarts = self.pods.leader_restarts() + self._restart_due
        self._note("SuccessfulCreate", f"Created the leader {leader_place(self.job).name}")
        return [Create(PODS, self.job.namespace, leader_document(self.job, restarts))]

    @property
    def _blocked(self) -> bool:
        """Whether a pod of somebody else has the leader's name."""
        name = leader_place(self.job).name
        return self.pods.leader is None and self._cache.get(PODS, self.job.namespace, name) is not None

    # --- pods that come and go -----------------------------------------------------------------------------

    def _deleted(self, present: str) -> list[Delete]:
        """Pods that are lost, too many, failed, or look for the leader in the wrong place; each once."""
        going: dict[str, Delete] = {}
        for each in self.pods.lost:
            # Nobody is there who could end it in order, and its name is needed.
            going[each.pod.uid] = Delete(PODS, each.pod.namespace, each.pod.name, uid=each.pod.uid, grace=0)
        again = [pod for look in self.sets for pod in self._replaced(look)]
        leader = self.pods.leader
        if leader is not None and leader.status.phase == "Failed":
            again.append(leader)
        leaderless = present == RESCHEDULING and (LEADER, 0) not in self.pods.nodes
        astray = self.pods.workers_at_work() if leaderless else self.pods.misinformed()
        for pod in (*(each.pod for each in self.pods.surplus()), *again, *astray):
            if not pod.deleting:
                going.setdefault(pod.uid, delete_pod(pod))
        return list(going.values())[:MOST_PODS_AT_ONCE]

    def _replaced(self, look: SetLook) -> list[Pod]:
        """Failed workers that are made again: those that count as such, and those that do from now on."""
        counted = set(look.known.replacing or ())
        pods = [each.pod for each in self.pods.members.of(worker_role(look.spec.name)).values()]
        known = [pod for pod in pods if pod.uid in counted]
        return [*known, *(() if self._exhausted(look) else look.failed[:MOST_PODS_AT_ONCE])]

    def _workers(self) -> list[Change]:
        """Workers that have a place and no pod, once they can be told where the leader is."""
        address = self.pods.address
        if not address:
            return []
        sets = {each.spec.name: each.spec for each in self.sets if not self._exhausted(each)}
        made: list[Change] = []
        taken: list[str] = []
        for place in self.pods.unmade():
            if len(made) >= MOST_PODS_AT_ONCE:
                break
            if place.set not in sets:
                continue
            if self._cache.get(PODS, self.job.namespace, place.name) is not None:
                taken.append(place.name)
                continue
            document = worker_document(self.job, sets[place.set], place.index, address)
            made.append(Create(PODS, self.job.namespace, document))
        if made:
            self._note("SuccessfulCreate", f"Created {len(made)} workers")
        if taken:
            self._again_at = self.now + _BLOCKED_AGAIN
            names = ", ".join(taken[:5])
            self._note(
                "FailedCreate", f"pods of other owners have the names {names}; delete or rename them", WARNING
            )
        return made

    # --- what is written -----------------------------------------------------------------------------------

    def _status(self, stage: str, reason: str, message: str, present: str) -> tuple[Patch, ...]:
        job, status = self.job, self.job.status
        total, ready = job.spec.workers, sum(each.ready for each in self.sets)
        sets = [self._set_status(each) for each in self.sets]
        desired: Document = {
            "stage": present,
            "restarts": self.pods.leader_restarts(),
            "leaderAddress": self.pods.address or None,
            "totalWorkers": total,
            "readyWorkers": ready,
            "ready": f"{ready}/{total}",
            "workerSets": [
                {key: value for key, value in msgspec.to_builtins(each).items() if value not in (None, [])}
                for each in sets
            ],
        }
        if stage:
            desired |= {"reason": reason, "message": message, "stageSince": format_time(self.now)}
        elif not status.stage:
            desired["stageSince"] = format_time(self.now)
        elif status.reason == Sign.INVALID.value:
            desired |= {"reason": None, "message": None}  # it was mended
        counts = [each.replaced for each in sets] != [each.known.replaced for each in self.sets]
        return status_patch(TYJOBS, job, status, desired, exact=counts)

    def _set_status(self, look: SetLook) -> WorkerSetStatus:
        """A set with the failed pods that are made again counted, once each."""
        known = look.known
        there = {each.pod.uid for each in self.pods.members.all}
        now = () if self._exhausted(look) else look.failed[:MOST_PODS_AT_ONCE]
        replaced = known.replaced + restarts_with(now)
        replacing = [*(uid for uid in known.replacing or () if uid in there), *(pod.uid for pod in now)]
        restarts = max(known.restarts, replaced + look.running)
        return WorkerSetStatus(look.spec.name, look.ready, restarts, replaced, replacing)

    def _note(self, reason: str, message: str, type: str = NORMAL) -> None:
        self._notes.append(Note(TYJOBS, self.job, reason, message, type))


def _cleaned(job: TYJob, pods: JobPods) -> list[Delete]:
    """The pods that go when a job is over."""
    policy = job.spec.clean_pod_policy
    if policy not in (CLEAN_ALL, CLEAN_RUNNING):
        return []
    going = (each.pod for each in pods.members.all if policy == CLEAN_ALL or not each.pod.finished)
    return [delete_pod(pod) for pod in going if not pod.deleting][:MOST_PODS_AT_ONCE]
