"""What a program may do on a server: declared beside the code that does it, and compared with what it does.

    Right(PODS, ("create",), "binding")     a declaration: somebody creates bindings of pods
    need_of(change)                         what one write needs, as an authorizer sees it
    rules_of(rights)                        the rules of a ClusterRole that grants exactly that

Every module that writes declares its rights; dialects have them in their records.  The roles of the chart are made
from the declarations, and the histories compare every write with them: what nobody declared is found there, and
not on somebody's cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podium.kube.changes import Change, Create, Delete, Patch, Read, Replace
from podium.kube.resources import Resource

Document = dict[str, Any]

READING = ("list", "watch")


class Right(msgspec.Struct, frozen=True):
    """Some verbs on a resource, or on a subresource of it; with `names` on the objects of these names alone."""

    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""
    names: tuple[str, ...] = ()


class Need(msgspec.Struct, frozen=True, order=True):
    """What an authorizer is asked about a request, without whose object it is."""

    group: str
    resource: str  # with the subresource: pods/binding
    verb: str


def reading(resources: Iterable[Resource]) -> tuple[Right, ...]:
    """What a watch of these needs."""
    return tuple(Right(resource, READING) for resource in resources)


def needs_of(rights: Iterable[Right]) -> frozenset[Need]:
    """Everything that some rights allow."""
    return frozenset(
        Need(right.resource.group, _called(right.resource, right.subresource), verb)
        for right in rights
        for verb in right.verbs
    )


def need_of(change: Change) -> Need:
    """What a write needs."""
    subresource = "" if isinstance(change, Delete | Read) else change.subresource
    return Need(change.resource.group, _called(change.resource, subresource), _verb(change))


def _verb(change: Change) -> str:
    match change:
        case Create():
            return "create"
        case Patch():
            return "patch"
        case Replace():
            return "update"
        case Delete():
            return "delete" if change.name else "deletecollection"
        case Read():
            return "get"


def _called(resource: Resource, subresource: str) -> str:
    return f"{resource.plural}/{subresource}" if subresource else resource.plural


def rules_of(rights: Iterable[Right], without: Iterable[Right] = ()) -> list[Document]:
    """The rules that grant some rights, those that others have granted already left out.

    A rule for each group and set of verbs, in an order that does not depend on who asked first.
    """
    granted = needs_of(without)
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for right in rights:
        called = _called(right.resource, right.subresource)
        wanted = {verb for verb in right.verbs if Need(right.resource.group, called, verb) not in granted}
        if wanted:
            verbs.setdefault((right.resource.group, called, right.names), set()).update(wanted)
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, called, names), allowed in sorted(verbs.items()):
        resources.setdefault((group, tuple(sorted(allowed)), names), []).append(called)
    return [
        {"apiGroups": [group], "resources": called, "verbs": list(allowed)}
        | ({"resourceNames": list(names)} if names else {})
        for (group, allowed, names), called in sorted(resources.items())
    ]
