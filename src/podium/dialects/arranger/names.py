"""The names of Arranger's API, and how podium knows its jobs and their pods."""

from __future__ import annotations

from podium.kube.resources import Resource

DIALECT = "arranger"
SCHEDULER = "arranger"
GROUP = "arranger.taiyi.io"
TYJOBS = Resource(GROUP, "v1alpha1", "tyjobs", "TYJob")

# Labels of pods.
JOB, ROLE, SET, INDEX = (f"{GROUP}/{name}" for name in ("job", "role", "set", "index"))
# An annotation of leaders.
RESTARTS = f"{GROUP}/restarts"  # how often the job's leader was started again before this pod was made
# An annotation of jobs: the minimum as it was before the job was scaled below it.
MIN_BEFORE = f"{GROUP}/min-workers-before-scaling"

LEADER_ADDRESS = "LEADER_ADDRESS"  # the environment variable of workers

LEADER, WORKER = "leader", "worker"


def gang_id(namespace: str, name: str) -> str:
    """A job's id in the core."""
    return f"{DIALECT}/{namespace}/{name}"


def worker_role(set_name: str) -> str:
    """The role of a set's workers: the set's name alone may be that of the leader."""
    return f"{WORKER}/{set_name}"


def leader_pod(job: str, leader: str) -> str:
    return f"{job}-{leader}"


def worker_pod(job: str, set_name: str, index: int) -> str:
    return f"{job}-{set_name}-{index}"
