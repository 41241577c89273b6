"""What every namespace has from the start: the `default` ServiceAccount, and the cluster's CA certificate."""

from __future__ import annotations

from collections.abc import Iterable

from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Document, Patch
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself
from podium.kube.resources import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS, Resource
from podium.kube.wire import ConfigMap, Namespace, Object

ACCOUNT = "default"
CA_MAP = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "
    "the internal service IP or kubernetes.default.svc."
)


class ServiceAccountController:
    name = "serviceaccount"

    def __init__(self, ca: str) -> None:
        self._data = {"ca.crt": ca}
        self.watches: dict[Resource, Mapper] = {
            NAMESPACES: itself,
            SERVICEACCOUNTS: _namespace_of(ACCOUNT),
            CONFIGMAPS: _namespace_of(CA_MAP),
        }

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        namespace = cache.find(NAMESPACES, Namespace, key)
        if namespace is None or namespace.deleting:
            return NOTHING
        changes: list[Change] = []
        if cache.get(SERVICEACCOUNTS, namespace.name, ACCOUNT) is None:
            changes.append(Create(SERVICEACCOUNTS, namespace.name, _document(SERVICEACCOUNTS, namespace, ACCOUNT)))
        certificates = cache.find(CONFIGMAPS, ConfigMap, (namespace.name, CA_MAP))
        if certificates is None:
            document = _document(CONFIGMAPS, namespace, CA_MAP)
            document["metadata"]["annotations"] = {"kubernetes.io/description": _DESCRIPTION}
            document["data"] = self._data
            changes.append(Create(CONFIGMAPS, namespace.name, document))
        elif certificates.data != self._data:
            foreign = dict.fromkeys(set(certificates.data or ()) - set(self._data))
            patch = {"data": {**foreign, **self._data}}
            changes.append(Patch(CONFIGMAPS, namespace.name, CA_MAP, patch, uid=certificates.uid))
        return Outcome(tuple(changes))


def _namespace_of(name: str) -> Mapper:
    def mapper(obj: Object, cache: Cache) -> Iterable[Key]:
        return (("", obj.namespace),) if obj.name == name else ()

    return mapper


def _document(resource: Resource, namespace: Namespace, name: str) -> Document:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace.name},
    }
