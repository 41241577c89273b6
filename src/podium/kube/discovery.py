"""Reading an API server's discovery documents: which resources a word on the command line may mean."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.kube.resources import Resource


class ServedGroup(msgspec.Struct, frozen=True):
    """One API group and its versions, the preferred one first."""

    name: str
    versions: tuple[str, ...]

    @classmethod
    def read(cls, document: dict[str, Any]) -> ServedGroup:
        """From an entry of the APIGroupList."""
        versions = [each["version"] for each in document.get("versions") or ()]
        preferred = (document.get("preferredVersion") or {}).get("version")
        return cls(document["name"], tuple(sorted(versions, key=lambda version: version != preferred)))

    def path(self, version: str) -> str:
        return f"/apis/{self.name}/{version}" if self.name else f"/api/{version}"


def matching(name: str, group: str, version: str, listed: dict[str, Any]) -> list[Resource]:
    """The resources of an APIResourceList that `name` may mean, subresources left out.

    A name may be qualified, `jobs.batch` or `jobs.v1.batch`; a bare one fits every group.
    """
    word, _, qualifier = name.lower().partition(".")
    if qualifier and qualifier not in (group, f"{version}.{group}"):
        return []
    found: list[Resource] = []
    for entry in listed.get("resources") or ():
        names = (entry["name"], entry.get("singularName"), entry["kind"].lower(), *(entry.get("shortNames") or ()))
        if word and word in names and "/" not in entry["name"]:
            resource = Resource(group, version, entry["name"], entry["kind"], bool(entry.get("namespaced")))
            found.append(resource)
    return found
