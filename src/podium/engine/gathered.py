"""Gangs that their pods describe (`dialects.dialect.GatheredKind`): their members, and who speaks for them.

Only one pod of such a gang is read for it, so a member that comes later costs nothing but its place in line: the
gang is read again when its object or the pod that speaks has changed.  Both lines are heaps from which members
that have left are dropped when they come up.

What else its pods say is that it has timed out.  One pod is enough; the others, and those that come later, get the
same mark, in every gang that is tied to it.  A pod from which a user has taken the mark does not get it again, or
the two would write for ever: it shows by what is remembered of it, and after a restart by its condition, which is
written after the mark.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator

from podium.dialects.dialect import GatheredKind, Gathering, GroupKind, Reading
from podium.dialects.kubernetes.policies import Priorities
from podium.kube import resources as r
from podium.kube.cache import Cache
from podium.kube.changes import Patch
from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod, condition
from podium.reasons import TIMED_OUT

# When a pod was created, its name and its UID: where members differ, the first of them counts.
Rank = tuple[str, str, str]


class _Members:
    """The pods of one gang."""

    def __init__(self, kind: GatheredKind, namespace: str, name: str) -> None:
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.ranks: dict[str, Rank] = {}  # by UID
        self.speaking: set[str] = set()  # those that say enough by themselves
        self.marked: set[str] = set()  # those that show that the gang has timed out
        self.marking: set[str] = set()  # those on which it is being written
        self.unmarked: set[str] = set()  # those from which that has been taken back
        self.gone: set[str] = set()  # those that the server has no more, though no watch has said so yet
        self._all: list[Rank] = []
        self._speakers: list[Rank] = []
        self.speaker: Rank | None = None

    def put(self, pod: Pod) -> None:
        rank = (pod.metadata.creation_timestamp or "", pod.name, pod.uid)
        speaks = self.kind.speaks(pod)
        if pod.uid not in self.ranks:
            self.ranks[pod.uid] = rank
            heapq.heappush(self._all, rank)
        if speaks and pod.uid not in self.speaking:
            self.speaking.add(pod.uid)
            heapq.heappush(self._speakers, rank)
        elif not speaks:
            self.speaking.discard(pod.uid)
        if self.kind.expired(pod):
            self.marked.add(pod.uid)
            self.unmarked.discard(pod.uid)
        elif pod.uid in self.marked or _said_so(pod):
            self.marked.discard(pod.uid)
            self.unmarked.add(pod.uid)

    def drop(self, uid: str) -> None:
        for some in (self.speaking, self.marked, self.marking, self.unmarked, self.gone):
            some.discard(uid)
        self.ranks.pop(uid, None)

    @property
    def expired(self) -> bool:
        return bool(self.marked or self.marking)

    def first(self, *, with_object: bool) -> Rank | None:
        """Who speaks."""
        speaker = None if with_object else _first(self._speakers, self.speaking)
        return speaker or _first(self._all, self.ranks)


def _first(heap: list[Rank], known: Container[str]) -> Rank | None:
    while heap and heap[0][2] not in known:
        heapq.heappop(heap)
    return heap[0] if heap else None


def _said_so(pod: Pod) -> bool:
    """Whether a pod has been told that its gang timed out, which is done after it was marked."""
    scheduled = condition(pod.status.conditions, "PodScheduled")
    return scheduled is not None and scheduled.status == "False" and scheduled.reason == TIMED_OUT.code


class Gathered:
    """All gangs of such kinds, by id."""

    def __init__(self, groups: Iterable[tuple[Resource, GroupKind]], cache: Cache) -> None:
        self._cache = cache
        self._kinds: dict[str, GatheredKind] = {}
        self._resources: dict[str, list[Resource]] = {}  # by prefix: whose objects describe such gangs, in order
        for resource, group in groups:
            if group.gathered is not None:
                self._kinds[group.gathered.prefix] = group.gathered
                self._resources.setdefault(group.gathered.prefix, []).append(resource)
        self._prefixes = tuple(self._kinds)
        self._gangs: dict[str, _Members] = {}
        self._homes: dict[str, str] = {}  # by UID of a pod: its gang
        self._awaited: dict[str, Reading] = {}  # gangs that are none yet
        self._expired: dict[str, None] = {}  # gangs that have timed out, in order

    def __contains__(self, gang: str) -> bool:
        return gang in self._gangs

    def __iter__(self) -> Iterator[str]:
        return iter(self._gangs)

    # --- members -------------------------------------------------------------------------------------------------

    def put(self, pod: Pod, gang: str) -> list[str]:
        """A pod as it is; the gangs that are to be read again."""
        left = self.drop(pod.uid) if self._homes.get(pod.uid, gang) != gang else []
        if not gang.startswith(self._prefixes):
            return left
        kind = self._kind_of(gang)
        assert kind is not None
        members = self._gangs.get(gang)
        if members is None:
            name = gang.removeprefix(f"{kind.prefix}{pod.namespace}/")
            members = self._gangs[gang] = _Members(kind, pod.namespace, name)
        was, marked = members.expired, pod.uid in members.marked
        members.put(pod)
        self._homes[pod.uid] = gang
        if members.marked:
            self._expired[gang] = None
        speaker = members.first(with_object=self._described(gang))
        stays = speaker == members.speaker and speaker is not None and speaker[2] != pod.uid
        stays = stays and was == members.expired and marked == (pod.uid in members.marked)
        return left if stays else [*left, gang]

    def drop(self, uid: str) -> list[str]:
        """A pod is gone, or in another gang; the gangs that are to be read again."""
        gang = self._homes.pop(uid, None)
        if gang is None:
            return []
        members = self._gangs[gang]
        was = members.expired
        members.drop(uid)
        speaker = members.first(with_object=self._described(gang))
        stays = speaker is not None and speaker == members.speaker and was == members.expired
        return [] if stays else [gang]

    def put_group(self, kind: GatheredKind, obj: Object) -> str:
        """A gang's object came or changed: the gang, which is to be read again."""
        gang = kind.id(obj.namespace, obj.name)
        self._gangs.setdefault(gang, _Members(kind, obj.namespace, obj.name))
        return gang

    def group_of(self, gang: str) -> Object | None:
        """The object of a gang: of the first kind that has one which says something of its own, or any."""
        kind, members = self._kind_of(gang), self._gangs.get(gang)
        if kind is None or members is None:
            return None
        asked = (self._cache.get(each, members.namespace, members.name) for each in self._resources[kind.prefix])
        found = [each for each in asked if each is not None]
        return next((each for each in found if kind.describes(each)), found[0] if found else None)

    def _described(self, gang: str) -> bool:
        """Whether the gang has an object that says something of its own."""
        group, kind = self.group_of(gang), self._kind_of(gang)
        return group is not None and kind is not None and kind.describes(group)

    def _kind_of(self, gang: str) -> GatheredKind | None:
        return next((kind for prefix, kind in self._kinds.items() if gang.startswith(prefix)), None)

    # --- reading -------------------------------------------------------------------------------------------------

    def read(self, gang: str, priorities: Priorities) -> Reading | None:
        """A gang as it is; None if nothing is left of it."""
        members = self._gangs.get(gang)
        if members is None:
            return None
        group = self.group_of(gang)
        if group is None and not members.ranks:
            del self._gangs[gang]
            self._awaited.pop(gang, None)
            return None
        members.speaker = members.first(with_object=self._described(gang))
        pod = self._pod(members, members.speaker[2]) if members.speaker is not None else None
        known = Gathering(members.namespace, members.name, group, pod, members.expired)
        reading = members.kind.read(known, priorities)
        if reading.facts is None:
            self._awaited[gang] = reading
        else:
            self._awaited.pop(gang, None)
        return reading

    def awaited(self, gang: str) -> Reading | None:
        """What the pods of a gang wait for that is none yet."""
        return self._awaited.get(gang)

    def was_satisfied(self, gang: str) -> bool:
        """Whether its object remembers that enough pods were bound once."""
        group, kind = self.group_of(gang), self._kind_of(gang)
        return group is not None and kind is not None and kind.was_satisfied(group)

    def _pod(self, members: _Members, uid: str) -> Pod | None:
        rank = members.ranks.get(uid)
        pod = self._cache.find(r.PODS, Pod, (members.namespace, rank[1])) if rank is not None else None
        return pod if pod is not None and pod.uid == uid else None

    # --- gangs that have timed out -------------------------------------------------------------------------------

    def expire(self, gang: str) -> list[Patch]:
        """A gang has timed out: what is to be written on its pods.  All of them are marked again."""
        members = self._gangs.get(gang)
        if members is not None:
            members.unmarked.clear()
        return self._mark(gang)

    @property
    def any_expired(self) -> bool:
        """Whether any gang may have timed out."""
        return bool(self._expired)

    def settle(self, tied: Iterable[Iterable[str]]) -> list[tuple[str, list[Patch]]]:
        """Marks that are missing: on pods that came later, in gangs tied to theirs, or after a crash; by gang."""
        for gang in [each for each in self._expired if each not in self._gangs or not self._gangs[each].expired]:
            del self._expired[gang]
        wanted = dict(self._expired)
        for group in map(set, tied) if wanted else ():
            if not group.isdisjoint(wanted):
                wanted |= dict.fromkeys(sorted(group))
        return [(gang, patches) for gang in wanted if (patches := self._mark(gang))]

    def _mark(self, gang: str) -> list[Patch]:
        members = self._gangs.get(gang)
        if members is None:
            return []
        patches = []
        for uid in members.ranks.keys() - members.marked - members.unmarked - members.marking - members.gone:
            pod = self._pod(members, uid)
            if pod is not None and not pod.spec.node_name and not pod.finished and not pod.deleting:
                members.marking.add(uid)
                patches.append(members.kind.expire(pod))
        return sorted(patches, key=lambda each: each.name)

    def answered(self, uid: str, *, gone: bool) -> str | None:
        """The answer to a mark has come; the gang that it was for.  `gone`: there was nothing to write it on."""
        gang = self._homes.get(uid)
        if gang is not None:
            self._gangs[gang].marking.discard(uid)
            if gone:
                self._gangs[gang].gone.add(uid)  # asked again it would answer the same until the watch says so
        return gang

    def is_marked(self, uid: str) -> bool:
        """Whether a pod shows that its gang has timed out."""
        gang = self._homes.get(uid)
        return gang is not None and uid in self._gangs[gang].marked
