"""The pods of a job in their places: what controllers of jobs have in common.

A job has so many places of each role (a task, a leader, a set of workers), and a pod's name follows from job, role
and index: a create that is repeated meets its own first try.  A pod belongs to a version of its job; what becomes
of pods of older versions is no news.  Pods are made in bounded steps, those of the gang first, so that a big job
holds up no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from podium.kube.cache import Cache
from podium.kube.changes import Delete
from podium.kube.resources import PODS
from podium.kube.wire import Object, Pod

# A bigger job is started (or stopped) in several looks, so that it does not hold up the smaller ones.
MOST_PODS_AT_ONCE = 500
# So many pods beyond its gang may wait for a place; more are made when these have theirs.  A job of a million
# tiny pods takes what room there is, and the server need not hold the rest.
MOST_WAITING = 5_000


NameOf = Callable[[str, int], str]  # from role and index


class Member(msgspec.Struct, frozen=True):
    """A pod in its place."""

    pod: Pod
    role: str
    index: int  # -1 for a pod that has none
    version: int = 0
    given_up: bool = False  # its controller has written down that it goes

    @property
    def leaving(self) -> bool:
        """Whether it is on its way out, or has been asked to go."""
        return self.given_up or self.pod.metadata.deletion_timestamp is not None

    @property
    def phase(self) -> str:
        return self.pod.status.phase

    @property
    def up(self) -> bool:
        """Whether others may rely on the pod: it has done its work, or is doing it."""
        if self.leaving:
            return False
        statuses = self.pod.status.container_statuses or ()
        return self.phase == "Succeeded" or (self.phase == "Running" and all(each.ready for each in statuses))


class Members:
    """The pods of one job at one moment."""

    def __init__(self, members: Iterable[Member], version: int = 0) -> None:
        """`version` is the job's present one."""
        self._version = version
        self.all = list(members)
        self._places: dict[str, dict[int, Member]] = {}
        for each in self.all:
            self._places.setdefault(each.role, {})[each.index] = each

    def of(self, role: str) -> dict[int, Member]:
        """The pods of a role by index."""
        return self._places.get(role, {})

    def current(self, member: Member) -> bool:
        """Whether a pod belongs to the job's present version."""
        return member.version >= self._version

    def surplus(self, replicas: Mapping[str, int]) -> Iterator[Member]:
        """Pods without a place: beyond the replicas of their role, or of no role at all."""
        return (each for each in self.all if not 0 <= each.index < replicas.get(each.role, 0))

    def missing(self, role: str, replicas: int) -> list[int]:
        """The places of a role without a pod that stays."""
        pods = self.of(role)
        return [index for index in range(replicas) if index not in pods or pods[index].leaving]

    def staying(self, role: str) -> int:
        """How many places of a role have a pod that stays."""
        return sum(not each.leaving for each in self.of(role).values())

    def phases(self, given_up: Collection[str] = ()) -> dict[str, Counter[str]]:
        """The places of each role by phase, without those that go and those of these UIDs."""
        found: dict[str, Counter[str]] = {}
        for role, members in self._places.items():
            stay = (each for each in members.values() if not each.leaving and each.pod.uid not in given_up)
            phases = Counter(each.phase for each in stay)
            if phases:
                found[role] = phases
        return found


# --- pods to make ------------------------------------------------------------------------------------------


class Role(msgspec.Struct, frozen=True):
    """Some of a job's pods that are alike."""

    name: str
    replicas: int
    minimum: int  # of these so many are the gang's


class Creation(msgspec.Struct):
    """The next places to make pods for, by role and index, and names that somebody else's pods have."""

    places: list[tuple[str, int]] = []
    blocked: list[str] = []


def places(roles: Sequence[Role]) -> Iterator[tuple[str, int]]:
    """Every place of these roles, those of the gang first: it cannot start while one of its roles has none."""
    for role in roles:
        yield from ((role.name, index) for index in range(min(role.minimum, role.replicas)))
    for role in roles:
        yield from ((role.name, index) for index in range(role.minimum, role.replicas))


def to_create(
    members: Members, roles: Sequence[Role], least: int, name: NameOf, namespace: str, cache: Cache
) -> Creation:
    """Places without a pod, as many as may be made at once.

    `least` are the pods that the job cannot start without; `name` gives those of pods.
    """
    idle = sum(not each.pod.spec.node_name and not each.pod.finished for each in members.all)
    most = min(MOST_PODS_AT_ONCE, max(MOST_WAITING - idle, least - len(members.all)))
    found = Creation()
    for role, index in places(roles):
        if len(found.places) >= most:
            break
        if index in members.of(role):
            continue
        if cache.get(PODS, namespace, name(role, index)) is not None:
            found.blocked.append(name(role, index))
        else:
            found.places.append((role, index))
    return found


# --- single pods -------------------------------------------------------------------------------------------


def controlled_pods(cache: Cache, owner: Object) -> Iterator[Pod]:
    """The pods that an owner controls."""
    for _, pod in cache.owned_by(owner.uid, PODS, owner.namespace):
        reference = pod.metadata.controller
        if isinstance(pod, Pod) and reference is not None and reference.uid == owner.uid:
            yield pod


def container_restarts(pods: Iterable[Pod]) -> int:
    """How often containers of pods that have not ended were started again."""
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Pending", "Running")
        for some in (pod.status.container_statuses, pod.status.init_container_statuses)
        for status in some or ()
    )


def exit_code(pod: Pod) -> int:
    """How the first container ended; 0 for well, or not at all."""
    for each in (pod.status.container_statuses or ())[:1]:
        if each.state is not None and each.state.terminated is not None:
            return each.state.terminated.exit_code
    return 0


def delete_pod(pod: Pod) -> Delete:
    return Delete(PODS, pod.namespace, pod.name, uid=pod.uid)
