"""A toy dialect in one module: Teams are gangs, and Pools are queues.

    kind: Team     spec: {count: 4, minimum: 2, pool: small, template: ...}   its controller makes the pods
                     reserve: true     places first (status.places), then the pods for them
                     patient: true     places that were found are held while the others are looked for
                     partners: [b, c]  teams that start together with it
                     most: 6           it grows by one at a time, as far as there is room (status.wanted)
    kind: Pool     spec: {cpus: 5, nodes: [a, b]}        what its pods may hold together, and the nodes it owns

Nothing else of podium knows it.  `registered` is the line that makes it spoken.
"""

# mypy reads a Struct as a dataclass and asks for `frozen` on every subclass; msgspec inherits it.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import msgspec

import podium.dialects
from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.cluster.slots import slot_id
from podium.core.framework.action import Action
from podium.core.framework.session import Session
from podium.core.model import quorum
from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang, Mode, Phase, Queue, Size
from podium.dialects.dialect import (
    BuiltInProfile,
    Dialect,
    Document,
    GroupKind,
    Ownership,
    Progress,
    QueueKind,
    Setting,
    Slot,
    State,
    Verdict,
)
from podium.dialects.kubernetes.membership import Marks, Membership, QueueMark
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.queue_report import QueueReport
from podium.dialects.workloads import NAMESPACE, Rng, Workload, template
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Patch
from podium.kube.conditions import owner_reference
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.job_members import Member, Members, Role, controlled_pods, delete_pod, to_create
from podium.kube.mapping import controlled_by, itself
from podium.kube.resources import PODS, Resource
from podium.kube.rights import Right
from podium.kube.times import parse_time
from podium.kube.wire import Node, Object, Pod, View
from podium.kube.writing import pod_from_template
from podium.reasons import Refusal
from podium.schema.crd import Column, Definition, said

TEAMS = Resource("toy.example.com", "v1", "teams", "Team")
POOLS = Resource("toy.example.com", "v1", "pools", "Pool", namespaced=False)
TEAM, INDEX, POOL = "toy.example.com/team", "toy.example.com/index", "toy.example.com/pool"
RESERVED = "toy.example.com/reserved"  # on pods for which there is a slot
SCHEDULER = "toy-scheduler"

_PROFILE = """
period: 2s
actions: "allocate, grow"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeowner}, {name: capacity}, {name: nodeorder}]
"""


class TeamSpec(View):
    count: Annotated[int, said("Its pods.", minimum=0)] = 1
    minimum: Annotated[int, said("How many of them start together.", minimum=0)] = 1
    pool: Annotated[str, said("Whose part of the cluster is used.")] = ""
    reserve: Annotated[bool, said("Places are found before there are pods.")] = False
    patient: Annotated[bool, said("Places are held while others are looked for.")] = False
    partners: Annotated[list[str] | None, said("Teams that start together with it.")] = None
    most: Annotated[int, said("How far it may grow.", minimum=0)] = 0
    template: Annotated[msgspec.Raw, said("The pods.", built_in="PodTemplateSpec")] = msgspec.Raw(b"{}")


class TeamStatus(View):
    places: Annotated[dict[str, str] | None, said("The nodes of its pods, by index.")] = None
    wanted: Annotated[int, said("How many pods it shall have.")] = 0


class Team(Object):
    spec: TeamSpec = TeamSpec()
    status: TeamStatus = TeamStatus()

    @property
    def size(self) -> int:
        return max(self.spec.count, self.status.wanted)


class PoolSpec(View):
    cpus: Annotated[int, said("What its pods may hold together.")] = 0
    nodes: Annotated[list[str] | None, said("The nodes that it owns.")] = None


class Pool(Object):
    spec: PoolSpec = PoolSpec()


# --- objects to facts ----------------------------------------------------------------------------------------


def _gang_id(namespace: str, name: str) -> str:
    return f"toy/{namespace}/{name}"


def _queue_id(name: str) -> str:
    return f"toy/{name}"


