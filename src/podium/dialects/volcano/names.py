"""Names by which Volcano's objects and pods speak of each other."""

from __future__ import annotations

from podium.kube.resources import Resource

PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
COMMANDS = Resource("bus.volcano.sh", "v1alpha1", "commands", "Command")

DEFAULT_QUEUE = "default"
ROOT_QUEUE = "root"

# On pods.
GROUP_NAME = "scheduling.k8s.io/group-name"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"  # also on namespaces, for the groups in them
TASK_SPEC = "volcano.sh/task-spec"
TASK_PRIORITY = "volcano.sh/task-priority"

# On pods and groups.
PREEMPTABLE = "volcano.sh/preemptable"

# On queues.
HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"


def group_id(namespace: str, name: str) -> str:
    """A group's id in the core."""
    return f"volcano/{namespace}/{name}"


def queue_id(name: str) -> str:
    """A queue's id in the core."""
    return f"volcano/{name}"
