"""The names of Paddle's API, and what podium writes on the pods of a TrainingJob."""

from __future__ import annotations

from podium.kube.resources import Resource

DIALECT = "paddle"
SCHEDULER = "paddle"
TRAININGJOBS = Resource("paddlepaddle.org", "v1", "trainingjobs", "TrainingJob")

MASTER, PSERVER, TRAINER, ETCD = "master", "pserver", "trainer", "etcd"

# What a pod's template carries, so that its TrainingJob is known though a ReplicaSet or a Job owns the pod.
JOB_NAME = "podium.dev/training-job"
JOB_UID = "podium.dev/training-job-uid"
ROLE = "podium.dev/training-role"
USER = "podium.dev/user"  # on a TrainingJob: whose quota it counts against

# The labels by which Paddle's own tools find pods.
LABELS = {
    MASTER: "paddle-job-master",
    PSERVER: "paddle-job-pserver",
    TRAINER: "paddle-job",
    ETCD: "paddle-job-etcd",
}

OLD_GPU = "alpha.kubernetes.io/nvidia-gpu"

PRIORITIES = {"Experiment": 10, "Offline": 100, "Normal": 1000, "Production": 10_000}
LEVELS = {**PRIORITIES, "Experiement": 10}  # also as it was first spelt
DEFAULT_LEVEL = LEVELS["Normal"]


def object_name(job: str, role: str) -> str:
    """What the ReplicaSet, Job or StatefulSet of a role is called."""
    return f"{job}-{role}"


def gang_id(namespace: str, name: str) -> str:
    return f"{DIALECT}/{namespace}/{name}"
