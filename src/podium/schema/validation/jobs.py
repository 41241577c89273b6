"""Jobs and CronJobs."""

from __future__ import annotations

from podium.kube import names
from podium.kube.fields import invalid, required, too_long, unsupported
from podium.kube.selectors import SelectorError, from_selector
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_not_negative,
    check_same,
    check_selector,
    complain,
)
from podium.schema.validation.job_policies import check_failure_policy, check_success_policy
from podium.schema.validation.pods import check_pod_template
from podium.schema.validation.schedules import check_schedule, check_time_zone

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_IMMUTABLE = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
# What a suspended Job's template may get from a queueing system before its pods are made.
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")

_MOST_INDEXES = 100_000
_MANY_COMPLETIONS = 100_000
_MOST_PARALLEL = 10_000
_NEEDS_INDEXES = "requires indexed completion mode"


def check_job(errors: Errors, document: Document) -> None:
    metadata, spec = document["metadata"], document.get("spec") or {}
    _check_generated_selector(errors, metadata, spec)
    check_job_spec(errors, "spec", spec)
    _check_selector(errors, spec)
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions:
        # The last pod's host name must be one too.
        hostname = f"{metadata.get('name', '')}-{completions - 1}"
        if names.check_dns_label(hostname):
            reported = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(invalid("metadata.name", metadata.get("name", ""), reported))


def check_job_update(errors: Errors, new: Document, old: Document) -> None:
    after: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    check_job(errors, new)
    completions, parallelism = after.get("completions"), after.get("parallelism")
    if after.get("completionMode") != "Indexed":
        check_same(errors, "spec.completions", completions, before.get("completions"))
    elif completions is not None and completions != before.get("completions") and completions != parallelism:
        reported = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", completions, reported))
    check_same(errors, "spec.selector", after.get("selector"), before.get("selector"))
    _check_template_kept(errors, after.get("template") or {}, before, old.get("status") or {})
    for field in _IMMUTABLE:
        check_same(errors, f"spec.{field}", after.get(field), before.get(field))


def check_cron_job(errors: Errors, document: Document) -> None:
    name = document["metadata"].get("name", "")
    _check_cron_spec(errors, document.get("spec") or {}, {})
    if len(name) > 52:
        errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))


def check_cron_job_update(errors: Errors, new: Document, old: Document) -> None:
    _check_cron_spec(errors, new.get("spec") or {}, old.get("spec") or {})


