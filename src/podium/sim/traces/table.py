"""The generic trace: one line a job, in a CSV file that is easily made from any accounting.

    job, submit_time, duration                             required; times in seconds
    pods, gpus, cpu_milli, memory_mib, queue, priority     may be left out; amounts are those of one pod

A job of several pods starts when all of them have a place.  Other columns are left alone, but not those that say
one of these things under another name: they would count for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from podium.sim.jobs import Job
from podium.sim.traces.tables import MOST, Line, read_table

COLUMNS = ("job", "submit_time", "duration")
# What may be left out, with names under which others have it.
OPTIONAL = {
    "pods": ("pod", "num_pod", "num_pods", "pod_count", "replicas", "workers", "instances"),
    "gpus": ("gpu", "num_gpu", "num_gpus", "gpu_count", "gpus_per_pod", "gpu_num"),
    "cpu_milli": ("cpu", "cpus", "cores", "cpu_cores", "num_cpu", "num_cpus"),
    "memory_mib": ("memory", "mem", "memory_mb", "memory_gb", "memory_gib", "mem_mib", "mem_mb", "mem_gb"),
    "queue": ("queues", "queue_name"),
    "priority": ("prio", "priority_class"),
}
_MIB = 1 << 20
_MOST_PODS = 100_000
_MOST_PRIORITY = 10**9  # of the API
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?")


def read_jobs(path: Path, queues: Collection[str] | None = None) -> list[Job]:
    """The jobs in order of arrival.  `queues` are those that there are, if that is known."""
    found: dict[str, Job] = {}
    for line in read_table(path, COLUMNS, OPTIONAL):
        job = _read_job(line)
        if queues is not None and job.queue not in queues:
            reported = (
                f"job {job.name} names the queue {job.queue!r}, which is not there: --queue {job.queue}=1 makes it"
            )
            raise line.error("queue", reported)
        if job.name in found:
            raise line.error("job", f"there are two jobs of the name {job.name}")
        found[job.name] = job
    return sorted(found.values(), key=lambda job: job.arrival)


def _read_job(line: Line) -> Job:
    name = line.text("job")
    if not _NAME.fullmatch(name):
        raise line.error("job", f"want a name of small letters, digits and dashes, at most 50, got {name!r}")
    queue = line.text("queue", "default")
    if not _NAME.fullmatch(queue):
        raise line.error("queue", f"want a name of small letters, digits and dashes, at most 50, got {queue!r}")
    job = Job(
        name=name,
        arrival=line.seconds("submit_time"),
        duration=line.seconds("duration"),
        pods=line.whole("pods", 1, _MOST_PODS),
        gpus=line.whole("gpus", 0, _MOST_PODS),
        cpu=line.whole("cpu_milli", 0),
        memory=line.whole("memory_mib", 0, MOST / _MIB) * _MIB,
        queue=queue,
        priority=line.whole("priority", 0, _MOST_PRIORITY),
    )
    if not job.pods:
        raise line.error("pods", "want at least one pod, got 0")
    if not (job.gpus or job.cpu or job.memory):
        raise line.error("gpus", "the job asks for nothing; give gpus, cpu_milli or memory_mib")
    return job
