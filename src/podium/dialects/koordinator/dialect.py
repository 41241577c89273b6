"""Koordinator's gangs, as the registry lists them."""

from __future__ import annotations

from functools import partial

import msgspec

from podium.core.model.facts import GangFacts
from podium.core.model.model import Gang
from podium.dialects.dialect import Dialect, Document, Gathering, GroupKind, Progress, Setting, State, Verdict
from podium.dialects.koordinator.gangs import gathered
from podium.dialects.koordinator.marks import MARKS
from podium.dialects.koordinator.names import COMMUNITY_PODGROUPS, DIALECT, PODGROUPS, SCHEDULER, gang_id
from podium.dialects.koordinator.options import OPTIONS, Defaults, read_options
from podium.dialects.koordinator.pages import page
from podium.dialects.koordinator.podgroup_controller import PodGroupController
from podium.dialects.koordinator.profile import PROFILE
from podium.dialects.koordinator.rewriting import rewrite_gang
from podium.dialects.koordinator.types import DEFINITIONS, CommunityPodGroup, PodGroup
from podium.dialects.koordinator.workloads import WORKLOADS
from podium.dialects.kubernetes.policies import Priorities
from podium.kube.changes import Patch
from podium.kube.resources import PODS, Resource
from podium.kube.rights import Right
from podium.reasons import Refusal


def _no_patch(group: PodGroup, gang: Gang, verdict: Verdict | None, cycle: str, now: float) -> Patch | None:
    """The status is the controller's; pods tell why they wait."""
    return None


def _progress(group: Document, phases: object) -> Progress:
    phase = group.get("status", {}).get("phase", "")
    ends = {"Finished": State.DONE, "Failed": State.FAILED}
    return Progress(ends.get(phase, State.GOING), phase or "new")


def koordinator(setting: Setting) -> Dialect:
    """The dialect."""

    def defaults() -> Defaults:
        return read_options(setting.options(SCHEDULER, OPTIONS))

    kind = msgspec.structs.replace(gathered(defaults), rewrite=rewrite_gang)

    def read(group: PodGroup, priorities: Priorities) -> tuple[GangFacts, Refusal | None]:
        """A group without pods."""
        reading = kind.read(Gathering(group.namespace, group.name, group), priorities)
        id, minimum = gang_id(group.namespace, group.name), group.spec.min_member
        return reading.facts or GangFacts(id, group.namespace, group.name, "", minimum=minimum), reading.fault

    def group_kind(resource: Resource) -> GroupKind:
        return GroupKind(resource, gang_id, read, _no_patch, gathered=kind)

    return Dialect(
        name=DIALECT,
        marks=MARKS,
        definitions=DEFINITIONS,
        groups=(group_kind(PODGROUPS), group_kind(COMMUNITY_PODGROUPS)),
        views={COMMUNITY_PODGROUPS: CommunityPodGroup},
        rights=(
            Right(PODGROUPS, ("create", "patch", "delete")),
            Right(PODS, ("patch",)),  # the mark of gangs that have timed out
        ),
        controllers=(partial(PodGroupController, defaults),),
        profiles={SCHEDULER: PROFILE},
        workloads=WORKLOADS,
        pages=page,
        progress={PODGROUPS: _progress},
        tour="*.yaml",
    )
