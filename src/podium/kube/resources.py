"""Names of API resources: what a kind is called in a path, and the paths themselves."""

from __future__ import annotations

import msgspec


class Resource(msgspec.Struct, frozen=True, cache_hash=True):
    """One resource type of one API version, e.g. apps/v1 deployments."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """The name that error messages and watches use: `deployments.apps`, or `pods` in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object or of a subresource of it."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _core(plural: str, kind: str, namespaced: bool = True) -> Resource:
    return Resource("", "v1", plural, kind, namespaced)


NAMESPACES = _core("namespaces", "Namespace", namespaced=False)
NODES = _core("nodes", "Node", namespaced=False)
PODS = _core("pods", "Pod")
SERVICES = _core("services", "Service")
BINDINGS = _core("bindings", "Binding")
ENDPOINTS = _core("endpoints", "Endpoints")
CONFIGMAPS = _core("configmaps", "ConfigMap")
SECRETS = _core("secrets", "Secret")
SERVICEACCOUNTS = _core("serviceaccounts", "ServiceAccount")
EVENTS = _core("events", "Event")
PERSISTENTVOLUMES = _core("persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENTVOLUMECLAIMS = _core("persistentvolumeclaims", "PersistentVolumeClaim")
RESOURCEQUOTAS = _core("resourcequotas", "ResourceQuota")
LIMITRANGES = _core("limitranges", "LimitRange")
REPLICATIONCONTROLLERS = _core("replicationcontrollers", "ReplicationController")

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICASETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFULSETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMONSETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLERREVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
JOBS = Resource("batch", "v1", "jobs", "Job")
CRONJOBS = Resource("batch", "v1", "cronjobs", "CronJob")
PRIORITYCLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
PODDISRUPTIONBUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
STORAGECLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSINODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
CSIDRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False)
NETWORKPOLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
ENDPOINTSLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
EVENTS_V1 = Resource("events.k8s.io", "v1", "events", "Event")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLEBINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTERROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTERROLEBINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
