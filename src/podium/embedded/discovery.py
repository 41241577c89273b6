"""Discovery: the documents from which clients learn which kinds there are and what can be done with them.

Two styles exist.  The old one takes a request for each group version; the aggregated one has everything in
two, and is what current clients ask for first.  Answers are encoded once for each version of the registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podium.embedded.etags import tagged
from podium.embedded.printers.cells import Document
from podium.embedded.registry import Kind, Registry
from podium.embedded.representations import accepted, not_acceptable
from podium.kube import status
from podium.kube.transport import JSON, Response

VERSION = "v1.36.3"  # the Kubernetes whose behaviour is followed; clients choose their own by it

# Clients compare this text as a whole before they trust an aggregated answer.
AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_UPDATABLE = ("get", "patch", "update")
# Subresources whose verbs, or whose kind, are not those of the object itself: group, version, kind, verbs.
_SUBRESOURCES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "binding": ("", "", "Binding", ("create",)),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "finalize": ("", "", "", ("update",)),
    "log": ("", "", "", ("get",)),
    "scale": ("autoscaling", "v1", "Scale", _UPDATABLE),
}


class Discovery:
    """Answers the discovery endpoints of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._answers: dict[tuple[str, bool], Response] = {}
        self._version = -1

    def answer(self, path: str, accept: str = JSON) -> Response | None:
        """The answer for a path, or None if it is not one of discovery.  404 for a group that is not served."""
        parts = path.strip("/").split("/")
        if parts[0] not in ("api", "apis") or len(parts) > 3 or (parts[0] == "api" and len(parts) > 2):
            return None
        aggregated = _aggregated(accept, whole=len(parts) == 1)
        if self._version != self._registry.version:
            self._answers.clear()
            self._version = self._registry.version
        key = ("/".join(parts), aggregated)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._make(parts, aggregated)
        return found

    def _make(self, parts: list[str], aggregated: bool) -> Response:
        if aggregated:
            discovered = _group_discovery_list(self._registry, core=parts[0] == "api")
            return tagged(msgspec.json.encode(discovered), AGGREGATED)
        return tagged(msgspec.json.encode(self._document(parts)), JSON)

    def _document(self, parts: list[str]) -> Document:
        groups = self._registry.groups()
        match parts:
            case ["api"]:
                return {
                    "kind": "APIVersions",
                    "versions": groups.get("", []),
                    "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
                }
            case ["apis"]:
                listed = [_group(name, groups[name]) for name in _ordered(self._registry)]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
            case ["apis", name] if name and name in groups:
                return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, groups[name])}
            case ["api", version] if version in groups.get("", ()):
                return _resource_list(self._registry, "", version)
            case ["apis", name, version] if name and version in groups.get(name, ()):
                return _resource_list(self._registry, name, version)
        raise status.unknown_path()


def version_document() -> Document:
    """What /version says."""
    major, minor, _ = VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{VERSION}+podium",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }


def _aggregated(accept: str, *, whole: bool) -> bool:
    """Whether a client wants everything at once; only /api and /apis (`whole`) have it."""
    if not accept.strip():
        return False
    for clause in accepted(accept):
        if clause.name not in (JSON, "*/*"):
            continue
        if "as" not in clause.parameters:
            return False
        asked = tuple(clause.parameters.get(key) for key in ("g", "v", "as"))
        if whole and asked == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
            return True
    raise not_acceptable()


# --- what is there -----------------------------------------------------------------------------------------


def _ordered(registry: Registry) -> list[str]:
    """The named groups: the built-in ones in their own order, then those of custom resources by name."""
    builtin = dict.fromkeys(kind.resource.group for kind in registry if not kind.custom)
    custom = sorted({kind.resource.group for kind in registry if kind.custom} - builtin.keys())
    return [name for name in (*builtin, *custom) if name]


def _kinds(registry: Registry, group: str, version: str) -> list[Kind]:
    found = [k for k in registry if k.resource.group == group and k.resource.version == version]
    return sorted(found, key=lambda kind: kind.resource.plural)


def _subresources(kind: Kind) -> list[str]:
    names = [*kind.subresources]
    names += ["status"] if kind.status else []
    names += ["scale"] if kind.scale is not None else []
    return sorted(names)


def _subresource(kind: Kind, name: str) -> tuple[str, str, str, tuple[str, ...]]:
    group, version, answered, verbs = _SUBRESOURCES.get(name, ("", "", "", _UPDATABLE))
    return group, version, answered or kind.resource.kind, verbs


# --- the old style -----------------------------------------------------------------------------------------


def _group(name: str, versions: Iterable[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(registry: Registry, group: str, version: str) -> Document:
    resources: list[Document] = []
    for kind in _kinds(registry, group, version):
        resources.append(_resource(kind))
        resources += _subresource_entries(kind)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _resource(kind: Kind) -> Document:
    entry: Document = {
        "name": kind.resource.plural,
        "singularName": kind.singular,
        "namespaced": kind.resource.namespaced,
        "kind": kind.resource.kind,
        "verbs": kind.verbs,
    }
    return _with_names(entry, kind)


def _with_names(entry: Document, kind: Kind) -> Document:
    if kind.short_names:
        entry["shortNames"] = kind.short_names
    if kind.categories:
        entry["categories"] = kind.categories
    return entry


def _subresource_entries(kind: Kind) -> Iterator[Document]:
    for name in _subresources(kind):
        group, version, answered, verbs = _subresource(kind, name)
        entry: Document = {
            "name": f"{kind.resource.plural}/{name}",
            "singularName": "",
            "namespaced": kind.resource.namespaced,
        }
        if group:
            entry |= {"group": group, "version": version}
        yield entry | {"kind": answered, "verbs": verbs}


# --- the aggregated style ----------------------------------------------------------------------------------


def _group_discovery_list(registry: Registry, *, core: bool) -> Document:
    versions = registry.groups()
    names = [""] if core else _ordered(registry)
    entries = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_resource_discovery(kind) for kind in _kinds(registry, name, version)],
                    "freshness": "Current",
                }
                for version in versions.get(name, ())
            ],
        }
        for name in names
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": entries,
    }


def _resource_discovery(kind: Kind) -> Document:
    resource = kind.resource
    entry: Document = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": kind.verbs,
    }
    _with_names(entry, kind)
    subresources = []
    for name in _subresources(kind):
        group, version, answered, verbs = _subresource(kind, name)
        own = {"group": resource.group, "version": resource.version, "kind": answered}
        other = {"group": group, "version": version, "kind": answered}
        subresources.append({"subresource": name, "responseKind": other if group else own, "verbs": verbs})
    if subresources:
        entry["subresources"] = subresources
    return entry
