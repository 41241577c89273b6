"""The built-in kinds as the server announces and serves them: names, categories, subresources.

The order is that of a real server's discovery, group by group: it decides which group a client means by a name
that several groups have, e.g. `events`.
"""

from __future__ import annotations

from podium.embedded.registry import ALL_VERBS, Kind, ScalePaths
from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema.builtin import schema_of

# The selector of a built-in workload is a structure in its spec, not the text that a custom resource keeps.
_SCALE = ScalePaths(selector=".spec.selector")

# A client that means to empty a cluster has to name each namespace: there is no deletecollection for them.
_NAMESPACE_VERBS = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")


def builtin_kinds() -> list[Kind]:
    """Every built-in kind, in the order of discovery."""
    return [
        _kind(r.BINDINGS, verbs=("create",)),  # the older way to a pod's binding
        _kind(r.CONFIGMAPS, "cm"),
        _kind(r.ENDPOINTS, "ep", singular="endpoints"),
        _kind(r.EVENTS, "ev"),
        _kind(r.LIMITRANGES, "limits"),
        _kind(r.NAMESPACES, "ns", status=True, subresources=("finalize",), verbs=_NAMESPACE_VERBS),
        _kind(r.NODES, "no", status=True),
        _kind(r.PERSISTENTVOLUMECLAIMS, "pvc", status=True),
        _kind(r.PERSISTENTVOLUMES, "pv", status=True),
        _kind(r.PODS, "po", workload=True, status=True, subresources=("binding", "eviction", "log")),
        _kind(r.REPLICATIONCONTROLLERS, "rc", workload=True, status=True, scale=_SCALE),
        _kind(r.RESOURCEQUOTAS, "quota", status=True),
        _kind(r.SECRETS),
        _kind(r.SERVICEACCOUNTS, "sa"),
        _kind(r.SERVICES, "svc", workload=True, status=True),
        _kind(r.CONTROLLERREVISIONS),
        _kind(r.DAEMONSETS, "ds", workload=True, status=True),
        _kind(r.DEPLOYMENTS, "deploy", workload=True, status=True, scale=_SCALE),
        _kind(r.REPLICASETS, "rs", workload=True, status=True, scale=_SCALE),
        _kind(r.STATEFULSETS, "sts", workload=True, status=True, scale=_SCALE),
        _kind(r.EVENTS_V1, "ev", storage=r.EVENTS),
        _kind(r.CRONJOBS, "cj", workload=True, status=True),
        _kind(r.JOBS, workload=True, status=True),
        _kind(r.NETWORKPOLICIES, "netpol"),
        _kind(r.PODDISRUPTIONBUDGETS, "pdb", status=True),
        _kind(r.CLUSTERROLEBINDINGS),
        _kind(r.CLUSTERROLES),
        _kind(r.ROLEBINDINGS),
        _kind(r.ROLES),
        _kind(r.CSIDRIVERS),
        _kind(r.CSINODES),
        _kind(r.STORAGECLASSES, "sc"),
        _kind(r.CUSTOMRESOURCEDEFINITIONS, "crd", "crds", status=True, categories=("api-extensions",)),
        _kind(r.PRIORITYCLASSES, "pc"),
        _kind(r.LEASES),
        _kind(r.ENDPOINTSLICES),
    ]


def _kind(
    resource: Resource,
    *short_names: str,
    singular: str = "",
    workload: bool = False,
    categories: tuple[str, ...] = (),
    status: bool = False,
    scale: ScalePaths | None = None,
    subresources: tuple[str, ...] = (),
    storage: Resource | None = None,
    verbs: tuple[str, ...] = ALL_VERBS,
) -> Kind:
    return Kind(
        resource=resource,
        schema=schema_of(resource),
        storage=storage or resource,
        singular=singular or resource.kind.lower(),
        short_names=short_names,
        categories=("all", *categories) if workload else categories,
        status=status,
        scale=scale,
        subresources=subresources,
        verbs=verbs,
    )
