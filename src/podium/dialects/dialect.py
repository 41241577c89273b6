"""What a dialect is to the rest of podium, in one record: nobody knows more about one than stands there.

    definitions, views      its kinds, and the structs they are read through
    marks                   what it reads on pods: group, role, queue, priority
    groups, queues          kinds that are read into gangs and queues, and the patches written from results
    hooks, objects          admission, and what must exist before anybody asks for anything
    controllers             what runs beside the scheduler
    rights                  what it writes: the roles of a cluster's administrator are made from that
    profiles                the schedulers that are there without a file, under their names
    workloads, authoring    what its users write, for histories, traces and scenarios
    progress, tour, pages   how its jobs stand, for the commands; which examples the demo runs; pages for tools
    progress, holding       how its jobs stand, and how they are held and released, for the commands
    tour                    which examples the demo runs

A dialect is made for a `Setting`, by a function that the registry (`dialects/__init__.py`) lists.  It leaves empty
what it does not have.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from podium.core.framework.arguments import Argument, Arguments
from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang, Queue
from podium.dialects.kubernetes.membership import Marks, Membership
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.queue_report import QueueReport
from podium.dialects.workloads import Authoring, Workload
from podium.kube.admission import Hook
from podium.kube.changes import Create, Patch
from podium.kube.controller import Controller
from podium.kube.resources import Resource
from podium.kube.rights import Right, reading
from podium.kube.wire import Node, Object, Pod
from podium.reasons import Refusal
from podium.schema.crd import Definition

Document = dict[str, Any]


class Verdict(msgspec.Struct, frozen=True):
    """Why a gang was not placed in a turn, and which of its tasks it failed for ("" for the gang as a whole)."""

    refusal: Refusal
    task: str = ""
    repeated: bool = False  # it was written a short while ago, with other numbers


class Slot(msgspec.Struct, frozen=True):
    """A place in a job for which there need not be a pod yet.  Its pod is read as every pod is."""

    id: str  # see `core.slots.slot_id`; the marks on its pod give the same
    name: str  # what its pod will be called
    pod: Pod  # the template
    role: str = ""
    node: str = ""  # the one that is reserved for it, as the API has it


class Gathering(msgspec.Struct, frozen=True):
    """What is known of a gang that its pods describe."""

    namespace: str
    name: str
    group: Any = None  # its object, if there is one
    speaker: Pod | None = None  # the oldest pod that says enough (see `GatheredKind.speaks`), else the oldest
    expired: bool = False  # whether it has timed out, and nobody has taken that back


class Reading(msgspec.Struct, frozen=True):
    """A gang as it was read; without facts it is not one yet, and `fault` says what its pods wait for."""

    facts: GangFacts | None = None
    fault: Refusal | None = None
    # Values of its pod or its object that were read as if they were not there: the object, and what is wrong.
    complaints: tuple[tuple[Any, Refusal], ...] = ()


class GangWish(msgspec.Struct, frozen=True):
    """How a gang might be other than it is: what would help it, in the core's words."""

    minimum: int | None = None
    without: frozenset[str] = frozenset()  # gangs that it is not to wait for any longer, by id


class Rewrite(msgspec.Struct, frozen=True):
    """A write that makes a gang or a queue be read otherwise, and the writes by which controllers follow it."""

    written: Patch
    follows: tuple[Patch, ...] = ()
    also: tuple[Patch, ...] = ()  # further writes of the same user, where one object does not say it all


class GatheredKind(msgspec.Struct, frozen=True):
    """Gangs that their pods describe, with or without an object.

    Such a gang is there from its first pod, or with its object, to the last of them.  Where pods differ, one of
    them speaks: with an object the oldest one, without one the oldest that says enough.
    """

    prefix: str  # of the ids in the core: `<prefix><namespace>/<name>`
    read: Callable[[Gathering, Priorities], Reading]
    speaks: Callable[[Pod], bool]  # whether a pod says enough by itself
    expired: Callable[[Pod], bool]  # whether a pod shows that its gang has timed out
    expire: Callable[[Pod], Patch]  # what is written on it then
    was_satisfied: Callable[[Any], bool]  # whether an object remembers that enough pods were bound once
    describes: Callable[[Any], bool]  # whether an object says something of its own, and was not made for its pods
    # What a user would write so that a gang is as wished: to its object, if it has one, and to its pods.
    rewrite: Callable[[tuple[Resource, Document] | None, Sequence[Document], GangWish], Rewrite | None] | None = (
        None
    )

    def id(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}"


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
    # Of kinds whose gangs their pods describe as well.
    gathered: GatheredKind | None = None
    # Of kinds whose gangs may go as one (`Gang.as_one`): what is written before its members are evicted.  The
    # object, for whom, and the time.
    disrupted: Callable[[Any, str, float], Patch | None] | None = None
    # What a user would write to a whole object so that its gang is as wished; None if its API cannot say that.
    rewrite: Callable[[Document, GangWish], Rewrite | None] | None = None


