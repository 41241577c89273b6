"""What a dialect is to the rest of podium, in one record: nobody knows more about one than stands there.

    definitions, views      its kinds, and the structs they are read through
    marks                   what it reads on pods: group, role, queue, priority
    groups, queues          kinds that are read into gangs and queues, and the patches written from results
    hooks, objects          admission, and what must exist before anybody asks for anything
    controllers             what runs beside the scheduler
    profiles                the schedulers that are there without a file, under their names
    workloads, authoring    what its users write, for histories, traces and scenarios
    progress, tour          how its jobs stand, for the commands, and which examples the demo runs

A dialect is made for a `Setting`, by a function that the registry (`dialects/__init__.py`) lists.  It leaves empty
what it does not have.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podium.core.framework.arguments import Argument, Arguments
from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang, Queue
from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.workloads import Authoring, Workload
from podium.kube.admission import Hook
from podium.kube.changes import Patch
from podium.kube.controller import Controller
from podium.kube.resources import Resource
from podium.kube.wire import Node, Object, Pod
from podium.reasons import Refusal
from podium.schema.crd import Definition

Document = dict[str, Any]


class Verdict(msgspec.Struct, frozen=True):
    """Why a gang was not placed in a turn, and which of its tasks it failed for ("" for the gang as a whole)."""

    refusal: Refusal
    task: str = ""
    repeated: bool = False  # it was told a short while ago, with other numbers


class Slot(msgspec.Struct, frozen=True):
    """A place in a job for which there need not be a pod yet.  Its pod is read as every pod is."""

    id: str  # see `core.slots.slot_id`; the marks on its pod give the same
    name: str  # what its pod will be called
    pod: Pod  # the template
    role: str = ""
    node: str = ""  # the one that is reserved for it, as the API has it


class GroupKind(msgspec.Struct, frozen=True):
    """A kind whose objects are gangs."""

    resource: Resource
    id: Callable[[str, str], str]  # from namespace and name
    read: Callable[[Any, Priorities], tuple[GangFacts, Refusal | None]]
    # The object, its gang, why it was not placed, the turn's id and the time.
    patch: Callable[[Any, Gang, Verdict | None, str, float], Patch | None]
    # Of kinds whose places are found before their pods: the slots that an object lists (see `core.slots`), and
    # what is written when places were reserved or given back, or another size is wanted: the object, its gang,
    # and the nodes of its slots.
    slots: Callable[[Any], Sequence[Slot]] | None = None
    decided: Callable[[Any, Gang, Mapping[str, str]], Patch | None] | None = None


class QueueKind(msgspec.Struct, frozen=True):
    """A kind whose objects are queues."""

    resource: Resource
    id: Callable[[str], str]
    read: Callable[[Any], tuple[Queue, tuple[Refusal, ...]]]
    patch: Callable[[Any, Mapping[str, int]], Patch | None]  # the object, and what its tasks hold
    # Of kinds whose queues own nodes: the id of the queue that a node belongs to, given all objects of the kind.
    owner: Callable[[Node, Sequence[Any]], str] | None = None


# --- profiles ----------------------------------------------------------------------------------------------


class BuiltInProfile(msgspec.Struct, frozen=True):
    """A profile that is there without a file."""

    text: str  # actions and tiers, as a configuration file has them
    # What a file may say of it beside these: `profiles.<scheduler name>.<option>`.
    options: tuple[Argument, ...] = ()
    # The decoded text, or a file's, with what the options say worked into it.  UsageError says what is wrong with
    # one of them, as `option: sentence`.
    configure: Callable[[Document, Arguments], Document] | None = None
    # A file that names no profile is for this one; further scheduler names are served as it is.
    unnamed: bool = False
    file_key: str = ""  # under which its users' ConfigMaps have the file


# --- progress ----------------------------------------------------------------------------------------------


class State(enum.Enum):
    """Where a workload stands."""

    GOING = "going on"
    DONE = "done"
    FAILED = "failed"


class Progress(msgspec.Struct, frozen=True):
    """How a workload stands, and a sentence about it."""

    state: State
    message: str


# From a workload, as the API has it, and its pods counted by phase.
ProgressOf = Callable[[Document, Mapping[str, int]], Progress]


# --- the record --------------------------------------------------------------------------------------------


def _no_groups(pod: Pod) -> tuple[Membership, ...]:
    return ()


class Setting(msgspec.Struct, frozen=True):
    """Where a dialect is spoken: how the process was started, and what the others say."""

    default_queue: str = ""  # of pods that name none; "" for the dialect's own
    schedulers: tuple[str, ...] = ()  # names that are served like the scheduler of unnamed files
    with_controllers: bool = True  # whether the controllers run beside the scheduler
    profiles: frozenset[str] = frozenset()  # the scheduler names of all built-in profiles
    named_groups: Callable[[Pod], tuple[Membership, ...]] = _no_groups  # those that a pod names, in any dialect


class Dialect(msgspec.Struct, frozen=True):
    """One of the APIs that podium speaks."""

    name: str  # also that of its folder, and what its ids in the core begin with
    marks: Marks | None = None
    definitions: tuple[Definition, ...] = ()
    groups: tuple[GroupKind, ...] = ()
    queues: tuple[QueueKind, ...] = ()
    hooks: tuple[Hook, ...] = ()
    objects: tuple[Document, ...] = ()  # what has to be there before anybody asks for anything
    views: Mapping[Resource, type[Object]] = {}  # of kinds that servers have without its definitions
    node_group: str = ""  # the label by which nodes say in which group they are
    default_queues: Mapping[str, str] = {}  # by scheduler name: the queue of what names none
    orders: frozenset[Resource] = frozenset()  # kinds that say what to do once: a copy of a cluster has none
    namespace_weight: str = ""  # the name under which a quota says what its namespace counts
    controllers: tuple[Callable[[], Controller], ...] = ()
    profiles: Mapping[str, BuiltInProfile] = {}  # by scheduler name
    workloads: Mapping[str, Workload] = {}
    surroundings: tuple[Document, ...] = ()  # what the workloads refer to
    authoring: Authoring | None = None
    progress: Mapping[Resource, ProgressOf] = {}
    tour: str = ""  # the files of examples/<name>/ that the demo runs, as a pattern

    def documents(self) -> list[Document]:
        """The definitions of its kinds."""
        return [definition.document() for definition in self.definitions]


def controllers_of(dialects: Iterable[Dialect]) -> list[Controller]:
    """New controllers of some dialects."""
    return [make() for dialect in dialects for make in dialect.controllers]


def views_of(dialects: Iterable[Dialect]) -> dict[Resource, type[Object]]:
    """The structs that the kinds of some dialects are read through."""
    views: dict[Resource, type[Object]] = {}
    for dialect in dialects:
        views |= {definition.resource: definition.view for definition in dialect.definitions}
        views |= dialect.views
    return views
