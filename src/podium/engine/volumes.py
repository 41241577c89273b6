"""Volumes before pods: what the claims of a gang still lack is written, and its binds wait until it is there.

A place was chosen with the volumes in mind: for each claim without a volume the core has promised a free one that
the node reaches, or one is to be made for the node.  The first is given to the claim (`claimRef`), for the second
the node is named on the claim; then others act, a volume controller or a driver's provisioner.  The gang is held
meanwhile, with its room: a pod that is bound cannot go elsewhere, and half a gang is no use.

It ends in one of two ways.  All claims are bound to volumes that the nodes reach: the binds leave.  Or something
went wrong (a provisioner gives the node back, somebody else was faster, it takes too long): the gang's places are
given back, it rests, and is then decided on anew, with what its claims have got by then.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from enum import Enum

import msgspec

from podium.core.model.model import State, Task
from podium.core.profiles.profile import Profile
from podium.engine import effects
from podium.engine.world import World
from podium.errors import ApiError
from podium.kube import resources as r
from podium.kube.cache import Key, key_of
from podium.kube.changes import Patch
from podium.kube.resources import Resource
from podium.kube.volume_matching import SELECTED_NODE, is_bound, is_for, reaches
from podium.kube.wire import Node, Object, PersistentVolume, PersistentVolumeClaim, Pod
from podium.reasons import VOLUME_FAILED, Refusal, refuse

TIMEOUT = 600.0
_ARGUMENT = "volumebinding.bindTimeoutSeconds"


def bind_timeout(profile: Profile) -> float:
    """How long a profile waits for volumes, in seconds."""
    given = profile.argument(_ARGUMENT)
    return TIMEOUT if given is None else max(0.0, given)


class Want(msgspec.Struct):
    """What one claim is to get."""

    claim: Key
    uid: str
    node: str  # the one that it was chosen for
    volume: str  # one that is there; "" for one that is to be made
    gangs: set[str]  # who waits for it: pods of several gangs may use one claim
    version: str = ""  # of the volume as it was promised
    shown: bool = False  # what was written has been seen in the API
    fault: str = ""
    overtaken: bool = False  # the volume had changed when the promise came


class Held(msgspec.Struct):
    """A gang whose binds wait."""

    gang: str
    deadline: float
    nodes: dict[str, str] = {}  # by task
    claims: dict[str, list[Key]] = {}  # by task
    fault: Refusal | None = None


class Progress(Enum):
    """How far a claim, or a gang, has come."""

    WAITING = "somebody else has to act"
    BOUND = "it has its volumes"


class VolumeBinder:
    """Follows the claims of gangs that have their places."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held: dict[str, Held] = {}  # by gang
        self._wants: dict[Key, Want] = {}
        self._claim_of: dict[str, Key] = {}  # by volume that was promised
        self._moved: dict[str, None] = {}  # gangs to look at, in order
        self._deadlines: list[tuple[float, str]] = []
        self._writes: list[tuple[str, Patch]] = []  # with the gang that they are for

    def __bool__(self) -> bool:
        """Whether any gang waits for its volumes."""
        return bool(self._held)

    def concerns(self, task: Task) -> bool:
        """Whether a bind has to wait: for the task's own volumes, or for those of its gang."""
        return task.gang.id in self._held or any(claim.open for claim in task.cls.constraints.claims)

    # --- holding ---------------------------------------------------------------------------------------------

    def hold(self, gang: str, placed: Iterable[tuple[Task, str]], deadline: float) -> None:
        """Keeps a gang's binds back until its claims are bound.  More of a gang that is held already joins it."""
        held = self._held.get(gang)
        if held is None:
            held = self._held[gang] = Held(gang, deadline)
            heapq.heappush(self._deadlines, (deadline, gang))
        self._moved[gang] = None
        for task, node in placed:
            held.nodes[task.id] = node
            held.claims[task.id] = []
            for claim, volume in self._lacking(task, held):
                key = key_of(claim)
                held.claims[task.id].append(key)
                want = self._wants.get(key)
                if want is None:
                    want = self._wants[key] = Want(key, claim.uid, node, volume, set())
                    want.gangs.add(gang)
                    self._write(want, claim)
                want.gangs.add(gang)

    def take_writes(self) -> list[tuple[str, Patch]]:
        """What has to be written, each with the gang that it is for."""
        taken, self._writes = self._writes, []
        return taken

    def _lacking(self, task: Task, held: Held) -> Sequence[tuple[PersistentVolumeClaim, str]]:
        """The claims of a task that have no volume, each with what the core has promised it."""
        cache, wanted = self._world.cache, task.cls.constraints
        pod = cache.find(r.PODS, Pod, (task.namespace, task.name))
        if pod is None or not wanted.claims:
            return ()
        found = self._world.reader.volumes.read(pod)
        if found.constraints.claims != wanted.claims:
            names = ", ".join("/".join(key) for key in found.claims)
            detail = "it has changed since the node was chosen"
            held.fault = refuse(VOLUME_FAILED, claim=names, node=held.nodes[task.id], detail=detail)
            return ()
        promised = self._world.cluster.claims.chosen(task) or ("",) * len(wanted.claims)
        lacking = []
        for key, claim, volume in zip(found.claims, wanted.claims, promised, strict=True):
            obj = cache.find(r.PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, key)
            if claim.open and obj is not None:
                lacking.append((obj, volume))
        return lacking

    def _write(self, want: Want, claim: PersistentVolumeClaim) -> None:
        """Gives a claim its volume, or names the node; nothing, if an earlier attempt has written it."""
        gang = min(want.gangs)
        if not want.volume:
            if claim.annotations.get(SELECTED_NODE) != want.node:
                self._writes.append((gang, effects.selected_node(claim, want.node)))
            return
        self._claim_of[want.volume] = want.claim
        volume = self._world.cache.find(r.PERSISTENTVOLUMES, PersistentVolume, ("", want.volume))
        if volume is None or (volume.spec.claim_ref is not None and volume.spec.claim_ref.uid == claim.uid):
            return
        want.version = volume.metadata.resource_version
        self._writes.append((gang, effects.promised_volume(volume, claim)))

    # --- what happened ---------------------------------------------------------------------------------------

    def touched(self, resource: Resource, obj: Object) -> None:
        """An object came, changed or went: whoever waits for it is looked at."""
        if not self._held:
            return
        if isinstance(obj, PersistentVolumeClaim):
            self._look_at(key_of(obj))
        elif isinstance(obj, PersistentVolume):
            self._look_at(self._claim_of.get(obj.name))
            if obj.spec.claim_ref is not None:
                self._look_at((obj.spec.claim_ref.namespace, obj.spec.claim_ref.name))
        elif isinstance(obj, Node):
            self._moved |= dict.fromkeys(self._held)

    def refused(self, change: Patch, error: ApiError) -> None:
        """A write was refused."""
        is_volume = change.resource == r.PERSISTENTVOLUMES
        key = self._claim_of.get(change.name) if is_volume else (change.namespace, change.name)
        want = self._wants.get(key) if key is not None else None
        if want is not None:
            want.fault = f"the server refused it: {error.message}"
            want.overtaken = is_volume and error.code == 409
            self._look_at(key)

    def _look_at(self, claim: Key | None) -> None:
        want = self._wants.get(claim) if claim is not None else None
        if want is not None:
            self._moved |= dict.fromkeys(sorted(want.gangs))

    # --- how it ended ----------------------------------------------------------------------------------------

    def due(self, now: float) -> list[tuple[Held, Refusal | None]]:
        """The gangs whose waiting is over, each with what went wrong, if anything did."""
        while self._deadlines and self._deadlines[0][0] <= now:
            self._moved[heapq.heappop(self._deadlines)[1]] = None
        moved, self._moved = self._moved, {}
        over: list[tuple[Held, Refusal | None]] = []
        for gang in moved:
            held = self._held.get(gang)
            if held is None:
                continue
            verdict = self._verdict(held, now)
            if verdict is not Progress.WAITING:
                self._let_go(held)
                over.append((held, verdict if isinstance(verdict, Refusal) else None))
        return over

    def next_wake(self, now: float) -> float | None:
        if self._moved:
            return now
        return self._deadlines[0][0] if self._held and self._deadlines else None

    def _let_go(self, held: Held) -> None:
        del self._held[held.gang]
        for key in {key for keys in held.claims.values() for key in keys}:
            want = self._wants[key]
            want.gangs.discard(held.gang)
            if not want.gangs:
                del self._wants[key]
                self._claim_of.pop(want.volume, None)

    def _verdict(self, held: Held, now: float) -> Progress | Refusal:
        """How far a gang's volumes have come, or what is wrong with them."""
        if held.fault is not None:
            return held.fault
        waits: Want | None = None
        for id, node in held.nodes.items():
            task = self._world.cluster.tasks.get(id)
            if task is None or task.state is not State.BINDING:
                continue  # it has gone its own way, and nobody has to wait for its claims
            machine = self._world.cache.find(r.NODES, Node, ("", node))
            for key in held.claims[id]:
                want = self._wants[key]
                found = self._progress(want, machine)
                if found is Progress.WAITING:
                    waits = want
                elif isinstance(found, str):
                    return refuse(VOLUME_FAILED, claim="/".join(key), node=node, detail=found)
        if waits is not None and now >= held.deadline:
            detail = "it was not bound in time"
            return refuse(VOLUME_FAILED, claim="/".join(waits.claim), node=waits.node, detail=detail)
        return Progress.BOUND if waits is None else Progress.WAITING

    def _progress(self, want: Want, node: Node | None) -> Progress | str:
        """How far a claim has come, or what went wrong."""
        cache = self._world.cache
        claim = cache.find(r.PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim, want.claim)
        if node is None:
            return "the node is gone"
        if claim is None or claim.uid != want.uid:
            return "the claim is gone"
        if claim.deleting:
            return "the claim is being deleted"
        if is_bound(claim):
            volume = cache.find(r.PERSISTENTVOLUMES, PersistentVolume, ("", claim.spec.volume_name))
            if volume is None:
                return Progress.WAITING  # the watch of volumes is behind that of claims
            if reaches(volume, node):
                return Progress.BOUND
            return f"it was bound to {volume.name}, which that node does not reach"
        return self._write_fault(want, claim) or Progress.WAITING

    def _write_fault(self, want: Want, claim: PersistentVolumeClaim) -> str:
        """What has become of what was written, if it does not stand any more."""
        if not want.volume:
            return want.fault or _selection_fault(want, claim)
        volume = self._world.cache.find(r.PERSISTENTVOLUMES, PersistentVolume, ("", want.volume))
        if volume is None:
            return f"volume {want.volume} is gone"
        reference = volume.spec.claim_ref
        if is_for(reference, claim):
            want.shown = True  # also a promise that was refused as a second one stands
            return ""
        if reference is not None:
            return f"volume {want.volume} was given to {reference.namespace}/{reference.name}"
        if want.shown:
            return f"volume {want.volume} was taken back"
        if want.overtaken:
            # It changed in some other way, and is as free as before: once more, when its new version is known.
            if volume.metadata.resource_version != want.version:
                want.overtaken, want.fault = False, ""
                self._write(want, claim)
            return ""
        return want.fault


def _selection_fault(want: Want, claim: PersistentVolumeClaim) -> str:
    """What has become of the node that was named on a claim."""
    selected = claim.annotations.get(SELECTED_NODE, "")
    if selected == want.node:
        want.shown = True
    elif selected:
        return f"node {selected} was chosen for it"
    elif want.shown:
        return "its provisioner gave the node back"
    return ""
