"""Changes that may be proposed: writes to the API, the commands for them, and how large a change may be.

A ladder is one kind of change in growing sizes: so many more nodes, so much more for a queue.  More of it never
hurts, so the smallest that helps is found by halving.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Sequence

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


def choosing(what: str, among: Sequence[str], pick: Callable[[Sequence[str]], Proposal]) -> Ladder:
    """A change that is made to one thing after the other, the first first."""
    things = tuple(among)
    return Ladder(what, len(things), lambda size: pick(things[:size]), among=things, pick=pick)


def named(resource: Resource) -> str:
    """What a kind is called on a command line."""
    singular = resource.kind.lower()
    return singular if resource.group in _KUBERNETES else f"{resource.plural}.{resource.group}"


def command_of(change: Change) -> str:
    """The kubectl command that writes a change."""
    match change:
        case Create():
            return f"echo {shlex.quote(json.dumps(change.document))} | kubectl create -f -"
        case Patch():
            words = ["kubectl", "patch", named(change.resource), change.name, *_in(change.namespace)]
            if change.subresource:
                words.append(f"--subresource={change.subresource}")
            return shlex.join([*words, "--type=merge", "-p", json.dumps(change.patch)])
        case Delete():
            words = ["kubectl", "delete", named(change.resource), change.name, *_in(change.namespace)]
            return shlex.join(words)
    raise AssertionError(f"{change} is no change that is proposed")


def _in(namespace: str) -> Iterable[str]:
    return ("-n", namespace) if namespace else ()


def delete_command(namespace: str, names: Sequence[str]) -> str:
    return shlex.join(["kubectl", "delete", "pod", *names, *_in(namespace)])


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
