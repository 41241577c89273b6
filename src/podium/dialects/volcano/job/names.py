"""Names by which Volcano's Jobs, their pods and what else they make speak of each other."""

from __future__ import annotations

from podium.kube.resources import Resource

JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")

# On a Job's pods, all of them as annotations and those of `LABELS` also as labels.
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
JOB_QUEUE = "volcano.sh/queue-name"
JOB_VERSION = "volcano.sh/job-version"
JOB_RETRY_COUNT = "volcano.sh/job-retry-count"
TASK_INDEX = "volcano.sh/task-index"
TEMPLATE_UID = "volcano.sh/template-uid"
PARTITION_ID = "volcano.sh/partition-id"
NUMA_POLICY = "volcano.sh/numa-topology-policy"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"  # the controller takes the pod away: nobody has evicted it

# Marks of a Job that go onto its pods: as annotations, and two of them as labels, too.
COOLDOWN_TIME = "volcano.sh/cooldown-time"
REVOCABLE_ZONE = "volcano.sh/revocable-zone"
# How many pods of a job may be missing.  They exclude each other; where both are given the first one counts.
BUDGETS = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")

# podium's own: when the pod was lost whose place this one takes, while a policy still waits to act on that.
EVICTED_AT = "podium.dev/evicted-at"
# podium's own: the generation of a Job up to which changes of its spec have been answered.
ANSWERED_GENERATION = "podium.dev/answered-generation"
# podium's own: the minimums of a Job that was scaled below them; they come back with the pods.
SCALED_BELOW = "podium.dev/scaled-below"
# podium's own: what an object of a job plugin was made of.
DIGEST = "podium.dev/digest"


def group_name(job: str, uid: str) -> str:
    """The PodGroup of a Job.  Volcano 1.1 called it like the Job alone; such a group is still used."""
    return f"{job}-{uid}"


def pod_name(job: str, task: str, index: int) -> str:
    """The pod of one index of a task."""
    return f"{job}-{task}-{index}"
