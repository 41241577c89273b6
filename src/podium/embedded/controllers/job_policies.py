"""A Job's own rules: which pod failures end it, fail an index or do not count, and which successes are enough."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.embedded.controllers.job_indexes import Indexes
from podium.kube.wire import ContainerStatus, Job, Pod

FAIL_JOB = "FailJob"
FAIL_INDEX = "FailIndex"
IGNORE = "Ignore"

Rule = dict[str, Any]


class Verdict(msgspec.Struct, frozen=True):
    """What the failure policy says of a failed pod; `action` is empty where no rule matched."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure goes into status.failed and against the back-off limit."""
        return self.action != IGNORE


def judge(job: Job, pod: Pod) -> Verdict:
    """The first rule of the pod failure policy that matches decides."""
    for number, rule in enumerate((job.spec.pod_failure_policy or {}).get("rules") or ()):
        reported = _match(rule, pod)
        if reported is None:
            continue
        action = rule["action"]
        return Verdict(
            action, f"{reported} matching {action} rule at index {number}" if action == FAIL_JOB else ""
        )
    return Verdict()


def _match(rule: Rule, pod: Pod) -> str | None:
    """The beginning of the sentence about why a rule matches, or None."""
    where = f"{pod.namespace}/{pod.name}"
    codes = rule.get("onExitCodes")
    if codes is not None:
        for status in [*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())]:
            code = _exit_code(status)
            if code and codes.get("containerName") in (None, status.name) and _code_matches(code, codes):
                return f"Container {status.name} for pod {where} failed with exit code {code}"
        return None
    for condition in pod.status.conditions or ():
        for pattern in rule.get("onPodConditions") or ():
            if pattern.get("type") == condition.type and pattern.get("status", "True") == condition.status:
                return f"Pod {where} has condition {condition.type}"
    return None


def _exit_code(status: ContainerStatus) -> int:
    state = status.state
    return state.terminated.exit_code if state is not None and state.terminated is not None else 0


def _code_matches(code: int, requirement: Rule) -> bool:
    listed = code in (requirement.get("values") or ())
    return listed if requirement.get("operator") == "In" else not listed


def success_rule(job: Job, succeeded: Indexes, completions: int) -> int | None:
    """The number of the first rule of the success policy that the succeeded indexes satisfy."""
    if not succeeded:
        return None
    for number, rule in enumerate((job.spec.success_policy or {}).get("rules") or ()):
        wanted, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        if wanted is None:
            if least is not None and len(succeeded) >= least:
                return number
            continue
        required = Indexes.parse(wanted, completions)
        have = required.overlap(succeeded)
        if required and (have == len(required) or (least is not None and have >= least)):
            return number
    return None