class Ownership(msgspec.Struct, frozen=True):
    """How the queues of a kind own nodes."""

    # Which nodes an object claims, by their labels and amounts; None for an object that claims none.
    claims: Callable[[Any], Callable[[Node], bool] | None]
    # Whose a node is, by the names of the objects that claim it: of two and more, the first two.  The queue's id
    # ("" for none of the kind's), and what is wrong with that.
    judge: Callable[[Sequence[str]], tuple[str, Refusal | None]]
    # A label that all nodes have which an object claims, None if there is none such: it is not asked about others.
    label: Callable[[Any], tuple[str, str] | None] = lambda obj: None

    def owner(self, objects: Iterable[Object], node: Node) -> str:
        """Whose a node is, given all objects of the kind."""
        claims = ((each.name, self.claims(each)) for each in objects)
        return self.judge(sorted(name for name, claim in claims if claim is not None and claim(node))[:2])[0]


class QueueKind(msgspec.Struct, frozen=True):
    """A kind whose objects are queues."""

    resource: Resource
    id: Callable[[str], str]
    read: Callable[[Any], tuple[Queue, tuple[Refusal, ...]]]
    patch: Callable[[Any, QueueReport], Patch | None]  # what is written on the object
    ownership: Ownership | None = None  # of kinds whose queues own nodes
    built_in: tuple[Queue, ...] = ()  # queues that are there without an object; one of their id stands for them
    # What a user would write to a whole object so that it is read as another queue than it is (the second); and
    # a new queue of a name.
    rewrite: Callable[[Document, Queue, Queue], Rewrite | None] | None = None
    make: Callable[[str], Document] | None = None


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


# What makes a workload stop and wait, or go on: from the workload as the API has it, and whether it is to wait.
Hold = Callable[[Document, bool], Create | Patch]


# --- the record --------------------------------------------------------------------------------------------


def _no_groups(pod: Pod) -> tuple[Membership, ...]:
    return ()


def _no_options(profile: str, declared: tuple[Argument, ...]) -> Arguments:
    return Arguments({}, declared)


class Setting(msgspec.Struct, frozen=True):
    """Where a dialect is spoken: how the process was started, and what the others say."""

    default_queue: str = ""  # of pods that name none; "" for the dialect's own
    schedulers: tuple[str, ...] = ()  # names that are served like the scheduler of unnamed files
    with_controllers: bool = True  # whether the controllers run beside the scheduler
    profiles: frozenset[str] = frozenset()  # the scheduler names of all built-in profiles
    named_groups: Callable[[Pod], tuple[Membership, ...]] = _no_groups  # those that a pod names, in any dialect
    # By scheduler name, what the file in force says of a profile's options, with declared defaults for the rest.
    options: Callable[[str, tuple[Argument, ...]], Arguments] = _no_options


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
    # What its controllers and the patches of its groups and queues need, beside what they watch: see `rights_of`.
    rights: tuple[Right, ...] = ()
    profiles: Mapping[str, BuiltInProfile] = {}  # by scheduler name
    workloads: Mapping[str, Workload] = {}
    surroundings: tuple[Document, ...] = ()  # what the workloads refer to
    authoring: Authoring | None = None
    progress: Mapping[Resource, ProgressOf] = {}
    # What is served beside health and metrics: the page of a path, given all gangs by id, also those that only
    # pods name; None for no such page.
    pages: Callable[[str, dict[str, Gang]], Document | None] | None = None
    holding: Mapping[Resource, Hold] = {}
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


def rights_of(dialect: Dialect) -> tuple[Right, ...]:
    """Everything that a dialect needs on a server: to watch, to create at the start, to write."""
    watched = dict.fromkeys(kind.resource for kind in dialect.groups)
    watched |= dict.fromkeys(kind.resource for kind in dialect.queues)
    for controller in controllers_of([dialect]):
        watched |= dict.fromkeys(controller.watches)
    needed = (Right(resource, ("create",)) for resource, _ in objects_of(dialect))
    return (*reading(watched), *needed, *dialect.rights)


def objects_of(dialect: Dialect) -> Iterator[tuple[Resource, Document]]:
    """What has to be there before anybody asks for anything, each with its resource."""
    resources = {each.resource.kind: each.resource for each in dialect.definitions}
    for document in dialect.objects:
        yield resources[document["kind"]], document
