"""Parts of a Job that are checked by themselves: policies, pod templates, volumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.core.model.durations import duration
from podium.dialects.volcano.job.types import (
    ACTIONS,
    ANY,
    EVENTS,
    TOPOLOGY_POLICIES,
    Job,
    LifecyclePolicy,
    TaskSpec,
)
from podium.dialects.volcano.job.volumes import made_name
from podium.kube import fields
from podium.kube.fields import FieldError
from podium.kube.names import check_dns_subdomain
from podium.kube.quantity import QuantityError, parse_milli
from podium.schema import builtin
from podium.schema.templates import check_pod_template, type_errors
from podium.schema.validation.claims import check_claim_spec

Document = dict[str, Any]


# --- policies ----------------------------------------------------------------------------------------------


def check_policies(policies: list[LifecyclePolicy] | None, at: str) -> Iterator[FieldError]:
    """What is wrong with one list of policies."""
    events: set[str] = set()
    codes: set[int] = set()
    for index, policy in enumerate(policies or ()):
        here = f"{at}[{index}]"
        if policy.action not in ACTIONS:
            yield fields.unsupported(f"{here}.action", policy.action, ACTIONS)
        if policy.timeout not in (None, "", "0", "0s") and duration(policy.timeout or "") is None:
            yield fields.invalid(f"{here}.timeout", policy.timeout, "must be a duration such as 30s or 5m")
        named = policy.all_events
        if named and policy.exit_code is not None:
            yield fields.forbidden(f"{here}.exitCode", "an event is named, and they exclude each other")
        elif not named and policy.exit_code is None:
            yield fields.required(f"{here}.event", "a policy needs event, events or exitCode")
        if policy.exit_code is not None:
            if policy.exit_code == 0:
                yield fields.invalid(f"{here}.exitCode", 0, "0 is no failure")
            elif policy.exit_code in codes:
                yield fields.duplicate(f"{here}.exitCode", policy.exit_code)
            codes.add(policy.exit_code)
        for event in named:
            where = f"{here}.event" if policy.event == event else f"{here}.events"
            if event not in EVENTS:
                yield fields.unsupported(where, event, EVENTS)
            elif event in events:
                yield fields.duplicate(where, event)
            events.add(event)
    if ANY in events and len(events) > 1:
        others = ", ".join(sorted(events - {ANY}))
        yield fields.invalid(
            at, ANY, f"{ANY} stands for all events, so the list cannot name others ({others}) too"
        )


# --- templates ---------------------------------------------------------------------------------------------


def check_template(task: TaskSpec, at: str) -> list[FieldError]:
    """What is wrong with the pods of a task, as a server would say it about a pod."""
    template = task.pod_template()
    errors = check_pod_template(template, f"{at}.template")
    spec = template.get("spec") if isinstance(template, dict) else None
    return [*errors, *(_topology_errors(task, spec, at) if isinstance(spec, dict) else ())]


def _topology_errors(task: TaskSpec, spec: Document, at: str) -> Iterator[FieldError]:
    """CPUs can be laid out only where whole ones are asked for."""
    policy = task.topology_policy
    if policy not in ("", *TOPOLOGY_POLICIES):
        yield fields.unsupported(f"{at}.topologyPolicy", policy, TOPOLOGY_POLICIES)
    if policy in ("", "none"):
        return
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            resources = container.get("resources") or {}
            asked = (resources.get("requests") or resources.get("limits") or {}).get("cpu", 0)
            if not _is_whole(asked):
                where = f"{at}.template.spec.{group}[{index}].resources.requests[cpu]"
                yield fields.invalid(where, asked, f"must be a whole number above 0: topologyPolicy is {policy}")


def _is_whole(amount: str | int | float) -> bool:
    try:
        milli = parse_milli(amount)
    except QuantityError:
        return False
    return milli > 0 and milli % 1000 == 0


# --- volumes -----------------------------------------------------------------------------------------------


def check_volumes(job: Job) -> Iterator[FieldError]:
    """What is wrong with the volumes that all containers see."""
    paths: set[str] = set()
    for index, volume in enumerate(job.spec.volumes or ()):
        at = f"spec.volumes[{index}]"
        path = volume.mount_path
        if not path:
            yield fields.required(f"{at}.mountPath")
        elif ":" in path:
            yield fields.invalid(f"{at}.mountPath", path, "must not contain ':'")
        elif path in paths:
            yield fields.duplicate(f"{at}.mountPath", path)
        paths.add(path)
        name = volume.volume_claim_name
        if name and (problem := check_dns_subdomain(name)):
            yield fields.invalid(f"{at}.volumeClaimName", name, problem)
        claim = volume.claim()
        if claim is None:
            if not name:
                yield fields.required(f"{at}.volumeClaimName", "a volume needs volumeClaimName or volumeClaim")
            continue
        if name and name != made_name(job.name, job.uid, index):
            yield fields.forbidden(f"{at}.volumeClaim", "volumeClaimName is set, and they exclude each other")
        yield from _claim_errors(claim, f"{at}.volumeClaim")


def _claim_errors(claim: Document, at: str) -> list[FieldError]:
    schema = builtin.type_named("PersistentVolumeClaimSpec")
    errors = type_errors(claim, schema, at)
    if not errors:
        check_claim_spec(errors, at, claim)
    return errors
