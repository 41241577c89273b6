"""What is filled into Jobs: by the hook when they are made, and by the controller when it looks at them.

Both call the same function, so a Job that came past the hook is run like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.dialects.volcano.job.types import DEFAULT_MAX_RETRY, LARGEST_NUMBER
from podium.dialects.volcano.names import DEFAULT_QUEUE, SCHEDULER
from podium.kube.admission import Surroundings
from podium.schema.builtin import type_named
from podium.schema.filling import drop_nulls

Document = dict[str, Any]

# Plugins that build on others.
_WITH_SERVICE = ("tensorflow", "mpi", "pytorch", "ray")
_WITH_KEYS = ("mpi",)
_HOST_NETWORK_DNS = "ClusterFirstWithHostNet"


def fill_job(job: Document, old: Document | None, around: Surroundings) -> None:
    """A new Job gets what it leaves open; a changed one stays as its user says."""
    if old is None:
        spec = job.setdefault("spec", {})
        fill_spec(spec)
        tasks = _documents(spec.get("tasks"))
        if len(tasks) == 1 and spec.get("replicas") is None:
            spec["replicas"] = _number(tasks[0].get("replicas"))  # for `kubectl scale`: see job_scale


def fill_spec(spec: Document) -> None:
    """Fills a Job's spec, in place.  Values of a wrong type are left for the checks to name."""
    if not spec.get("queue"):
        spec["queue"] = DEFAULT_QUEUE
    if not spec.get("schedulerName"):
        spec["schedulerName"] = SCHEDULER
    if not spec.get("maxRetry"):
        spec["maxRetry"] = DEFAULT_MAX_RETRY
    tasks = _documents(spec.get("tasks"))
    for index, task in enumerate(tasks):
        _fill_task(task, index)
    if not spec.get("minAvailable"):
        spec["minAvailable"] = min(sum(_number(task.get("minAvailable")) for task in tasks), LARGEST_NUMBER)
    plugins = spec.get("plugins")
    if isinstance(plugins, dict):
        _add_plugins(plugins)


def _fill_task(task: Document, index: int) -> None:
    if not task.get("name"):
        task["name"] = f"default{index}"
    if not task.get("maxRetry"):
        task["maxRetry"] = DEFAULT_MAX_RETRY
    if task.get("minAvailable") is None:
        parts = task.get("partitionPolicy")
        least = parts.get("minPartitions") if isinstance(parts, dict) else None
        size = parts.get("partitionSize", 1) if isinstance(parts, dict) else 1
        task["minAvailable"] = least * size if least else _number(task.get("replicas"))
    template = task.get("template")
    if not isinstance(template, dict):
        return
    drop_nulls(template, type_named("PodTemplateSpec"))
    spec = template.get("spec")
    if isinstance(spec, dict) and spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = _HOST_NETWORK_DNS


def _add_plugins(plugins: Document) -> None:
    if any(name in plugins for name in _WITH_SERVICE):
        plugins.setdefault("svc", [])
    if any(name in plugins for name in _WITH_KEYS):
        plugins.setdefault("ssh", [])


def _number(value: Any) -> int:
    """A wrong number is said once, where it stands, and not in all that follows from it."""
    return max(0, value) if isinstance(value, int) else 0


def _documents(values: Any) -> list[Document]:
    given: Iterable[Any] = values if isinstance(values, list) else ()
    return [each for each in given if isinstance(each, dict)]
