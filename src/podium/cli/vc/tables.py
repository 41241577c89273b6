"""Lists as vcctl prints them: its columns in its widths.

Where a text is too long for its column, the column grows: vcctl would let it run into the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

Document = dict[str, Any]

NOTHING_FOUND = "No resources found"

_JOB_COLUMNS = (
    ("Creation", 15),
    ("Phase", 12),
    ("JobType", 12),
    ("Replicas", 12),
    ("Min", 6),
    ("Pending", 10),
    ("Running", 10),
    ("Succeeded", 12),
    ("Failed", 10),
    ("Unknown", 12),
    ("RetryCount", 10),
)
_JOB_TYPE_LABEL = "volcano.sh/job-type"
_GAP_AFTER_NAMES = 3

QUEUE_COLUMNS = ("Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed")
QUEUE_COLUMNS_IN_SHORT = ("Name", "Weight", "State", "Inqueue", "Pending", "Running", "Unknown")
_QUEUE_NAME_WIDTH, _QUEUE_WIDTH = 25, 8

_POD_COLUMNS = ("Name", "Ready", "Status", "Restart", "Age")
_POD_GAP, _POD_HEADING_GAP = 8, 2


class PodRow(msgspec.Struct, frozen=True):
    """A pod as the server describes it: ready containers, status, restarts, age."""

    namespace: str
    name: str
    cells: tuple[str, ...]


def job_table(jobs: Sequence[Document], with_namespace: bool) -> str:
    if not jobs:
        return NOTHING_FOUND
    names = [(job["metadata"]["namespace"], job["metadata"]["name"]) for job in jobs]
    headings = ["Namespace", "Name"] if with_namespace else ["Name"]
    rows = []
    for job, (namespace, name) in zip(jobs, names, strict=True):
        rows.append([*([namespace] if with_namespace else []), name, *_job_cells(job)])
    widths = [
        max(len(heading), *(len(row[index]) for row in rows)) + _GAP_AFTER_NAMES
        for index, heading in enumerate(headings)
    ]
    headings += [heading for heading, _ in _JOB_COLUMNS]
    return _table(headings, rows, [*widths, *(width for _, width in _JOB_COLUMNS)])


def _job_cells(job: Document) -> list[str]:
    metadata, spec, status = job["metadata"], job.get("spec", {}), job.get("status", {})
    return [
        str(metadata.get("creationTimestamp", ""))[: len("2027-01-15")],
        status.get("state", {}).get("phase", ""),
        (metadata.get("labels") or {}).get(_JOB_TYPE_LABEL) or "Batch",
        str(sum(task.get("replicas", 0) for task in spec.get("tasks") or ())),
        *(
            str(status.get(field, 0))
            for field in ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")
        ),
    ]


def queue_table(
    queues: Sequence[Document], groups: Iterable[Document], columns: Sequence[str] = QUEUE_COLUMNS
) -> str:
    if not queues:
        return NOTHING_FOUND
    # The groups are counted here: not everyone who keeps queues counts them in their status.
    counts = Counter(
        (group["spec"].get("queue", ""), group.get("status", {}).get("phase") or "Pending") for group in groups
    )
    rows = []
    for queue in queues:
        name, spec, status = queue["metadata"]["name"], queue.get("spec", {}), queue.get("status", {})
        reported = {
            "Name": name,
            "Weight": str(spec.get("weight", 0)),
            "State": status.get("state", ""),
            "Parent": spec.get("parent", ""),
        }
        rows.append([reported[column] if column in reported else str(counts[name, column]) for column in columns])
    return _table(columns, rows, [_QUEUE_NAME_WIDTH, *[_QUEUE_WIDTH] * (len(columns) - 1)])


def pod_table(pods: Sequence[PodRow], with_namespace: bool) -> str:
    if not pods:
        return NOTHING_FOUND
    headings = [*(["Namespace"] if with_namespace else []), *_POD_COLUMNS]
    rows = [[*([pod.namespace] if with_namespace else []), pod.name, *pod.cells] for pod in pods]
    widths = [
        max(len(heading) + _POD_HEADING_GAP, *(len(row[index]) + _POD_GAP for row in rows))
        for index, heading in enumerate(headings)
    ]
    return _table(headings, rows, widths)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    lines = [list(headings), *rows]
    fitting = [
        max(width, *(len(line[index]) + 1 for line in rows)) if index + 1 < len(widths) else width
        for index, width in enumerate(widths)
    ]
    return "\n".join(
        "".join(cell.ljust(width) for cell, width in zip(line, fitting, strict=True)) for line in lines
    )
