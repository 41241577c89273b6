"""Gangs as their pods and PodGroups describe them, in the core's words.

Each value is that of the pod that speaks for the gang, else that of its PodGroup, else the default.  One that
cannot be read counts as not given, and is told in an event with its key and value; only a gang without a minimum,
and one whose name is none, cannot be scheduled as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from podium.core.model.attributes import MINIMUM_FIELD, TOGETHER_FIELD
from podium.core.model.durations import duration
from podium.core.model.facts import GangFacts
from podium.core.model.model import Phase
from podium.dialects.dialect import GatheredKind, Gathering, Reading
from podium.dialects.koordinator.marks import MARKS, group_label, name_field
from podium.dialects.koordinator.names import (
    GROUPS,
    GROUPS_TOO,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    POD_GROUP_MATCH_POLICY,
    POD_GROUP_MIN,
    PREFIX,
    SCHEDULER,
    TIMEOUT,
    TOTAL_NUMBER,
    WAITING_TIME,
    gang_id,
)
from podium.dialects.koordinator.options import MODES, POLICIES, Defaults
from podium.dialects.koordinator.types import SATISFIED, PodGroup
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.kubernetes.quantities import read_amounts
from podium.kube.changes import Patch
from podium.kube.names import check_dns_subdomain
from podium.kube.numbers import signed_number
from podium.kube.resources import PODS
from podium.kube.times import parse_time
from podium.kube.wire import Object, Pod
from podium.reasons import BAD_SPEC, NO_GANG, TIMED_OUT, Refusal, refuse

T = TypeVar("T")

_MOST, _LEAST = 2**31 - 1, -(2**31)
TOTAL, FROM = "total-number", "from"  # among a gang's attributes
FROM_GROUP, FROM_PODS = "GangFromPodGroupCrd", "GangFromPodAnnotation"
_OF_GROUP = " of its PodGroup"
ADVICE = (
    f"remove the annotation {TIMEOUT} from all its pods, and from those of gangs that start with it, to have it "
    f"tried again (kubectl annotate pod ... {TIMEOUT}-), or delete them"
)
_LIST = 'a JSON list such as ["ns-a/gang-a", "ns-b/gang-b"]'
_KIND_ADVICE = (
    "create it; if the cluster does not know the kind, install it first with `podium crds | kubectl apply -f -`"
)


class _Values:
    """Looks values up, first on the pod, then on the PodGroup, and notes those that cannot be read."""

    def __init__(self, pod: Pod | None, group: PodGroup | None) -> None:
        self.complaints: list[tuple[Object, Refusal]] = []
        self.found: dict[str, tuple[Object, str]] = {}  # where values stand, by their first key
        self._sources: list[tuple[Object, Mapping[str, str]]] = [
            (each, each.annotations) for each in (pod, group) if each is not None
        ]

    def of(
        self, keys: tuple[str, ...], read: Callable[[str], T | None], want: str, *, of_pod: bool = False
    ) -> T | None:
        """The first value that can be read.  An empty one is none."""
        for obj, said in self._sources:
            if of_pod and not isinstance(obj, Pod):
                continue
            key = next((each for each in keys if said.get(each)), None)
            if key is None:
                continue
            value, field = read(said[key]), f"metadata.annotations[{key}]"
            if value is not None:
                self.found[keys[0]] = obj, field
                return value
            self.complain(obj, field, said[key], want)
        return None

    def where(self, key: str) -> str:
        """Where a value stands, as members are told."""
        obj, field = self.found.get(key, (None, ""))
        return field if obj is None or isinstance(obj, Pod) else field + _OF_GROUP

    def check_names(self, named: tuple[str, ...]) -> None:
        """A gang that nobody can be called is waited for like any that is not there; but it is told."""
        for each in named:
            namespace, _, name = each.partition("/")
            if check_dns_subdomain(namespace) or check_dns_subdomain(name):
                obj, field = self.found[GROUPS]
                detail = f"{each!r} names no gang, and is waited for in vain; want namespace/gang"
                self.complaints.append((obj, refuse(BAD_SPEC, field=field, detail=detail)))

    def check_minimum(self, obj: Object, number: int, field: str) -> None:
        if number < 0:
            self.complaints.append((obj, refuse(BAD_SPEC, field=field, detail=f"{number} is read as 0")))

    def complain(self, obj: Object, field: str, value: object, want: str) -> None:
        detail = f"{value!r} is read as if it were not there; want {want}"
        self.complaints.append((obj, refuse(BAD_SPEC, field=field, detail=detail)))


# --- single values -----------------------------------------------------------------------------------------------


def _int32(text: str) -> int | None:
    number = signed_number(text)
    return number if number is not None and _LEAST <= number <= _MOST else None


def read_min(pod: Pod) -> tuple[int | None, str, str]:
    """How many members a pod says must start together, with the field it stands in and its text."""
    for place, marks in (("labels", pod.labels), ("annotations", pod.annotations)):
        if marks.get(POD_GROUP_MIN):
            return _int32(marks[POD_GROUP_MIN]), f"metadata.{place}[{POD_GROUP_MIN}]", marks[POD_GROUP_MIN]
    text = pod.annotations.get(MIN_AVAILABLE, "")
    return _int32(text), f"metadata.annotations[{MIN_AVAILABLE}]", text


def read_groups(text: str) -> tuple[str, ...] | None:
    """The gangs of a group, as namespace/name; None for text that is no list of them."""
    try:
        found = msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError:
        return None
    return tuple(dict.fromkeys(each.strip() for each in found))


def _duration(text: str) -> float | None:
    return duration(text, zero=True)


# --- a gang ------------------------------------------------------------------------------------------------------


def speaks(pod: Pod) -> bool:
    """Whether a pod says enough by itself.  One that names a PodGroup waits for it."""
    return not group_label(pod) and read_min(pod)[0] is not None


def _read(defaults: Callable[[], Defaults], known: Gathering, priorities: Priorities) -> Reading:
    group = known.group if known.group is not None and not known.group.made else None
    pod, usual = known.speaker, defaults()
    if pod is None and group is None:
        return Reading()
    values = _Values(pod, group)
    fault = _bad_name(known)
    minimum, of_minimum = (
        (group.spec.min_member, "spec.minMember" + _OF_GROUP) if group is not None else (None, "")
    )
    if group is not None:
        values.check_minimum(group, group.spec.min_member, "spec.minMember")
    if pod is not None:
        own, field, text = read_min(pod)
        if own is not None:
            values.check_minimum(pod, own, field)
            if group is not None or not group_label(pod):
                minimum, of_minimum = own, field
        elif text:
            values.complain(pod, field, text, "a whole number in quotes")
        if minimum is None:
            return _not_yet(known, pod, field, text, values)
    assert minimum is not None
    mode = values.of((MODE,), MODES.get, "Strict or NonStrict")
    policy = values.of((MATCH_POLICY, POD_GROUP_MATCH_POLICY), POLICIES.get, ", ".join(POLICIES))
    total = values.of((TOTAL_NUMBER,), _int32, "a whole number in quotes")
    named = values.of((GROUPS, GROUPS_TOO), read_groups, _LIST) or ()
    values.check_names(named)
    waiting = values.of((WAITING_TIME,), _duration, "a duration such as 600s", of_pod=True)
    if not waiting and group is not None:
        waiting = float(group.spec.schedule_timeout_seconds or 0)
    needs = None
    if group is not None and group.spec.min_resources is not None:
        needs, bad = read_amounts(group.spec.min_resources, "spec.minResources")
        fault = fault or (bad[0] if bad else None)
    if known.expired:
        fault = refuse(TIMED_OUT, gang=f"{known.namespace}/{known.name}", advice=ADVICE)
    speaker = group or pod
    assert speaker is not None
    strict = MODES["Strict"]
    facts = GangFacts(
        id=gang_id(known.namespace, known.name),
        namespace=known.namespace,
        name=known.name,
        queue="",
        minimum=max(0, minimum),
        least_resources=needs,
        priority=(pod.spec.priority or 0) if pod is not None else 0,
        sub_priority=(MARKS.sub_priority(pod) or 0) if pod is not None else 0,
        created=parse_time(speaker.metadata.creation_timestamp),
        phase=Phase.INQUEUE,
        profile=SCHEDULER,
        mode=mode if mode is not None else usual.mode,
        fail_fast=(mode if mode is not None else usual.mode) is strict,
        match=policy if policy is not None else usual.policy,
        waiting_time=waiting if waiting is not None and waiting > 0 else usual.waiting_time,
        together=tuple(PREFIX + each for each in named if each != f"{known.namespace}/{known.name}"),
        attributes={
            TOTAL: str(total if total is not None and total >= minimum and total > 0 else max(0, minimum)),
            FROM: FROM_GROUP if group is not None else FROM_PODS,
            MINIMUM_FIELD: of_minimum,
            TOGETHER_FIELD: values.where(GROUPS),
        },
    )
    return Reading(facts, fault, tuple(values.complaints))


def _bad_name(known: Gathering) -> Refusal | None:
    wrong = check_dns_subdomain(known.name)
    if wrong is None or known.group is not None or known.speaker is None:
        return None
    return refuse(BAD_SPEC, field=name_field(known.speaker), detail=f"{known.name!r} is no name: {wrong}")


def _not_yet(known: Gathering, pod: Pod, field: str, text: str, values: _Values) -> Reading:
    """A gang of which nobody has said how many start together."""
    if group_label(pod):
        name = f"PodGroup {known.namespace}/{known.name} of Koordinator"
        missing = refuse(NO_GANG, group=name, advice=_KIND_ADVICE)
        return Reading(None, _bad_name(known) or missing, tuple(values.complaints))
    said = f"{text!r} is no whole number" if text else "it is missing"
    detail = f"{said}; say how many pods of gang {known.name} start together"
    return Reading(None, _bad_name(known) or refuse(BAD_SPEC, field=field, detail=detail))


# --- timed out, and satisfied once -------------------------------------------------------------------------------


def _expired(pod: Pod) -> bool:
    annotations = pod.metadata.annotations
    return annotations is not None and annotations.get(TIMEOUT) == "true"


def _expire(pod: Pod) -> Patch:
    return Patch(PODS, pod.namespace, pod.name, {"metadata": {"annotations": {TIMEOUT: "true"}}}, uid=pod.uid)


def was_satisfied(group: PodGroup) -> bool:
    return any(
        each.get("type") == SATISFIED and each.get("status") == "True" for each in group.status.conditions or ()
    )


def _describes(group: PodGroup) -> bool:
    return not group.made


def gathered(defaults: Callable[[], Defaults]) -> GatheredKind:
    """How gangs are read, with the defaults that are in force."""

    def read(known: Gathering, priorities: Priorities) -> Reading:
        return _read(defaults, known, priorities)

    return GatheredKind(
        PREFIX, read, speaks, _expired, _expire, was_satisfied, describes=lambda group: not group.made
    )
