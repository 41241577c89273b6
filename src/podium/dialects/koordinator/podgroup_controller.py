"""PodGroups of Koordinator's gangs: how they stand, and those that are made for gangs of annotations.

The status is for people, and for a scheduler that starts anew: it remembers that the minimum was bound once.  The
scheduler does not wait for it, nor for a group that is made here: such a gang is known by its pods.  So a group is
looked at once a second at the most, however many pods it has, and of a thousand gangs that start at once only some
are written in a second: the server is left to their binds.

    Pending         fewer pods than the minimum
    PreScheduling   enough pods
    Scheduling      fewer of them have a node than the minimum
    Scheduled       enough have one
    Running         enough run or have succeeded
    Failed          some have failed, and with those that run or have succeeded they are enough
    Finished        enough have succeeded

The last two are the end: they stay while there are pods of that life, and when all of them are gone.  Only pods
that come after that begin another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from podium.core.model.facts import GangFacts
from podium.dialects.dialect import Gathering
from podium.dialects.koordinator.gangs import gathered, speaks, was_satisfied
from podium.dialects.koordinator.marks import gang_name
from podium.dialects.koordinator.names import MADE, PODGROUPS
from podium.dialects.koordinator.options import Defaults
from podium.dialects.koordinator.types import SATISFIED, SCHEDULED, PodGroup
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.cache import Cache, Key
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.conditions import set_condition
from podium.kube.controller import NOTHING, Mapper, Outcome
from podium.kube.mapping import itself
from podium.kube.names import check_dns_subdomain
from podium.kube.resources import PODS, Resource
from podium.kube.times import format_time
from podium.kube.wire import Object, Pod, condition
from podium.reasons import HELD

Document = dict[str, Any]

_REST = 1.0
_WRITES_A_SECOND = 50.0
_ENDED = ("Finished", "Failed")
_UNTRIED = ("Pending", "PreScheduling")


class PodGroupController:
    """Keyed by gang."""

    name = "koordinator-podgroup"
    writes_a_second = _WRITES_A_SECOND

    def __init__(self, defaults: Callable[[], Defaults] = Defaults) -> None:
        self._defaults = defaults
        self._kind = gathered(defaults)
        self.watches: Mapping[Resource, Mapper] = {PODGROUPS: itself, PODS: _gang_of}

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome:
        namespace, name = key
        group = cache.find(PODGROUPS, PodGroup, key)
        found = cache.having(PODS, _named, f"{namespace}/{name}")
        pods = sorted((each for each in found if isinstance(each, Pod)), key=_age)
        if group is None:
            return Outcome(self._made(namespace, name, pods), rest=_REST)
        if group.deleting:
            return NOTHING
        if group.made and (not pods or not self._defaults().make_groups):
            return Outcome((Delete(PODGROUPS, namespace, name, uid=group.uid),))
        facts = self._facts(namespace, name, group, pods)
        least = facts.minimum if facts is not None else group.spec.min_member
        if (
            group.made
            and facts is not None
            and (spec := _spec(facts))
            != {
                "minMember": group.spec.min_member,
                "scheduleTimeoutSeconds": group.spec.schedule_timeout_seconds,
            }
        ):
            return Outcome((Patch(PODGROUPS, namespace, name, {"spec": spec}, uid=group.uid),), rest=_REST)
        return Outcome(_status(group, least, pods, now), rest=_REST)

    def _made(self, namespace: str, name: str, pods: Sequence[Pod]) -> tuple[Change, ...]:
        """The group of a gang that has none; it says what the pods say, and nobody reads it for that."""
        living = any(not pod.deleting for pod in pods)
        if not living or not self._defaults().make_groups or check_dns_subdomain(name):
            return ()
        facts = self._facts(namespace, name, None, pods)
        if facts is None:
            return ()
        document: Document = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": {"name": name, "annotations": {MADE: "true"}},
            "spec": _spec(facts),
        }
        return (Create(PODGROUPS, namespace, document),)

    def _facts(self, namespace: str, name: str, group: PodGroup | None, pods: Sequence[Pod]) -> GangFacts | None:
        """The gang as the scheduler reads it: what pods say overrides a group."""
        described = group if group is not None and not group.made else None
        speaker = next((pod for pod in pods if described is not None or speaks(pod)), None)
        return self._kind.read(Gathering(namespace, name, described, speaker), Priorities()).facts


def _spec(facts: GangFacts) -> Document:
    return {"minMember": facts.minimum, "scheduleTimeoutSeconds": int(facts.waiting_time or 0)}


def _age(pod: Pod) -> tuple[str, str]:
    return pod.metadata.creation_timestamp or "", pod.name


def _named(obj: Object) -> Iterable[str]:
    """The gang of a pod, by which it can be asked for."""
    name = gang_name(obj) if isinstance(obj, Pod) else ""
    return (f"{obj.namespace}/{name}",) if name else ()


def _gang_of(obj: Object, cache: Cache) -> Iterable[Key]:
    name = gang_name(obj) if isinstance(obj, Pod) else ""
    return ((obj.namespace, name),) if name else ()


# --- status ------------------------------------------------------------------------------------------------------


def _status(group: PodGroup, least: int, pods: Sequence[Pod], now: float) -> tuple[Change, ...]:
    """What of a group's status is not as it is; `least`: how many of its pods start together."""
    old = group.status
    phases = Counter(pod.status.phase for pod in pods)
    scheduled = sum(1 for pod in pods if pod.spec.node_name)
    running, succeeded, failed = (phases[each] for each in ("Running", "Succeeded", "Failed"))
    if old.phase in _ENDED and (old.scheduled or not pods):
        phase = old.phase
    else:
        phase = _phase(old.phase, least, len(pods), scheduled, running, succeeded, failed)
    status: Document = {
        "phase": phase,
        "scheduled": scheduled,
        "running": running,
        "succeeded": succeeded,
        "failed": failed,
    }
    if pods and phase != "Pending" and not old.occupied_by:
        status["occupiedBy"] = _owners(pods[0])
    if phase not in _UNTRIED and not old.schedule_start_time:
        status["scheduleStartTime"] = format_time(now)
    conditions = _conditions(group, least, pods, scheduled, now)
    if conditions != (old.conditions or []):
        status["conditions"] = conditions
    seen = {
        "phase": old.phase,
        "scheduled": old.scheduled,
        "running": old.running,
        "succeeded": old.succeeded,
        "failed": old.failed,
        "occupiedBy": old.occupied_by,
    }
    news = {key: value for key, value in status.items() if seen.get(key) != value}
    return (Patch(PODGROUPS, group.namespace, group.name, {"status": news}, uid=group.uid),) if news else ()


