"""What is wrong with a Job: what Volcano's webhook refuses, each complaint with the path of its field.

Most of it the definition refuses by itself on any server; the rest needs more than one field, or more than one
object.  The controller asks the same functions about every Job that it has not seen before, so nothing depends on
the hook: a Job that came past it ends as Failed, with the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from podium.dialects.volcano.admission import parent_of
from podium.dialects.volcano.job.checks import check_policies, check_template, check_volumes
from podium.dialects.volcano.job.defaults import fill_job
from podium.dialects.volcano.job.names import JOBS, pod_name
from podium.dialects.volcano.job.registry import UnusablePluginError, asking, find_plugin, plugin_names
from podium.dialects.volcano.job.types import Job, TaskSpec
from podium.dialects.volcano.names import QUEUES, ROOT_QUEUE
from podium.dialects.volcano.types import NetworkTopology
from podium.kube import fields
from podium.kube.admission import Hook, Surroundings
from podium.kube.fields import FieldError
from podium.kube.names import check_dns_label, check_dns_subdomain, check_qualified_name

Document = dict[str, Any]

_LONGEST_SCHEDULER = 63
# More than any cluster has room for: such a number is a slip of the pen, and would only fill the server.
_MOST_PODS = 1_000_000
# What may change in a Job that is there; the rest of a task is compared without these.
_MOVABLE = ("minAvailable", "priorityClassName", "tasks", "volumes", "replicas")
_MOVABLE_IN_TASK = ("replicas", "minAvailable")


def check_job(document: Document, old: Document | None, around: Surroundings) -> list[FieldError]:
    """What is wrong with a Job that is made or changed."""
    try:
        job = msgspec.json.decode(msgspec.json.encode(document), type=Job)
    except msgspec.ValidationError as error:
        reported, _, where = str(error).partition(" - at `$.")
        return [fields.wrong_type(where.rstrip("`") or "spec", "", reported)]
    if old is not None:
        if document.get("spec") == old.get("spec"):
            return []  # labels, annotations, status
        return [*_change_errors(document["spec"], old.get("spec") or {}), *_number_errors(job)]
    return [*check_spec(job), *check_queue_of(job, around)]


def check_spec(job: Job) -> list[FieldError]:
    """What is wrong with a Job by itself."""
    if not job.spec.tasks:
        return [fields.required("spec.tasks", "a Job needs at least one task")]
    return [
        *_name_errors(job),
        *_number_errors(job),
        *_task_errors(job),
        *check_policies(job.spec.policies, "spec.policies"),
        *_plugin_errors(job),
        *check_volumes(job),
        *_topology_errors(job.spec.network_topology, "spec.networkTopology"),
        *_order_errors(job.spec.tasks),
    ]


# --- names and numbers -------------------------------------------------------------------------------------


def _name_errors(job: Job) -> Iterator[FieldError]:
    spec = job.spec
    yield from _name_error("metadata.name", job.name, check_qualified_name)
    yield from _name_error("spec.queue", spec.queue, check_dns_subdomain)
    if spec.priority_class_name:
        yield from _name_error("spec.priorityClassName", spec.priority_class_name, check_dns_subdomain)
    if len(spec.scheduler_name) > _LONGEST_SCHEDULER:
        yield fields.too_long("spec.schedulerName", _LONGEST_SCHEDULER)
    seen: set[str] = set()
    for index, task in enumerate(spec.tasks):
        at = f"spec.tasks[{index}].name"
        if task.name in seen:
            yield fields.duplicate(at, task.name)
        seen.add(task.name)
        wrong = list(_name_error(at, task.name, check_dns_label))
        yield from wrong
        # Its pods are called after it, and their names become host names.
        longest = pod_name(job.name, task.name, max(0, task.replicas - 1))
        if not wrong and (problem := check_qualified_name(longest)):
            yield fields.invalid(at, task.name, f"its pods would be called {longest}: {problem}")


def _name_error(path: str, name: str, check: Callable[[str], str | None]) -> Iterator[FieldError]:
    problem = check(name)
    if problem is not None:
        yield fields.invalid(path, name, problem)


def _number_errors(job: Job) -> Iterator[FieldError]:
    spec = job.spec
    for field, number in (
        ("minAvailable", spec.min_available),
        ("maxRetry", spec.max_retry),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("replicas", spec.replicas),
    ):
        if number is not None and number < 0:
            yield fields.invalid(f"spec.{field}", number, "must be 0 or more")
    if spec.replicas is not None and len(spec.tasks) != 1:
        yield fields.forbidden(
            "spec.replicas", "it is for Jobs with one task; change those of the task that is meant"
        )
    if spec.min_success is not None and spec.min_success < 1:
        yield fields.invalid("spec.minSuccess", spec.min_success, "must be 1 or more")
    if spec.min_available > job.total:
        detail = f"must not be above {job.total}, the sum of the replicas of all tasks"
        yield fields.invalid("spec.minAvailable", spec.min_available, detail)
    for index, task in enumerate(spec.tasks):
        yield from _task_number_errors(task, f"spec.tasks[{index}]")
    if job.total > _MOST_PODS:
        index = max(range(len(spec.tasks)), key=lambda each: spec.tasks[each].replicas)
        detail = f"the Job would have {job.total} pods, and can have {_MOST_PODS} at the most"
        yield fields.invalid(f"spec.tasks[{index}].replicas", spec.tasks[index].replicas, detail)


def _task_number_errors(task: TaskSpec, at: str) -> Iterator[FieldError]:
    if task.replicas < 0:
        yield fields.invalid(f"{at}.replicas", task.replicas, "must be 0 or more")
    if task.max_retry < -1:
        yield fields.invalid(f"{at}.maxRetry", task.max_retry, "must be 0 or more, or -1 for no limit")
    least = task.min_available
    if least is not None and least < 0:
        yield fields.invalid(f"{at}.minAvailable", least, "must be 0 or more")
    elif least is not None and least > task.replicas:
        yield fields.invalid(f"{at}.minAvailable", least, f"must not be above replicas, which is {task.replicas}")
    parts = task.partition_policy
    if parts is None:
        return
    at_parts = f"{at}.partitionPolicy"
    for field, number in (("totalPartitions", parts.total_partitions), ("partitionSize", parts.partition_size)):
        if number < 1:
            yield fields.invalid(f"{at_parts}.{field}", number, "must be 1 or more")
    if not 0 <= parts.min_partitions <= parts.total_partitions:
        detail = f"must be between 0 and totalPartitions, which is {parts.total_partitions}"
        yield fields.invalid(f"{at_parts}.minPartitions", parts.min_partitions, detail)
    pods = parts.total_partitions * parts.partition_size
    if task.replicas != pods:
        detail = f"must be totalPartitions times partitionSize, which is {pods}"
        yield fields.invalid(f"{at}.replicas", task.replicas, detail)
    together = parts.min_partitions * parts.partition_size
    if parts.min_partitions > 0 and least is not None and least != together:
        detail = f"must be minPartitions times partitionSize, which is {together}"
        yield fields.invalid(f"{at}.minAvailable", least, detail)


# --- tasks and plugins -------------------------------------------------------------------------------------


def _task_errors(job: Job) -> Iterator[FieldError]:
    for index, task in enumerate(job.spec.tasks):
        at = f"spec.tasks[{index}]"
        yield from check_policies(task.policies, f"{at}.policies")
        yield from check_template(task, at)
        if task.partition_policy is not None:
            yield from _topology_errors(
                task.partition_policy.network_topology, f"{at}.partitionPolicy.networkTopology"
            )


def _topology_errors(topology: NetworkTopology | None, at: str) -> Iterator[FieldError]:
    if topology is None:
        return
    if topology.mode not in ("hard", "soft"):
        yield fields.unsupported(f"{at}.mode", topology.mode, ("hard", "soft"))
    if topology.highest_tier_allowed is not None and topology.highest_tier_name:
        yield fields.forbidden(f"{at}.highestTierName", "highestTierAllowed is set, and they exclude each other")


def _plugin_errors(job: Job) -> Iterator[FieldError]:
    for name, arguments in (job.spec.plugins or {}).items():
        at = f"spec.plugins[{name}]"
        try:
            kind = find_plugin(name)
            if kind is None:
                yield fields.unsupported(at, name, plugin_names())
                continue
            with asking(name, "problems"):
                problems = kind(arguments or [], job).problems()
        except UnusablePluginError as error:
            yield fields.invalid(at, name, str(error))
            continue
        yield from (fields.invalid(at, arguments, problem) for problem in problems)


def _order_errors(tasks: list[TaskSpec]) -> Iterator[FieldError]:
    """Tasks must not wait for each other in a circle."""
    places = {task.name: index for index, task in enumerate(tasks)}
    waits_for: dict[str, list[str]] = {}
    for index, task in enumerate(tasks):
        at = f"spec.tasks[{index}].dependsOn"
        if task.depends_on is None:
            continue
        if task.depends_on.iteration not in ("any", "all"):
            yield fields.unsupported(f"{at}.iteration", task.depends_on.iteration, ("any", "all"))
        for number, name in enumerate(task.depends_on.name or ()):
            if name not in places:
                yield fields.not_found(f"{at}.name[{number}]", name, "there is no such task")
            else:
                waits_for.setdefault(task.name, []).append(name)
    for name in waits_for:
        circle = _circle(name, waits_for)
        if circle:
            detail = f"tasks wait for each other: {' -> '.join(circle)}"
            yield fields.invalid(f"spec.tasks[{places[name]}].dependsOn.name", waits_for[name], detail)
            return


def _circle(start: str, waits_for: dict[str, list[str]]) -> list[str]:
    """A way from a task back to itself."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for name in waits_for.get(way[-1], ()):
            if name == start:
                return [*way, start]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