def _read_team(team: Team, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
    facts = GangFacts(
        id=_gang_id(team.namespace, team.name),
        namespace=team.namespace,
        name=team.name,
        queue=_queue_id(team.spec.pool) if team.spec.pool else "",
        minimum=team.spec.minimum,
        created=parse_time(team.metadata.creation_timestamp),
        phase=Phase.INQUEUE,
        profile=SCHEDULER if team.spec.reserve else "",
        mode=Mode.NON_STRICT if team.spec.patient else Mode.STRICT,
        together=tuple(_gang_id(team.namespace, each) for each in team.spec.partners or ()),
        size=Size(team.spec.count, team.spec.most, team.size) if team.spec.most > team.spec.count else None,
    )
    return facts, None


def _slots(team: Team) -> list[Slot]:
    """With their places, as far as they have been found."""
    if not team.spec.reserve:
        return []
    document = pod_from_template(
        bytes(team.spec.template), team.namespace, team.name, owner_reference(team, TEAMS)
    )
    pod = msgspec.convert(document, Pod)
    places = team.status.places or {}
    return [
        Slot(slot_id(team.uid, "", index), _pod_name(team.name, "", index), pod, node=places.get(str(index), ""))
        for index in range(team.size)
    ]


def _decided(team: Team, gang: Gang, nodes: Mapping[str, str]) -> Patch | None:
    """The places that were found, and how large it shall be."""
    found = {slot.rpartition("/")[2]: node for slot, node in nodes.items()}
    known = team.status.places or {}
    status: Document = {}
    if team.spec.reserve and found != known:
        status["places"] = {**dict.fromkeys(known), **found}
    if gang.size is not None and gang.size.wanted != team.size:
        status["wanted"] = gang.size.wanted
    if not status:
        return None
    return Patch(TEAMS, team.namespace, team.name, {"status": status}, subresource="status", uid=team.uid)


def _slot_of(pod: Pod) -> str | None:
    owner, index = pod.metadata.controller, pod.annotations.get(INDEX)
    if owner is None or index is None or pod.annotations.get(RESERVED) != "true":
        return None
    return slot_id(owner.uid, "", int(index))


def _claims(pool: Pool) -> Callable[[Node], bool]:
    listed = frozenset(pool.spec.nodes or ())
    return lambda node: node.name in listed


def _judge(pools: Sequence[str]) -> tuple[str, Refusal | None]:
    """The pool that lists a node; of several none."""
    return (_queue_id(pools[0]) if len(pools) == 1 else ""), None


def _read_pool(pool: Pool) -> tuple[Queue, tuple[Refusal, ...]]:
    limit = {"cpu": pool.spec.cpus * 1000} if pool.spec.cpus else {}
    return Queue(id=_queue_id(pool.name), name=pool.name, capability=limit), ()


def _no_team_patch(team: Any, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    return None


def _no_pool_patch(pool: Any, report: QueueReport) -> Patch | None:
    return None


def _memberships(pod: Pod) -> tuple[Membership, ...]:
    name = pod.annotations.get(TEAM)
    if not name:
        return ()
    return (Membership(_gang_id(pod.namespace, name), f"{pod.namespace}/{name}", f"Team {name} of Toy"),)


def _pool_of(obj: Object) -> QueueMark | None:
    name = obj.annotations.get(POOL)
    return QueueMark(_queue_id(name), name, f"pool {name} of Toy") if name else None


# --- the controller --------------------------------------------------------------------------------------------


def _pod_name(team: str, role: str, index: int) -> str:
    return f"{team}-{index}"


class TeamController:
    """Keyed by Team: makes its pods."""

    name = "toy-team"

    def __init__(self) -> None:
        self.watches: Mapping[Resource, Mapper] = {TEAMS: itself, PODS: controlled_by(TEAMS)}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        team = cache.find(TEAMS, Team, key)
        if team is None or team.deleting:
            return NOTHING
        members = Members(_member(pod) for pod in controlled_pods(cache, team))
        roles, names = [Role("", team.size, team.spec.minimum)], partial(_pod_name, team.name)
        creation = to_create(members, roles, team.spec.minimum, names, team.namespace, cache)
        surplus = (each for each in members.surplus({"": team.size}) if not each.leaving)
        changes: list[Change] = [delete_pod(each.pod) for each in surplus]
        placed = team.status.places or {}
        for role, index in creation.places:
            if team.spec.reserve and str(index) not in placed:
                continue  # first a place, then a pod for it
            owner = owner_reference(team, TEAMS)
            pod = pod_from_template(bytes(team.spec.template), team.namespace, names(role, index), owner)
            reserved = {RESERVED: "true"} if team.spec.reserve else {}
            pod["metadata"]["annotations"] |= {TEAM: team.name, INDEX: str(index), **reserved}
            changes.append(Create(PODS, team.namespace, pod))
        return Outcome(tuple(changes))


def _member(pod: Pod) -> Member:
    return Member(pod, "", int(pod.annotations.get(INDEX, "-1")))


# --- an action of its own --------------------------------------------------------------------------------------


class Grow(Action):
    """Asks teams whose pods all have places for one more, as far as they may grow."""

    name = "grow"
    PEACEFUL = True

    def run(self, session: Session) -> Iterator[None]:
        for gang in session.own:
            size = gang.size
            if size is not None and size.wanted < size.most and quorum.started(gang) and gang.ready >= size.wanted:
                statement = session.statement()
                statement.resize(gang, size.wanted + 1)
                statement.commit()
                session.look_again(gang, session.now + 5.0)
            yield


# --- the record ------------------------------------------------------------------------------------------------


def team(name: str, pods: Document, **spec: Any) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": TEAMS.api_version,
        "kind": TEAMS.kind,
        "metadata": metadata,
        "spec": {**spec, "template": pods},
    }


def pool(name: str, cpus: int, *nodes: str) -> Document:
    spec = {"cpus": cpus, "nodes": list(nodes)}
    return {"apiVersion": POOLS.api_version, "kind": POOLS.kind, "metadata": {"name": name}, "spec": spec}


def _some_team(rng: Rng, name: str) -> list[Document]:
    """In a pool of its own dialect, or in whatever queue the draw has, or in neither."""
    ask, count = rng.ask(), rng.whole(2, 4)
    scheduler = rng.pick((SCHEDULER, ask.scheduler))
    asked = msgspec.structs.replace(ask, scheduler=scheduler)
    made = team(name, template(asked), count=count, minimum=rng.whole(1, count))
    where = rng.whole(0, 2)
    if where == 0:
        made["spec"]["pool"] = "small"
    elif where == 1:
        made["metadata"]["annotations"] = dict(ask.naming)
    manner = rng.pick(("plain", "reserve", "patient", "together", "elastic"))
    if manner == "reserve":
        made["spec"]["reserve"] = True
        made["spec"]["template"]["spec"]["schedulerName"] = SCHEDULER
    elif manner == "patient":
        made["spec"]["patient"] = True
    elif manner == "elastic":
        made["spec"]["most"] = count + rng.whole(1, 2)
    elif manner == "together":
        other = team(f"{name}-too", template(asked), count=2, minimum=2, partners=[name])
        made["spec"]["partners"] = [f"{name}-too"]
        return [made, other]
    return [made]


def _progress(document: Document, phases: Mapping[str, int]) -> Progress:
    done, count = phases.get("Succeeded", 0), document["spec"].get("count", 1)
    return Progress(State.DONE if done == count else State.GOING, f"{done} of {count} have done their work")


def toy(setting: Setting) -> Dialect:
    return Dialect(
        name="toy",
        marks=Marks(_memberships, _pool_of, slot=_slot_of),
        definitions=(
            Definition(TEAMS, Team, columns=(Column("Count", ".spec.count", "integer"),), status=True),
            Definition(POOLS, Pool),
        ),
        groups=(GroupKind(TEAMS, _gang_id, _read_team, _no_team_patch, _slots, _decided),),
        queues=(QueueKind(POOLS, _queue_id, _read_pool, _no_pool_patch, Ownership(_claims, _judge)),),
        controllers=(TeamController,),
        rights=(Right(TEAMS, ("patch",), "status"), Right(PODS, ("create", "delete"))),
        profiles={SCHEDULER: BuiltInProfile(_PROFILE)},
        workloads={"team": Workload(_some_team, gang=True)},
        surroundings=(pool("small", 5, "node-0"),),
        progress={TEAMS: _progress},
    )


@contextmanager
def registered() -> Iterator[None]:
    """While it lasts, the toy is spoken."""
    before = podium.dialects.REGISTERED
    podium.dialects.REGISTERED = (*before, toy)
    ACTIONS[Grow.name] = Grow
    try:
        yield
    finally:
        podium.dialects.REGISTERED = before
        del ACTIONS[Grow.name]
