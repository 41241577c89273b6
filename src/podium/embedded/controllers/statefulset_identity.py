"""Who a StatefulSet's pods are: ordinals, revisions of the template, and volume claims that outlive each pod."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from podium.embedded.controllers.names import LONGEST_NAME, template_hash, template_identity
from podium.embedded.controllers.pods import owner_documents
from podium.kube.cache import Cache
from podium.kube.changes import Change, Create, Document, Patch
from podium.kube.conditions import owner_reference
from podium.kube.resources import CONTROLLERREVISIONS, PERSISTENTVOLUMECLAIMS, PODS, STATEFULSETS
from podium.kube.wire import ControllerRevision, Object, Pod, StatefulSet
from podium.kube.writing import pod_from_template

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"
HASH = "controller.kubernetes.io/hash"

_MEMBER = re.compile(r"(.*)-(0|[1-9][0-9]*)", re.ASCII | re.DOTALL)


def ordinal(stateful: StatefulSet, pod: Object) -> int | None:
    """The number in the pod's name, if the name is one that this StatefulSet gives."""
    found = _MEMBER.fullmatch(pod.name)
    return int(found[2]) if found and found[1] == stateful.name else None


def first_ordinal(stateful: StatefulSet) -> int:
    return stateful.spec.ordinals.start if stateful.spec.ordinals is not None else 0


def wanted_ordinals(stateful: StatefulSet) -> range:
    start = first_ordinal(stateful)
    return range(start, start + stateful.spec.replicas)


# --- revisions ---------------------------------------------------------------------------------------------


class Revision(msgspec.Struct):
    """One version of the template under the name that pods carry in their revision label."""

    name: str
    template: bytes


@lru_cache(maxsize=1024)
def recorded_template(data: bytes) -> bytes:
    """The pod template inside a ControllerRevision's data, which is a patch that `kubectl rollout undo` sends."""
    template = msgspec.json.decode(data).get("spec", {}).get("template", {})
    template.pop("$patch", None)
    return msgspec.json.encode(template)


def revision_of(recorded: ControllerRevision) -> Revision:
    return Revision(recorded.name, recorded_template(bytes(recorded.data)))


def is_record_of(recorded: ControllerRevision, template: bytes) -> bool:
    return template_identity(recorded_template(bytes(recorded.data))) == template_identity(template)


def new_record(stateful: StatefulSet, number: int, cache: Cache) -> Document:
    """A ControllerRevision of the present template; should its name be taken, the hash counts on."""
    raw = bytes(stateful.spec.template)
    collisions = stateful.status.collision_count or 0
    while True:
        mark = template_hash(raw, collisions)
        name = f"{stateful.name[: LONGEST_NAME - 1 - len(mark)]}-{mark}"
        if cache.get(CONTROLLERREVISIONS, stateful.namespace, name) is None:
            break
        collisions += 1
    template = msgspec.json.decode(raw)
    labels = (template.get("metadata") or {}).get("labels") or {}
    return {
        "apiVersion": CONTROLLERREVISIONS.api_version,
        "kind": CONTROLLERREVISIONS.kind,
        "metadata": {
            "name": name,
            "namespace": stateful.namespace,
            "labels": {**labels, HASH: mark},
            "annotations": dict(stateful.annotations),
            "ownerReferences": [owner_reference(stateful, STATEFULSETS)],
        },
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }


# --- pods --------------------------------------------------------------------------------------------------


def new_pod(stateful: StatefulSet, number: int, revision: Revision) -> Document:
    """The pod of an ordinal: its name is also its host name and its place in the set's domain."""
    name = f"{stateful.name}-{number}"
    pod = pod_from_template(
        revision.template, stateful.namespace, name, owner_reference(stateful, STATEFULSETS), f"{stateful.name}-"
    )
    pod["metadata"]["labels"].update({POD_NAME: name, POD_INDEX: str(number), REVISION: revision.name})
    spec = pod["spec"]
    spec["hostname"] = name
    if stateful.spec.service_name:
        spec["subdomain"] = stateful.spec.service_name
    claims = {
        template["metadata"]["name"]: claim_name(stateful, template, number)
        for template in stateful.spec.volume_claim_templates or ()
    }
    if claims:
        volumes = [{"name": volume, "persistentVolumeClaim": {"claimName": of}} for volume, of in claims.items()]
        spec["volumes"] = volumes + [each for each in spec.get("volumes") or () if each.get("name") not in claims]
    return pod


