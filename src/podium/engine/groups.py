"""Gangs as the groups of all dialects, and their pods, describe them: the part of the world that reads them.

A group is read anew when it changes, or a priority class does.  Where its API has no queues, its gang is in the
queue that the group or its members name (`named_queues`).  A gang that its pods describe has no object, or one
that is only a part of it (`gathered`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model import quorum
from podium.core.model.facts import GangFacts
from podium.core.model.model import READY, Gang, MatchPolicy
from podium.dialects.dialect import Dialect, Document, GroupKind, views_of
from podium.dialects.kubernetes.membership import QueueMark
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.kubernetes.translate import PodReader
from podium.engine.gathered import Gathered
from podium.engine.listed_slots import ListedSlots
from podium.engine.named_queues import NamedQueues
from podium.engine.profiles import Profiles
from podium.engine.records import Fault
from podium.engine.recovery import Plan, was_whole
from podium.engine.requeue import ClusterEvents
from podium.kube import resources as r
from podium.kube.cache import Cache, Key
from podium.kube.changes import Patch
from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod
from podium.reasons import TIMED_OUT, Refusal


class Groups:
    """The gangs of the model, and what they were made from."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.cluster = Cluster()
        self.cache = Cache()
        self.groups: dict[Resource, GroupKind] = {k.resource: k for d in dialects for k in d.groups}
        self.views = views_of(dialects)
        marks = [dialect.marks for dialect in dialects if dialect.marks is not None]
        defaults = {name: queue for dialect in dialects for name, queue in dialect.default_queues.items()}
        self.reader = PodReader(marks, defaults, self.cache)
        self.queue_names: dict[str, str] = {}  # by id, of those that others serve for while there are none
        self.plans: dict[str, Plan] = {}  # of bound pods, by task
        self.cluster_events = ClusterEvents()
        self.moved: dict[str, None] = {}  # gangs with other slots, or members in other states, than last reported
        self._slots = ListedSlots(self.cluster, self.reader.read_slot)
        self._priorities = Priorities()
        self._profiles = Profiles()
        self._named_queues = NamedQueues()
        self._gathered = Gathered(self.groups.items(), self.cache)
        self._group_facts: dict[str, GangFacts] = {}
        self._stale: dict[Key, None] = {}  # pods to be read again, in order
        self._faults: dict[tuple[Resource, str, str, Refusal], Fault] = {}
        self._pages = [dialect.pages for dialect in dialects if dialect.pages is not None]

    def page(self, path: str) -> Document | None:
        """What a dialect tells its users' tools under a path; None if there is no such page."""
        gangs = {gang.id: gang for gang in self.cluster.all_gangs} if self._pages else {}
        found = (page(path, gangs) for page in self._pages)
        return next((each for each in found if each is not None), None)

    def take_faults(self, most: int = 1 << 30) -> list[Fault]:
        """What was found wrong with objects other than pods since the last time, the first of it."""
        return [self._faults.pop(each) for each in list(islice(self._faults, most))]

    def blame(self, resource: Resource, obj: Object, refusal: Refusal) -> None:
        self._faults[resource, obj.namespace, obj.name, refusal] = Fault(resource, obj, refusal)

    def _read_group(self, resource: Resource, obj: Object) -> None:
        kind = self.groups[resource]
        if kind.gathered is not None:
            self._read_gathered(self._gathered.put_group(kind.gathered, obj))
            return
        facts, fault = kind.read(obj, self._priorities)
        slots = tuple(kind.slots(obj)) if kind.slots is not None else ()
        # Places are found before there are pods: what the first template says counts, as its pod's word would.
        self._read_gang(self._in_queue(facts, fault, obj, *(slot.pod for slot in slots)))
        if kind.slots is not None and self._slots.list(self._group_facts[facts.id], slots):
            self.cluster_events.gangs.add(facts.id)
            self.cluster_events.room = True  # some may have been withdrawn
            if any(slot.node for slot in slots):
                self.moved[facts.id] = None  # all that it lists now may be placed: no turn will say so

    def _in_queue(self, facts: GangFacts, fault: Refusal | None, *objects: Object | None) -> GangFacts:
        """A gang with its queue: where its API has none, or it names none of them, what the first of its objects,
        or its members, name in another one."""
        queue = facts.queue
        if not queue or facts.usual_queue:
            found = (self.reader.queue_of(each) for each in objects if each is not None)
            named = next((each for each in found if each is not None), None)
            if isinstance(named, Refusal):
                fault, named = fault or named, None
            if queue and named is not None and not named.over_usual:
                named = None
            queue = self._named_queues.put_group(facts.id, named.id if named is not None else "", usual=queue)
            if named is not None:
                self._note_queue(named)
        return msgspec.structs.replace(facts, fault=fault, queue=queue)

    def _note_queue(self, named: QueueMark) -> None:
        """What people call a queue that need not exist, and which one serves instead."""
        if named.otherwise:
            self.cluster.substitutes[named.id] = named.otherwise
            self.queue_names[named.id] = named.name

    def _read_gathered(self, gang: str) -> None:
        """A gang that its pods describe: its object, or the pod that speaks for it, has come, gone or changed."""
        reading = self._gathered.read(gang, self._priorities)
        for obj, complaint in reading.complaints if reading is not None else ():
            of_group = (each for each in self.groups if self.views[each] is type(obj))
            self.blame(r.PODS if isinstance(obj, Pod) else next(of_group), obj, complaint)
        if reading is None or reading.facts is None:
            if gang in self._group_facts or reading is None:
                self._drop_gang(gang)
            return
        if reading.fault is not None and reading.fault.reason is TIMED_OUT:
            self.cluster_events.gangs.add(gang)  # there may be pods that have not been told yet
        self._read_gang(self._in_queue(reading.facts, reading.fault, self._gathered.group_of(gang)))

    # --- gangs that have timed out -------------------------------------------------------------------------------

    def expire(self, gang: str) -> list[Patch]:
        """A gang has timed out: what is to be written on its pods."""
        patches = self._gathered.expire(gang)
        if gang in self._gathered:
            self._read_gathered(gang)
        return patches

    def take_marks(self) -> list[Patch]:
        """What is to be written on further pods of gangs that have timed out."""
        if not self._gathered.any_expired:
            return []
        tied = quorum.components(self.cluster.accounts.tied.values(), self.cluster.gangs.get)
        waiting = ([gang.id for gang in group if quorum.yet_to_start(gang)] for group in tied)
        found = self._gathered.settle(waiting)
        for gang, _ in found:
            self._read_gathered(gang)
        return [patch for _, patches in found for patch in patches]

    def marked(self, uid: str, *, gone: bool = False) -> None:
        """The answer to what was written on a pod; `gone`: there is nothing to write it on."""
        gang = self._gathered.answered(uid, gone=gone)
        if gone and gang is not None:
            self._read_gathered(gang)

    def is_marked(self, uid: str) -> bool:
        return self._gathered.is_marked(uid)

    def _remember(self) -> None:
        """Once everything has been listed: gangs of which enough were bound before the start, though not now."""
        for id in self._gathered:
            gang = self.cluster.gangs.get(id)
            if gang is not None and gang.match is MatchPolicy.ONCE_SATISFIED and gang.count(READY):
                gang.satisfied_once |= self._gathered.was_satisfied(id) or was_whole(gang, self.plans)

    def _read_gang(self, facts: GangFacts) -> None:
        known = self._group_facts.get(facts.id)
        self._group_facts[facts.id] = facts
        gang = self.cluster.gangs.get(facts.id)
        # A turn may have found a fault of its own: that time is over, which holds as long as pods show it.
        as_written = gang is not None and gang.phase is facts.phase and gang.fault == facts.fault
        if as_written and known is not None and msgspec.structs.replace(known, phase=facts.phase) == facts:
            return
        self.cluster_events.gangs.add(facts.id)
        # It may have been let in and ask for less now.
        self.cluster_events.room |= known is not None
        gang = self.cluster.put_gang(facts)
        gang.profile = self._profiles.of(gang.id, gang.profile)
        if known is None:
            self._reread_members(facts.id)

    def group_of(self, gang: Gang) -> tuple[Resource, GroupKind, Object] | None:
        """The object that a gang is read from, if it is one's."""
        for resource, kind in self.groups.items():
            obj = self.cache.get(resource, gang.namespace, gang.name)
            if obj is not None and kind.id(gang.namespace, gang.name) == gang.id:
                return resource, kind, obj
        return None

    def places_of(self, gang: Gang) -> dict[str, str]:
        """The nodes of a gang's slots, by slot: reserved for them, or with their pods on them."""
        return self._slots.places_of(gang)

    def _requeue(self, gang: str) -> None:
        """Its members may name another queue than before, where its API has none."""
        facts, queue = self._group_facts.get(gang), self._named_queues.of(gang)
        if facts is None or queue is None or facts.queue == queue:
            return
        facts = self._group_facts[gang] = msgspec.structs.replace(facts, queue=queue)
        self.cluster_events.gangs.add(gang)
        self.cluster_events.room = True
        phase = self.cluster.gangs[gang].phase  # it may have come further than its object shows
        found = self.cluster.put_gang(msgspec.structs.replace(facts, phase=phase))
        found.profile = self._profiles.of(gang, found.profile)

    def _reread_members(self, gang: str) -> None:
        """Pods learn whether their group exists."""
        found = self.cluster.gangs.get(gang)
        tasks = found.tasks.values() if found is not None else ()
        self._stale |= dict.fromkeys((task.namespace, task.name) for task in tasks)

    def _forget_group(self, resource: Resource, obj: Object) -> None:
        id = self.groups[resource].id(obj.namespace, obj.name)
        if id in self._gathered:
            self._read_gathered(id)
        else:
            self._drop_gang(id)

    def _drop_gang(self, id: str) -> None:
        self._group_facts.pop(id, None)
        self._slots.withdraw(id)
        self._named_queues.drop_group(id)
        self._reread_members(id)
        self.cluster.remove_gang(id)
        self._forget_profile(id)

    def _forget_profile(self, gang: str) -> None:
        """Of a gang with neither group nor members nothing is left."""
        known = self.cluster.gangs.get(gang)
        if gang not in self._group_facts and (known is None or not known.tasks):
            self._profiles.forget(gang)
