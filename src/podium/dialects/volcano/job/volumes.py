"""The volumes of a Job: claims that it names, claims that are made for it, and where its containers see them.

A claim that is made gets a name derived from the Job, which is also written into the Job's spec, where users of
Volcano look for it.
"""

from __future__ import annotations

from typing import Any

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.types import Job, VolumeSpec
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Patch
from podium.kube.conditions import owner_reference
from podium.kube.hashes import short_hash
from podium.kube.resources import PERSISTENTVOLUMECLAIMS

Document = dict[str, Any]

_SUFFIX = 12
_LONGEST_VOLUME = 63


def claim_name(job: Job, index: int) -> str:
    """The claim of a Job's volume: one that is there, or the one to be made."""
    return (job.spec.volumes or [])[index].volume_claim_name or made_name(job.name, job.uid, index)


def made_name(job: str, uid: str, index: int) -> str:
    return f"{job}-pvc-{short_hash(uid, 'claim', index, length=_SUFFIX)}"


def volume_changes(job: Job, cache: Cache) -> tuple[list[Change], str]:
    """What has to be made before the first pod, and what is missing that others have to make."""
    changes: list[Change] = []
    missing = ""
    volumes = job.spec.volumes or []
    for index, volume in enumerate(volumes):
        name = claim_name(job, index)
        if cache.get(PERSISTENTVOLUMECLAIMS, job.namespace, name) is not None:
            continue
        claim = volume.claim()
        if claim is None:
            missing = f"claim {name} of volume {volume.mount_path} does not exist in namespace {job.namespace}"
        else:
            changes.append(Create(PERSISTENTVOLUMECLAIMS, job.namespace, _claim(job, name, claim)))
    if any(not volume.volume_claim_name for volume in volumes):
        named = [_document(volume, claim_name(job, index)) for index, volume in enumerate(volumes)]
        # Nobody may change the volumes of a Job that is there, so the list can be sent as a whole.
        changes.append(Patch(JOBS, job.namespace, job.name, {"spec": {"volumes": named}}, uid=job.uid))
    return changes, missing


def volume_records(job: Job) -> dict[str, str]:
    """The Job's claims as the status lists them: those that were made, and those that it names."""
    names = [claim_name(job, index) for index in range(len(job.spec.volumes or ()))]
    return {f"volume-pvc-{name}": name for name in names}


def mount_volumes(job: Job, spec: Document) -> None:
    """Lets the containers of a pod see the Job's volumes; those that run before them do not need to."""
    for index, volume in enumerate(job.spec.volumes or ()):
        suffix = short_hash(job.uid, "volume", index, length=_SUFFIX)
        name = f"{job.name[: _LONGEST_VOLUME - _SUFFIX - 1].replace('.', '-')}-{suffix}"
        source = {"claimName": claim_name(job, index)}
        spec.setdefault("volumes", []).append({"name": name, "persistentVolumeClaim": source})
        for container in spec.get("containers") or ():
            container.setdefault("volumeMounts", []).append({"name": name, "mountPath": volume.mount_path})


def _claim(job: Job, name: str, spec: Document) -> Document:
    return {
        "apiVersion": PERSISTENTVOLUMECLAIMS.api_version,
        "kind": PERSISTENTVOLUMECLAIMS.kind,
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "ownerReferences": [owner_reference(job, JOBS)],
        },
        "spec": spec,
    }


def _document(volume: VolumeSpec, name: str) -> Document:
    document: Document = {"mountPath": volume.mount_path, "volumeClaimName": name}
    claim = volume.claim()
    return document | ({"volumeClaim": claim} if claim is not None else {})
