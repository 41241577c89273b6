"""One look at a job's pods: who is there, who has failed, who was lost, and how often they were started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.dialects.arranger.names import LEADER, RESTARTS, worker_role
from podium.dialects.arranger.pods import Place, leader_place, nodes_of, role_of, told_address, worker_places
from podium.dialects.arranger.types import TYJob, WorkerSet, WorkerSetStatus
from podium.kube.cache import Cache
from podium.kube.job_members import Member, Members, controlled_pods
from podium.kube.numbers import whole_number
from podium.kube.resources import NODES
from podium.kube.wire import Node, Pod, condition

# Why a container waits whose image cannot be had.
_IMAGE_ERRORS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_SHOWN = 8  # restarts beyond which a counter on a pod is no number of podium's


class SetLook(msgspec.Struct, frozen=True):
    """A worker set at one moment."""

    spec: WorkerSet
    known: WorkerSetStatus
    ready: int
    failed: tuple[Pod, ...]  # to be made again, and not counted yet
    running: int  # restarts of the containers of pods that are there and have not failed

    @property
    def restarts(self) -> int:
        return max(self.known.restarts, self.known.replaced + self.running + restarts_with(self.failed))


class JobPods:
    """The pods of one job."""

    def __init__(self, job: TYJob, cache: Cache) -> None:
        self.job = job
        self._cache = cache
        self.nodes = nodes_of(job)
        self.members = Members(_member(pod) for pod in controlled_pods(cache, job))
        # Those whose nodes are away may come back with them, until the scheduler looks for other places.
        self.away = [each for each in self.members.all if self._is_away(each)]
        self.lost = [each for each in self.away if self._is_dropped(each)]
        self._away_uids = {each.pod.uid for each in self.away}

    # --- the leader ----------------------------------------------------------------------------------------

    @property
    def leader(self) -> Pod | None:
        found = self.members.of(LEADER).get(0)
        return found.pod if found is not None else None

    @property
    def address(self) -> str:
        """Where workers find the leader; "" while it has none."""
        pod = self.leader
        if pod is None or pod.deleting or pod.finished or pod.uid in self._away_uids:
            return ""
        return pod.status.pod_ip

    @property
    def leader_away(self) -> bool:
        return self.leader is not None and self.leader.uid in self._away_uids

    @property
    def leader_placeless(self) -> bool:
        """Whether the leader is nowhere, and the place that was found for it is no longer."""
        pod = self.leader
        nowhere = pod is None or not (pod.spec.node_name or pod.finished)
        return nowhere and leader_place(self.job).key not in self.nodes

    @property
    def leader_lost(self) -> bool:
        return any(each.role == LEADER for each in self.lost)

    def leader_restarts(self) -> int:
        """How often the leader was started again so far."""
        pod = self.leader
        if pod is None:
            return self.job.status.restarts
        before = whole_number(pod.annotations.get(RESTARTS, ""), 10**_SHOWN) or 0
        return max(self.job.status.restarts, before + _container_restarts([pod]))

    def image_error(self) -> str:
        """What is wrong with an image of the leader."""
        pod = self.leader
        for some in (pod.status.container_statuses, pod.status.init_container_statuses) if pod is not None else ():
            for each in some or ():
                waiting = each.state.waiting if each.state is not None else None
                if waiting is not None and waiting.reason in _IMAGE_ERRORS:
                    why = f"{waiting.reason} {waiting.message}".strip()
                    return f"the leader's container {each.name} has no image: {why}"
        return ""

    # --- workers -------------------------------------------------------------------------------------------

    def sets(self) -> list[SetLook]:
        known = {each.name: each for each in self.job.status.worker_sets or ()}
        return [
            self._set(each, known.get(each.name, WorkerSetStatus(each.name))) for each in self.job.spec.worker_sets
        ]

    def _set(self, spec: WorkerSet, known: WorkerSetStatus) -> SetLook:
        pods = [each.pod for index, each in self.members.of(worker_role(spec.name)).items() if index < spec.counts]
        counted = set(known.replacing or ())
        failed = tuple(
            pod
            for pod in pods
            if pod.status.phase == "Failed" and not pod.deleting and pod.uid not in counted and self._is_told(pod)
        )
        ready = sum(1 for pod in pods if self.is_ready(pod))
        running = _container_restarts(pod for pod in pods if pod.status.phase != "Failed")
        return SetLook(spec, known, ready, failed, running)

    def is_ready(self, pod: Pod) -> bool:
        """Whether a worker does its work, or has done it."""
        if pod.deleting or pod.uid in self._away_uids:
            return False
        if pod.status.phase == "Succeeded":
            return True
        if condition(pod.status.conditions, "Ready") is not None:
            return pod.status.phase == "Running" and pod.ready
        return Member(pod, "", 0).up

    def _is_told(self, pod: Pod) -> bool:
        """Whether a worker knows the leader as it is.  Who fails while the leader is away did nothing wrong."""
        return bool(self.address) and told_address(pod) in ("", self.address)

    def misinformed(self) -> Iterator[Pod]:
        """Workers that look for the leader where it no longer is."""
        for each in self.workers_at_work():
            if self.address and told_address(each) not in ("", self.address):
                yield each

    def workers_at_work(self) -> Iterator[Pod]:
        """Those that have not done their work.

        They are of no use without a place for the leader: in another one it has another address.  And what they
        hold may be the room that it needs.
        """
        return (each for each in self.workers() if each.status.phase != "Succeeded")

    def workers(self) -> Iterator[Pod]:
        return (each.pod for each in self.members.all if each.role != LEADER)

    def unmade(self) -> Iterator[Place]:
        """Workers with a place and without a pod."""
        for place in worker_places(self.job):
            if place.key in self.nodes and place.index not in self.members.of(place.role):
                yield place

    def surplus(self) -> Iterator[Member]:
        """Pods that the job does not ask for, or no longer."""
        counts = {worker_role(each.name): each.counts for each in self.job.spec.worker_sets} | {LEADER: 1}
        lead = leader_place(self.job).name
        for each in self.members.all:
            wrong = each.role == LEADER and each.pod.name != lead
            if not each.leaving and (wrong or not 0 <= each.index < counts.get(each.role, 0)):
                yield each

    # --- lost nodes ----------------------------------------------------------------------------------------

    def _is_away(self, member: Member) -> bool:
        """Whether a pod's node is gone or not ready.  Where no node is known, the scheduler has the word."""
        pod = member.pod
        node = pod.spec.node_name
        if not node or pod.finished:
            return False
        found = self._cache.find(NODES, Node, ("", node))
        if found is None or found.deleting:
            return self._cache.count(NODES) > 0 or self._is_dropped(member)
        ready = condition(found.status.conditions, "Ready")
        return ready is not None and ready.status != "True"

    def _is_dropped(self, member: Member) -> bool:
        """Whether the scheduler holds a pod's place no longer: it alone decides that."""
        return self.nodes.get((member.role, member.index)) != member.pod.spec.node_name


def restarts_with(failed: Iterable[Pod]) -> int:
    """What failed pods come to when they are made again: that, and how often their containers were started."""
    return sum(1 + _container_restarts([pod]) for pod in failed)


def _container_restarts(pods: Iterable[Pod]) -> int:
    """How often containers were started again, also of pods that have ended since."""
    statuses = (
        each
        for pod in pods
        for some in (pod.status.container_statuses, pod.status.init_container_statuses)
        for each in some or ()
    )
    return sum(each.restart_count for each in statuses)


def _member(pod: Pod) -> Member:
    role, index = role_of(pod)
    return Member(pod, role, index)
