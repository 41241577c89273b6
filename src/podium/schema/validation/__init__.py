"""What an API server refuses of a well-typed object: the rules of the built-in kinds.

One module for each family of kinds; `pods` and what it is made of serve every kind that carries a pod template.
All of it is pure, works on documents that have passed the type check and the defaulting, and speaks in the API
server's words and field paths, since people look them up.
"""

from __future__ import annotations

from collections.abc import Callable

from podium.kube import resources as r
from podium.kube.fields import FieldError
from podium.kube.resources import Resource
from podium.schema.validation import (
    cluster,
    configuration,
    crds,
    jobs,
    network,
    pod_update,
    pods,
    storage,
    workloads,
)
from podium.schema.validation.base import Document, Errors, check_not_negative, check_same
from podium.schema.validation.metadata import name_check, validate_metadata
from podium.schema.validation.pods import validate_pod_spec, validate_pod_template

__all__ = [
    "validate_create",
    "validate_metadata",
    "validate_pod_spec",
    "validate_pod_template",
    "validate_update",
]

_Check = Callable[[Errors, Document], None]
_UpdateCheck = Callable[[Errors, Document, Document], None]


def validate_create(resource: Resource, document: Document) -> list[FieldError]:
    """What is wrong with a new object of a built-in kind."""
    errors = validate_metadata(document["metadata"], check_name=name_check(resource))
    check = _CREATE.get(resource)
    if check is not None:
        check(errors, document)
    return errors


def validate_update(resource: Resource, new: Document, old: Document) -> list[FieldError]:
    """What is wrong with a changed object of a built-in kind."""
    errors = validate_metadata(new["metadata"], old["metadata"])
    if _same_but_metadata(new, old):
        return errors  # labels, annotations, finalizers: the frequent updates
    update = _UPDATE.get(resource)
    if update is not None:
        update(errors, new, old)
    elif resource in _CREATE:
        _CREATE[resource](errors, new)
    return errors


def _same_but_metadata(new: Document, old: Document) -> bool:
    return len(new) == len(old) and all(
        field == "metadata" or (field in old and old[field] == value) for field, value in new.items()
    )


def _check_revision(errors: Errors, document: Document) -> None:
    check_not_negative(errors, "revision", document.get("revision"))


def _check_revision_update(errors: Errors, new: Document, old: Document) -> None:
    _check_revision(errors, new)
    check_same(errors, "data", new.get("data"), old.get("data"))


_CREATE: dict[Resource, _Check] = {
    r.PODS: pods.check_new_pod,
    r.NODES: cluster.check_node,
    r.SERVICES: network.check_service,
    r.ENDPOINTS: network.check_endpoints,
    r.ENDPOINTSLICES: network.check_endpoint_slice,
    r.NETWORKPOLICIES: network.check_network_policy,
    r.CONFIGMAPS: configuration.check_config_map,
    r.SECRETS: configuration.check_secret,
    r.RESOURCEQUOTAS: configuration.check_quota,
    r.LIMITRANGES: configuration.check_limit_range,
    r.EVENTS: cluster.check_event,
    r.EVENTS_V1: cluster.check_new_event,
    r.PERSISTENTVOLUMES: storage.check_volume,
    r.PERSISTENTVOLUMECLAIMS: storage.check_claim,
    r.STORAGECLASSES: storage.check_storage_class,
    r.CSINODES: storage.check_csi_node,
    r.CSIDRIVERS: storage.check_csi_driver,
    r.DEPLOYMENTS: workloads.check_deployment,
    r.REPLICASETS: workloads.check_replica_set,
    r.STATEFULSETS: workloads.check_stateful_set,
    r.DAEMONSETS: workloads.check_daemon_set,
    r.REPLICATIONCONTROLLERS: workloads.check_replication_controller,
    r.CONTROLLERREVISIONS: _check_revision,
    r.JOBS: jobs.check_job,
    r.CRONJOBS: jobs.check_cron_job,
    r.PRIORITYCLASSES: cluster.check_priority_class,
    r.PODDISRUPTIONBUDGETS: cluster.check_budget,
    r.LEASES: cluster.check_lease,
    r.ROLES: cluster.check_role,
    r.CLUSTERROLES: cluster.check_cluster_role,
    r.ROLEBINDINGS: cluster.check_role_binding,
    r.CLUSTERROLEBINDINGS: cluster.check_cluster_role_binding,
    r.CUSTOMRESOURCEDEFINITIONS: crds.check_crd,
}

# Kinds without an entry are checked at an update as at their creation.
_UPDATE: dict[Resource, _UpdateCheck] = {
    r.PODS: pod_update.check_pod_update,
    r.NODES: cluster.check_node_update,
    r.SERVICES: network.check_service_update,
    r.ENDPOINTSLICES: network.check_endpoint_slice_update,
    r.CONFIGMAPS: configuration.check_config_map_update,
    r.SECRETS: configuration.check_secret_update,
    r.RESOURCEQUOTAS: configuration.check_quota_update,
    r.PERSISTENTVOLUMES: storage.check_volume_update,
    r.PERSISTENTVOLUMECLAIMS: storage.check_claim_update,
    r.STORAGECLASSES: storage.check_storage_class_update,
    r.DEPLOYMENTS: workloads.check_deployment_update,
    r.REPLICASETS: workloads.check_replica_set_update,
    r.STATEFULSETS: workloads.check_stateful_set_update,
    r.DAEMONSETS: workloads.check_daemon_set_update,
    r.CONTROLLERREVISIONS: _check_revision_update,
    r.JOBS: jobs.check_job_update,
    r.CRONJOBS: jobs.check_cron_job_update,
    r.PRIORITYCLASSES: cluster.check_priority_class_update,
    r.ROLEBINDINGS: cluster.check_role_binding_update,
    r.CLUSTERROLEBINDINGS: cluster.check_cluster_role_binding_update,
    r.CUSTOMRESOURCEDEFINITIONS: crds.check_crd_update,
}
