"""Changes that may be proposed: writes to the API, the commands for them, and how large a change may be.

A ladder is one kind of change in growing sizes: so many more nodes, so much more for a queue.  More of it never
hurts, so the smallest that helps is found by halving.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import msgspec

from podium.explain.documents import Document
from podium.explain.model import Model
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.resources import NODES, Resource

# Kinds that users know by their plain name: others are called by their group as well.
_KUBERNETES = ("", "apps", "batch", "policy", "storage.k8s.io", "scheduling.k8s.io")


class Proposal(msgspec.Struct, frozen=True):
    """One change: what it is in words, the commands for it, and the writes by which the model sees it."""

    what: str
    size: int
    sentence: str
    commands: tuple[str, ...]
    changes: tuple[Change, ...]
    cause: str = ""  # what is in the way, where the refusal does not say so itself
    chosen: tuple[str, ...] = ()  # of kinds that are made to some of many things: to which


class Ladder(msgspec.Struct, frozen=True):
    """One kind of change in all of its sizes.  `what` tells kinds apart."""

    what: str
    most: int
    at: Callable[[int], Proposal]
    hint: int = 0  # a size that is likely to be the smallest
    # Of kinds that are made to some of many things, nodes or pods: all of these, and the change to some of them.
    among: tuple[str, ...] = ()
    pick: Callable[[Sequence[str]], Proposal] | None = None
    costly: bool = False  # asks for more hardware: others are looked for as well
    room: bool = False  # makes room: the last to be done, or others that wait would take it meanwhile


def choosing(
    what: str, among: Sequence[str], pick: Callable[[Sequence[str]], Proposal], *, room: bool = False
) -> Ladder:
    """A change that is made to one thing after the other, the first first."""
    things = tuple(among)
    return Ladder(what, len(things), lambda size: pick(things[:size]), among=things, pick=pick, room=room)


def named(resource: Resource) -> str:
    """What a kind is called on a command line."""
    singular = resource.kind.lower()
    return singular if resource.group in _KUBERNETES else f"{resource.plural}.{resource.group}"


def commands_of(changes: Iterable[Change]) -> tuple[str, ...]:
    """The kubectl commands that write some changes: what is done alike to several objects is one command."""
    return tuple(_command(list(alike)) for _, alike in groupby(changes, key=_whatever_its_name))


def _whatever_its_name(change: Change) -> object:
    if isinstance(change, Patch | Delete):
        return msgspec.structs.replace(change, name="")
    return type(change), change.resource, change.namespace


def _command(alike: Sequence[Change]) -> str:
    first = alike[0]
    match first:
        case Create():
            documents = [each.document for each in alike if isinstance(each, Create)]
            items = {"apiVersion": "v1", "kind": "List", "items": documents}
            document = documents[0] if len(documents) == 1 else items
            return f"echo {shlex.quote(json.dumps(document))} | kubectl create -f -"
        case Patch():
            subresource = [f"--subresource={first.subresource}"] if first.subresource else []
            return _kubectl("patch", alike, *subresource, "--type=merge", "-p", json.dumps(first.patch))
        case Delete():
            return _kubectl("delete", alike)
    raise AssertionError(f"{first} is no change that is proposed")


def _kubectl(verb: str, alike: Sequence[Change], *flags: str) -> str:
    first = alike[0]
    names = (each.name for each in alike)
    namespace = ("-n", first.namespace) if first.namespace else ()
    return shlex.join(["kubectl", verb, named(first.resource), *names, *namespace, *flags])


def listed(names: Sequence[str], at_most: int = 4) -> str:
    """Some names in a sentence."""
    if len(names) <= at_most:
        return ", ".join(names)
    return f"{', '.join(names[: at_most - 1])} and {len(names) - at_most + 1} others"


def nodes_ladder(
    model: Model,
    what: str,
    nodes: Sequence[str],
    patch: Callable[[Document], Document],
    sentence: Callable[[Sequence[str]], str],
    command: Callable[[Sequence[str]], str],
    cause: str = "",
) -> Ladder:
    """A change that is made to one node after the other."""

    def pick(chosen: Sequence[str]) -> Proposal:
        changes = []
        for name in chosen:
            document = model.document(NODES, "", name)
            assert document is not None
            changes.append(Patch(NODES, "", name, patch(document)))
        return Proposal(
            what, len(chosen), sentence(chosen), (command(chosen),), tuple(changes), cause, tuple(chosen)
        )

    return choosing(what, nodes, pick)
