"""What is wrong with a TrainingJob, each complaint with the path of its field.

Most of it the definition refuses by itself on any server.  The controller and the scheduler ask the same function
about every job, so nothing depends on the hook: a job that came past it is failed with the same sentence.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from copy import deepcopy
from functools import lru_cache
from typing import Any

import msgspec

from podium.dialects.kubernetes.quantities import read_amounts
from podium.dialects.paddle.names import PRIORITIES, PSERVER, TRAINER, TRAININGJOBS, object_name
from podium.dialects.paddle.pods import roles_of, template_of
from podium.dialects.paddle.types import GPU, MOST_INSTANCES, MOST_LEVEL, MOST_WINDOW, TrainingJob
from podium.kube import fields
from podium.kube.admission import Hook, Surroundings
from podium.kube.fields import FieldError
from podium.kube.names import check_dns_label
from podium.kube.pod_script import SCRIPT
from podium.schema import builtin, engine
from podium.schema.filling import drop_nulls, fill
from podium.schema.pod_defaults import default_pod_spec
from podium.schema.validation import validate_pod_template

Document = dict[str, Any]


def check_document(document: Document, old: Document | None, around: Surroundings) -> list[FieldError]:
    """What is wrong with a TrainingJob that is made or changed."""
    if old is not None and document.get("spec") == old.get("spec"):
        return []
    try:
        job = msgspec.json.decode(msgspec.json.encode(document), type=TrainingJob)
    except msgspec.ValidationError as error:
        reported, _, where = str(error).partition(" - at `$.")
        return [fields.wrong_type(where.rstrip("`") or "spec", "", reported)]
    return check_job(job)


def check_job(job: TrainingJob) -> list[FieldError]:
    """What is wrong with a TrainingJob by itself.

    Scheduler and controller ask that of every job whenever its status has moved, and it takes as long as to check
    all of its pods: what was found is remembered by all that its pods are made of.
    """
    script = tuple(job.annotations.get(key) for key in SCRIPT)
    made_of = (job.namespace, job.name, job.uid, script, msgspec.json.encode(job.spec))
    return list(_check(_Asked(job, made_of)))


class _Asked:
    """A job that is the same question as another one that is made of the same."""

    __slots__ = ("_made_of", "job")

    def __init__(self, job: TrainingJob, made_of: Hashable) -> None:
        self.job = job
        self._made_of = made_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and other._made_of == self._made_of

    def __hash__(self) -> int:
        return hash(self._made_of)


@lru_cache(maxsize=4096)
def _check(asked: _Asked) -> list[FieldError]:
    job = asked.job
    found = [*_name_errors(job), *_number_errors(job), *_resource_errors(job)]
    return found or list(_template_errors(job))


def _name_errors(job: TrainingJob) -> Iterator[FieldError]:
    """Pods, and labels, are called after it."""
    longest = object_name(job.name, PSERVER)
    problem = check_dns_label(longest)
    if problem is not None:
        yield fields.invalid("metadata.name", job.name, f"a part of it would be called {longest}: {problem}")


def _number_errors(job: TrainingJob) -> Iterator[FieldError]:
    spec = job.spec
    for role, part, least in ((TRAINER, spec.trainer, 1), (PSERVER, spec.pserver, 0)):
        for field, number in (("min-instance", part.min_instance), ("max-instance", part.max_instance)):
            if not (least if field == "min-instance" else 0) <= number <= MOST_INSTANCES:
                detail = f"must be between {least} and {MOST_INSTANCES}"
                yield fields.invalid(f"spec.{role}.{field}", number, detail)
        if part.min_instance > part.max_instance and (role == TRAINER or part.max_instance):
            detail = f"must not be above max-instance, which is {part.max_instance}"
            yield fields.invalid(f"spec.{role}.min-instance", part.min_instance, detail)
    together = spec.trainer.max_instance + spec.pserver.min_instance
    if together > MOST_INSTANCES >= max(spec.trainer.max_instance, spec.pserver.min_instance):
        detail = f"the job would have {together} pods with its pservers, and can have {MOST_INSTANCES} at the most"
        yield fields.invalid("spec.trainer.max-instance", spec.trainer.max_instance, detail)
    if spec.elastic and not spec.fault_tolerant:
        detail = "must be true for trainers that come and go (min-instance below max-instance)"
        yield fields.invalid("spec.fault_tolerant", False, detail)
    if not 0 < spec.level <= MOST_LEVEL:
        if isinstance(spec.priority, str):
            yield fields.unsupported("spec.priority", spec.priority, PRIORITIES)
        else:
            yield fields.invalid("spec.priority", spec.priority, f"must be above 0, and {MOST_LEVEL} at the most")
    if spec.window is None:
        detail = f"must be seconds, {MOST_WINDOW} at the most, or a duration such as 2m"
        yield fields.invalid("spec.freezingWindow", spec.freezing_window, detail)
    if not 1 <= spec.etcd.replicas <= 9:
        yield fields.invalid("spec.etcd.replicas", spec.etcd.replicas, "must be between 1 and 9")
    last = spec.port + spec.ports_num + spec.ports_num_for_sparse - 1
    if spec.ports_num < 0 or spec.ports_num_for_sparse < 0 or not 0 < spec.port <= last + 1 <= 65_536:
        yield fields.invalid("spec.port", spec.port, f"its ports would end at {last}; they are 1 to 65535")
    if spec.passes < 1:
        yield fields.invalid("spec.passes", spec.passes, "must be 1 or more")


def _resource_errors(job: TrainingJob) -> Iterator[FieldError]:
    spec = job.spec
    parts = {
        "trainer": spec.trainer.amounts(),
        "pserver": spec.pserver.amounts(),
        "master": spec.master.amounts(),
        "etcd": spec.etcd.amounts(),
    }
    for role, resources in parts.items():
        asked: dict[str, int] = {}
        for kind in ("limits", "requests"):
            at = f"spec.{role}.resources.{kind}"
            amounts = resources.get(kind)
            if amounts is not None and not isinstance(amounts, dict):
                yield fields.wrong_type(at, amounts, "must be a table of amounts")
                continue
            good, bad = read_amounts(amounts, at)
            asked |= good
            for refusal in bad:
                path, _, detail = str(refusal).partition(": ")
                yield fields.invalid(path, amounts and "", detail)
        if asked.get(GPU) and not asked.get("cpu"):
            yield fields.required(f"spec.{role}.resources.requests.cpu", "a pod with GPUs needs CPU beside them")


def _template_errors(job: TrainingJob) -> Iterator[FieldError]:
    """What a server would refuse of the pods: volumes, selectors, environment."""
    schema = builtin.type_named("PodTemplateSpec")
    for role in roles_of(job):
        template = deepcopy(template_of(job, role))  # parts of it are the job's own, and defaults are filled in
        reported = engine.type_error(template, schema)
        if reported is not None:
            yield FieldError("spec", "FieldValueTypeInvalid", f"its {role} pods would not be readable: {reported}")
            return
        drop_nulls(template, schema)
        fill(template, schema)
        default_pod_spec(template["spec"])
        wrong = validate_pod_template(template, "template")
        if wrong:
            first = wrong[0]
            yield FieldError(
                "spec", first.reason, f"its {role} pods would be refused: {first.path}: {first.detail}"
            )
            return


HOOKS = (Hook(TRAININGJOBS, validate=check_document),)