# --- the queue, and changes --------------------------------------------------------------------------------


def check_queue_of(job: Job, around: Surroundings) -> list[FieldError]:
    """Why a new Job cannot go to its queue."""
    name, at = job.spec.queue, "spec.queue"
    queue = around.get(QUEUES, "", name)
    if queue is None:
        return [fields.not_found(at, name, "there is no such queue; create it, or name another one")]
    if name == ROOT_QUEUE:
        return [fields.invalid(at, name, "the root of all queues takes no Jobs; name a queue below it")]
    state = (queue.get("status") or {}).get("state") or "Open"
    if state != "Open":
        return [fields.invalid(at, name, f"the queue is {state} and takes no Jobs; open it, or name another one")]
    below = [each["metadata"]["name"] for each in around.having(QUEUES, parent_of, name)]
    if below:
        return [fields.invalid(at, name, f"it has queues below it ({', '.join(below)}); name one of those")]
    return []


def _change_errors(new: Document, old: Document) -> Iterator[FieldError]:
    reported = "only minAvailable, priorityClassName, and replicas and minAvailable of tasks may change"
    for field in sorted({*new, *old} - {*_MOVABLE}):
        if new.get(field) != old.get(field):
            yield fields.forbidden(f"spec.{field}", reported)
    tasks, before = new.get("tasks") or [], old.get("tasks") or []
    if len(tasks) != len(before):
        yield fields.forbidden("spec.tasks", "tasks can neither be added nor removed")
    for index, (task, was) in enumerate(zip(tasks, before, strict=False)):
        for field in sorted({*task, *was} - {*_MOVABLE_IN_TASK}):
            if task.get(field) != was.get(field):
                yield fields.forbidden(f"spec.tasks[{index}].{field}", reported)
    if _without_names(new) != _without_names(old):
        yield fields.forbidden("spec.volumes", reported)


def _without_names(spec: Document) -> list[Document]:
    """Volumes without the names of claims that are made for them: the controller fills those in."""
    return [
        {k: v for k, v in each.items() if k != "volumeClaimName" or not each.get("volumeClaim")}
        for each in spec.get("volumes") or ()
    ]


HOOKS = (Hook(JOBS, mutate=fill_job, validate=check_job, looks_at=(QUEUES,)),)