def _phase(known: str, least: int, pods: int, scheduled: int, running: int, succeeded: int, failed: int) -> str:
    """Where a group stands that has not ended."""
    if least <= 0 or (pods < least and not scheduled):
        return "Pending"
    if known in ("", "Pending", *_ENDED) and not scheduled:
        return "PreScheduling"
    phase = "Scheduled" if scheduled >= least else "Scheduling"
    if phase == "Scheduled" and succeeded + running >= least:
        phase = "Running"
    if failed and failed + running + succeeded >= least:
        phase = "Failed"
    if succeeded >= least:
        phase = "Finished"
    return phase


def _owners(pod: Pod) -> str:
    owners = (f"{pod.namespace}/{each.name}" for each in pod.metadata.owner_references or ())
    return ",".join(sorted(owners))


def _conditions(group: PodGroup, least: int, pods: Sequence[Pod], scheduled: int, now: float) -> list[Document]:
    """What a group says: why its pods wait, as they say it, and that its minimum was bound once."""
    conditions: list[Document] = [dict(each) for each in group.status.conditions or ()]
    if not pods:
        return [each for each in conditions if each.get("type") != SATISFIED]
    least = max(1, least)
    if scheduled >= least and not was_satisfied(group):
        conditions = set_condition(
            conditions, SATISFIED, "True", "MinimumBound", f"{scheduled} pods were bound", now
        )
    said = [
        each
        for pod in pods
        if not pod.spec.node_name
        and (each := condition(pod.status.conditions, "PodScheduled")) is not None
        and each.status == "False"
    ]
    if said:
        first = min(said, key=lambda each: each.reason != HELD.code)
        return set_condition(conditions, SCHEDULED, "False", first.reason, first.message, now)
    if scheduled >= least and any(each.get("type") == SCHEDULED for each in conditions):
        return set_condition(conditions, SCHEDULED, "True", "MinimumBound", "", now)
    return conditions
