"""A copy of a cluster that can be asked what a scheduler would do, and what it would do if something were other.

The copy is made from the objects of the API, as a scheduler reads them, so it needs no scheduler to be there; or
it is what a scheduler knows, in a copy of its process.  A question runs turns of one profile on the model and
takes everything back that they decided.  A change is a write to the API (`kube.changes`): the model sees the
object as it would be after it, and the old one when it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from podium.core.cycle import cycle
from podium.core.framework.session import Session
from podium.core.model.decisions import Bind, Decision, Evict, Nominate, Release, Reserve, Ungate
from podium.core.model.model import Phase, QuotaGate, Size, State, Task
from podium.core.profiles.profile import Profile
from podium.dialects.dialect import Dialect
from podium.engine.world import World
from podium.explain.documents import Document, Documents, Known, Listed, Objects
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.resources import PODS, Resource
from podium.kube.wire import Object, struct_of

Place = tuple[Resource, str, str]  # kind, namespace and name
T = TypeVar("T")

# Decisions by which tasks stand otherwise.
_OF_TASKS = (Bind, Nominate, Reserve, Release, Evict, Ungate)
# A gang that others must leave for is there a turn after them.
_TURNS = 3
# Written to what a trial changes: newer than anything that a server has written.
_VERSIONS = 10**18


class Model:
    """The cluster as it was read."""

    def __init__(self, world: World, documents: Documents, profiles: Mapping[str, Profile], now: float) -> None:
        """Of a world that has taken everything in."""
        self.now = now
        self.profiles = profiles
        self.world = world
        self.cluster = world.cluster
        self._documents = documents
        self._version = _VERSIONS
        self.trials = 0
        self._resting = {id: _Place.of(task) for id, task in self.cluster.tasks.items()}

    @classmethod
    def listed(
        cls, objects: Objects, dialects: Sequence[Dialect], profiles: Mapping[str, Profile], now: float
    ) -> Model:
        """From everything that a server has."""
        world = World(dialects)
        world.serve(profiles)
        # Pods last: what they are read with is there by then.
        for resource in sorted(objects, key=lambda each: each == PODS):
            if resource in world.resources:
                decoder = msgspec.json.Decoder(world.views.get(resource) or struct_of(resource))
                for encoded in objects[resource]:
                    world.observe(resource, decoder.decode(encoded))
        world.settle()
        return cls(world, Listed(objects), profiles, now)

    @classmethod
    def known(cls, world: World, profiles: Mapping[str, Profile], now: float, also: Objects) -> Model:
        """From what a scheduler knows.  Its world is changed and put back: it has to be a copy."""
        world.settle()
        return cls(world, Known(world, also), profiles, now)

    # --- objects -----------------------------------------------------------------------------------------------

    def all(self, resource: Resource) -> list[Document]:
        """Whole objects of a kind that was read."""
        return self._documents.all(resource)

    def document(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """One whole object, as it was read."""
        return self._documents.find(resource, namespace, name)

    @property
    def resources(self) -> Iterable[Resource]:
        """The kinds that were read."""
        return self._documents.resources

    # --- questions ---------------------------------------------------------------------------------------------

    def session(self, profile: str) -> Session:
        """A profile's plugins, ready to be asked; nothing is decided in it."""
        found = self.profiles[profile]
        return Session(
            self.cluster,
            found.plugins(),
            self.now,
            found.arguments,
            found.actions,
            profile=profile,
        )

    def turns(
        self, profile: str, look: Callable[[list[Decision]], tuple[bool, T]], left_alone: Container[str] = ()
    ) -> T:
        """What is to be seen after some turns of a profile, until `look` says that it has seen enough.

        It sees the model with what has been decided, and the first turn's decisions.  Whoever was told to go is
        gone in the next turn; when nobody was, there is none.  Nothing is decided on gangs in `left_alone`.
        """
        self.trials += 1
        first: list[Decision] | None = None
        looked_at = self.cluster.gangs if self.trials == 1 else self.cluster.accounts.active
        active = [gang for gang in looked_at.values() if gang.id not in left_alone]
        concerned = {id for gang in active for id in gang.tasks}
        gangs = {gang.id: (gang.phase, gang.size) for gang in active}
        planned = self.cluster.planned.pop(profile, None)  # the next plan is made now, and not when it is due
        try:
            for number in range(1, _TURNS + 1):
                self.cluster.settle()
                asked = [id for id in self.cluster.accounts.active if id not in left_alone]
                steps = cycle(self.cluster, self.profiles[profile], self.now, name=profile, asked=asked)
                decided = []
                for step in steps:
                    decided += step
                    concerned.update(each.task for each in step if isinstance(each, _OF_TASKS))
                first = decided if first is None else first
                enough, seen = look(first)
                victims = [each.task for each in decided if isinstance(each, Evict)]
                if enough or not victims or number == _TURNS:
                    break
                for id in victims:
                    self.cluster.assign(self.cluster.tasks[id], State.FAILED, -1)
        finally:
            self._restore(concerned, gangs)
            self.cluster.planned.pop(profile, None)
            if planned is not None:
                self.cluster.planned[profile] = planned
        return seen

    def _restore(self, tasks: Iterable[str], gangs: Mapping[str, tuple[Phase, Size | None]]) -> None:
        """Puts everything back where it was."""
        cluster, moved = self.cluster, []
        for id in tasks:
            task, place = cluster.tasks[id], self._resting.get(id, _WAITING)
            if task.state is not place.state or task.row != place.row or task.devices != place.devices:
                moved.append((task, place))
            if task.nominated != place.nominated:
                cluster.nominations.put(task, cluster.nodes.name(place.nominated) if place.nominated >= 0 else "")
            task.quota_gate = place.gate
        # First everybody leaves who was not there: then there is room for those who were.
        for task, _ in moved:
            cluster.assign(task, State.PENDING, -1)
        for task, place in moved:
            cluster.assign(task, place.state, place.row, place.devices)
        for gang, (phase, size) in ((cluster.gangs[id], known) for id, known in gangs.items()):
            if gang.phase is not phase:
                gang.enter(phase)
            gang.size = size

    # --- changes -----------------------------------------------------------------------------------------------

    @contextmanager
    def changed(self, changes: Iterable[Change]) -> Iterator[None]:
        """The model as it is after some writes, until the end of the block."""
        touched: dict[Place, Document | None] = {}
        for change in changes:
            place = _place(change)
            if place[0] not in self.world.resources:
                continue  # its controller's writes are among the changes
            self._documents.keep(*place)
            if isinstance(change, Patch):
                touched[place] = _after(change, touched[place] if place in touched else self.document(*place))
            else:
                touched[place] = _after(change, None)
        were = {place: self.world.cache.get(*place) for place in touched}
        try:
            for place, document in touched.items():
                self._show(place, self._read(place, document) if document is not None else None)
            self._settle(touched)
            yield
        finally:
            for place, obj in were.items():
                self._show(place, obj)
            self._settle(touched)

    def _settle(self, touched: Iterable[Place]) -> None:
        """Notes how the tasks of changed pods stand, and those on nodes that came or went."""
        self.world.settle()
        for resource, namespace, name in touched:
            if resource == PODS:
                pod = self.world.cache.get(PODS, namespace, name)
                task = self.cluster.tasks.get(pod.uid) if pod is not None else None
                if task is not None:
                    self._resting[task.id] = _Place.of(task)

    def _read(self, place: Place, document: Document) -> Object:
        resource, namespace, name = place
        metadata = {**document["metadata"]}
        metadata.setdefault("uid", f"trial-{resource.kind}-{namespace}-{name}")
        view = self.world.views.get(resource) or struct_of(resource)
        return msgspec.json.decode(msgspec.json.encode({**document, "metadata": metadata}), type=view)

    def _show(self, place: Place, obj: Object | None) -> None:
        """Lets the model see an object in a new version, or that there is none."""
        resource = place[0]
        if obj is None:
            known = self.world.cache.get(*place)
            if known is not None:
                self.world.forget(resource, known)
            return
        self._version += 1
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
        self.world.observe(resource, msgspec.structs.replace(obj, metadata=metadata))


def _place(change: Change) -> Place:
    name = change.document["metadata"]["name"] if isinstance(change, Create) else change.name
    return change.resource, change.namespace, name


def _after(change: Change, document: Document | None) -> Document | None:
    match change:
        case Create():
            return change.document
        case Delete():
            return None
        case Patch() if document is not None:
            merged: Document = merge(document, change.patch)
            return merged
    return document


def merge(document: Any, patch: Any) -> Any:
    """What a JSON merge patch makes of a value."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


class _Place(msgspec.Struct, frozen=True):
    """How a task stands."""

    state: State
    row: int
    devices: tuple[int, ...]
    nominated: int
    gate: QuotaGate

    @classmethod
    def of(cls, task: Task) -> _Place:
        return cls(task.state, task.row, task.devices, task.nominated, task.quota_gate)


_WAITING = _Place(State.PENDING, -1, (), -1, QuotaGate.NONE)  # how tasks stand that a change brings: slots