def _check_cron_spec(errors: Errors, spec: Document, before: Document) -> None:
    schedule = spec.get("schedule")
    if not schedule:
        errors.append(required("spec.schedule"))
    else:
        known_zone = "TZ" in before.get("schedule", "")
        check_schedule(errors, "spec.schedule", schedule, has_zone="timeZone" in spec, zone_allowed=known_zone)
    check_not_negative(errors, "spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if "timeZone" in spec and spec["timeZone"] != before.get("timeZone"):
        check_time_zone(errors, "spec.timeZone", spec["timeZone"])
    check_choice(errors, "spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"))
    job: Document = (spec.get("jobTemplate") or {}).get("spec") or {}
    at = "spec.jobTemplate.spec"
    check_job_spec(errors, at, job)
    if job.get("selector") is not None:
        errors.append(invalid(f"{at}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(unsupported(f"{at}.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        check_not_negative(errors, f"spec.{field}", spec.get(field))


def check_job_spec(errors: Errors, path: str, spec: Document) -> None:
    """A JobSpec without its selector, which a template inside a CronJob does not have."""
    for field in _COUNTS:
        check_not_negative(errors, f"{path}.{field}", spec.get(field))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    manager = spec.get("managedBy")
    if manager is not None:
        _check_manager(errors, f"{path}.managedBy", manager)
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        errors.append(unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        _check_indexed(errors, path, spec)
    elif mode in (None, "NonIndexed"):
        errors.extend(
            invalid(f"{path}.{field}", spec[field], _NEEDS_INDEXES)
            for field in ("backoffLimitPerIndex", "maxFailedIndexes")
            if field in spec
        )
    if "podFailurePolicy" in spec:
        check_failure_policy(errors, f"{path}.podFailurePolicy", spec)
    if "successPolicy" in spec:
        if mode != "Indexed":
            errors.append(invalid(f"{path}.successPolicy", spec["successPolicy"], _NEEDS_INDEXES))
        else:
            check_success_policy(errors, f"{path}.successPolicy", spec)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        known = ("Failed",) if "podFailurePolicy" in spec else frozenset({"Failed", "TerminatingOrFailed"})
        check_choice(errors, f"{path}.podReplacementPolicy", replacement, known)
    template: Document = spec.get("template") or {}
    check_pod_template(errors, f"{path}.template", template)
    policy = (template.get("spec") or {}).get("restartPolicy") or ""
    at = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        errors.append(required(at, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(unsupported(at, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        errors.append(invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def _check_manager(errors: Errors, path: str, manager: str) -> None:
    domain, slash, rest = manager.partition("/")
    if not manager:
        errors.append(required(path))
    elif not slash or not rest:
        reported = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(invalid(path, manager, reported))
    else:
        complain(errors, path, domain, names.check_dns_subdomain(domain))
    if len(manager) > 63:
        errors.append(too_long(path, 63))


def _check_indexed(errors: Errors, path: str, spec: Document) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 0)
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MOST_INDEXES:
        reported = f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, reported))
    if failed is not None:
        if completions is not None and failed > completions:
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
        if failed > _MOST_INDEXES:
            reported = f"must be less than or equal to {_MOST_INDEXES}"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, reported))
    if (completions or 0) > _MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        if failed is None:
            reported = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            errors.append(required(f"{path}.maxFailedIndexes", reported))
        for field, value in (("parallelism", parallelism), ("maxFailedIndexes", failed or 0)):
            if value > _MOST_PARALLEL:
                reported = (
                    f"must be less than or equal to {_MOST_PARALLEL} when completions are above "
                    f"{_MANY_COMPLETIONS} and used with backoff limit per index"
                )
                errors.append(invalid(f"{path}.{field}", value, reported))


def _check_selector(errors: Errors, spec: Document) -> None:
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    check_selector(errors, "spec.selector", selector)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    try:
        if not from_selector(selector)(labels):
            reported = "`selector` does not match template `labels`"
            errors.append(invalid("spec.template.metadata.labels", dict(sorted(labels.items())), reported))
    except SelectorError:
        pass  # reported already


def _check_generated_selector(errors: Errors, metadata: Document, spec: Document) -> None:
    """Without `manualSelector` the server makes selector and labels; a user's own would catch others' pods."""
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    for key, value in expected.items():
        if key not in labels:
            errors.append(required("spec.template.metadata.labels", f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid("spec.template.metadata.labels", labels, f"must be '{value}'"))
    try:
        if not from_selector(spec["selector"])(expected):
            errors.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    except SelectorError:
        pass  # reported by the check of the selector itself


def _check_template_kept(errors: Errors, template: Document, before: Document, status: Document) -> None:
    """All pods of a Job are made from one template; before the first one, while suspended, it may still change."""
    known: Document = before.get("template") or {}
    if template == known:
        return
    if before.get("suspend") and not status.get("startTime"):
        known = _with_scheduling_of(known, template)
        if known == template:
            return
    errors.append(invalid("spec.template", template, "field is immutable"))


def _with_scheduling_of(known: Document, template: Document) -> Document:
    metadata = {**(known.get("metadata") or {})}
    spec = {**(known.get("spec") or {})}
    wanted: Document = template.get("spec") or {}
    for target, source, fields in (
        (metadata, template.get("metadata") or {}, ("labels", "annotations")),
        (spec, wanted, _SCHEDULING),
    ):
        for field in fields:
            if field in source:
                target[field] = source[field]
            else:
                target.pop(field, None)
    affinity = {**(spec.get("affinity") or {})}
    affinity.pop("nodeAffinity", None)
    node = (wanted.get("affinity") or {}).get("nodeAffinity")
    if node is not None:
        affinity["nodeAffinity"] = node
    if affinity or "affinity" in wanted:
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)
    for field in ("containers", "initContainers"):
        containers, new = spec.get(field) or [], wanted.get(field) or []
        if len(containers) == len(new) and field in spec:
            spec[field] = [
                {**container, "resources": other.get("resources", {})}
                if container.get("name") == other.get("name")
                else container
                for container, other in zip(containers, new, strict=True)
            ]
    return {**known, "metadata": metadata, "spec": spec}