# --- volume claims -----------------------------------------------------------------------------------------


def claim_name(stateful: StatefulSet, template: Document, number: int) -> str:
    return f"{template['metadata']['name']}-{stateful.name}-{number}"


def missing_claims(stateful: StatefulSet, number: int, cache: Cache) -> list[Document]:
    """Claims that the pod of an ordinal needs and that do not exist."""
    made = []
    labels = stateful.spec.selector.match_labels or {}
    for template in stateful.spec.volume_claim_templates or ():
        name = claim_name(stateful, template, number)
        if cache.get(PERSISTENTVOLUMECLAIMS, stateful.namespace, name) is not None:
            continue
        metadata = {
            **template["metadata"],
            "name": name,
            "namespace": stateful.namespace,
            "labels": {**(template["metadata"].get("labels") or {}), **labels},
        }
        if _retention(stateful)[0]:
            metadata["ownerReferences"] = [owner_reference(stateful, STATEFULSETS)]
        made.append(
            {
                "apiVersion": PERSISTENTVOLUMECLAIMS.api_version,
                "kind": PERSISTENTVOLUMECLAIMS.kind,
                "metadata": metadata,
                "spec": template.get("spec") or {},
            }
        )
    return made


def claims_in_the_way(stateful: StatefulSet, number: int, cache: Cache) -> bool:
    """Whether a claim of the ordinal is on its way out: a pod made now would lose it under its feet."""
    found = [
        cache.get(PERSISTENTVOLUMECLAIMS, stateful.namespace, claim_name(stateful, template, number))
        for template in stateful.spec.volume_claim_templates or ()
    ]
    owned_by_pods = [
        reference.uid
        for claim in found
        if claim is not None
        for reference in claim.metadata.owner_references or ()
        if reference.kind == PODS.kind
    ]
    return any(claim is not None and claim.deleting for claim in found) or bool(owned_by_pods)


def _retention(stateful: StatefulSet) -> tuple[bool, bool]:
    """Whether claims go with the set, and whether they go when it shrinks."""
    policy = stateful.spec.persistent_volume_claim_retention_policy
    if policy is None:
        return False, False
    return policy.when_deleted == "Delete", policy.when_scaled == "Delete"


def claim_owners(stateful: StatefulSet, pod: Pod, number: int, cache: Cache) -> list[Change]:
    """Sets the owners of a pod's claims as the retention policy has it; garbage collection does the rest."""
    with_set, with_pod = _retention(stateful)
    condemned = number not in wanted_ordinals(stateful)
    if with_pod and condemned:
        wanted: Document | None = owner_reference(pod, PODS)
    else:
        wanted = owner_reference(stateful, STATEFULSETS) if with_set else None
    changes: list[Change] = []
    for template in stateful.spec.volume_claim_templates or ():
        name = claim_name(stateful, template, number)
        claim = cache.get(PERSISTENTVOLUMECLAIMS, stateful.namespace, name)
        if claim is None or claim.deleting:
            continue
        references = claim.metadata.owner_references or []
        others = [each for each in references if each.uid not in (stateful.uid, pod.uid)]
        if any(each.controller for each in others):
            continue  # somebody else's now
        mine = [each.uid for each in references if each.uid in (stateful.uid, pod.uid)]
        if mine != ([wanted["uid"]] if wanted else []):
            documents = owner_documents(others) + ([wanted] if wanted else [])
            changes.append(
                Patch(
                    PERSISTENTVOLUMECLAIMS,
                    claim.namespace,
                    claim.name,
                    {"metadata": {"ownerReferences": documents or None}},
                    uid=claim.uid,
                    resource_version=claim.metadata.resource_version,
                )
            )
    return changes


def create_claims(stateful: StatefulSet, number: int, cache: Cache) -> list[Change]:
    return [
        Create(PERSISTENTVOLUMECLAIMS, stateful.namespace, document)
        for document in missing_claims(stateful, number, cache)
    ]
