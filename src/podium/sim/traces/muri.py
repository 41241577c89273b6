"""Muri: jobs of Microsoft's Philly clusters, annotated with models by the Muri project.

Columns used: `job_id, num_gpu, submit_time, duration`; times are milliseconds.  A job of more GPUs than a node has
is a gang of pods with a whole node each.
"""

from __future__ import annotations

from pathlib import Path

from podium.sim.jobs import Job
from podium.sim.traces.tables import MOST_SECONDS, Line, read_table

COLUMNS = ("job_id", "num_gpu", "submit_time", "duration")
_A_SECOND = 1000.0
_MOST_GPUS = 100_000
_MOST_ID = 10**12


def read_jobs(path: Path, gpus_per_node: int) -> list[Job]:
    """The jobs in order of arrival."""
    found: dict[str, Job] = {}
    for line in read_table(path, COLUMNS):
        job = _read_job(line, gpus_per_node)
        if job.name in found:
            raise line.error("job_id", f"there are two jobs of the number {line.text('job_id')}")
        found[job.name] = job
    return sorted(found.values(), key=lambda job: job.arrival)


def _read_job(line: Line, gpus_per_node: int) -> Job:
    gpus = line.whole("num_gpu", most=_MOST_GPUS)
    if not gpus:
        raise line.error("num_gpu", "want at least one GPU, got 0")
    pods = -(-gpus // gpus_per_node)
    if gpus % pods:
        raise line.error("num_gpu", f"{gpus} GPUs cannot be split evenly over nodes of {gpus_per_node}")
    return Job(
        name=f"job-{line.whole('job_id', most=_MOST_ID):06d}",
        arrival=line.number_of("submit_time", most=MOST_SECONDS * _A_SECOND) / _A_SECOND,
        duration=line.number_of("duration", most=MOST_SECONDS * _A_SECOND) / _A_SECOND,
        pods=pods,
        gpus=gpus // pods,
    )
