"""The pods of a job, and the slots for which they are made: a template becomes both by the same function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.core.cluster.slots import slot_id
from podium.dialects.arranger.names import (
    INDEX,
    JOB,
    LEADER,
    LEADER_ADDRESS,
    RESTARTS,
    ROLE,
    SCHEDULER,
    SET,
    TYJOBS,
    WORKER,
    leader_pod,
    worker_pod,
    worker_role,
)
from podium.dialects.arranger.types import TYJob, WorkerSet
from podium.dialects.dialect import Slot
from podium.dialects.kubernetes.membership import slot_owner
from podium.kube.conditions import owner_reference
from podium.kube.numbers import whole_number
from podium.kube.wire import Labels, Metadata, Pod
from podium.kube.writing import pod_from_template
from podium.schema.templates import filled_in

Document = dict[str, Any]

# A leader that ends well ends the job: containers that are started again whatever happens would never let it.
_RESTART_POLICY = "OnFailure"


# --- places ------------------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True):
    """A place in a job: its leader, or one worker of a set."""

    role: str  # as the core knows it: see `worker_role`
    name: str  # of the pod
    set: str = ""
    index: int = 0

    @property
    def kind(self) -> str:
        return WORKER if self.set else LEADER

    @property
    def key(self) -> Key:
        return self.role, self.index


Key = tuple[str, int]  # a place by role and index


def nodes_of(job: TYJob) -> dict[Key, str]:
    """The nodes of a job's places, as the scheduler has written them."""
    return {
        (LEADER, 0) if each.role == LEADER else (worker_role(each.set), each.index): each.node
        for each in job.status.allocations or ()
        if each.node
    }


def leader_place(job: TYJob) -> Place:
    return Place(LEADER, leader_pod(job.name, job.spec.leader.name))


def worker_places(job: TYJob) -> Iterator[Place]:
    for each in job.spec.worker_sets:
        role = worker_role(each.name)
        for index in range(each.counts):
            yield Place(role, worker_pod(job.name, each.name, index), each.name, index)


def role_of(pod: Pod) -> tuple[str, int]:
    """The role and the index that a pod's labels say; an index of -1 is none."""
    labels = pod.labels
    if labels.get(ROLE) == LEADER:
        return LEADER, 0
    index = whole_number(labels.get(INDEX, ""))
    if labels.get(ROLE) != WORKER or index is None or index < 0:
        return "", -1
    return worker_role(labels.get(SET, "")), index


# --- pods --------------------------------------------------------------------------------------------------


def leader_document(job: TYJob, restarts: int) -> Document:
    """The leader, which was started so often before."""
    pod = _document(job, bytes(job.spec.leader.template), leader_place(job))
    pod["metadata"]["annotations"][RESTARTS] = str(restarts)
    return pod


def worker_document(job: TYJob, of: WorkerSet, index: int, address: str) -> Document:
    """A worker, which is told where the leader is."""
    place = Place(worker_role(of.name), worker_pod(job.name, of.name, index), of.name, index)
    pod = _document(job, bytes(of.template), place)
    for group in ("initContainers", "containers"):
        for container in pod["spec"].get(group) or ():
            others = [each for each in container.get("env") or () if each.get("name") != LEADER_ADDRESS]
            # First, so that others may refer to it.
            container["env"] = [{"name": LEADER_ADDRESS, "value": address}, *others]
    return pod


def told_address(pod: Pod) -> str:
    """The leader's address as a worker was told it; "" if it was not."""
    named = (each for container in pod.spec.containers for each in container.env or ())
    return next((each.value for each in named if each.name == LEADER_ADDRESS), "")


def _document(job: TYJob, template: bytes, place: Place) -> Document:
    pod = pod_from_template(template, job.namespace, place.name, owner_reference(job, TYJOBS))
    pod["metadata"]["labels"] |= _labels(job, place)
    spec = pod["spec"]
    spec["schedulerName"] = SCHEDULER
    spec.pop("nodeName", None)  # the scheduler binds it to the place that it has found
    spec.setdefault("restartPolicy", _RESTART_POLICY)
    shared = [msgspec.json.decode(each) for each in job.spec.volumes or ()]
    if shared:
        own = spec.get("volumes") or []
        named = {each.get("name") for each in own}
        spec["volumes"] = [*own, *(each for each in shared if each.get("name") not in named)]
    return pod


def _labels(job: TYJob, place: Place) -> Labels:
    labels = {JOB: job.name, ROLE: place.kind}
    if place.set:
        labels |= {SET: place.set, INDEX: str(place.index)}
    return labels


# --- slots -------------------------------------------------------------------------------------------------


def slot_of(job: TYJob, place: Place) -> str:
    """How the slot of a place is known."""
    return slot_id(slot_owner(job.namespace, job.uid), place.role, place.index)


def slots_of(job: TYJob) -> list[Slot]:
    """The places that a job wants, with their nodes as far as these have been found; none when it has ended."""
    if job.asks_for_nothing or job.deleting:
        return []
    nodes = nodes_of(job)
    spec, volumes = job.spec, tuple(bytes(each) for each in job.spec.volumes or ())
    lead = leader_place(job)
    pod = _template(job.namespace, job.name, job.uid, bytes(spec.leader.template), volumes, lead)
    slots = [Slot(slot_of(job, lead), lead.name, pod, lead.role, nodes.get(lead.key, ""))]
    templates = {each.name: bytes(each.template) for each in spec.worker_sets}
    first: Place | None = None
    for place in worker_places(job):
        if first is None or first.set != place.set:
            first = place
            pod = _template(job.namespace, job.name, job.uid, templates[place.set], volumes, place)
        slots.append(Slot(slot_of(job, place), place.name, pod, place.role, nodes.get(place.key, "")))
    return slots


@lru_cache(maxsize=4096)
def _template(
    namespace: str, name: str, uid: str, template: bytes, volumes: tuple[bytes, ...], place: Place
) -> Pod:
    """A pod of a role, as it will be made; the scheduler reads it for all of them."""
    bare = TYJob(metadata=Metadata(name, namespace, uid))
    job = msgspec.structs.replace(
        bare, spec=msgspec.structs.replace(bare.spec, volumes=[msgspec.Raw(each) for each in volumes])
    )
    return msgspec.convert(filled_in(_document(job, template, place)), Pod)
