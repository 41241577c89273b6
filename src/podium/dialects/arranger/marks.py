"""What Arranger reads on pods: the job that controls them, their role in it, and the slot that they fill."""

from __future__ import annotations

from podium.core.cluster.slots import slot_id
from podium.dialects.arranger.names import GROUP, TYJOBS, gang_id
from podium.dialects.arranger.pods import role_of
from podium.dialects.kubernetes.membership import Marks, Membership, slot_owner
from podium.kube.wire import OwnerReference, Pod


def owning_job(pod: Pod) -> OwnerReference | None:
    """The job that controls a pod.  Labels alone make nobody a member: anybody can write them."""
    owner = pod.metadata.controller
    if owner is None or owner.kind != TYJOBS.kind or owner.api_version.partition("/")[0] != GROUP:
        return None
    return owner


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    owner = owning_job(pod)
    if owner is None:
        return ()
    group = f"{pod.namespace}/{owner.name}"
    role, _ = role_of(pod)
    return (Membership(gang_id(pod.namespace, owner.name), group, f"TYJob {group} of Arranger", role),)


def _slot(pod: Pod) -> str | None:
    owner = owning_job(pod)
    role, index = role_of(pod)
    return slot_id(slot_owner(pod.namespace, owner.uid), role, index) if owner is not None and role else None


MARKS = Marks(_memberships, slot=_slot, concerns=lambda signs: signs.controller == TYJOBS.kind)
