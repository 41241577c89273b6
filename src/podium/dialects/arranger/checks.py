"""What is wrong with a job, each complaint with the path of its field.

The definition refuses most of it on any server.  Admission, controller and scheduler ask the function here: a job
that came past the first ends as Failed, with the same sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.dialects.arranger.names import leader_pod, worker_pod
from podium.dialects.arranger.types import (
    BASIC_POLICIES,
    CLEAN_POLICIES,
    LEAST_PRIORITY,
    MIN_TOO_LARGE,
    MOST_PRIORITY,
    MOST_WORKERS,
    QUEUE_POLICIES,
    REPLICAS_OF_ONE,
    TYJob,
    TYJobSpec,
)
from podium.kube import fields
from podium.kube.fields import FieldError
from podium.kube.names import check_dns_label, check_dns_subdomain
from podium.kube.numbers import whole_number
from podium.schema.templates import check_pod_template, check_shared_volumes

Document = dict[str, Any]

_LONGEST_LABEL = 63


def errors_of(job: TYJob) -> tuple[FieldError, ...]:
    """What is wrong with a job; equal specs are looked at once."""
    return _errors(job.name, msgspec.json.encode(job.spec))


def sentence(errors: tuple[FieldError, ...]) -> str:
    return "; ".join(map(str, errors))


@lru_cache(maxsize=4096)
def _errors(name: str, encoded: bytes) -> tuple[FieldError, ...]:
    spec = msgspec.json.decode(encoded, type=TYJobSpec)
    return (*_name_errors(name, spec), *_number_errors(spec), *_policy_errors(spec), *_template_errors(spec))


def _name_errors(name: str, spec: TYJobSpec) -> Iterator[FieldError]:
    if len(name) > _LONGEST_LABEL:
        # It becomes the value of a label on the pods.
        yield fields.too_long("metadata.name", _LONGEST_LABEL)
    elif problem := check_dns_subdomain(name):
        yield fields.invalid("metadata.name", name, problem)
    leader = spec.leader.name
    if not leader:
        yield fields.required("spec.leader.name", "the leader's pod is called after it")
    elif problem := check_dns_label(leader) or _pod_problem(leader_pod(name, leader)):
        yield fields.invalid("spec.leader.name", leader, problem)
    if not spec.worker_sets:
        yield fields.required("spec.workerSets", "a job needs at least one worker set")
    seen: set[str] = set()
    for index, each in enumerate(spec.worker_sets):
        at = f"spec.workerSets[{index}].name"
        if not each.name:
            yield fields.required(at, "the workers' pods are called after it")
        elif problem := check_dns_label(each.name) or _pod_problem(worker_pod(name, each.name, each.counts)):
            yield fields.invalid(at, each.name, problem)
        elif each.name in seen:
            yield fields.duplicate(at, each.name)
        seen.add(each.name)
    stem, _, number = leader.rpartition("-")
    for each in spec.worker_sets:
        if each.name == stem and (taken := whole_number(number)) is not None and taken < each.counts:
            detail = f"a worker of set {stem} would have the same pod, {leader_pod(name, leader)}"
            yield fields.invalid("spec.leader.name", leader, detail)


def _pod_problem(pod: str) -> str | None:
    problem = check_dns_subdomain(pod)
    return f"a pod would be called {pod}: {problem}" if problem else None


def _number_errors(spec: TYJobSpec) -> Iterator[FieldError]:
    if spec.restart_limit < 0:
        yield fields.invalid("spec.restartLimit", spec.restart_limit, "must be 0 or more")
    if not LEAST_PRIORITY <= spec.priority <= MOST_PRIORITY:
        detail = f"must be from {LEAST_PRIORITY} to {MOST_PRIORITY}"
        yield fields.invalid("spec.priority", spec.priority, detail)
    for index, each in enumerate(spec.worker_sets):
        if each.counts < 1:
            yield fields.invalid(f"spec.workerSets[{index}].counts", each.counts, "must be 1 or more")
    if spec.workers > MOST_WORKERS:
        index = max(range(len(spec.worker_sets)), key=lambda each: spec.worker_sets[each].counts)
        detail = f"the job would have {spec.workers} workers, and can have {MOST_WORKERS} at the most"
        yield fields.invalid(f"spec.workerSets[{index}].counts", spec.worker_sets[index].counts, detail)
    if spec.min_workers_num < 0:
        yield fields.invalid("spec.minWorkersNum", spec.min_workers_num, "must be 0 or more")
    elif spec.worker_sets and spec.min_workers_num > spec.workers:
        yield fields.invalid(
            "spec.minWorkersNum", spec.min_workers_num, f"{MIN_TOO_LARGE}, which is {spec.workers}"
        )
    if spec.replicas is not None and not 1 <= spec.replicas <= MOST_WORKERS:
        yield fields.invalid("spec.replicas", spec.replicas, f"must be from 1 to {MOST_WORKERS}")
    if spec.replicas is not None and len(spec.worker_sets) > 1:
        yield fields.forbidden("spec.replicas", REPLICAS_OF_ONE)


def _policy_errors(spec: TYJobSpec) -> Iterator[FieldError]:
    policy = spec.scheduler_policy
    for path, value, known in (
        ("spec.cleanPodPolicy", spec.clean_pod_policy, CLEAN_POLICIES),
        ("spec.schedulerPolicy.jobQueuePolicy", policy.job_queue_policy, QUEUE_POLICIES),
        ("spec.schedulerPolicy.basicPolicy", policy.basic_policy, BASIC_POLICIES),
    ):
        if value not in known:
            yield fields.unsupported(path, value, known)


def _template_errors(spec: TYJobSpec) -> Iterator[FieldError]:
    shared = [msgspec.json.decode(each) for each in spec.volumes or ()]
    if errors := check_shared_volumes(shared, "spec.volumes"):
        yield from errors
        # What mounts them is right all the same.
        named = dict.fromkeys(each.get("name") for each in shared if isinstance(each, dict))
        shared = [{"name": name, "emptyDir": {}} for name in named if name and not check_dns_label(str(name))]
    templates = [("spec.leader.template", spec.leader.template)]
    templates += [(f"spec.workerSets[{i}].template", each.template) for i, each in enumerate(spec.worker_sets)]
    for path, raw in templates:
        template = msgspec.json.decode(raw)
        if template in ({}, None):
            yield fields.required(path, "a pod needs at least one container")
            continue
        if isinstance(template, dict) and isinstance(template.get("spec"), dict):
            _share(template["spec"], shared)
        yield from check_pod_template(template, path)


def _share(spec: Document, volumes: list[Document]) -> None:
    """Puts the job's volumes beside a template's own, as they will stand in the pod."""
    own = spec.get("volumes") or []
    if isinstance(own, list):
        named = {each.get("name") for each in own if isinstance(each, dict)}
        spec["volumes"] = [
            *own,
            *(each for each in volumes if isinstance(each, dict) and each.get("name") not in named),
        ]
