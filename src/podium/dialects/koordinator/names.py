"""Names by which Koordinator's gangs are written."""

from __future__ import annotations

from podium.kube.resources import Resource

DIALECT = "koordinator"
SCHEDULER = "koord-scheduler"

PODGROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")
# The same kind as its community has it since: read, where a server has it.
COMMUNITY_PODGROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")

_GANG = "gang.scheduling.koordinator.sh"
NAME = f"{_GANG}/name"
MIN_AVAILABLE = f"{_GANG}/min-available"
WAITING_TIME = f"{_GANG}/waiting-time"
TOTAL_NUMBER = f"{_GANG}/total-number"
MODE = f"{_GANG}/mode"
GROUPS = f"{_GANG}/groups"
GROUPS_TOO = f"{_GANG}/gang-groups"  # as the document has it once
MATCH_POLICY = f"{_GANG}/match-policy"
TIMEOUT = f"{_GANG}/timeout"

# On pods, as a label: the PodGroup of this name.  As an annotation: a gang of this name.
POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
COMMUNITY_POD_GROUP = "scheduling.x-k8s.io/pod-group"
# As labels or as annotations.
POD_GROUP_NAME = f"{POD_GROUP}/name"
POD_GROUP_MIN = f"{POD_GROUP}/min-available"
POD_GROUP_MATCH_POLICY = f"{POD_GROUP}/match-policy"

SUB_PRIORITY = "koordinator.sh/priority"  # a label

# On PodGroups that were made after the annotations of pods.
MADE = "PodGroupFromPodAnnotation"

PREFIX = f"{DIALECT}/"


def gang_id(namespace: str, name: str) -> str:
    """A gang's id in the core."""
    return f"{PREFIX}{namespace}/{name}"
