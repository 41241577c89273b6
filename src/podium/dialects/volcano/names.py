"""Names by which Volcano's objects and pods speak of each other."""

from __future__ import annotations

from podium.kube.resources import Resource

PODGROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
COMMANDS = Resource("bus.volcano.sh", "v1alpha1", "commands", "Command")

DIALECT = "volcano"
SCHEDULER = "volcano"
DEFAULT_QUEUE = "default"
ROOT_QUEUE = "root"

# On pods.
GROUP_NAME = "scheduling.k8s.io/group-name"
OWN_GROUP_NAME = "scheduling.volcano.sh/group-name"  # the same, as some of its tools write it
# As an annotation it asks to be put behind the gate of the same name, which the scheduler lifts.
ALLOCATION_GATE = "scheduling.volcano.sh/queue-allocation-gate"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"  # also on namespaces, for the groups in them
TASK_SPEC = "volcano.sh/task-spec"
TASK_PRIORITY = "volcano.sh/task-priority"

# On pods and groups.
PREEMPTABLE = "volcano.sh/preemptable"

# On groups, podium's own: who places the pods, if it is another scheduler.
SCHEDULER_NAME = "podium.dev/scheduler-name"

# On groups: how long one may wait before it is let in, whatever else was.
LONGEST_WAIT = ("volcano.sh/sla-waiting-time", "sla-waiting-time")

# On nodes.
NODE_GROUP = "volcano.sh/nodegroup-name"

# On queues.
HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"
NODE_GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"

# Among the limits of a quota: what its namespace counts in shares between namespaces.
NAMESPACE_WEIGHT = "volcano.sh/namespace.weight"


def group_id(namespace: str, name: str) -> str:
    """A group's id in the core."""
    return f"volcano/{namespace}/{name}"


def queue_id(name: str) -> str:
    """A queue's id in the core."""
    return f"volcano/{name}"
