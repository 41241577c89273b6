"""What podium reads on the pods of a TrainingJob.

They are made by ReplicaSets and a Job and carry no index: each fills any slot of its job and role.
"""

from __future__ import annotations

from podium.core.cluster.slots import any_slot
from podium.dialects.kubernetes.membership import Marks, Membership, bearing, slot_owner
from podium.dialects.paddle.names import JOB_NAME, JOB_UID, ROLE, gang_id
from podium.kube.wire import Pod


def memberships(pod: Pod) -> tuple[Membership, ...]:
    name = pod.annotations.get(JOB_NAME)
    if not name:
        return ()
    group = f"{pod.namespace}/{name}"
    called = f"TrainingJob {group} of Paddle"
    return (Membership(gang_id(pod.namespace, name), group, called, pod.annotations.get(ROLE, "")),)


def slot(pod: Pod) -> str | None:
    uid, role = pod.annotations.get(JOB_UID), pod.annotations.get(ROLE)
    if not uid or not role or "/" in uid or "/" in role:
        return None
    return any_slot(slot_owner(pod.namespace, uid), role)


MARKS = Marks(memberships, slot=slot, concerns=bearing(JOB_NAME, JOB_UID))
