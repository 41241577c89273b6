"""Pods in the core's words.

Most pods of a burst are copies of a few specs.  What follows from a spec alone (amounts, constraints, what is
wrong with it) is worked out once and found again by the encoded form of exactly those fields that it follows from,
so a pod like one seen before costs a few microseconds.

A pod that cannot be understood is read as far as it can: it still takes room if it is on a node, but it is gated,
and carries the refusal that says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from podium.core.model.constraints import Constraints
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, State
from podium.dialects.kubernetes.constraints import UnreadableError, read_constraints
from podium.dialects.kubernetes.devices import GPU_MILLI, asked_by, given_to, request_of
from podium.dialects.kubernetes.gates import QUOTA_GATE
from podium.dialects.kubernetes.membership import (
    MarkReader,
    Marks,
    QueueMark,
    lone,
    membership_of,
    queue_of,
    slot_of,
)
from podium.dialects.kubernetes.quantities import read_amounts
from podium.dialects.kubernetes.volumes import VolumeReader, has_claims
from podium.kube.cache import Cache
from podium.kube.pod_resources import pod_requests
from podium.kube.quantity import Quantity
from podium.kube.times import parse_time
from podium.kube.wire import Container, Object, Pod, PodSpec, PodStatus
from podium.reasons import BAD_SPEC, Refusal, refuse

# Specs remembered.  A cluster has hundreds; one that has more starts over now and then.
_REMEMBERED = 16_384

_SYSTEM_NAMESPACE = "kube-system"
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


class PodFacts(msgspec.Struct, frozen=True):
    """A pod as the core shall know it."""

    profile: str  # the scheduler that it asks for
    task: TaskFacts
    gang: GangFacts | None = None  # of a pod that is a gang by itself
    refusal: Refusal | None = None  # why it can never be placed as it is
    group: str = ""  # what its group is called, of a pod that is in one
    awaited: bool = False  # whether somebody is about to make that group
    queue: QueueMark | None = None  # the queue that it names, in any dialect
    usual_queue: str = ""  # the id of the queue of its scheduler's pods that name none


class _Shape(msgspec.Struct, frozen=True):
    """What follows from a spec alone."""

    amounts: Mapping[str, int]
    constraints: Constraints
    refusal: Refusal | None = None


class PodReader:
    """Reads pods.  `queues` gives for each scheduler name the queue of pods that name none."""

    def __init__(self, dialects: Sequence[Marks], queues: Mapping[str, str], cache: Cache) -> None:
        self._dialects = tuple(dialects)
        self._queues = dict(queues)
        self.volumes = VolumeReader(cache)
        self._marks = MarkReader(dialects)
        self._gates = frozenset({QUOTA_GATE}).union(*(marks.gates for marks in dialects))
        self._shapes: dict[bytes, _Shape] = {}

    def read(self, pod: Pod) -> PodFacts:
        """A pod as it is now.  Raises nothing for anything a pod may hold."""
        spec, status, metadata = pod.spec, pod.status, pod.metadata
        shape = self._shape(pod)
        constraints, refusal = shape.constraints, shape.refusal
        if has_claims(pod):
            try:
                constraints = self.volumes.read(pod, constraints).constraints
            except UnreadableError as error:
                refusal = refusal or refuse(BAD_SPEC, field=error.path, detail=error.detail)
        asked = self._marks.asked_about(pod)
        group = membership_of(pod, asked.members)
        if isinstance(group, Refusal):
            refusal, group = group, None
        queue = queue_of(pod, asked.queues) if asked.queues else None
        if isinstance(queue, Refusal):
            refusal, queue = refusal or queue, None
        gates = {gate.name for gate in spec.scheduling_gates} if spec.scheduling_gates else None
        gang = group.gang if group is not None else lone(pod)
        created = parse_time(metadata.creation_timestamp)
        priority = spec.priority or 0
        preemptable, sub_priority = True, 0
        for own_priority in asked.priorities:
            own = own_priority(pod)
            priority = priority if own is None else own
        for own_sub_priority in asked.sub_priorities:
            sub_priority = own_sub_priority(pod) or sub_priority
        for own_preemptable in asked.preemptable:
            preemptable = preemptable and own_preemptable(pod) is not False
        profile = spec.scheduler_name
        task = TaskFacts(
            id=metadata.uid,
            namespace=metadata.namespace,
            name=metadata.name,
            gang=gang,
            amounts=shape.amounts,
            constraints=constraints,
            role=group.role if group is not None else "",
            priority=priority,
            created=created,
            state=state_of(pod),
            node=spec.node_name,
            nominated=status.nominated_node_name,
            preemptable=preemptable,
            preempts=spec.preemption_policy != "Never",
            gated=gates is not None or refusal is not None,
            quota_gated=gates is not None and gates <= self._gates and refusal is None,
            protected=metadata.namespace == _SYSTEM_NAMESPACE or spec.priority_class_name in _SYSTEM_CLASSES,
            labels=pod.labels,
            started=parse_time(status.start_time),
            devices=given_to(metadata.annotations) if constraints.devices is not None else (),
            slot=slot_of(pod, asked.slots) if asked.slots else "",
        )
        usual = self._queues.get(profile, "")
        if group is not None:
            return PodFacts(profile, task, None, refusal, group.called, group.awaited, queue, usual)
        # Admission holds back pods that are yet to be created; this one is there.
        alone = GangFacts(
            id=gang,
            namespace=metadata.namespace,
            name=metadata.name,
            queue=queue.id if queue is not None else usual,
            queue_name=queue.name if queue is not None else "",
            priority=priority,
            sub_priority=sub_priority,
            created=created,
            phase=Phase.INQUEUE,
            preemptable=preemptable,
            profile=profile,
        )
        return PodFacts(profile, task, alone, refusal, queue=queue)

    def read_slot(self, template: Pod, slot: str, gang: str) -> TaskFacts:
        """A place for a pod that is yet to be made, as its template asks for it.

        Claims that are made for a pod come after it, and say nothing yet.
        """
        shape = self._shape(template)
        constraints, refusal = shape.constraints, shape.refusal
        if has_claims(template):
            lasting = [each for each in template.spec.volumes or () if each.ephemeral is None]
            spec = msgspec.structs.replace(template.spec, volumes=lasting)
            try:
                constraints = self.volumes.read(
                    msgspec.structs.replace(template, spec=spec), constraints
                ).constraints
            except UnreadableError as error:
                refusal = refusal or refuse(BAD_SPEC, field=error.path, detail=error.detail)
        return TaskFacts(
            id=slot,
            namespace=template.namespace,
            name=template.name,
            gang=gang,
            amounts=shape.amounts,
            constraints=constraints,
            priority=template.spec.priority or 0,
            gated=refusal is not None,
            labels=template.labels,
            slot=slot,
            has_pod=False,
        )

    def queue_of(self, obj: Object) -> QueueMark | Refusal | None:
        """The queue that an object names, in any dialect."""
        return queue_of(obj, self._dialects)

    def _shape(self, pod: Pod) -> _Shape:
        key = _key(pod)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _REMEMBERED:
                self._shapes.clear()
            found = self._shapes[key] = _make_shape(pod)
        return found


def state_of(pod: Pod) -> State:
    """Where a pod stands.  One that is being deleted and has not ended gives its room back soon."""
    phase = pod.status.phase
    if phase == "Succeeded":
        return State.SUCCEEDED
    if phase == "Failed":
        return State.FAILED
    if pod.metadata.deletion_timestamp is not None:
        return State.RELEASING
    if phase == "Running":
        return State.RUNNING
    if phase == "Unknown":
        return State.UNKNOWN
    return State.BOUND if pod.spec.node_name else State.PENDING


# --- what follows from a spec ------------------------------------------------------------------------------

_encode = msgspec.msgpack.Encoder().encode


def _key(pod: Pod) -> bytes:
    """Exactly what a shape follows from.  Namespace and labels count only where a term refers to them."""
    spec = pod.spec
    parts: list[object] = [
        [(each.image, each.resources, each.ports) for each in spec.containers],
        spec.node_selector,
        spec.tolerations,
    ]
    if spec.init_containers:
        parts.append(
            [1, *((each.image, each.resources, each.ports, each.restart_policy) for each in spec.init_containers)]
        )
    if spec.affinity is not None or spec.topology_spread_constraints:
        parts.append((2, spec.affinity, spec.topology_spread_constraints, pod.metadata.namespace, pod.labels))
    if spec.overhead or spec.resources is not None or spec.resource_claims:
        parts.append((3, spec.overhead, spec.resources, spec.resource_claims))
    devices = asked_by(pod.metadata.annotations)
    if devices is not None:
        parts.append((5, *devices))
    granted = _granted(pod.status) if spec.node_name else None
    if granted:
        parts.append((4, granted))
    try:
        return _encode(parts)
    except OverflowError:  # somebody's number is beyond 64 bits
        return repr(parts).encode()


def _granted(status: PodStatus) -> list[object]:
    """What a node has reported about resources: it matters while a pod is resized in place."""
    both = (status.container_statuses, status.init_container_statuses)
    parts: list[object] = [
        (each.name, each.resources, each.allocated_resources)
        for some in both
        for each in some or ()
        if each.resources is not None
    ]
    if status.resources is not None:
        parts.append((status.resources, status.allocated_resources))
    if parts:
        parts += [each.reason for each in status.conditions or () if each.type == "PodResizePending"]
    return parts


def _make_shape(pod: Pod) -> _Shape:
    amounts, refusal = _requests(pod)
    try:
        constraints = read_constraints(pod.spec, pod.metadata.namespace, pod.labels)
    except UnreadableError as error:
        constraints = Constraints()
        refusal = refusal or refuse(BAD_SPEC, field=error.path, detail=error.detail)
    devices = asked_by(pod.metadata.annotations)
    if devices is not None:
        try:
            wanted = request_of(devices)
        except UnreadableError as error:
            refusal = refusal or refuse(BAD_SPEC, field=error.path, detail=error.detail)
        else:
            amounts = {**amounts, GPU_MILLI: wanted.count * wanted.share}
            constraints = msgspec.structs.replace(constraints, devices=wanted)
    return _Shape(amounts, constraints, refusal)


def _requests(pod: Pod) -> tuple[Mapping[str, int], Refusal | None]:
    """What a pod takes, and what is wrong with how it says so.  A broken amount counts as none."""
    spec, status = pod.spec, pod.status if pod.spec.node_name else None
    for quantities, path in _resource_lists(spec, status):
        _, bad = read_amounts(quantities, path)
        if bad:
            return _readable(spec), bad[0]
    return pod_requests(spec, status), None


def _readable(spec: PodSpec) -> Mapping[str, int]:
    """The good part of the containers' requests: the best guess at the room that a broken pod takes."""
    total: dict[str, int] = {}
    for container in spec.containers:
        asked = container.resources.requests if container.resources is not None else None
        for name, amount in read_amounts(asked, "")[0].items():
            total[name] = total.get(name, 0) + amount
    return total


def _resource_lists(
    spec: PodSpec, status: PodStatus | None
) -> Iterator[tuple[Mapping[str, Quantity] | None, str]]:
    """Every resource list that a pod's amounts follow from, with its path."""
    fields: tuple[tuple[str, Sequence[Container]], ...] = (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers or ()),
    )
    for field, containers in fields:
        for index, container in enumerate(containers):
            if container.resources is not None:
                yield container.resources.requests, f"spec.{field}[{index}].resources.requests"
    if spec.resources is not None:
        yield spec.resources.requests, "spec.resources.requests"
    yield spec.overhead, "spec.overhead"
    if status is None:
        return
    for index, each in enumerate((*(status.container_statuses or ()), *(status.init_container_statuses or ()))):
        if each.resources is not None:
            yield each.resources.requests, f"status.containerStatuses[{index}].resources.requests"
            yield each.allocated_resources, f"status.containerStatuses[{index}].allocatedResources"
    if status.resources is not None:
        yield status.resources.requests, "status.resources.requests"
        yield status.allocated_resources, "status.allocatedResources"
