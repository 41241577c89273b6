"""From a URL path to what it names: a collection, an object, a subresource, or one of the fixed endpoints."""

from __future__ import annotations

import msgspec

from podium.embedded.registry import Kind, Registry
from podium.kube import status


class Target(msgspec.Struct, frozen=True):
    """What a request is about.  `name` is empty for a collection, `namespace` for all or none."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def resolve(registry: Registry, path: str) -> Target | None:
    """The target of an /api or /apis path; None if the path is of another sort (discovery, /version ...).

    Raises 404 for a resource that is not served.
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    # namespaces/NS/pods is a collection in a namespace, namespaces/NS/status a subresource of a namespace.
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    if not registry.serves(group):
        raise status.no_page()
    kind = registry.find(group, version, rest[0])
    if kind is None or (namespace and not kind.resource.namespaced):
        raise status.unknown_path()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if name and kind.resource.namespaced and not namespace:
        raise status.unknown_path()
    if subresource and subresource in kind.to_processes:
        return Target(kind, namespace, name, subresource)
    if len(rest) > 3 or (subresource and not _serves(kind, subresource)):
        raise status.unknown_path()
    return Target(kind, namespace, name, subresource)


def _serves(kind: Kind, subresource: str) -> bool:
    if subresource == "status":
        return kind.status
    if subresource == "scale":
        return kind.scale is not None
    return subresource in kind.subresources
